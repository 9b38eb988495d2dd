"""What to do, how sure that is and what next: the third step of an audit, kinds and no words."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

import numpy as np

from stopwise.auditing.bounds.grounds import Ground
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.facts import Facts
from stopwise.auditing.interval import Interval
from stopwise.auditing.rules import Rule

FEW = 30  # cases to go by
FIRST_LABELS = 20
APART = 2.0  # a test is an outlier if it disagrees this many times as often as the others do
OFTEN = 0.1  # and at least this often
# How much more the next best stage must cost for a belief to be clear.
MODEL_GAP = 0.1  # where the model alone speaks for it
SUPPORTED_GAP = 0.05  # where disagreement or labels do, too
SURE_ERRORS = 3.0


class Certainty(Enum):
    """How sure an advice is."""

    PROVEN = "proven"  # it follows from the log and what is assumed
    LIKELY = "likely"  # a model that fits, or labels, say so clearly
    GUESS = "guess"


class Basis(Enum):
    """What an advice rests on."""

    LOG = "log"
    ASSUMPTIONS = "assumptions"
    LABELS = "labels"
    LABELS_AND_ASSUMPTIONS = "labels and assumptions"
    BELIEF = "belief"
    BELIEF_AND_LABELS = "belief and labels"
    DISAGREEMENT = "disagreement"
    WORST_CASE = "worst case"


class Payoff(Enum):
    """Whether going on from one test to another can pay, in this log."""

    NEVER = "never"
    ALWAYS = "always"
    OPEN = "open"


class WarningKind(Enum):
    """What a reader has to know before acting on an advice."""

    OUTLIER = "outlier"  # the advised test disagrees with all others
    RULES_DISAGREE = "rules disagree"
    FEW_CASES = "few cases"
    GAPS = "gaps"  # outputs are missing, and what that depends on cannot be seen
    GAPS_BY_OUTPUTS = "gaps by outputs"  # which outputs are missing depends on other outputs
    GAPS_BY_TRUTH = "gaps by truth"  # it depends on the right answer, as labels show
    MISFIT = "misfit"  # the belief model does not fit
    ODD_VALUES = "odd values"
    CONSTANT = "constant"  # a test that gives one value only
    SAME_ANSWERS = "same answers"  # labels, none where tests disagree


class NextStep(Enum):
    """What would make an advice surer."""

    NOTHING = "nothing"
    MORE_CASES = "more cases"
    LABEL = "label"
    LABEL_PLAN = "label the plan"
    RUN_ALL_TESTS = "run all tests"
    NO_HELP = "no help"  # no case without a label shows stages that may be best disagree


@dataclass(frozen=True)
class Step:
    """Going from one test to another: what it costs, what it changes and when it pays.

    Parameters
    ----------
    start, end
        The tests.
    price
        What going on costs more, in mistakes a case.
    changed
        The share of answers that it changes in this log; wide where outputs are missing.
    payoff
        Whether it can pay.
    break_even
        The share of changes that have to be corrections for it to pay; ``None`` for more than two
        values or with gaps, where only the difference counts: ``price`` more corrected than not.
    avoided
        The estimate of how many mistakes a case it avoids; NaN without one.
    corrected
        The estimated share of changes that are corrections, where ``break_even`` is known.
    """

    start: int
    end: int
    price: float
    changed: Interval
    payoff: Payoff
    break_even: float | None
    avoided: float
    corrected: float | None

    @property
    def gain(self) -> float:
        """What it is estimated to be worth, less its price; the best case without an estimate."""
        return (self.changed.high if math.isnan(self.avoided) else self.avoided) - self.price


@dataclass(frozen=True)
class AdviceWarning:
    """A warning: its kind, the tests and values it is about, and a number."""

    kind: WarningKind
    tests: tuple[int, ...] = ()
    values: tuple[Hashable, ...] = ()
    number: float = 0


@dataclass(frozen=True)
class Advice:
    """What to do.

    Parameters
    ----------
    stage
        The test to stop after.
    certainty, basis
        How sure that is and what it rests on.
    at_risk
        What it can cost more than the best choice at worst, in mistakes a case.
    steps
        Every single step of the cascade, from a test's parent to the test.
    skipped
        The most tempting way to go on from ``stage``, ``None`` where there is none.
    taken
        The most tempting test to stop at before, as the step from there to ``stage``.
    warnings
        What to know first, the gravest first.
    next_step, n_next
        What would make it surer, and how many labels or cases that takes.
    """

    stage: int
    certainty: Certainty
    basis: Basis
    at_risk: float
    steps: tuple[Step, ...]
    skipped: Step | None
    taken: Step | None
    warnings: tuple[AdviceWarning, ...]
    next_step: NextStep
    n_next: float = 0


def advise(facts: Facts, *, n_drawn: int = 0) -> Advice:
    """Decide what to advise; ``n_drawn`` cases of a plan are ready to be labelled."""
    stage, certainty, basis = _choice(facts)
    parents = facts.cascade.parents
    path = facts.cascade.paths[stage]
    others = [k for k in range(facts.cascade.n_stages) if k not in path]
    ways = [_step(facts, stage, k) for k in others]
    before = [_step(facts, k, stage) for k in path[:-1]]
    next_step, n_next = _next(facts, stage, certainty, n_drawn)
    return Advice(
        stage=stage,
        certainty=certainty,
        basis=basis,
        at_risk=max(float(facts.worst_regrets[stage]), 0.0),
        steps=tuple(_step(facts, i, k) for k, i in enumerate(parents) if i is not None),
        skipped=max(ways, key=lambda s: (s.payoff is not Payoff.NEVER, s.gain), default=None),
        taken=min(before, key=lambda s: (s.payoff is Payoff.ALWAYS, s.gain), default=None),
        warnings=tuple(_warnings(facts, stage, certainty)),
        next_step=next_step,
        n_next=n_next,
    )


_PROOFS = {
    Ground.LOG: (Certainty.PROVEN, Basis.LOG),
    Ground.ASSUMED: (Certainty.PROVEN, Basis.ASSUMPTIONS),
    Ground.LABELS: (Certainty.LIKELY, Basis.LABELS),
    Ground.BOTH: (Certainty.LIKELY, Basis.LABELS_AND_ASSUMPTIONS),
}


def _choice(facts: Facts) -> tuple[int, Certainty, Basis]:
    """Decide by what is proven, then by labels, then by the belief, then by disagreement alone."""
    if facts.ground is not None:
        return facts.minimax_stage, *_PROOFS[facts.ground]
    possible, total = facts.possible_stages, facts.expected_costs
    if not np.isnan(total).any():
        stage = min(possible, key=lambda k: float(total[k]))
        certainty = Certainty.LIKELY if is_clear(facts, stage) else Certainty.GUESS
        basis = Basis.BELIEF_AND_LABELS if facts.has_telling_labels else Basis.BELIEF
        return stage, certainty, basis
    sound = facts.verdict.stage
    if facts.verdict.finding is Finding.SOUND and sound is not None and sound in possible:
        return sound, Certainty.GUESS, Basis.DISAGREEMENT
    return facts.minimax_stage, Certainty.GUESS, Basis.WORST_CASE


def is_clear(facts: Facts, stage: int) -> bool:
    """Whether the belief says clearly that ``stage`` is the cheapest one.

    The model must not be refuted, and the next best stage must cost clearly more: by a share that
    is larger where nothing but the model speaks for ``stage``, and by three standard errors. The
    shares were chosen on recorded cascades; see docs/decisions.md.
    """
    belief, total = facts.belief, facts.expected_costs
    others = [k for k in facts.possible_stages if k != stage]
    if belief.is_refuted or facts.table.n_cases < FEW or not others:
        return False
    second = min(others, key=lambda k: float(total[k]))
    gap = float(total[second] - total[stage])
    if gap < SURE_ERRORS * belief.spreads[stage, second]:
        return False
    if facts.verdict.stage == stage or facts.has_telling_labels:
        return bool(gap >= SUPPORTED_GAP * total[stage])
    return bool(belief.is_testable and gap >= MODEL_GAP * total[stage])


def _step(facts: Facts, start: int, end: int) -> Step:
    table, C = facts.table, facts.cascade.cumulative_costs
    price, most = float(C[end] - C[start]), facts.largest_differences
    n, differ = table.n_cases, int(table.n_disagreed[start, end])
    n_hidden = n - int(table.n_seen[start, end])
    payoff = Payoff.OPEN
    if most[start, end] <= price + TINY:
        payoff = Payoff.NEVER
    elif price + most[end, start] <= TINY:
        payoff = Payoff.ALWAYS
    rates = facts.belief.error_rates
    avoided = float(rates[start] - rates[end])
    break_even = corrected = None
    if table.n_classes == 2 and not n_hidden and differ:
        share = differ / n
        break_even = (1 + price / share) / 2
        if not math.isnan(avoided):
            corrected = min(max((1 + avoided / share) / 2, 0.0), 1.0)
    changed = Interval(differ / n, (differ + n_hidden) / n)
    return Step(start, end, price, changed, payoff, break_even, avoided, corrected)


def _warnings(facts: Facts, stage: int, certainty: Certainty) -> list[AdviceWarning]:
    found, gaps, table = [], facts.missing, facts.table
    if certainty is not Certainty.PROVEN:
        others = _outlier(facts, stage)
        if others is not None:
            found.append(AdviceWarning(WarningKind.OUTLIER, (stage,), number=others))
        if facts.belief.is_refuted:
            found.append(AdviceWarning(WarningKind.MISFIT, facts.belief.dependent_tests))
        chosen = {c.rule: c.stage for c in facts.choices}
        rules = (Rule.WEAK_DOMINANCE, Rule.BELIEF, Rule.MINIMAX)
        stages = {chosen[r] for r in rules} - {None}
        if len(stages) > 1 and not facts.has_telling_labels:
            ordered = tuple(sorted(k for k in stages if k is not None))
            found.append(AdviceWarning(WarningKind.RULES_DISAGREE, ordered))
    if table.n_cases < FEW:
        found.append(AdviceWarning(WarningKind.FEW_CASES, number=table.n_cases))
    if gaps is not None:
        tests = {
            WarningKind.GAPS_BY_TRUTH: gaps.refuted_tests,
            WarningKind.GAPS_BY_OUTPUTS: gaps.dependent_tests,
            WarningKind.GAPS: tuple(k for k, n in enumerate(gaps.n_missing) if n),
        }
        kind = next(kind for kind, which in tests.items() if which)
        found.append(AdviceWarning(kind, tests[kind], number=gaps.n_incomplete))
    if facts.odd_values:
        found.append(AdviceWarning(WarningKind.ODD_VALUES, values=facts.odd_values))
    for k in range(table.n_stages):
        codes = set(table.codes[table.shown[:, k], k].tolist())
        if len(codes) == 1 and not table.agreement_only:
            found.append(AdviceWarning(WarningKind.CONSTANT, (k,), (table.value(*codes),)))
    if facts.labels is not None and not facts.has_telling_labels:
        found.append(AdviceWarning(WarningKind.SAME_ANSWERS, number=facts.labels.n_labels))
    return found


def _outlier(facts: Facts, stage: int) -> float | None:
    """Return how often a test disagrees with any other one at least, where that is odd."""
    p = facts.table.disagreement
    rest = [k for k in range(len(p)) if k != stage]
    if len(rest) < 2 or np.isnan(p).any():
        return None
    least = float(p[stage, rest].min())
    among = float(np.median([p[i, j] for i in rest for j in rest if i < j]))
    return least if least >= max(APART * among, OFTEN) else None


def _next(facts: Facts, stage: int, certainty: Certainty, n_drawn: int) -> tuple[NextStep, float]:
    if certainty is Certainty.PROVEN:
        verdict = facts.verdict
        near = [p for p in verdict.pairs if stage in (p.shallow, p.deep)]
        waits = any(p.settled == 0 for p in near) and verdict.stage == stage
        n_more = verdict.n_more if waits else 0
        return (NextStep.MORE_CASES, n_more) if n_more else (NextStep.NOTHING, 0)
    if n_drawn:
        return NextStep.LABEL_PLAN, n_drawn
    if certainty is Certainty.LIKELY and facts.ground is not None:
        return NextStep.NOTHING, 0
    if _gaps_decide(facts, stage):
        return NextStep.RUN_ALL_TESTS, 0
    n_telling = 0 if facts.labels is None else facts.labels.n_telling
    if facts.n_disputed <= n_telling:
        return NextStep.NO_HELP, 0
    n = FIRST_LABELS if facts.labels is None else 4 * facts.labels.n_labels
    return NextStep.LABEL, min(n, facts.n_disputed)


def _gaps_decide(facts: Facts, stage: int) -> bool:
    """Whether missing outputs leave more open than labels of the shown ones could settle."""
    if facts.missing is None:
        return False
    n = facts.table.n_cases
    seen = facts.table.n_seen[stage]
    return bool((n - seen).max() > facts.table.n_disagreed[stage].max())
