"""Theorem 3: two instances that are hard to tell apart, and what that costs."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from paper.contenders import (
    ALGORITHM_1,
    ALGORITHM_2,
    OPEN,
    RESOLVE,
    THOMPSON,
    Contender,
)
from paper.drawing import draw_line, guide, legend_below, new_figure, styled
from paper.experiment import (
    JSON,
    Claim,
    Docket,
    Interval,
    Result,
    Scale,
    Table,
    above,
    all_of,
    below,
)
from paper.hard_pair import (
    KEYS,
    WORST_OVER,
    exactly,
    joined,
    lower_bound,
    worse_of_pair,
    worst_of,
    worst_of_rule,
)
from stopwise import Resolve
from stopwise.simulation.palette import INK

NAME = "nonuniform"
TITLE = "Theorem 3: is weak dominance learnable uniformly?"
ABOUT = (
    "The proof's two instances: in θ stage 1 is best by 1/4, in θ' stage 2 is best by ε, and the "
    "tests disagree in 1/4 and in 1/4 + ε of the cases. Stage 1 alone shows nothing of the "
    "difference. Left: the worse of a learner's two regrets for one ε. Middle: the same after "
    "1/ε² rounds as ε shrinks, as a share of ε n, which is what never looking costs. Right: the "
    "worst over all ε. The indifference zone is ε and, on the right, where the worst ε is not "
    "known beforehand, n^(−1/3). The rule that attains n^(2/3) plays stage 2 for n^(2/3) rounds, "
    "and on as long as p̂ > price + ½ n^(−1/3)."
)
EPSILONS = (0.2, 0.1, 0.05)
SHOWN = EPSILONS[-1]
SHRINKING = (0.2, 0.1, 0.05, 0.025, 0.0125, 0.00625)
ZONED = "Resolve with an indifference zone"
STAYING = "rule of order n^(2/3)"
# What counts as a constant share of ε n: for the learners played, and for the bound on all.
LEAST, LEAST_OF_ALL = 0.1, 0.02
BOUND = "two-point bound: no learner has less"
# Algorithm 1 decides in every round, which takes long: shorter runs are enough.
SHORT = 10


def run(scale: Scale) -> Result:
    """Play on both instances for several ε, and find the worst ε for each horizon."""
    shrinking = [e for e in SHRINKING if e**-2 <= scale.horizon]
    horizons = np.geomspace(100, scale.horizon, 7 if scale.is_full else 3).astype(int).tolist()
    worst: JSON = {c.label: worst_of(c, scale, horizons) for c in (ALGORITHM_2, THOMPSON, RESOLVE)}
    worst[ZONED] = joined(worst_of(_zoned(n ** (-1 / 3)), scale, [n]) for n in horizons)
    worst[STAYING] = worst_of_rule(horizons, scale)
    worst[BOUND] = exactly([max(lower_bound(n, e) for e in WORST_OVER) for n in horizons])
    numbers = {
        "pairs": {str(e): _pair(e, scale) for e in EPSILONS},
        "shrinking": shrinking,
        "at_turn": _at_turn(shrinking, scale),
        "horizons": horizons,
        "worst": worst,
    }
    parameters = {**scale.parameters(), "seed": 0, "epsilons": list(EPSILONS)}
    parameters["checkpoints"] = {
        "pairs": _rounds(scale.horizon),
        f"pairs, {ALGORITHM_1.label}": _rounds(scale.horizon // SHORT),
        "at_turn": "1/ε² alone",
        "worst": horizons,
        f"worst, {ZONED}": "each horizon alone",
    }
    return Result(NAME, {**parameters, "worst_over": list(WORST_OVER)}, numbers)


@styled
def figure(result: Result) -> dict[str, Any]:
    """Draw the worse of two regrets over time, after 1/ε² rounds over ε, and the worst over ε."""
    numbers = result.numbers
    sheet, axes = new_figure(1, 3, width=10.5, height=4.1)
    left, middle, right = axes
    pair = numbers["pairs"][str(SHOWN)]
    for k, (label, cell) in enumerate(pair["learners"].items()):
        draw_line(left, label, cell["rounds"], cell["worse"], zorder=9 - k)
    x = pair["bound"]["rounds"]
    guide(left, x, [SHOWN * n for n in x], "always stage 1: ε n", "--")
    guide(left, x, pair["bound"]["worse"], BOUND, "-")
    left.axvline(SHOWN**-2, color=INK, linewidth=0.8, label="n = 1/ε²")
    left.set_title(f"ε = {SHOWN:g}")
    left.set_ylabel("the worse of the two regrets (mistakes)")

    x = numbers["shrinking"]
    for k, (label, shares) in enumerate(numbers["at_turn"].items()):
        if label == BOUND:
            guide(middle, x, shares["worse"], label, "-")
        else:  # the first on top: dashes, which show what they lie on
            draw_line(middle, label, x, shares["worse"], marker="o", markersize=3, zorder=9 - k)
    guide(middle, x, [1.0 for _ in x], "always stage 1: ε n", "--")
    middle.set_title("after n = 1/ε² rounds, as ε shrinks")
    middle.set_xlabel("ε")
    middle.set_ylabel("the worse of the two regrets, over ε n")

    x = numbers["horizons"]
    for label, cell in numbers["worst"].items():
        y = cell["worse"]
        if label in (BOUND, STAYING):
            guide(right, x, y, label, "-" if label == BOUND else "-.")
        else:
            draw_line(right, label, x, y, marker="o", markersize=3)
    start = numbers["worst"][ZONED]["worse"][0] / x[0] ** (2 / 3)
    guide(right, x, [start * n ** (2 / 3) for n in x], "slope 2/3", ":")
    right.set_title("at the worst ε for each n")
    right.set_ylabel("the worse of the two regrets (mistakes)")
    for axis in axes:
        axis.set_xscale("log")
        axis.set_yscale("log")
    middle.invert_xaxis()
    for axis in (left, right):
        axis.set_xlabel("rounds n")
        axis.set_ylim(0.5, 5e4)
    legend_below(sheet, axes, columns=4)
    return {"nonuniform": sheet}


def tables(result: Result) -> list[Table]:
    """Return the worst regret over ε by horizon."""
    worst = result.numbers["worst"]
    header = ("n", *worst)
    rows = tuple(
        (f"{n:,}", *(f"{cell['worse'][k]:.1f}" for cell in worst.values()))
        for k, n in enumerate(result.numbers["horizons"])
    )
    return [Table("The worse of the two regrets, at the worst ε", header, rows)]


def check(result: Result) -> list[Claim]:
    """Linear up to 1/ε², and what happens beyond."""
    docket = Docket(result)
    numbers = result.numbers
    shares = {c: cell for c, cell in numbers["at_turn"].items() if c != BOUND}
    floor = min(numbers["at_turn"][BOUND]["worse"])
    last = f"ε = {numbers['shrinking'][0]:g} to {numbers['shrinking'][-1]:g}"
    docket.judge(
        "For every learner the worse of the two regrets is linear up to n = 1/ε²: at least a "
        "constant times ε n",
        all_of(
            [floor > LEAST_OF_ALL]
            + [above(band, LEAST) for cell in shares.values() for band in _bands(cell)]
        ),
        f"at n = 1/ε², over {last}, as a share of ε n at least: "
        + ", ".join(f"{label} {min(cell['worse']):.2f}" for label, cell in shares.items())
        + f"; any learner without labels {floor:.3f} (two-point bound, exact)",
        source="Theorem 3, proof",
        choices="learners and ε; the pair is mirrored, so that stage 1 shows nothing of it; "
        f"{OPEN}; a constant: {LEAST:g} for the learners played, {LEAST_OF_ALL:g} for the bound",
    )
    growth = {
        e: _slope(cell["rounds"], cell, decades=1)
        for e in EPSILONS
        for cell in [numbers["pairs"][str(e)]["learners"][ZONED]]
    }
    docket.judge(
        "Beyond n = 1/ε² it stays linear, so that the worst regret over all of Θ_WD is linear",
        all_of(above(interval, 0.9) for interval in growth.values()),
        "slope of log regret over the last decade: "
        + ", ".join(f"{_text(g)} for ε = {e:g}" for e, g in growth.items())
        + ", by a learner with an indifference zone of ε",
        source="Theorem 3",
        choices="Resolve with a zone as the learner, three ε; linear: slope above .9",
    )
    staying = numbers["worst"][STAYING]
    horizons = numbers["horizons"]
    slopes = {c: _slope(horizons, cell, decades=2) for c, cell in numbers["worst"].items()}
    low, scaled, high = (
        [y / n ** (2 / 3) for n, y in zip(horizons, staying[key], strict=True)]
        for key in ("low", "worse", "high")
    )
    docket.judge_ours(
        "The minimax regret over the pair is of order n^(2/3), without a logarithm",
        all_of(
            [
                0.6 < slopes[BOUND][0] < 0.73,
                below((max(low) / min(high), max(high) / min(low)), 2.0),
            ]
        ),
        f"the rule's worst regret over ε is {min(scaled):.2f} to {max(scaled):.2f} times n^(2/3) "
        f"(intervals {min(low):.2f} to {max(high):.2f}) for n = {horizons[0]:,} to "
        f"{horizons[-1]:,}; the lower bound has slope {slopes[BOUND][0]:.2f} over the last two "
        f"decades; Resolve with an indifference zone of n^(−1/3) has {_text(slopes[ZONED])}, "
        "logarithms included",
        source="docs/paper.md",
        choices="the pair of Theorem 3, eight ε; the same order: the rule within a factor of 2, "
        "the bound, which is exact, with a slope of .6 to .73",
    )
    docket.judge_ours(
        "Algorithm 2 has linear regret on θ, an instance of Θ_WD on its edge",
        above(slopes[ALGORITHM_2.label], 0.95),
        "slopes over the last two decades: "
        + ", ".join(
            f"{c} {_text(slopes[c])}" for c in (ALGORITHM_2.label, THOMPSON.label, RESOLVE.label)
        )
        + ". Where a price equals the disagreement, whoever asks for proof asks for ever",
        source="docs/paper.md",
        choices="the pair of Theorem 3, eight ε; linear: slope above .95",
    )
    return docket.claims


def _zoned(zone: float) -> Contender:
    return Contender(ZONED, ZONED, lambda cascade: Resolve(cascade, indifference=zone))


def _rounds(horizon: int) -> list[int]:
    return np.unique(np.geomspace(10, horizon, 25).astype(int)).tolist()  # type: ignore[no-any-return]


def _learners(epsilon: float) -> tuple[Contender, ...]:
    return (ALGORITHM_1, ALGORITHM_2, THOMPSON, RESOLVE, _zoned(epsilon))


def _pair(epsilon: float, scale: Scale) -> JSON:
    """Return regrets over time, of all learners for the ε that is shown, and the bound."""
    learners = {}
    for c in _learners(epsilon) if epsilon == SHOWN else (_zoned(epsilon),):
        rounds = _rounds(scale.horizon // (SHORT if c is ALGORITHM_1 else 1))
        learners[c.label] = worse_of_pair(c, epsilon, scale, rounds)
    rounds = _rounds(scale.horizon)
    bound = {"rounds": rounds, **exactly([lower_bound(n, epsilon) for n in rounds])}
    return {"learners": learners, "bound": bound}


def _at_turn(epsilons: list[float], scale: Scale) -> JSON:
    """Return the worse regret after 1/ε² rounds over ε n, for each learner and the bound."""
    shares: dict[str, list[JSON]] = {}
    for epsilon in epsilons:
        n = round(epsilon**-2)
        cells = {c.label: worse_of_pair(c, epsilon, scale, [n]) for c in _learners(epsilon)}
        cells[BOUND] = exactly([lower_bound(n, epsilon)])
        for label, cell in cells.items():
            share = {key: [cell[key][0] / (epsilon * n)] for key in KEYS}
            shares.setdefault(label, []).append(share)
    return {label: joined(cells) for label, cells in shares.items()}


def _bands(cell: JSON) -> list[Interval]:
    return list(zip(cell["low"], cell["high"], strict=True))


def _at(x: list[int], y: list[float], place: float) -> float:
    """Return y at a place by interpolation on logarithmic scales."""
    return float(np.exp(np.interp(math.log(place), np.log(x), np.log(np.maximum(y, 1e-12)))))


def _slope(x: list[int], cell: JSON, *, decades: int) -> Interval:
    """Return an interval for the slope of log regret: from one end of a band to the other."""
    start = x[-1] / 10**decades
    ends = (("low", "high"), ("high", "low"))
    low, high = (math.log10(cell[a][-1] / _at(x, cell[b], start)) / decades for a, b in ends)
    return low, high


def _text(interval: Interval) -> str:
    return f"{sum(interval) / 2:.2f} ± {(interval[1] - interval[0]) / 2:.2f}"
