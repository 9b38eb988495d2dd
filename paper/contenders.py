"""The policies that the experiments compare, under the names that figures and tables use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.experiment import JSON, Scale
from stopwise.cascade import Cascade
from stopwise.policies import (
    Policy,
    Resolve,
    StrongDominance,
    Supervised,
    Thompson,
    WeakDominance,
)
from stopwise.problem.instance import Instance
from stopwise.problem.recording import Recording
from stopwise.simulation import Trace, simulate

CHECKPOINTS = 60


@dataclass(frozen=True)
class Contender:
    """A policy: its name in figures, whose colour it has, and how it is made."""

    label: str
    style: str
    make: Callable[[Cascade], Policy]


ALGORITHM_1 = Contender("Algorithm 1", "StrongDominance", StrongDominance)
AS_PRINTED = Contender(
    "Algorithm 1 as printed",
    "StrongDominance as printed",
    lambda cascade: StrongDominance(cascade, literal=True),
)
ALGORITHM_2 = Contender("Algorithm 2", "WeakDominance", WeakDominance)
SUPERVISED = Contender("Algorithm 2 with labels", "Supervised", Supervised)
THOMPSON = Contender("Thompson", "Thompson", lambda cascade: Thompson(cascade, seed=0))
RESOLVE = Contender("Resolve", "Resolve", Resolve)

STYLES = {
    c.label: c.style for c in (ALGORITHM_1, AS_PRINTED, ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
}


def play(
    world: Instance | Recording,
    contender: Contender,
    scale: Scale,
    *,
    horizon: int | None = None,
    checkpoints: Any = CHECKPOINTS,
    seed: int = 0,
) -> Trace:
    """Simulate one contender at the scale's length; if it is interrupted, so is the experiment."""
    trace = simulate(
        world,
        contender.make,
        horizon=horizon or scale.horizon,
        replications=scale.replications,
        seed=seed,
        checkpoints=checkpoints,
        n_jobs=scale.n_jobs,
        progress=False,
    )
    if trace.n_replications < scale.replications:  # Ctrl-C leaves the runs that were complete
        raise KeyboardInterrupt
    return trace


def curve(trace: Trace) -> JSON:
    """Return a trace as plain numbers: mean regret with its 95 % band, and all final counts."""
    low, high = trace.interval(0.95)
    return {
        "rounds": trace.rounds.tolist(),
        "mean": _rounded(trace.mean_regret()),
        "low": _rounded(low),
        "high": _rounded(high),
        "final_regret": _rounded(trace.regret[:, -1]),
        "final_stops": trace.stops[:, -1].tolist(),
    }


def last_decade_slope(curve: JSON) -> float:
    """Return the slope of log regret against log t over the last decade; -inf if it is zero.

    Mean regret at the horizon over that at a tenth of it: 1 is linear, 0 is bounded.
    """
    rounds, mean = np.array(curve["rounds"]), np.array(curve["mean"])
    then = float(np.interp(rounds[-1] / 10, rounds, mean))
    now = float(mean[-1])
    if now <= 0:
        return float("-inf")
    return float(np.log10(now / then)) if then > 0 else float("inf")


def told_regret(curve: JSON) -> str:
    """Return the final regret with its 95 % band, in words."""
    mean, half = curve["mean"][-1], (curve["high"][-1] - curve["low"][-1]) / 2
    digits = 1 if mean >= 1 or mean == 0 else 3
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def described(world: Instance) -> JSON:
    """Return the truth of a world as plain numbers."""
    return {
        "error_rates": _rounded(world.error_rates),
        "cumulative_costs": _rounded(world.cascade.cumulative_costs),
        "gaps": _rounded(world.gaps),
        "best_stage": world.best_stage + 1,
        "disagreement": [_rounded(row) for row in world.disagreement],
        "dominance_ratio": _finite(world.dominance_ratio()),
        "weakly_dominant": world.is_weakly_dominant(),
        "strongly_dominant": world.is_strongly_dominant(),
    }


def _rounded(values: Any) -> list[float]:
    """Return floats without the digits that carry nothing: results.json is for reading."""
    return [float(f"{value:.10g}") for value in np.asarray(values, dtype=np.float64)]


def _finite(value: float) -> float | None:
    return float(f"{value:.10g}") if np.isfinite(value) else None
