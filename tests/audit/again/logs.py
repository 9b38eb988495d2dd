"""Small logs with every row in sight, each audited once, for tests that count by hand."""

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd

import stopwise as sw
from stopwise.audit import ErrsWithin, Ordered, Prevalence
from tests.audit.worlds import draw

WORDS = np.array(["no", "perhaps", "yes"], dtype=object)


@dataclass(frozen=True, eq=False)
class RawLog:
    """Rows of outputs, None where one is missing, and all that an audit of them was told."""

    rows: tuple
    costs: tuple
    mistake_cost: float = 1
    names: tuple = ("a", "b", "c")
    parents: tuple | None = None
    assumptions: tuple = ()
    never_right: tuple = ()
    unseen: bool = False
    at_random: bool = False
    labels: tuple = ()  # (number of the row, label)
    planned_labels: bool = False  # the labels are those of a plan
    n_planned: int = 0
    confidence: float = 0.95

    def frame(self):
        return pd.DataFrame(list(self.rows), columns=list(self.names), dtype=object)

    def label_frame(self):
        if not self.labels:
            return None
        told = (
            self.frame().iloc[[r for r, _ in self.labels]].assign(label=[y for _, y in self.labels])
        )
        return told.assign(agreement="these against those") if self.planned_labels else told

    def audit(self):
        return sw.audit(
            self.frame(),
            sw.Cascade(self.costs, self.mistake_cost, self.names, self.parents),
            assumptions=self.assumptions,
            never_right=self.never_right,
            unseen_label=self.unseen,
            missing_at_random=self.at_random,
            labels=self.label_frame(),
            n_planned=self.n_planned,
            confidence=self.confidence,
        )


def _rows(outputs, missing=None):
    shown = outputs.astype(object)
    if missing is not None:
        shown[missing] = None
    return tuple(map(tuple, shown.tolist()))


def _drawn(seed, n_cases, rates=(0.35, 0.2, 0.1), n_classes=2):
    rng = np.random.default_rng(seed)
    return (rng, *draw(rng, n_cases, rates, n_classes=n_classes))


def two_classes():
    _, _, outputs = _drawn(0, 600)
    return RawLog(
        _rows(outputs), (6, 16, 24), 200, assumptions=(Ordered(),), n_planned=40, confidence=0.9
    )


def three_words():
    """Three values, one of which is no answer, and a value that no test gives."""
    _, _, outputs = _drawn(1, 500, (0.4, 0.3, 0.1), 3)
    return RawLog(
        _rows(WORDS[outputs]),
        (2, 5, 11),
        50,
        assumptions=(ErrsWithin("c", 0.5, 0.38), Prevalence("yes", 0.2, 0.32)),
        never_right=("perhaps",),
        unseen=True,
        n_planned=25,
    )


def labels_against_assumptions():
    """Three labels speak for the last test, which what is assumed rules out."""
    _, _, outputs = _drawn(15, 400, (0.3, 0.3, 0.3))
    alone = (outputs[:, 0] == outputs[:, 1]) & (outputs[:, 0] != outputs[:, 2])
    return RawLog(
        _rows(outputs),
        (0.01, 0.01, 0.01),
        assumptions=(ErrsWithin("a", 0.3), ErrsWithin("c", 1.0, 0.35)),
        labels=tuple((int(r), int(outputs[r, 2])) for r in np.flatnonzero(alone)[:3]),
    )


def another_answer():
    """The right answer may be one that no test gives, and the last test is known to be bad."""
    _, _, outputs = _drawn(14, 300)
    return RawLog(
        _rows(outputs), (1, 2, 3), 30, assumptions=(ErrsWithin("c", 1.0, 0.9),), unseen=True
    )


def words_and_labels():
    """Three values, labels that a plan asked for, pooled over patterns that agree alike."""
    _, labels, outputs = _drawn(2, 700, (0.45, 0.3, 0.15), 3)
    differ = np.flatnonzero((outputs[:, :1] != outputs).any(axis=1))[::4][:90]
    told = tuple((int(r), WORDS[labels[r]]) for r in differ)
    return RawLog(_rows(WORDS[outputs]), (1, 4, 9), 60, labels=told, planned_labels=True)


def abstentions_and_labels():
    """One value is no answer, and labels show only some of the patterns."""
    _, labels, outputs = _drawn(12, 300, (0.4, 0.3, 0.2))
    words = WORDS[2 * outputs]
    words[np.arange(0, 300, 5), np.arange(0, 300, 5) % 3] = "perhaps"
    told = tuple((r, WORDS[2 * labels[r]]) for r in range(0, 300, 7))
    return RawLog(_rows(words), (1, 6, 9), 60, never_right=("perhaps",), labels=told, n_planned=9)


def stopped_by_chance():
    """Somebody stopped by a coin, in some cases before the first test; more cases would settle."""
    rng, _, outputs = _drawn(3, 900, (0.3, 0.2, 0.12))
    coin = rng.random(len(outputs))
    gaps = coin[:, None] < np.array([0.02, 0.3, 0.5])
    return RawLog(_rows(outputs, gaps), (0.02, 0.02, 0.28))


def routed():
    """Who got 0 from the first test was often sent home, and b decided over c."""
    rng, _, outputs = _drawn(5, 800, (0.3, 0.2, 0.12))
    gaps = np.zeros(outputs.shape, dtype=bool)
    gaps[(outputs[:, 0] == 0) & (rng.random(len(outputs)) < 0.4), 1:] = True
    gaps[(outputs[:, 1] == 1) & (rng.random(len(outputs)) < 0.3), 2] = True
    return RawLog(_rows(outputs, gaps), (1, 2, 6), 40, n_planned=30)


