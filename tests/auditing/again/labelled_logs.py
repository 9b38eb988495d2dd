"""Logs with labels for some of their cases."""

import numpy as np

from stopwise.auditing import ErrsWithin
from tests.auditing.again.logs_with_gaps import routed
from tests.auditing.again.raw_log import WORDS, RawLog, drawn, labels_at, rows_of


def labels_against_assumptions():
    """Three labels speak for the last test, which what is assumed rules out."""
    _, _, outputs = drawn(15, 400, (0.3, 0.3, 0.3))
    alone = (outputs[:, 0] == outputs[:, 1]) & (outputs[:, 0] != outputs[:, 2])
    return RawLog(
        rows_of(outputs),
        (0.01, 0.01, 0.01),
        assumptions=(ErrsWithin("a", 0.3), ErrsWithin("c", 1.0, 0.35)),
        labels=labels_at(np.flatnonzero(alone)[:3], outputs[:, 2]),
    )


def words_and_labels():
    """Three values, labels that a plan asked for, pooled over patterns that agree alike."""
    _, labels, outputs = drawn(2, 700, (0.45, 0.3, 0.15), 3)
    differ = np.flatnonzero((outputs[:, :1] != outputs).any(axis=1))[::4][:90]
    return RawLog(rows_of(WORDS[outputs]), (1, 4, 9), 60, labels=labels_at(differ, WORDS[labels]))


def abstentions_and_labels():
    """One value is no answer, and labels show only some of the patterns."""
    _, labels, outputs = drawn(12, 300, (0.4, 0.3, 0.2))
    words = WORDS[2 * outputs]
    words[np.arange(0, 300, 5), np.arange(0, 300, 5) % 3] = "perhaps"
    labels = labels_at(range(0, 300, 7), WORDS[2 * labels])
    return RawLog(
        rows_of(words), (1, 6, 9), 60, never_right=("perhaps",), labels=labels, n_planned=9
    )


def holes_and_labels():
    """Tests fail now and then, so that nothing fills some gaps; some cases are labelled."""
    rng, labels, outputs = drawn(6, 260, (0.3, 0.25, 0.1), 3)
    gaps = rng.random(outputs.shape) < 0.15
    gaps[0] = True
    labels = labels_at(range(1, 60), labels)
    return RawLog(
        rows_of(outputs, gaps), (0.01, 0.1, 0.12), labels=labels, n_planned=12, unseen=True
    )


def settled_by_labels():
    rng, labels, outputs = drawn(7, 1_200, (0.4, 0.1))
    labels = labels_at(rng.permutation(1_200)[:900], labels)
    return RawLog(rows_of(outputs), (0, 0.02), names=("a", "b"), labels=labels)


def labels_ahead_of_disagreement():
    """Labels show that the first test is best; whether prices cover disagreement is open."""
    _, labels, outputs = drawn(16, 600, (0.1, 0.3))
    return RawLog(rows_of(outputs), (1, 34), 100, ("a", "b"), labels=labels_at(range(400), labels))


def labels_against_disagreement():
    """The last test looks sound and is worst: labels show it, and for b chance is still open."""
    rng, labels, outputs = drawn(11, 1_500, (0.1, 0.3, 0.5))
    labels = labels_at(rng.permutation(1_500)[:1_000], labels)
    return RawLog(rows_of(outputs), (1, 34, 2), 100, labels=labels)


def labels_where_all_agree():
    _, labels, outputs = drawn(18, 300, (0.2, 0.2, 0.1))
    alike = np.flatnonzero((outputs[:, :1] == outputs).all(axis=1))[:20]
    return RawLog(rows_of(outputs), (1, 1, 1), 20, labels=labels_at(alike, labels))


def labels_and_assumptions():
    """Neither what is assumed nor the labels alone show what is best, and both together do."""
    _, labels, outputs = drawn(19, 500, (0.4, 0.1))
    labels, bounds = labels_at(range(150), labels), (ErrsWithin("a", 1.0, 0.35),)
    return RawLog(rows_of(outputs), (1, 7), 50, ("a", "b"), assumptions=bounds, labels=labels)


def all_disputed_labelled(costs=(1, 1, 1), seed=20, hidden=0.6):
    """Every case that can tell has a label; what the gaps hide is open."""
    rng, labels, outputs = drawn(seed, 200, (0.3, 0.2, 0.2))
    gaps = (rng.random(200) < hidden)[:, None] & np.array([False, True, True])
    apart = (outputs[:, :1] != outputs).any(axis=1) & ~gaps.any(axis=1)
    labels = labels_at(np.flatnonzero(apart), labels)
    return RawLog(rows_of(outputs, gaps), costs, 40, labels=labels)


