"""What Section 7 says of Figures 5 and 6, and what came out."""

from __future__ import annotations

import math

import numpy as np

from paper.contenders import (
    ALGORITHM_2,
    RATE,
    RESOLVE,
    SUBLINEAR,
    SUPERVISED,
    last_decade_slope,
    ratio_interval,
    regret_text,
    slope_interval,
    slope_text,
)
from paper.experiment import (
    JSON,
    Claim,
    Docket,
    Interval,
    Result,
    Verdict,
    above,
    all_of,
    any_of,
    below,
)
from paper.over_prices import failing_share
from paper.real_data import LAMBDAS, NOTHING
from stopwise.cascade import FloatArray

# The ratio to the learner with labels may grow by so much in a decade and still be called constant.
GROWTH = 1.5
AS_WELL = 2.0
_NAMES = {"pima": "PIMA", "heart": "Heart"}


def judge(result: Result, *, regime: int, figure: str) -> list[Claim]:
    """The regime, the rate, the constant factor, and what happens outside weak dominance."""
    docket, name = Docket(result), _NAMES[result.name]
    weight = f"λ = {result.parameters['lambda']:g}"
    choices = f"{weight} (the paper prints none), prices, classifiers, fold seed 0"
    truth, curves = result.numbers["truth"], result.numbers["curves"]
    ours, theirs = curves[ALGORITHM_2.label], curves[SUPERVISED.label]
    docket.judge(
        f"{name}: in the regime of the paper stage {regime} is best",
        truth["best_stage"] == regime,
        f"at {weight} stage {truth['best_stage']} is best, by "
        f"{min(g for g in truth['gaps'] if g > 0):.3f}",
        source="Section 7, regimes",
        choices=choices,
        is_exact=True,
    )
    docket.judge(
        f"{name}: weak dominance holds at the λ of the figure",
        truth["weakly_dominant"],
        f"at {weight} it {'holds' if truth['weakly_dominant'] else 'fails'}. The abstract says "
        "that it holds on real data, and names no λ",
        source="Abstract; Section 1",
        choices=choices,
        is_exact=True,
    )
    docket.judge(
        f"{name}: the regret of Algorithm 2, without labels, is sublinear",
        below(slope_interval(ours), SUBLINEAR),
        f"{regret_text(ours)} at T = {result.parameters['horizon']:,}, slope over the last decade "
        f"{slope_text(ours)}",
        source=figure,
        choices=f"{choices}; {RATE}",
    )
    without, with_labels = regret_text(ours), regret_text(theirs)
    compared = f"{without} without labels and {with_labels} with them"
    none = all_of(below(_band(cell), NOTHING) for cell in (ours, theirs))
    nothing = none is Verdict.HOLDS
    remark = _NOTHING_TO_COMPARE if nothing else ""
    growth, factor, interval = _growth(ours, theirs), *_factor(ours, theirs)
    ratio = "" if nothing else f": {factor:.2f} times as much ({_interval_text(interval)})"
    docket.judge(
        f"{name}: without labels the regret is within a constant factor of that with labels",
        any_of([none, below(growth, math.log10(GROWTH))]),
        compared
        + ratio
        + remark
        + ("" if nothing else f"; from T/10 to T the ratio grows by {_growth_text(growth)}"),
        source=figure,
        choices=f"{choices}; constant: it grows by less than {GROWTH:g} times in the last decade",
    )
    docket.judge(
        f"{name}: without labels one learns as well as with them",
        any_of([none, below(interval, AS_WELL)]),
        f"{compared}{ratio}{remark}; Resolve, without labels: "
        f"{regret_text(curves[RESOLVE.label])}" + _over_weights(result.numbers["sweep"]),
        source="Section 7, last sentence",
        choices=f"{choices}; as well: at most {AS_WELL:g} times the regret",
    )
    docket.judge(
        f"{name}: the learner with labels has the lower regret",
        Verdict.UNDECIDED if nothing else above(interval, 1.0),
        compared + remark,
        source=figure,
        choices=choices,
    )
    resolve = curves[RESOLVE.label]
    docket.judge_ours(
        f"{name}: Resolve has no more regret than Algorithm 2",
        any_of([below(_band(resolve), NOTHING), below(_factor(resolve, ours)[1], 1.0)]),
        f"{regret_text(resolve)} against {without}",
        choices=f"{choices}; less than one mistake in {result.parameters['horizon']:,} rounds is "
        "no regret",
    )
    _judge_dominance(docket, result)
    return docket.claims


