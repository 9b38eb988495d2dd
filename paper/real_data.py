"""Figures 5 and 6: with and without labels on real data, and where weak dominance fails."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper.contenders import (
    ALGORITHM_2,
    CHECKPOINTS,
    RESOLVE,
    SUPERVISED,
    THOMPSON,
    curve,
    described,
    last_decade_slope,
    play,
    told_regret,
)
from paper.drawing import (
    REGRET,
    REGRET_A_ROUND,
    ROUNDS,
    draw_curve,
    draw_line,
    from_zero,
    guide,
    legend_below,
    new_figure,
    shade,
    styled,
)
from paper.experiment import JSON, Result, Scale, Table
from paper.over_prices import failing_spans, limit_regret, limit_stage, priced
from paper.sensors import LAMBDA, Sensors
from stopwise.cascade import FloatArray
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import INK, WINE

PANELS = (
    "Rows are drawn with replacement. Left: regret over time at λ = .001, in the regime of the "
    "paper, which prints no λ. Right: regret a round over λ, the weight of a dollar. Where weak "
    "dominance fails, learners that go by disagreement go wrong for ever: the dotted line is what "
    "they tend to. Right of that range they are right in the end, and where they are still above "
    "the dotted line T rounds were not enough."
)
CONTENDERS = (ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
SWEPT = (ALGORITHM_2, SUPERVISED, RESOLVE)
LAMBDAS = (1e-4, 3e-2)


def measure(name: str, sensors: Sensors, scale: Scale) -> Result:
    """Play the contenders at λ = .001, and some of them over a range of λ."""
    turney = scale.turney_costs
    world, dollars = sensors.recording(turney=turney), sensors.cumulative_costs(turney=turney)
    parameters = {
        **scale.described(),
        "seed": 0,
        "fold_seed": 0,
        "checkpoints": CHECKPOINTS,
        "lambda": LAMBDA,
        "dollars": list(dollars),
        "tests": list(sensors.names),
        "rows": len(world),
    }
    numbers = {
        "truth": described(world.instance),
        "curves": {c.label: curve(play(world, c, scale)) for c in CONTENDERS},
        "sweep": _swept(world.instance, np.array(dollars), scale),
    }
    return Result(name, parameters, numbers)


def _swept(world: Instance, dollars: FloatArray, scale: Scale) -> JSON:
    """Return regret a round over λ after a tenth of the rounds, and what it tends to."""
    lambdas = np.geomspace(*LAMBDAS, scale.grid).tolist()
    worlds = [priced(world, dollars, weight) for weight in lambdas]
    limits = [limit_stage(w.disagreement, w.cascade) for w in worlds]
    horizon = scale.horizon // 10
    swept: JSON = {
        "lambda": lambdas,
        "horizon": horizon,
        "checkpoints": [horizon],
        "best_stage": [w.best_stage + 1 for w in worlds],
        "weakly_dominant": [w.is_weakly_dominant() for w in worlds],
        "limit_stage": [stage + 1 for stage in limits],
        "limit_regret": [float(w.gaps[k]) for w, k in zip(worlds, limits, strict=True)],
        "limit_line": limit_regret(world, dollars, LAMBDAS),
        "failing": failing_spans(world, dollars, LAMBDAS),
    }
    for contender in SWEPT:
        traces = [play(w, contender, scale, horizon=horizon, checkpoints=1) for w in worlds]
        swept[contender.label] = [float(t.mean_regret()[-1]) / horizon for t in traces]
    return swept


@styled
def draw(result: Result) -> dict[str, Any]:
    """Draw regret over time at λ = .001, and regret a round over λ."""
    sheet, (left, right) = new_figure(1, 2, height=3.7)
    for label, numbers in result.numbers["curves"].items():
        draw_curve(left, label, numbers)
    left.set_xscale("log")
    left.set_xlabel(ROUNDS)
    left.set_ylabel(REGRET)
    best = result.numbers["truth"]["best_stage"]
    shown = f"{result.parameters['lambda']:g}".lstrip("0")
    left.set_title(f"λ = {shown}, best: stage {best}")

    sweep = result.numbers["sweep"]
    for label in (c.label for c in SWEPT):
        draw_line(right, label, sweep["lambda"], sweep[label])
    line = sweep["limit_line"]
    named = "disagreement rule (T → ∞)"
    guide(right, line["lambda"], line["regret"], named, (0, (1, 1)), color=WINE, zorder=3)
    for low, high in sweep["failing"]:
        shade(right, low, high, "weak dominance fails")
    right.axvline(result.parameters["lambda"], color=INK, linewidth=0.8, label="λ of the left")
    right.set_xscale("log")
    right.set_xlim(*LAMBDAS)
    right.set_xlabel("λ (mistakes a dollar)")
    right.set_ylabel(REGRET_A_ROUND)
    right.set_title(f"over λ, after T = {sweep['horizon']:,} rounds")
    for axis in (left, right):
        from_zero(axis)
    legend_below(sheet, [left, right], columns=3)
    return {result.name: sheet}


def tabulate(result: Result) -> list[Table]:
    """Return the truth, and the regret of each contender."""
    truth, p = result.numbers["truth"], result.numbers["truth"]["disagreement"]
    stages = tuple(
        (f"{k + 1}: {name}", f"${dollars:g}", f"{rate:.3f}", f"{gap:.3f}")
        for k, (name, dollars, rate, gap) in enumerate(
            zip(
                result.parameters["tests"],
                result.parameters["dollars"],
                truth["error_rates"],
                truth["gaps"],
                strict=True,
            )
        )
    )
    pairs = f"p₁₂ = {p[0][1]:.3f}, p₁₃ = {p[0][2]:.3f}, p₂₃ = {p[1][2]:.3f}"
    rows = tuple(
        (
            label,
            told_regret(c),
            slope_told(c),
            ", ".join(f"{share:.1%}" for share in _shares(c)),
        )
        for label, c in result.numbers["curves"].items()
    )
    T = result.parameters["horizon"]
    return [
        Table(
            f"The cascade at λ = {result.parameters['lambda']:g}; {pairs}",
            ("stage", "cumulative price", "error rate", "gap"),
            stages,
        ),
        Table(
            f"After T = {T:,} rounds, {result.parameters['replications']} runs",
            ("learner", "regret", "slope over the last decade", "stopped at stage 1, 2, 3"),
            rows,
        ),
    ]


def _shares(numbers: JSON) -> list[float]:
    stops = np.array(numbers["final_stops"]).sum(axis=0)
    return [float(share) for share in stops / stops.sum()]


def slope_told(numbers: JSON) -> str:
    """Return the slope over the last decade in words."""
    slope = last_decade_slope(numbers)
    return f"{slope:.2f}" if np.isfinite(slope) else "none: no regret at all"
