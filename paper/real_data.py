"""Figures 5 and 6: with and without labels on real data, and all of it over λ."""

from __future__ import annotations

from typing import Any

import numpy as np

from paper import drawing
from paper.contenders import (
    ALGORITHM_2,
    CHECKPOINTS,
    RESOLVE,
    SUPERVISED,
    THOMPSON,
    curve,
    play,
    ratio_interval,
    regret_text,
    slope_text,
    stop_shares_text,
    truth_of,
)
from paper.experiment import JSON, Result, Scale, Table
from paper.over_prices import dominance_line, failing_spans, limit_regret, limit_stage, priced
from paper.sensors import Sensors
from stopwise.cascade import FloatArray
from stopwise.problem.instance import Instance
from stopwise.simulation.palette import INK, WINE

PANELS = (
    "Rows are drawn with replacement. The paper prints no λ, the weight of a dollar, so the other "
    "panels show everything over λ. Top left: regret over time at one λ in the regime of the "
    "paper. Top right: regret a round; where weak dominance fails, learners that go by "
    "disagreement go wrong for ever, and the dotted line is what they tend to. Bottom left: how "
    "many times the regret with labels one has without them, where weak dominance holds and labels "
    "leave any regret. Bottom right: the dominance ratio ρ, the smallest price over disagreement "
    "from the best stage on; weak dominance is ρ ≥ 1. It is missing where the last stage is best: "
    "nothing follows it."
)
CONTENDERS = (ALGORITHM_2, SUPERVISED, THOMPSON, RESOLVE)
SWEPT = (ALGORITHM_2, SUPERVISED, RESOLVE)
LAMBDAS = (1e-4, 3e-2)
# Regret below this, in mistakes, is nothing to divide by.
NOTHING = 1.0


def measure(name: str, sensors: Sensors, scale: Scale) -> Result:
    """Play the contenders at the λ of the figure, and some of them over a range of λ."""
    turney = scale.turney_costs
    world, dollars = sensors.recording(turney=turney), sensors.cumulative_costs(turney=turney)
    parameters = {
        **scale.parameters(),
        "seed": 0,
        "fold_seed": 0,
        "checkpoints": CHECKPOINTS,
        "lambda": sensors.weight,
        "dollars": list(dollars),
        "tests": list(sensors.names),
        "rows": len(world),
    }
    numbers = {
        "truth": truth_of(world.instance),
        "curves": {c.label: curve(play(world, c, scale)) for c in CONTENDERS},
        "sweep": _sweep(world.instance, np.array(dollars), scale),
    }
    return Result(name, parameters, numbers)


def _sweep(world: Instance, dollars: FloatArray, scale: Scale) -> JSON:
    """Return regret a round over λ, what it tends to, and how it compares with labels."""
    lambdas = np.geomspace(*LAMBDAS, scale.grid).tolist()
    worlds = [priced(world, dollars, weight) for weight in lambdas]
    limits = [limit_stage(w.disagreement, w.cascade) for w in worlds]
    horizon = scale.horizon
    swept: JSON = {
        "lambda": lambdas,
        "horizon": horizon,
        "checkpoints": [horizon],
        "best_stage": [w.best_stage + 1 for w in worlds],
        "weakly_dominant": [w.is_weakly_dominant() for w in worlds],
        "limit_stage": [stage + 1 for stage in limits],
        "limit_regret": [float(w.gaps[k]) for w, k in zip(worlds, limits, strict=True)],
        "limit_line": limit_regret(world, dollars, LAMBDAS),
        "ratio_line": dominance_line(world, dollars, LAMBDAS),
        "failing": failing_spans(world, dollars, LAMBDAS),
    }
    runs = {
        contender.label: [
            play(w, contender, scale, horizon=horizon, checkpoints=1).regret[:, -1] for w in worlds
        ]
        for contender in SWEPT
    }
    for label, regrets in runs.items():
        swept[label] = [float(regret.mean()) / horizon for regret in regrets]
    holds = swept["weakly_dominant"]
    swept["times_labels"] = {
        label: _times(regrets, runs[SUPERVISED.label], holds)
        for label, regrets in runs.items()
        if label != SUPERVISED.label
    }
    return swept


def _times(ours: list[FloatArray], theirs: list[FloatArray], holds: list[bool]) -> JSON:
    """Return the regret without labels over that with labels, at the λ where both are known."""
    places = [k for k, regret in enumerate(theirs) if holds[k] and regret.mean() >= NOTHING]
    ratios = [ratio_interval(np.maximum(ours[k], NOTHING), theirs[k]) for k in places]
    return {
        "places": places,
        "ratio": [ratio for ratio, _ in ratios],
        "low": [interval[0] for _, interval in ratios],
        "high": [interval[1] for _, interval in ratios],
    }


@drawing.styled
def draw(result: Result) -> dict[str, Any]:
    """Draw regret over time at one λ, and regret, its ratio and the dominance ratio over λ."""
    sheet, axes = drawing.new_figure(2, 2, height=6.0)
    over_time, a_round, times, dominance = axes
    for label, numbers in result.numbers["curves"].items():
        drawing.draw_curve(over_time, label, numbers)
    over_time.set_xscale("log")
    over_time.set_xlabel(drawing.ROUNDS)
    over_time.set_ylabel(drawing.REGRET)
    best = result.numbers["truth"]["best_stage"]
    over_time.set_title(f"λ = {result.parameters['lambda']:g}, best: stage {best}")

    sweep = result.numbers["sweep"]
    x = np.array(sweep["lambda"])
    for label in (c.label for c in SWEPT):
        drawing.draw_line(a_round, label, x, sweep[label])
    line = sweep["limit_line"]
    label = "disagreement rule (T → ∞)"
    drawing.guide(a_round, line["lambda"], line["regret"], label, (0, (1, 1)), color=WINE, zorder=3)
    a_round.set_ylabel(drawing.REGRET_A_ROUND)
    a_round.set_title(f"over λ, after T = {sweep['horizon']:,} rounds")
    for label, cell in sweep["times_labels"].items():
        at = x[cell["places"]]
        drawing.draw_line(times, label, at, cell["ratio"])
        drawing.draw_band(times, label, at, cell["low"], cell["high"])
    drawing.guide(times, LAMBDAS, [1, 1], "as with labels")
    times.set_yscale("log")
    times.set_ylabel("regret, times that with labels")
    times.set_title("without labels against with labels")
    line = sweep["ratio_line"]
    ratio = [np.nan if value is None else value for value in line["ratio"]]
    drawing.guide(dominance, line["lambda"], ratio, "dominance ratio ρ", "-", color=INK)
    drawing.guide(dominance, LAMBDAS, [1, 1], "weak dominance: ρ ≥ 1")
    dominance.set_yscale("log")
    dominance.set_ylabel("ρ")
    dominance.set_title("weak dominance over λ")
    for axis in axes[1:]:
        for low, high in sweep["failing"]:
            drawing.shade(axis, low, high, "weak dominance fails")
        axis.axvline(result.parameters["lambda"], color=INK, linewidth=0.8, label="λ, top left")
        axis.set_xscale("log")
        axis.set_xlim(*LAMBDAS)
        axis.set_xlabel("λ (mistakes a dollar)")
    for axis in axes[:2]:
        drawing.from_zero(axis)
    drawing.legend_below(sheet, axes, columns=3)
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
            regret_text(c),
            slope_text(c),
            stop_shares_text(c),
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