def no_label_left():
    """The same with few gaps."""
    return all_disputed_labelled((1, 4, 4), 36, 0.1)


def holes_and_labels_adjusted():
    """Gaps taken to be by chance given what is shown, and labels: filled shares count."""
    rng, labels, outputs = drawn(23, 400, (0.4, 0.2, 0.1))
    gaps = rng.random(outputs.shape) < 0.15
    labels = labels_at(np.flatnonzero(~gaps[:160].all(axis=1)), labels)
    return RawLog(rows_of(outputs, gaps), (1, 5, 4), 60, labels=labels, at_random=True)


def labels_and_no_answer():
    """Labels settle it, and what they say rests on an output that is never right."""
    _, labels, outputs = drawn(26, 500, (0.35, 0.1))
    words = WORDS[2 * outputs]
    words[::9, 0] = "perhaps"
    labels = labels_at(range(350), WORDS[2 * labels])
    return RawLog(rows_of(words), (1, 2), 50, ("a", "b"), never_right=("perhaps",), labels=labels)


def few_holes_all_labelled():
    """All complete cases have labels, but some count for others whose gaps they fill."""
    rng, labels, outputs = drawn(27, 150, (0.35, 0.2, 0.1))
    gaps = np.zeros(outputs.shape, dtype=bool)
    gaps[rng.random(150) < 0.2, 2] = True
    labels = labels_at(np.flatnonzero(~gaps[:, 2]), labels)
    return RawLog(rows_of(outputs, gaps), (1, 2, 2), 20, labels=labels, at_random=True)


def all_labelled():
    _, labels, outputs = drawn(31, 200, (0.35, 0.1))
    return RawLog(rows_of(outputs), (1, 2), 50, ("a", "b"), labels=labels_at(range(200), labels))


def _last_test_skipped(costs, n_labels):
    rng, labels, outputs = drawn(32, 800, (0.4, 0.2, 0.18))
    gaps = (rng.random(800) < 0.3)[:, None] & np.array([False, False, True])
    labels = labels_at(rng.permutation(800)[:n_labels], labels)
    return RawLog(rows_of(outputs, gaps), costs, 50, labels=labels)


def labels_and_skipped_by_chance():
    """Labels settle it; that prices cover what follows rests on how tests were skipped."""
    return _last_test_skipped((1, 2, 24), 500)


def few_labels_and_skipped_by_chance():
    """What labels favour, and no stage is surely sound."""
    return _last_test_skipped((1, 4, 14), 60)


def routed_and_labelled():
    """Outputs decided which tests ran, and labels count for the gaps they fill."""
    rng, labels, _ = drawn(5, 800, (0.3, 0.2, 0.12))
    labels = labels_at(rng.permutation(800)[:200], labels)
    return RawLog(routed().rows, (1, 2, 6), 40, labels=labels)


def skipped_where_right(costs=(1, 2, 6), *, at_random=False):
    """Cases that b got right often have no c: labels show it, and nothing can adjust for it."""
    rng, labels, outputs = drawn(33, 800, (0.3, 0.2, 0.1))
    gaps = np.zeros(outputs.shape, dtype=bool)
    gaps[(outputs[:, 1] == labels) & (rng.random(800) < 0.6), 2] = True
    labels = labels_at(rng.permutation(800)[:300], labels)
    return RawLog(rows_of(outputs, gaps), costs, 40, labels=labels, at_random=at_random)


def skipped_where_right_against_assumed():
    """The same with the assumption that outputs alone decided."""
    return skipped_where_right((1, 2, 1), at_random=True)


def labelled_by_outputs():
    """Cases in which a and b differ were labelled more often: of gaps such labels are no proof."""
    log = skipped_where_right()
    apart = [(r, y) for r, y in log.labels if log.rows[r][0] != log.rows[r][1]]
    alike = [(r, y) for r, y in log.labels if log.rows[r][0] == log.rows[r][1]]
    return RawLog(log.rows, (1, 2, 6), 40, labels=(*apart, *alike[::2]))


def clear_against_disagreement():
    """The last test is sound and worse: labels say so clearly, but not for sure."""
    rng, labels, outputs = drawn(34, 900, (0.1, 0.3))
    labels = labels_at(rng.permutation(900)[:40], labels)
    return RawLog(rows_of(outputs), (1, 1), 50, ("a", "b"), labels=labels)
