"""Strong dominance where outputs are missing: what is shown, and what could be."""

import numpy as np
import pytest

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.dominance import strong_dominance
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, histogram_of

CASCADE = Cascade([0.1, 0.1, 0.1])


def test_what_nothing_could_contradict_is_not_open():
    two = histogram_of([[0, None]] * 9 + [[0, 1]] * 3, Cascade([0.1, 0.1]))
    assert strong_dominance(two, LabelSpace(), alpha=0.05).n_open == 0
    unseen = histogram_of([[0, 1, None]] * 9 + [[0, 1, 1]] * 3, CASCADE)
    assert strong_dominance(unseen, LabelSpace((), True), alpha=0.05).n_open == 0
    many = histogram_of([[0] + [None] * 19, [1] * 20], Cascade([0.1] * 20))  # too many to try
    assert strong_dominance(many, LabelSpace(), alpha=0.05).n_open == 1


def test_the_interval_holds_where_tests_are_missing_by_chance():
    rng = np.random.default_rng(0)
    _, outputs = draw(rng, 4_000, [0.35, 0.3, 0.3])
    turned = (outputs[:, 0] != outputs[:, 1]) & (outputs[:, 1] != outputs[:, 2])
    shown = outputs.astype(object)
    shown[rng.random(4_000) < 0.9, 2] = None
    found = strong_dominance(histogram_of(shown, CASCADE), LabelSpace(), alpha=0.05)
    assert turned.mean() in found.interval
    assert found.rate < turned.mean() / 5
    complete = strong_dominance(histogram_of(outputs, CASCADE), LabelSpace(), alpha=0.05)
    assert complete.rate == pytest.approx(turned.mean())
    assert complete.n_open == 0
