"""What to do, how sure that is and what next: the third step of an audit, without words."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass
from enum import Enum

from stopwise.auditing.interval import Interval


class Certainty(Enum):
    """How sure the advice is."""

    PROVEN = "proven"  # it follows from the log and what is assumed
    LIKELY = "likely"  # labels, gaps at random or a model that fits say so clearly
    GUESS = "guess"


class Basis(Enum):
    """What the advice rests on."""

    LOG = "log"
    ASSUMPTIONS = "assumptions"
    GAPS = "gaps at random"  # and, as with labels, some confidence
    LABELS = "labels"
    LABELS_AND_ASSUMPTIONS = "labels and assumptions"
    BELIEF = "belief"
    HEDGED_BELIEF = "hedged belief"  # cheapest only if early tests share some errors
    BELIEF_AND_LABELS = "belief and labels"
    LAST_IS_BETTER = "last is better"  # a guess: half of what the last test changes is gained
    DISAGREEMENT = "disagreement"
    WORST_CASE = "worst case"


class Payoff(Enum):
    """Whether going on from one test to another can pay, in this log."""

    NEVER = "never"
    ALWAYS = "always"
    OPEN = "open"


class WarningKind(Enum):
    """What a reader has to know before acting on the advice."""

    OUTLIER = "outlier"  # a test, advised or not, that disagrees with all others
    RULES_DISAGREE = "rules disagree"
    FEW_CASES = "few cases"
    GAPS = "gaps"  # outputs are missing, for reasons that the log does not show
    GAPS_BY_OUTPUTS = "gaps by outputs"  # which outputs are missing depends on other outputs
    GAPS_BY_TRUTH = "gaps by truth"  # it depends on the right answer, as labels show
    MISFIT = "misfit"  # the belief model does not fit
    ODD_VALUES = "odd values"
    NO_HEADER = "no header"  # the tests are named like outputs, as if their names were a case
    CONSTANT = "constant"  # a test that gives one value only
    OWN_WORDS = "own words"  # a first test that shares no value with the others
    SAME_ANSWERS = "same answers"  # no label is of a case on which tests disagree
    SMALL_PLAN = "small plan"  # fewer cases are worth a label than were asked for


class NextStep(Enum):
    """What would make the advice surer."""

    NOTHING = "nothing"
    MORE_CASES = "more cases"
    LABEL = "label"
    LABEL_PLAN = "label the plan"
    RUN_ALL_TESTS = "run all tests"
    NO_HELP = "no help"  # stages that may be best disagree in no case without a label


@dataclass(frozen=True)
class Step:
    """Going from one test to another: what it costs, what it changes and when it pays.

    Parameters
    ----------
    start, end
        The tests.
    price
        What going on costs, in mistakes per case.
    changed
        The share of answers that it changes in this log; wide where outputs are missing. Where
        gaps are assumed to be random, it is narrower and holds with the confidence of intervals,
        unless ``payoff`` is certain without that.
    payoff
        Whether it can pay.
    rests_on_intervals
        Whether that is known only with some confidence, from labels or from gaps at random.
    break_even
        The share of changes that have to be corrections for it to pay; ``None`` for more than two
        values or with gaps, where it pays if corrections exceed other changes by ``price``.
    avoided
        The estimated number of mistakes per case that it avoids; NaN without an estimate.
    corrected
        The estimated share of changes that are corrections, where ``break_even`` is known.
    """

    start: int
    end: int
    price: float
    changed: Interval
    payoff: Payoff
    rests_on_intervals: bool
    break_even: float | None
    avoided: float
    corrected: float | None

    @property
    def gain(self) -> float:
        """What it is worth less its price, as estimated; in the best case without an estimate."""
        return (self.changed.high if math.isnan(self.avoided) else self.avoided) - self.price


def break_even(price: float, changed: float) -> float:
    """Return the share of changes that have to be corrections for a step to pay."""
    return (1 + price / changed) / 2


def corrected(avoided: float, changed: float) -> float:
    """Return the share of changes that are corrections if a step avoids these mistakes."""
    return min(max((1 + avoided / changed) / 2, 0.0), 1.0)


@dataclass(frozen=True)
class LabelOutlook:
    """The chance that some more labels settle the open question."""

    n_labels: int
    chance: float


@dataclass(frozen=True)
class PriceBand:
    """A range of prices of a mistake over which the advice is the same, and equally sure.

    ``stage`` is ``None`` where there is no estimate.
    """

    low: float
    high: float
    stage: int | None
    certainty: Certainty


@dataclass(frozen=True)
class AdviceWarning:
    """A warning: its kind, the tests and values it is about, and how many cases or what share."""

    kind: WarningKind
    tests: tuple[int, ...] = ()
    values: tuple[Hashable, ...] = ()
    share: float | None = None
    n_cases: int | None = None


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
        What it can cost more than the best choice at worst, in mistakes per case.
    steps
        Every single step of the cascade, from a test's parent to the test.
    skipped
        The most tempting way to go on from ``stage``, ``None`` where there is none.
    taken
        The most tempting test to stop at before, as the step from there to ``stage``.
    warnings
        What to know before acting on it, the gravest first.
    next_step, n_next
        What would make it surer, and how many labels or cases that takes.
    prices
        What would be advised at every price of a mistake.
    stake, outlooks
        What not knowing costs on average, in mistakes per case, and what more labels would do about
        it; see `stopwise.auditing.label_value`.
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
    prices: tuple[PriceBand, ...] = ()
    stake: float = 0.0
    outlooks: tuple[LabelOutlook, ...] = ()
