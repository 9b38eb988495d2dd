"""The finding is what every disagreement inside the intervals would give."""

import math
from itertools import product

import numpy as np
from hypothesis import given

from stopwise.auditing.evidence.dominance import contradicts
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds, path_pairs
from stopwise.auditing.evidence.sequences import BettingSequence
from stopwise.auditing.evidence.verdict import Finding, judge
from stopwise.cascade import Cascade
from stopwise.disagreement import sound_stage
from stopwise.patterns import flip_flops
from tests.strategies import cascades, seeds


def counts_to_bounds(seen, disagreed, cascade, alpha=0.05):
    sequence = BettingSequence(alpha / max(len(path_pairs(cascade)), 1))
    K = cascade.n_stages
    low, high, middle = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for i, j in path_pairs(cascade):
        interval = sequence.interval(disagreed[i, j], seen[i, j])
        low[i, j] = low[j, i] = interval.low
        high[i, j] = high[j, i] = interval.high
        middle[i, j] = middle[j, i] = disagreed[i, j] / seen[i, j]
    return DisagreementBounds(seen, disagreed, sequence, low, high, middle, seen.max())


@given(cascades(stages=(2, 4)), seeds)
def test_a_finding_holds_for_all_disagreements_in_the_intervals(cascade, seed):
    rng = np.random.default_rng(seed)
    K = cascade.n_stages
    n = int(rng.choice([30, 300, 3_000]))
    seen = np.full((K, K), n)
    disagreed = np.triu(rng.binomial(n, rng.random((K, K)) * 0.6), 1)
    disagreed = disagreed + disagreed.T
    bounds = counts_to_bounds(seen, disagreed, cascade)
    verdict = judge(bounds, cascade)
    pairs = path_pairs(cascade)
    stages = set()
    for ends in product((0, 1), repeat=len(pairs)):
        p = np.zeros((K, K))
        for (i, j), end in zip(pairs, ends, strict=True):
            p[i, j] = p[j, i] = (bounds.low, bounds.high)[end][i, j]
        stages.add(sound_stage(p, cascade))
    if verdict.finding is Finding.SOUND:
        assert stages == {verdict.stage}
    elif verdict.finding is Finding.NONE:
        assert stages == {None}
        assert verdict.stage is None
    else:
        assert verdict.stage == sound_stage(bounds.middle, cascade)
        assert len(stages) > 1 or stages == {None}


def test_a_price_that_is_met_exactly_is_never_settled():
    cascade = Cascade([0, 0.1])
    seen, disagreed = np.full((2, 2), 200), np.array([[0, 20], [20, 0]])
    verdict = judge(counts_to_bounds(seen, disagreed, cascade), cascade)
    assert (verdict.finding, verdict.n_more) == (Finding.UNDECIDED, math.inf)


def test_for_two_classes_what_contradicts_strong_dominance_are_the_flip_flops():
    cascade = Cascade([1] * 5)
    for row in product((0, 1), repeat=5):
        assert contradicts(list(row), cascade, {0, 1}, False) == flip_flops(row)
        assert not contradicts(list(row), cascade, {0, 1}, True)
