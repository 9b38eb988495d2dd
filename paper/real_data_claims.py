"""What Section 7 says of Figures 5 and 6, and what came out."""

from __future__ import annotations

import numpy as np

from paper.contenders import (
    ALGORITHM_2,
    RESOLVE,
    SUPERVISED,
    last_decade_slope,
    told_regret,
)
from paper.experiment import JSON, Claim, Docket, Result
from paper.real_data import LAMBDAS, slope_told

# Regret below this, in mistakes, is nothing to divide by.
NOTHING = 1.0


def judge(result: Result, *, regime: int, figure: str) -> list[Claim]:
    """The regime, the rate, the constant factor, and what happens outside weak dominance."""
    docket = Docket(result)
    truth, curves = result.numbers["truth"], result.numbers["curves"]
    ours, theirs = curves[ALGORITHM_2.label], curves[SUPERVISED.label]
    docket.judge(
        f"In the regime of the paper stage {regime} is best",
        truth["best_stage"] == regime and truth["weakly_dominant"],
        f"at λ = {result.parameters['lambda']:g} stage {truth['best_stage']} is, by "
        f"{min(g for g in truth['gaps'] if g > 0):.3f}, and weak dominance "
        f"{'holds' if truth['weakly_dominant'] else 'fails'}; the budget of $50, read as λ = 1/50, "
        "makes stage 1 best on both data sets",
        source="Section 7, regimes",
        at_any_scale=True,
    )
    docket.judge(
        "The regret of Algorithm 2, without labels, is sublinear",
        last_decade_slope(ours) < 0.5,
        f"{told_regret(ours)} at T = {result.parameters['horizon']:,}, slope over the last decade "
        f"{slope_told(ours)}",
        source=figure,
    )
    factor, early = _factor(ours, theirs), _factor(ours, theirs, at=0.1)
    without, with_labels = told_regret(ours), told_regret(theirs)
    compared = f"{without} without and {with_labels} with labels: {factor:.1f} times as much"
    docket.judge(
        "Without labels the regret of Algorithm 2 is within a constant factor of that with labels",
        factor < 1.5 * max(early, 1.0),
        f"{compared}, and {early:.1f} times at T / 10 (regrets below one mistake count as one)",
        source=figure,
    )
    docket.judge(
        "Without labels one learns as well as with them (at most twice the regret)",
        factor <= 2,
        f"{compared}; Resolve, without labels: {told_regret(curves[RESOLVE.label])}",
        source="Section 7, last sentence",
    )
    docket.judge(
        "The learner with labels has the lower regret",
        theirs["mean"][-1] < ours["mean"][-1],
        f"{with_labels} with and {without} without" + _if_nothing(ours, theirs),
        source=figure,
    )
    resolve = curves[RESOLVE.label]
    docket.judge(
        "Resolve does no worse than Algorithm 2",
        resolve["low"][-1] <= max(ours["high"][-1], NOTHING),
        f"{told_regret(resolve)} against {without} (regrets below one mistake count as one)",
        source="not in the paper",
    )
    _judge_outside(docket, result.numbers["sweep"])
    return docket.claims


def _judge_outside(docket: Docket, sweep: JSON) -> None:
    outside = [k for k, holds in enumerate(sweep["weakly_dominant"]) if not holds]
    wrong = [k for k in outside if sweep["limit_stage"][k] != sweep["best_stage"][k]]
    n = len(sweep["lambda"])
    n_wrong_inside = sum(
        holds and sweep["limit_stage"][k] != sweep["best_stage"][k]
        for k, holds in enumerate(sweep["weakly_dominant"])
    )
    worst = max((sweep["limit_regret"][k] for k in outside), default=0.0)
    spans = "; ".join(f"{low:.5f} to {high:.5f}" for low, high in sweep["failing"]) or "none"
    docket.judge(
        "By disagreement the best stage is found exactly where weak dominance holds",
        not n_wrong_inside and wrong == outside,
        f"weak dominance fails for λ from {spans} (of {LAMBDAS[0]:g} to {LAMBDAS[1]:g}): at "
        f"{len(wrong)} of the {len(outside)} λ of the sweep in there the rule names a wrong stage, "
        f"at up to {worst:.3f} mistakes a round; at {n_wrong_inside} of the {n - len(outside)} "
        "others",
        source="Propositions 6 and 7",
        at_any_scale=True,
    )


def _factor(ours: JSON, theirs: JSON, at: float = 1.0) -> float:
    T = ours["rounds"][-1] * at
    mine, other = (float(np.interp(T, c["rounds"], c["mean"])) for c in (ours, theirs))
    return max(mine, NOTHING) / max(other, NOTHING)


def _if_nothing(ours: JSON, theirs: JSON) -> str:
    if max(ours["mean"][-1], theirs["mean"][-1]) > NOTHING:
        return ""
    return (
        ": where the last stage is best Algorithm 2 has next to no regret, with or without labels, "
        "because it goes to the end unless it is sure. Two rising curves, as in the paper, do not "
        "come out"
    )
