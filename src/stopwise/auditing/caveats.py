"""What a reader has to know before acting on the advice: kinds and numbers, the gravest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from stopwise.auditing.advice import AdviceWarning, Certainty, WarningKind
from stopwise.auditing.bounds.identify import Ground
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.facts import Facts
from stopwise.auditing.rules import Rule

FEW = 30  # cases to go by
APART = 2.0  # a test is an outlier if it disagrees this many times as often as the others do
OFTEN = 0.1  # and at least this often


def warnings_of(facts: Facts, stage: int, certainty: Certainty) -> tuple[AdviceWarning, ...]:
    """Return the warnings that go with the advice, the gravest first."""
    needs_belief = certainty is not Certainty.PROVEN and facts.ground is not Ground.GAPS
    belief = _of_belief(facts, stage, certainty) if needs_belief else ()
    return (*belief, *_of_log(facts), *_of_labels(facts))


def _of_belief(facts: Facts, stage: int, certainty: Certainty) -> Iterator[AdviceWarning]:
    rivals = may_err_less(facts, stage, facts.possible_stages)
    table = facts.table
    enough = min(FEW, table.n_cases)  # cases that show two tests, for a share of them
    for test, share in outliers(facts, stage).items() if rivals else ():
        if table.n_seen[test].min() < enough:
            continue
        # Labels that make the advice likely have shown whether that test is alone right.
        if test == stage or certainty is Certainty.GUESS or not facts.has_telling_labels:
            yield AdviceWarning(WarningKind.OUTLIER, (test,), share=share)
    if facts.belief.is_refuted:
        yield AdviceWarning(WarningKind.MISFIT, facts.belief.dependent_tests)
    rules = {Rule.WEAK_DOMINANCE, Rule.BELIEF}
    stages = {c.stage for c in facts.choices if c.rule in rules and c.stage is not None}
    if len(stages) > 1 and not facts.has_telling_labels:
        yield AdviceWarning(WarningKind.RULES_DISAGREE, tuple(sorted(stages)))


def _of_log(facts: Facts) -> Iterator[AdviceWarning]:
    table, gaps = facts.table, facts.missing
    if table.n_cases < FEW:
        yield AdviceWarning(WarningKind.FEW_CASES, n_cases=table.n_cases)
    if gaps is not None:
        tests = {WarningKind.GAPS_BY_TRUTH: gaps.refuted_tests}
        if not any(a.gaps_are_random for a in facts.assumptions):
            tests[WarningKind.GAPS_BY_OUTPUTS] = gaps.dependent_tests
            tests[WarningKind.GAPS] = tuple(k for k, n in enumerate(gaps.n_missing) if n)
        kind = next((kind for kind, which in tests.items() if which), None)
        if kind is not None:
            yield AdviceWarning(kind, tests[kind], n_cases=gaps.n_incomplete)
    if facts.odd_values:
        yield AdviceWarning(WarningKind.ODD_VALUES, values=facts.odd_values)
    if table.agreement_only:
        return
    if set(facts.cascade.names) <= set(map(str, table.classes)):
        yield AdviceWarning(WarningKind.NO_HEADER, tuple(range(table.n_stages)))
    for k in range(table.n_stages):
        codes = set(table.codes[table.shown[:, k], k].tolist())
        if len(codes) == 1:
            yield AdviceWarning(WarningKind.CONSTANT, (k,), (table.value(*codes),))
    if facts.unshared_values:
        yield AdviceWarning(WarningKind.OWN_WORDS, (0,))


def _of_labels(facts: Facts) -> Iterator[AdviceWarning]:
    plan = facts.plan
    if facts.labels is not None and not facts.has_telling_labels:
        yield AdviceWarning(WarningKind.SAME_ANSWERS, n_cases=facts.labels.n_labels)
    if plan is not None and plan.n_labels < plan.n_asked:
        yield AdviceWarning(WarningKind.SMALL_PLAN, n_cases=plan.n_labels)


def may_err_less(facts: Facts, stage: int, others: Sequence[int]) -> list[int]:
    """Return which of the stages in ``others`` may err less often than ``stage``."""
    return [k for k in others if facts.largest_differences[stage, k] > TINY]


def outliers(facts: Facts, stage: int) -> dict[int, float]:
    """Return the tests that disagree with all others, and how often at least.

    Such a test is alone right or alone wrong, and no log without labels tells which. The first test
    counts only if it is ``stage``: that a cheap one differs from all others is to be expected.
    """
    p, least_shares = facts.estimated_disagreement, {}
    if len(p) < 3 or np.isnan(p).any():
        return {}
    for test in range(0 if stage == 0 else 1, len(p)):
        rest = [k for k in range(len(p)) if k != test]
        least = float(p[test, rest].min())
        among = float(np.median([p[i, j] for i in rest for j in rest if i < j]))
        if least >= max(APART * among, OFTEN):
            least_shares[test] = least
    return least_shares
