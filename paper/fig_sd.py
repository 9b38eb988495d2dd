"""Figure 3: regret of Algorithm 1 under strong dominance."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from paper import drawing
from paper.contenders import (
    ALGORITHM_1,
    ALPHA,
    BETA,
    CHECKPOINTS,
    OPEN,
    RATE,
    SUBLINEAR,
    curve,
    last_decade_slope,
    play,
    regret_text,
    slope_interval,
    slope_text,
    truth_of,
)
from paper.experiment import JSON, Claim, Docket, Result, Scale, Table, Verdict, all_of, below
from stopwise import StrongDominance
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
    "best stages and a dear third one, where nearly every round explores. Third figure: the slope "
    "in the second setting over α, which the paper leaves open; it falls as runs get longer."
)
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
# What the paper leaves open, over the second setting: α, and the exponent of β(n) = n^b / 2. A few
# runs are enough, some of them longer.
ALPHAS = (2.1, 2.5, 3.0, 4.2, 8.4)
EXPONENTS = (0.25, 0.5, 0.75)
OPEN_RUNS, OPEN_LONGER = 5, 10


def run(scale: Scale) -> Result:
    """Play Algorithm 1 in each setting."""
    cells = [_cell(rates, costs, scale) for rates, costs in SETTINGS]
    tied = _cell(*TIED, replace(scale, replications=TIED_RUNS))
    parameters = {**scale.parameters(), "seed": 0, "checkpoints": CHECKPOINTS, "alpha": ALPHA}
    parameters["beta"] = {"scale": BETA.scale, "exponent": BETA.exponent}
    return Result(NAME, parameters, {"settings": cells, "tied": tied, "open": _open(scale)})


def _cell(rates: tuple[float, ...], costs: tuple[float, ...], scale: Scale) -> JSON:
    world = nested_errors(Cascade(costs=costs), rates)
    return {
        "costs": list(costs),
        "truth": truth_of(world),
        "constant": asymptotic_constant(world.gaps, world.cascade, ALPHA),
        "curve": curve(play(world, ALGORITHM_1, scale)),
    }


def _open(scale: Scale) -> JSON:
    """Return the slope over the last decade by α at two horizons, and by the exponent of β."""
    horizons = (scale.horizon, OPEN_LONGER * scale.horizon)
    return {
        "horizons": list(horizons),
        "alpha": [[_slope(a, BETA, T, scale) for a in ALPHAS] for T in horizons],
        "exponent": [_slope(ALPHA, PowerLaw(exponent=b), horizons[0], scale) for b in EXPONENTS],
    }


def _slope(alpha: float, beta: PowerLaw, horizon: int, scale: Scale) -> JSON:
    rates, costs = SETTINGS[1]
    learner = replace(
        ALGORITHM_1, make=lambda cascade: StrongDominance(cascade, alpha=alpha, beta=beta)
    )
    world = nested_errors(Cascade(costs=costs), rates)
    few = replace(scale, replications=OPEN_RUNS)
    regret = curve(play(world, learner, few, horizon=horizon, checkpoints=[horizon // 10, horizon]))
    low, high = slope_interval(regret)
    return {"slope": last_decade_slope(regret), "low": low, "high": high}


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
    return {"fig-sd": sheet, "fig-sd-tied": tied, "fig-sd-open": _draw_open(result)}


def _draw_open(result: Result) -> Any:
    sheet, (axis,) = drawing.new_figure(width=4.6, height=3.2)
    numbers, label = result.numbers["open"], ALGORITHM_1.label
    for T, cells, dashes in zip(numbers["horizons"], numbers["alpha"], ("-", "--"), strict=True):
        slopes, low, high = ([cell[key] for cell in cells] for key in ("slope", "low", "high"))
        drawing.draw_line(
            axis, label, ALPHAS, slopes, linestyle=dashes, label=f"{label}, T = {T:,}"
        )
        drawing.draw_band(axis, label, ALPHAS, low, high)
    drawing.guide(axis, ALPHAS, [SUBLINEAR for _ in ALPHAS], "sublinear: below .5")
    axis.set_xlabel("α")
    axis.set_ylabel("slope over the last decade")
    axis.set_title(_title(result.numbers["settings"][1]))
    drawing.from_zero(axis)
    drawing.legend_below(sheet, [axis], columns=1)
    return sheet


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
        + ", ".join(slope_text(cell["curve"]) for cell in cells)
        + _over_open(result.numbers["open"]),
        source="Section 7, Figure 3",
        choices=f"four settings; {OPEN}: with a larger α the same T is too short; {RATE}",
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
        choices=f"{OPEN}; judged at T; where the limit is 0, regret per ln t has to fall over the "
        "last decade",
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
        choices=f"costs and error rates chosen to show it; {OPEN}: with β(n) = n^b / 2 the forced "
        "part grows like t^b; a logarithm: slope below .25",
    )
    return docket.claims


def _over_open(numbers: JSON) -> str:
    """Return in words how the slope depends on what the paper leaves open."""
    by_alpha = [
        f"T = {T:,} "
        + ", ".join(f"{cell['slope']:.2f} at {a:g}" for a, cell in zip(ALPHAS, cells, strict=True))
        for T, cells in zip(numbers["horizons"], numbers["alpha"], strict=True)
    ]
    exponents = zip(EXPONENTS, numbers["exponent"], strict=True)
    by_exponent = ", ".join(f"{cell['slope']:.2f} with b = {b:g}" for b, cell in exponents)
    return (
        f". In the second setting by α: {'; '.join(by_alpha)}; by the exponent of "
        f"β(n) = n^b / 2: {by_exponent}"
    )


def _within_corollary(cell: JSON, T: int) -> Verdict:
    numbers = cell["curve"]
    if cell["constant"] > 0:
        return below((numbers["low"][-1], numbers["high"][-1]), cell["constant"] * math.log(T))
    # Regret per ln t falls where regret itself grows more slowly than ln t.
    return below(slope_interval(numbers), math.log10(math.log(T) / math.log(T / 10)))


def _title(cell: JSON) -> str:
    rates = ", ".join(f"{g:.3g}".lstrip("0") for g in cell["truth"]["error_rates"])
    costs = ", ".join(f"{c:.3g}".lstrip("0") or "0" for c in cell["costs"])
    return f"γ = {rates};  c = {costs};  best: stage {cell['truth']['best_stage']}"
