"""Logs in which every test ran and nobody knows what is right."""

import numpy as np

from stopwise.auditing import ErrsWithin, Ordered, Prevalence
from tests.auditing.again.raw_log import WORDS, RawLog, drawn, rows_of


def two_classes():
    _, _, outputs = drawn(0, 600)
    return RawLog(
        rows_of(outputs), (6, 16, 24), 200, assumptions=(Ordered(),), n_planned=40, confidence=0.9
    )


def three_words():
    """Three values, one of which is no answer, and a value that no test gives."""
    _, _, outputs = drawn(1, 500, (0.4, 0.3, 0.1), 3)
    return RawLog(
        rows_of(WORDS[outputs]),
        (2, 5, 11),
        50,
        assumptions=(ErrsWithin("c", 0.5, 0.38), Prevalence("yes", 0.2, 0.32)),
        never_right=("perhaps",),
        unseen=True,
        n_planned=25,
    )


def another_answer():
    """The right answer may be one that no test gives, and the last test is known to be bad."""
    _, _, outputs = drawn(14, 300)
    return RawLog(
        rows_of(outputs), (1, 2, 3), 30, assumptions=(ErrsWithin("c", 1.0, 0.9),), unseen=True
    )


def nothing_to_know():
    """The later tests cost more than all they change: no label is needed."""
    _, _, outputs = drawn(8, 1_500, (0.1, 0.1, 0.05))
    return RawLog(rows_of(outputs), (5, 80, 20), 100, n_planned=5)


def little_to_know():
    """The same with so few cases that chance could have done it."""
    _, _, outputs = drawn(8, 40, (0.1, 0.1, 0.05))
    return RawLog(rows_of(outputs), (5, 40, 20), 100)


def no_stage(n_cases=3_000):
    """From a to b pays and from b to c, but c mostly takes back what b changed: none is sound."""
    rng = np.random.default_rng(9)
    first, noise = rng.integers(0, 2, n_cases), rng.random((2, n_cases))
    middle = np.where(noise[0] < 0.3, 1 - first, first)
    last = np.where(noise[1] < 0.1, 1 - first, first)
    return RawLog(rows_of(np.column_stack([first, middle, last])), (1, 20, 19), 100)


def no_stage_yet():
    """The same with too few cases to be sure."""
    return no_stage(120)


def shared_errors():
    """Most of what the last test says, it copies from the first."""
    rng, _, outputs = drawn(21, 2_000, (0.4, 0.3, 0.3), 5)
    outputs[:, 2] = np.where(rng.random(2_000) < 0.7, outputs[:, 0], outputs[:, 2])
    return RawLog(rows_of(outputs), (1, 5, 10), 100)


def tree():
    """After the first test either b and then d, or c."""
    _, _, outputs = drawn(10, 400, (0.4, 0.2, 0.15, 0.1))
    return RawLog(
        rows_of(outputs),
        (1, 8, 6, 30),
        100,
        ("a", "b", "c", "d"),
        (None, 0, 0, 1),
        (Ordered(), Prevalence(1, 0.7, 0.95)),
    )


def slips():
    """Two answers, one of them rarely with a stray sign, and a word that may be a gap."""
    _, _, outputs = drawn(17, 700, (0.3, 0.2, 0.12, 0.1))
    words = WORDS[2 * outputs]
    words[5, 0] = words[9, 2] = "yes."
    words[np.arange(3, 700, 70), 1] = "None"
    words[11, 3] = "#"
    names = ("a", "b", "c", "d")
    return RawLog(rows_of(words), (0.01, 0.02, 0.05, 0.01), names=names, n_planned=45)


def rarely_apart():
    """Two in a thousand cases change, so numbers are for ten times as many; b costs nothing."""
    first = np.arange(2_000) % 2
    outputs = np.column_stack([first] * 3)
    outputs[:3, 1] ^= 1
    outputs[2:6, 2] ^= 1
    return RawLog(rows_of(outputs), (0, 0, 0.00051), n_planned=4)


def too_few_planned():
    """A plan of two labels settles nothing."""
    _, _, outputs = drawn(22, 200)
    return RawLog(rows_of(outputs), (1, 2, 3), 30, n_planned=2)


def star():
    """After the first test any of five others: many pairs, and many ways to agree."""
    _, _, outputs = drawn(24, 300, (0.4, 0.3, 0.25, 0.2, 0.15, 0.1))
    return RawLog(
        rows_of(outputs), (1, 2, 4, 7, 9, 13), 70, tuple("abcdef"), (None, 0, 0, 0, 0, 0),
        n_planned=70,
    )  # fmt: skip


def no_answer():
    """The second test differs where it gives no answer: that is never right, so it cannot pay."""
    rows = [("no", "no")] * 90 + [("yes", "yes")] * 70
    rows += [("no", "perhaps")] * 35 + [("yes", "perhaps")] * 25
    return RawLog(tuple(rows), (0.01, 0.01), names=("a", "b"), never_right=("perhaps",))


def better_for_nothing():
    """The second test costs nothing and errs at most as often."""
    _, _, outputs = drawn(28, 200, (0.2, 0.1))
    return RawLog(rows_of(outputs), (1, 0), 20, ("a", "b"), assumptions=(Ordered(),))


def branches():
    """The second test is dearer than the third: a few labels could only speak for the third."""
    _, _, outputs = drawn(29, 300, (0.3, 0.25, 0.2))
    return RawLog(rows_of(outputs), (1, 4, 1), 40, parents=(None, 0, 0), n_planned=20)


def cheaper_branch():
    """The second test is known to err rarely; the third, on a branch of its own, costs less."""
    _, _, outputs = drawn(29, 900, (0.4, 0.1, 0.35))
    bounds = (ErrsWithin("b", 0.15),)
    return RawLog(rows_of(outputs), (1, 4, 3), 40, parents=(None, 0, 0), assumptions=bounds)


def seldom_apart():
    """Ten to twenty in a thousand cases change: numbers are for a thousand, in two digits."""
    first = np.arange(200) % 2
    outputs = np.column_stack([first] * 3)
    outputs[:3, 1] ^= 1
    outputs[1:3, 2] ^= 1
    return RawLog(rows_of(outputs), (0, 0.0051, 0))


def score_first():
    """The first test gives a score in words of its own, which are no answers."""
    _, _, outputs = drawn(37, 600, (0.3, 0.2, 0.1))
    words = WORDS[2 * outputs]
    words[:, 0] = np.array(["high", "low"], dtype=object)[outputs[:, 0]]
    return RawLog(rows_of(words), (1, 2, 40), 60, unshared=("high", "low"))
