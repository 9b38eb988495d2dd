"""Figure 3: regret of Algorithm 1 under strong dominance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from paper import drawing
from paper.contenders import (
    ALGORITHM_1,
    CHECKPOINTS,
    RATE,
    SUBLINEAR,
    curve,
    play,
    regret_text,
    slope_interval,
    slope_text,
    truth_of,
)
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, Verdict, all_of, below
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors
from stopwise.simulation.palette import INK
from stopwise.theory.bounds import PowerLaw, asymptotic_constant

NAME = "fig-sd"
TITLE = "Figure 3: Algorithm 1 under strong dominance"
ABOUT = (
    "Cumulative regret of Algorithm 1 on synthetic cascades in which a right answer stays right. "
    "Dotted: what Corollary 5 allows in the limit, 4α · min⟨u, Δ⟩ · ln t. Where the last stage is "
    "best this is 0: playing it shows everything, so exploring costs nothing. Second figure: two "
    "best stages and a dear third one, where nearly every round explores."
)
ALPHA, BETA = 2.1, PowerLaw()
LIMIT = "Corollary 5: limit per ln t, times ln t"
# Error rates and costs: each stage is best once, and the rates are not always the paper's.
SETTINGS = (
    ((0.4, 0.1, 0.05), (0.0, 0.1, 0.1)),
    ((0.4, 0.1, 0.05), (0.0, 0.35, 0.1)),
    ((0.45, 0.3, 0.1), (0.0, 0.05, 0.05)),
    ((0.3, 0.2, 0.15), (0.0, 0.3, 0.1)),
)
# Two best stages: test 2 costs what it gains, p_12 = 1/√12, a share that no estimate ever equals.
# Test 3 is dear. Runs differ in nothing that matters, so a few are enough.
TIED = ((0.4, 0.4 - 12**-0.5, 0.05), (0.0, 12**-0.5, 5.0))
TIED_RUNS = 2
TIED_SLOPE = 0.25


def run(scale: Scale) -> Result:
    """Play Algorithm 1 in each setting."""
    cells = [_cell(rates, costs, scale) for rates, costs in SETTINGS]
    tied = _cell(*TIED, replace(scale, replications=TIED_RUNS))
    parameters = {**scale.parameters(), "seed": 0, "checkpoints": CHECKPOINTS, "alpha": ALPHA}
    parameters["beta"] = {"scale": BETA.scale, "exponent": BETA.exponent}
    return Result(NAME, parameters, {"settings": cells, "tied": tied})


def _cell(rates: tuple[float, ...], costs: tuple[float, ...], scale: Scale) -> JSON:
    world = nested_errors(Cascade(costs=costs), rates)
    return {
        "costs": list(costs),
        "truth": truth_of(world),
        "constant": asymptotic_constant(world.gaps, world.cascade, ALPHA),
        "curve": curve(play(world, ALGORITHM_1, scale)),
    }


@drawing.styled
def figure(result: Result) -> dict[str, Any]:
    """Draw one panel a setting."""
    sheet, axes = drawing.new_figure(2, 2, height=5.2, sharex=True)
    for axis, cell in zip(axes, result.numbers["settings"], strict=True):
        _draw(axis, cell)
        axis.set_title(_title(cell))
        drawing.from_zero(axis)
    for axis in axes[2:]:
        axis.set_xlabel(drawing.ROUNDS)
    for axis in axes[::2]:
        axis.set_ylabel(drawing.REGRET)
    drawing.legend_below(sheet, axes)
    tied, (axis,) = drawing.new_figure(width=4.6, height=3.2)
    _draw(axis, result.numbers["tied"])
    axis.set_yscale("log")
    axis.set_xlim(left=10)
    axis.set_xlabel(drawing.ROUNDS)
    axis.set_ylabel(drawing.REGRET)
    axis.set_title("two best stages; Δ = (0, 0, 4.94)")
    drawing.legend_below(tied, [axis], columns=1)
    return {"fig-sd": sheet, "fig-sd-tied": tied}


def _draw(axis: Any, cell: JSON) -> None:
    numbers = cell["curve"]
    drawing.draw_curve(axis, ALGORITHM_1.label, numbers, linestyle="-")
    times = [t for t in numbers["rounds"] if t > 1]
    drawing.guide(
        axis, times, [cell["constant"] * math.log(t) for t in times], LIMIT, ":", color=INK
    )
    if cell["constant"] == 0:
        axis.annotate("limit 0", (times[-1], 0), (0, 4), textcoords="offset points",
                      color=INK, fontsize=8, ha="right")  # fmt: skip
    axis.set_xscale("log")


def tables(result: Result) -> list[Table]:
    """Return regret and slope of each setting."""
    header = (
        "γ; costs; best stage",
        "regret at T",
        "slope over the last decade",
        "4α min⟨u, Δ⟩ ln T",
    )
    T = result.parameters["horizon"]
    rows = tuple(
        (
            _title(cell),
            regret_text(cell["curve"]),
            slope_text(cell["curve"]),
            f"{cell['constant'] * math.log(T):.0f}",
        )
        for cell in (*result.numbers["settings"], result.numbers["tied"])
    )
    return [
        Table(
            f"Algorithm 1 after T = {T:,} rounds, {result.parameters['replications']} runs",
            header,
            rows,
        )
    ]


def check(result: Result) -> list[Claim]:
    """Sublinear in every setting, and below the line of the corollary."""
    docket = Docket(result)
    cells = result.numbers["settings"]
    docket.judge(
        "Under strong dominance Algorithm 1 has sublinear regret, whatever costs and error rates",
        all_of(below(slope_interval(cell["curve"]), SUBLINEAR) for cell in cells),
        "slope of log regret against log t over the last decade (1 is linear): "
        + ", ".join(slope_text(cell["curve"]) for cell in cells),
        source="Section 7, Figure 3",
        choices=f"four settings, α = {ALPHA:g}, β(n) = √n / 2; {RATE}",
    )
    T = result.parameters["horizon"]
    docket.judge(
        "With one best stage regret per ln T is at most 4α min⟨u, Δ⟩ in the limit",
        all_of(_within_corollary(cell, T) for cell in cells),
        f"regret at T = {T:,} against 4α min⟨u, Δ⟩ ln T: "
        + "; ".join(
            f"{regret_text(cell['curve'])} against {cell['constant'] * math.log(T):.0f}"
            for cell in cells
        )
        + ". The corollary is about the limit, which T rounds can neither prove nor refute",
        source="Corollary 5",
        choices="judged at T; where the limit is 0, regret per ln t has to fall over the last "
        "decade",
    )
    tied = result.numbers["tied"]
    docket.judge(
        "With two best stages, where u* is unique too, regret per ln T has the same limit",
        below(slope_interval(tied["curve"]), TIED_SLOPE),
        f"regret {regret_text(tied['curve'])} at T = {T:,} against "
        f"{tied['constant'] * math.log(T):.1f}, slope {slope_text(tied['curve'])}: no gap between "
        "the best two is ever known, so nearly every round explores, and the forced part, "
        "β(t) / K looks at the dear test, grows like √t",
        source="Corollary 5",
        choices="costs and error rates chosen to show it; a logarithm: slope below .25",
    )
    return docket.claims


def _within_corollary(cell: JSON, T: int) -> Verdict | bool:
    numbers = cell["curve"]
    if cell["constant"] > 0:
        return below((numbers["low"][-1], numbers["high"][-1]), cell["constant"] * math.log(T))
    early = float(np.interp(T / 10, numbers["rounds"], numbers["mean"]))
    return bool(numbers["mean"][-1] / math.log(T) <= early / math.log(T / 10))


def _title(cell: JSON) -> str:
    rates = ", ".join(f"{g:.3g}".lstrip("0") for g in cell["truth"]["error_rates"])
    costs = ", ".join(f"{c:.3g}".lstrip("0") or "0" for c in cell["costs"])
    return f"γ = {rates};  c = {costs};  best: stage {cell['truth']['best_stage']}"
