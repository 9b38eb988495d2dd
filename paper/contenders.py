"""The policies that the experiments compare, under the names that figures and tables use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.experiment import JSON, Interval, Scale
from stopwise import (
    Resolve,
    StrongDominance,
    Supervised,
    Thompson,
    WeakDominance,
)
from stopwise.cascade import Cascade, FloatArray
from stopwise.problem.instance import Instance
from stopwise.simulation import Trace, simulate
from stopwise.simulation.simulator import Environment
from stopwise.simulation.trace import half_width_of
from stopwise.theory.bounds import PowerLaw

CHECKPOINTS = 60
# "Sublinear" is judged by the slope of log regret against log t over the last decade: a straight
# line has 1, a logarithm next to 0.
SUBLINEAR = 0.5
RATE = f"sublinear: slope of log regret over the last decade below {SUBLINEAR:g}".replace("0.", ".")


@dataclass(frozen=True)
class Contender:
    """A policy that experiments play."""

    label: str  # its name in figures and tables
    style: str  # the name of the policy whose look it has
    make: Callable[[Cascade], Any]


# Algorithm 1 has two parameters that the paper leaves open: α > 2, and β(n) = a n^b with a <= 1/2.
ALPHA, BETA = 2.1, PowerLaw()
OPEN = f"Algorithm 1 with α = {ALPHA:g}, β(n) = √n / 2"
ALGORITHM_1 = Contender(
    "Algorithm 1",
    "StrongDominance",
    lambda cascade: StrongDominance(cascade, alpha=ALPHA, beta=BETA),
)
AS_PRINTED = Contender(
    "Algorithm 1 as printed",
    "StrongDominance as printed",
    lambda cascade: StrongDominance(cascade, alpha=ALPHA, beta=BETA, literal=True),
)
ALGORITHM_2 = Contender("Algorithm 2", "WeakDominance", WeakDominance)
SUPERVISED = Contender("Algorithm 2 with labels", "Supervised", Supervised)
THOMPSON = Contender("Thompson", "Thompson", lambda cascade: Thompson(cascade, seed=0))
RESOLVE = Contender("Resolve", "Resolve", Resolve)

STYLES = {
    c.label: c.style for c in (ALGORITHM_1, AS_PRINTED, ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
}


def play(
    world: Environment,
    contender: Contender,
    scale: Scale,
    *,
    horizon: int | None = None,
    checkpoints: Any = CHECKPOINTS,
) -> Trace:
    """Simulate one contender at the scale's length; Ctrl-C interrupts the whole experiment."""
    trace = simulate(
        world,
        contender.make,
        horizon=horizon or scale.horizon,
        replications=scale.replications,
        checkpoints=checkpoints,
        n_jobs=scale.n_jobs,
        progress=False,
    )
    if trace.n_replications < scale.replications:  # `simulate` returns those that are complete
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
        "tenth_regret": _rounded(_at_tenth(trace)),
        "final_regret": _rounded(trace.regret[:, -1]),
        "final_stops": trace.stops[:, -1].tolist(),
    }


def last_decade_slope(curve: JSON) -> float:
    """Return the slope of log regret against log t over the last decade; -inf if it is zero.

    Mean regret at the horizon over that at a tenth of it: 1 is linear, 0 is bounded.
    """
    rounds, mean = np.array(curve["rounds"]), np.array(curve["mean"])
    early = float(np.interp(rounds[-1] / 10, rounds, mean))
    late = float(mean[-1])
    if late <= 0:
        return float("-inf")
    return float(np.log10(late / early)) if early > 0 else float("inf")


def slope_interval(curve: JSON) -> Interval:
    """Return a 95 % interval for the slope over the last decade, by the spread of the runs.

    The delta method on log10(mean regret at T / mean regret at T/10), run by run.
    """
    early, late = np.array(curve["tenth_regret"]), np.array(curve["final_regret"])
    slope = last_decade_slope(curve)
    if not np.isfinite(slope) or early.mean() <= 0:
        return slope, slope
    half = float(half_width_of((late / late.mean() - early / early.mean())[:, None], 0.95)[0])
    return slope - half / np.log(10), slope + half / np.log(10)


def mean_interval(runs: FloatArray) -> Interval:
    """Return a 95 % interval for the mean of independent runs."""
    mean, half = float(runs.mean()), float(half_width_of(runs[:, None], 0.95)[0])
    return mean - half, mean + half


def ratio_interval(ours: FloatArray, theirs: FloatArray) -> tuple[float, Interval]:
    """Return the ratio of two means of independent runs, with a 95 % interval (delta method)."""
    ratio = float(ours.mean() / theirs.mean())
    parts = [half_width_of(x[:, None] / x.mean(), 0.95)[0] for x in (ours, theirs)]
    half = ratio * float(np.hypot(*parts))
    return ratio, (ratio - half, ratio + half)


def slopes_text(curves: Mapping[str, JSON]) -> str:
    """Return the slopes over the last decade with their intervals, by label."""
    return ", ".join(f"{label} {slope_text(c)}" for label, c in curves.items())


def slope_text(curve: JSON) -> str:
    """Return the slope over the last decade with its interval."""
    slope = last_decade_slope(curve)
    if not np.isfinite(slope):
        return "none: no regret at all"
    low, high = slope_interval(curve)
    return f"{slope:.2f} ± {(high - low) / 2:.2f}"


def regret_text(curve: JSON, digits: int | None = None) -> str:
    """Return the final regret with its 95 % band; by default small regrets have more digits."""
    mean, half = curve["mean"][-1], (curve["high"][-1] - curve["low"][-1]) / 2
    if digits is None:
        digits = 1 if mean >= 1 or mean == 0 else 3
    return f"{mean:.{digits}f} ± {half:.{digits}f}"


def stop_shares_text(curve: JSON) -> str:
    """Return the share of the cases of all runs that stopped at each stage."""
    stops = np.array(curve["final_stops"]).sum(axis=0)
    return ", ".join(f"{share:.1%}" for share in stops / stops.sum())


def truth_of(world: Instance) -> JSON:
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


def _at_tenth(trace: Trace) -> list[float]:
    """Return the regret of each run at a tenth of the horizon."""
    tenth = trace.rounds[-1] / 10
    return [float(np.interp(tenth, trace.rounds, run)) for run in trace.regret]


def _rounded(values: Any) -> list[float]:
    """Return floats without the digits that carry nothing: results.json is for reading."""
    return [float(f"{value:.10g}") for value in np.asarray(values, dtype=np.float64)]


def _finite(value: float) -> float | None:
    return float(f"{value:.10g}") if np.isfinite(value) else None
