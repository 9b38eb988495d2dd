"""Strong dominance where outputs are missing: what is shown, and what could be."""

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.dominance import strong_dominance
from stopwise.cascade import Cascade
from tests.auditing.worlds import histogram_of

CASCADE = Cascade([0.1, 0.1, 0.1])


def test_what_nothing_could_contradict_is_not_open():
    two = histogram_of([[0, None]] * 9 + [[0, 1]] * 3, Cascade([0.1, 0.1]))
    assert strong_dominance(two, LabelSpace(), alpha=0.05).n_open == 0
    unseen = histogram_of([[0, 1, None]] * 9 + [[0, 1, 1]] * 3, CASCADE)
    assert strong_dominance(unseen, LabelSpace((), True), alpha=0.05).n_open == 0
    many = histogram_of([[0] + [None] * 19, [1] * 20], Cascade([0.1] * 20))  # too many to try
    assert strong_dominance(many, LabelSpace(), alpha=0.05).n_open == 1
