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
    return RawLog(_rows(outputs), (5, 80, 20), 100, n_planned=5)


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


def slips():
    """Two answers, one of them rarely with a stray sign, and a word that may be a gap."""
    _, _, outputs = _drawn(17, 700, (0.3, 0.2, 0.12, 0.1))
    words = WORDS[2 * outputs]
    words[5, 0] = words[9, 2] = "yes."
    words[np.arange(3, 700, 70), 1] = "None"
    words[11, 3] = "#"
    names = ("a", "b", "c", "d")
    return RawLog(_rows(words), (0.01, 0.02, 0.05, 0.01), names=names, n_planned=45)


def rarely_apart():
    """Two in a thousand cases change, and one stage costs nothing."""
    first = np.arange(2_000) % 2
    outputs = np.column_stack([first] * 3)
    outputs[:3, 1] ^= 1
    outputs[2:6, 2] ^= 1
    return RawLog(_rows(outputs), (0, 0, 0.00051), n_planned=4)


def labels_where_all_agree():
    _, labels, outputs = _drawn(18, 300, (0.2, 0.2, 0.1))
    alike = np.flatnonzero((outputs[:, :1] == outputs).all(axis=1))[:20]
    told = tuple((int(r), int(labels[r])) for r in alike)
    return RawLog(_rows(outputs), (1, 1, 1), 20, labels=told)


def labels_and_assumptions():
    """Neither what is assumed nor the labels alone show what is best, and both together do."""
    _, labels, outputs = _drawn(19, 500, (0.4, 0.1))
    told = tuple((r, int(labels[r])) for r in range(150))
    taken = (ErrsWithin("a", 1.0, 0.35),)
    return RawLog(_rows(outputs), (1, 7), 50, ("a", "b"), assumptions=taken, labels=told)


def all_disputed_labelled():
    """Every case that can tell has a label; what the gaps hide is open."""
    rng, labels, outputs = _drawn(20, 200, (0.3, 0.2, 0.2))
    gaps = (rng.random(200) < 0.6)[:, None] & np.array([False, True, True])
    apart = (outputs[:, :1] != outputs).any(axis=1) & ~gaps.any(axis=1)
    told = tuple((int(r), int(labels[r])) for r in np.flatnonzero(apart))
    return RawLog(_rows(outputs, gaps), (1, 1, 1), 40, labels=told)


def never_together():
    """No case shows the first and the last test, and a decided over b."""
    rng, _, outputs = _drawn(21, 600, (0.3, 0.2, 0.1))
    first = rng.random(600) < 0.6
    gaps = first[:, None] & np.array([False, False, True])
    gaps[~first, 0] = True
    gaps[first & (outputs[:, 0] == 0) & (rng.random(600) < 0.6), 1] = True
    return RawLog(_rows(outputs, gaps), (1, 22, 1), 40)


def routed_as_assumed():
    """The sound stage where outputs decided, taken to be by these alone."""
    log = routed()
    return RawLog(log.rows, (1, 2, 24), 40, at_random=True)


def too_few_planned():
    """A plan of two labels settles nothing."""
    _, _, outputs = _drawn(22, 200)
    return RawLog(_rows(outputs), (1, 2, 3), 30, n_planned=2)


def holes_and_labels_adjusted():
    """Gaps taken to be by chance given what is shown, and labels: filled shares count."""
    rng, labels, outputs = _drawn(23, 400, (0.4, 0.2, 0.1))
    gaps = rng.random(outputs.shape) < 0.15
    told = tuple((r, int(labels[r])) for r in range(160) if not gaps[r].all())
    return RawLog(_rows(outputs, gaps), (1, 5, 4), 60, labels=told, at_random=True)


def agree_where_seen():
    """Two tests that agree wherever both ran: no label can tell them apart."""
    rows = [(0, 0)] * 50 + [(1, 1)] * 50 + [(0, None)] * 25 + [(1, None)] * 25
    return RawLog(tuple(rows), (0.01, 0.01), names=("a", "b"), n_planned=4)


def star():
    """After the first test any of five others: many pairs, and many ways to agree."""
    _, _, outputs = _drawn(24, 300, (0.4, 0.3, 0.25, 0.2, 0.15, 0.1))
    return RawLog(
        _rows(outputs), (1, 2, 4, 7, 9, 13), 70, tuple("abcdef"), (None, 0, 0, 0, 0, 0),
        n_planned=70,
    )  # fmt: skip


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
    slips,
    rarely_apart,
    labels_where_all_agree,
    labels_and_assumptions,
    all_disputed_labelled,
    never_together,
    routed_as_assumed,
    too_few_planned,
    holes_and_labels_adjusted,
    agree_where_seen,
    star,
)
NAMES = tuple(maker.__name__ for maker in MAKERS)


@cache
def raw(name):
    return next(maker for maker in MAKERS if maker.__name__ == name)()


@cache
def report(name):
    return raw(name).audit()
