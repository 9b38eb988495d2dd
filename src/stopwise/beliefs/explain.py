"""What a belief rests on, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from stopwise.beliefs.model import LatentClasses

TOO_FEW_TESTS = "No three tests that vary and do not copy each other were seen together"
NEVER_FOLLOWED = "After outputs that many cases show, a third test was never run"
NESTED = "Each test may just as well follow from the one next to it, as early exits do"
NOT_DETERMINED = "so outputs alone do not determine error rates:"
LATER = "where two tests differ, the later one is assumed to be right."
BY_LABELS = (
    "where two tests differ, labels decide which is right and, without labels, the later one."
)
TOO_OFTEN = "They give the same wrong answer more often than the model allows."
TOO_SELDOM = "They give the same wrong answer less often than the model allows."
NOT_TRUSTED = "Without labels this belief is not to be trusted."
NOTHING_LEFT = "With errors shared on hard cases nothing is left to test the model by."
NOT_SETTLED = "Other tests that share their errors explain the table as well, with other rates."
LOOSE = "Held-out cases let the errors of a test depend on the right answer."
TIGHT = "Held-out cases do not call for more than one accuracy a test."


def explanation(model: LatentClasses) -> str:
    """Return what the model believes, what it rests on and whether the table refutes it."""
    names = model.table.cascade.names
    lines = []
    for k, rate in enumerate(model.error_rates.tolist()):
        low, high = model.error_intervals[k]
        text = "never run" if np.isnan(rate) else f"errs in {rate:.1%} ({low:.1%} to {high:.1%})"
        lines.append(f"{names[k]}: {text}")
    lines.append(_source(model))
    if not model.is_identified:
        answer = BY_LABELS if model.n_labels else LATER
        lines.append(f"{_obstacle(model)}, {NOT_DETERMINED} {answer}")
        return "\n".join(lines)
    lines.append(TIGHT if model.complexity.share > 0.5 else LOOSE)
    if model.complexity.n_levels > 1:
        hard, pair = model.hidden.levels.sum(axis=1)[1], model.complexity.pair
        who = " and ".join(names[k] for k in pair) or "Tests"
        lines.append(
            f"{who} err together on hard cases, {hard:.0%} of all; the model allows for it."
        )
    if not model.has_converged:
        lines.append("The fit did not converge.")
    lines.append(_fit(model))
    return "\n".join(lines)


def _obstacle(model: LatentClasses) -> str:
    if not model.cases.has_three_tests:
        return TOO_FEW_TESTS
    return NESTED if model.cases.third_test_follows else NEVER_FOLLOWED


def _source(model: LatentClasses) -> str:
    cases = "a law" if np.isinf(model.n_cases) else _many(model.n_cases, "case")
    labels, answers = _many(model.n_labels, "label"), _many(len(model.classes), "answer")
    return f"Fitted to {cases} and {labels}; {answers}."


def _many(n: float, noun: str) -> str:
    return f"{n:,.0f} {noun}" + "s" * (n != 1)


def _fit(model: LatentClasses) -> str:
    misfit, names = model.misfit, model.table.cascade.names
    if not model.is_settled:
        text = NOT_SETTLED
    elif misfit.is_refuted:
        pair = misfit.pairs[0]
        who = " and ".join(names[k] for k in pair.tests)
        how = TOO_OFTEN if pair.t > 0 else TOO_SELDOM
        text = f"{who} depend on each other most (t = {pair.t:.1f}). {how}"
    elif misfit.is_testable:
        return f"The table does not refute the model (p = {misfit.p_value:.2g})."
    elif model.complexity.n_levels > 1:
        text = NOTHING_LEFT
    else:
        return "This table cannot refute that they err independently."
    return text if model.n_labels else f"{text} {NOT_TRUSTED}"