_NOTHING_TO_COMPARE = (
    ": where the last stage is best Algorithm 2 goes to the end unless it is sure, with or without "
    "labels, so that there is no regret to compare. Two rising curves, as in the paper, do not "
    "come out"
)


def _judge_dominance(docket: Docket, result: Result) -> None:
    sweep = result.numbers["sweep"]
    spans = "; ".join(f"{low:.5f} to {high:.5f}" for low, high in sweep["failing"]) or "none"
    share = failing_share(sweep["failing"], LAMBDAS)
    choices = "the recorded cases taken for the truth, prices, classifiers, fold seed 0"
    docket.judge_ours(
        f"{_NAMES[result.name]}: weak dominance holds at every λ in [{LAMBDAS[0]:g}, "
        f"{LAMBDAS[1]:g}]",
        not sweep["failing"],
        f"it fails for λ from {spans}, which is {share:.0%} of ln λ in that range, and holds "
        "elsewhere",
        choices=f"range of λ, {choices}",
        is_exact=True,
    )
    outside = [k for k, holds in enumerate(sweep["weakly_dominant"]) if not holds]
    wrong = [k for k in outside if sweep["limit_stage"][k] != sweep["best_stage"][k]]
    n = len(sweep["lambda"])
    n_wrong_inside = sum(
        holds and sweep["limit_stage"][k] != sweep["best_stage"][k]
        for k, holds in enumerate(sweep["weakly_dominant"])
    )
    worst = max((sweep["limit_regret"][k] for k in outside), default=0.0)
    docket.judge(
        f"{_NAMES[result.name]}: by disagreement the best stage is found exactly where it holds",
        not n_wrong_inside and wrong == outside,
        f"where it fails the rule names a wrong stage at {len(wrong)} of {len(outside)} λ, at up "
        f"to {worst:.3f} mistakes a round; where it holds at {n_wrong_inside} of "
        f"{n - len(outside)}",
        source="Propositions 6 and 7",
        choices=f"{n} λ in [{LAMBDAS[0]:g}, {LAMBDAS[1]:g}], {choices}",
        is_exact=True,
    )


def _factor(ours: JSON, theirs: JSON) -> tuple[float, Interval]:
    return ratio_interval(_floored(ours["final_regret"]), _floored(theirs["final_regret"]))


def _band(cell: JSON) -> Interval:
    return cell["low"][-1], cell["high"][-1]


def _floored(runs: list[float]) -> FloatArray:
    return np.maximum(np.array(runs, dtype=np.float64), NOTHING)


def _growth(ours: JSON, theirs: JSON) -> Interval:
    """Return an interval for how fast the ratio grows: the difference of the two slopes."""
    one, other = slope_interval(ours), slope_interval(theirs)
    slope = last_decade_slope(ours) - last_decade_slope(theirs)
    if not math.isfinite(slope):
        return slope, slope
    half = math.hypot(one[1] - one[0], other[1] - other[0]) / 2
    return slope - half, slope + half


def _growth_text(growth: Interval) -> str:
    return f"{10 ** growth[0]:.2f} to {10 ** growth[1]:.2f} times"


def _interval_text(interval: Interval) -> str:
    return f"{interval[0]:.2f} to {interval[1]:.2f}"


def _over_weights(sweep: JSON) -> str:
    """Return the ratio over λ in words: between which λ it is at most `AS_WELL`."""
    cell = sweep["times_labels"][ALGORITHM_2.label]
    if not cell["places"]:
        return ""
    ratios = dict(zip((sweep["lambda"][k] for k in cell["places"]), cell["ratio"], strict=True))
    some = list(ratios.items())[:: max(len(ratios) // 6, 1)]
    return ". Over λ the ratio is " + ", ".join(f"{r:.1f} at {x:.2g}" for x, r in some)
