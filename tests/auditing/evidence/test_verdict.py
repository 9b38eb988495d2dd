"""The finding is what every disagreement inside the intervals would give; strong dominance."""

import math
from itertools import product

import numpy as np
from hypothesis import given

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.dominance import contradicts, strong_dominance
from stopwise.auditing.evidence.verdict import Finding, judge
from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.patterns import flip_flops
from tests.auditing.worlds import histogram_of
from tests.strategies import cascades, seeds


def verdict_of(outputs, cascade):
    table = histogram_of(outputs, cascade)
    return table, judge(table, table.disagreement, alpha=0.05)


@given(cascades(stages=(2, 4)), seeds)
def test_a_finding_holds_for_all_disagreements_in_the_intervals(cascade, seed):
    rng = np.random.default_rng(seed)
    K = cascade.n_stages
    n = int(rng.choice([30, 300, 3_000]))
    table, verdict = verdict_of(rng.random((n, K)) < rng.random(K) * 0.6, cascade)
    stages = set()
    for ends in product(("low", "high"), repeat=len(verdict.pairs)):
        p = np.zeros((K, K))
        for pair, end in zip(verdict.pairs, ends, strict=True):
            i, j = pair.shallow, pair.deep
            p[i, j] = p[j, i] = getattr(pair.interval, end)
        stages.add(sound_stage(p, cascade))
    if verdict.finding is Finding.SOUND:
        assert stages == {verdict.stage}
    elif verdict.finding is Finding.NONE:
        assert stages == {None}
        assert verdict.stage is None
    else:
        assert verdict.stage == sound_stage(table.disagreement, cascade)
        assert len(stages) > 1 or stages == {None}


def test_a_price_that_is_met_exactly_is_never_settled():
    cascade = Cascade([0, 0.1])
    _, verdict = verdict_of([[0, 1]] * 20 + [[0, 0]] * 180, cascade)
    assert (verdict.finding, verdict.n_more) == (Finding.UNDECIDED, math.inf)


def test_for_two_classes_what_contradicts_strong_dominance_are_the_flip_flops():
    cascade = Cascade([1] * 5)
    for row in product((0, 1), repeat=5):
        assert contradicts(list(row), cascade, {0, 1}, False) == flip_flops(row)
        assert not contradicts(list(row), cascade, {0, 1}, True)


def test_what_nothing_could_contradict_is_not_open():
    two = histogram_of([[0, None]] * 9 + [[0, 1]] * 3, Cascade([0.1] * 2))
    assert strong_dominance(two, LabelSpace(), alpha=0.05).n_open == 0
    unseen = histogram_of([[0, 1, None]] * 9 + [[0, 1, 1]] * 3, Cascade([0.1] * 3))
    assert strong_dominance(unseen, LabelSpace((), True), alpha=0.05).n_open == 0
    many = histogram_of([[0] + [None] * 19, [1] * 20], Cascade([0.1] * 20))  # too many to try
    assert strong_dominance(many, LabelSpace(), alpha=0.05).n_open == 1