def routed_and_adjusted():
    """What the gaps of b hide decides whether it pays: no number of such cases settles that."""
    log = routed()
    return RawLog(log.rows, (1, 16, 6), 40, at_random=True, assumptions=(Ordered(),))


def routed_but_dear():
    """The later tests cost more than they could change, but chance is not yet excluded."""
    log = routed()
    return RawLog(log.rows, (1, 22.5, 12), 40)


def nearly_by_chance():
    """Of 200 cases with 0 from the first test 80 lack the second, of as many with 1 only 60."""
    rows = [(0, 0)] * 90 + [(0, 1)] * 30 + [(0, None)] * 80
    rows += [(1, 1)] * 100 + [(1, 0)] * 40 + [(1, None)] * 60
    return RawLog(tuple(rows), (1, 8), 40, ("a", "b"))


def sent_home():
    """Who got 0 from the first test got no other, which nothing tells; c failed now and then."""
    rng, _, outputs = _drawn(4, 500, (0.35, 0.2, 0.1))
    gaps = (outputs[:, :1] == 0) & np.array([False, True, True])
    gaps[rng.random(500) < 0.2, 2] = True
    return RawLog(_rows(outputs, gaps), (1, 2, 6), 40, at_random=True)


def holes():
    """Four tests that fail here and there."""
    rng, _, outputs = _drawn(13, 500, (0.35, 0.3, 0.25, 0.1))
    gaps = rng.random(outputs.shape) < 0.1
    return RawLog(_rows(outputs, gaps), (1, 3, 4, 5), 50, ("a", "b", "c", "d"))


def holes_and_labels():
    """Tests fail here and there, so some gaps nothing fills; some cases are labelled."""
    rng, labels, outputs = _drawn(6, 260, (0.3, 0.25, 0.1), 3)
    gaps = rng.random(outputs.shape) < 0.15
    gaps[0] = True
    told = tuple((r, int(labels[r])) for r in range(1, 60))
    return RawLog(_rows(outputs, gaps), (0.01, 0.1, 0.12), labels=told, n_planned=12, unseen=True)


def settled_by_labels():
    rng, labels, outputs = _drawn(7, 1_200, (0.4, 0.1))
    told = tuple((r, int(labels[r])) for r in rng.permutation(1_200)[:900].tolist())
    return RawLog(_rows(outputs), (0, 0.02), names=("a", "b"), labels=told)


def labels_ahead_of_disagreement():
    """Labels show that the first test is best; whether prices cover disagreement is open."""
    _, labels, outputs = _drawn(16, 600, (0.1, 0.3))
    told = tuple((r, int(labels[r])) for r in range(400))
    return RawLog(_rows(outputs), (1, 34), 100, ("a", "b"), labels=told)


def labels_against_disagreement():
    """The last test looks sound and is worst: labels show it, and for b chance is still open."""
    rng, labels, outputs = _drawn(11, 1_500, (0.1, 0.3, 0.5))
    told = tuple((r, int(labels[r])) for r in rng.permutation(1_500)[:1_000].tolist())
    return RawLog(_rows(outputs), (1, 34, 2), 100, labels=told)


def nothing_to_know():
    """The later tests cost more than all they change: no label is needed."""
    _, _, outputs = _drawn(8, 1_500, (0.1, 0.1, 0.05))
    return RawLog(_rows(outputs), (5, 80, 20), 100)


def little_to_know():
    """The same with so few cases that chance could have done it."""
    _, _, outputs = _drawn(8, 40, (0.1, 0.1, 0.05))
    return RawLog(_rows(outputs), (5, 40, 20), 100)


def no_stage(n_cases=3_000):
    """From a to b pays and from b to c, but c mostly takes back what b changed: none is sound."""
    rng = np.random.default_rng(9)
    first, noise = rng.integers(0, 2, n_cases), rng.random((2, n_cases))
    middle = np.where(noise[0] < 0.3, 1 - first, first)
    last = np.where(noise[1] < 0.1, 1 - first, first)
    return RawLog(_rows(np.column_stack([first, middle, last])), (1, 20, 19), 100)


def no_stage_yet():
    """The same with too few cases to be sure."""
    return no_stage(120)


def tree():
    """After the first test either b and then d, or c."""
    _, _, outputs = _drawn(10, 400, (0.4, 0.2, 0.15, 0.1))
    return RawLog(
        _rows(outputs),
        (1, 8, 6, 30),
        100,
        ("a", "b", "c", "d"),
        (None, 0, 0, 1),
        (Ordered(), Prevalence(1, 0.7, 0.95)),
    )


MAKERS = (
    two_classes,
    three_words,
    labels_against_assumptions,
    another_answer,
    words_and_labels,
    abstentions_and_labels,
    stopped_by_chance,
    routed,
    routed_and_adjusted,
    routed_but_dear,
    nearly_by_chance,
    sent_home,
    holes,
    holes_and_labels,
    settled_by_labels,
    labels_ahead_of_disagreement,
    labels_against_disagreement,
    nothing_to_know,
    little_to_know,
    no_stage,
    no_stage_yet,
    tree,
)
NAMES = tuple(maker.__name__ for maker in MAKERS)


@cache
def raw(name):
    return next(maker for maker in MAKERS if maker.__name__ == name)()


@cache
def report(name):
    return raw(name).audit()
