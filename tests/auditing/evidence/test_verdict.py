"""The finding is what every disagreement inside the intervals would give."""

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.dominance import contradicts, strong_dominance
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds, path_pairs
from stopwise.auditing.evidence.sequences import BettingSequence
from stopwise.auditing.evidence.verdict import Finding, judge
from stopwise.cascade import Cascade
from stopwise.disagreement import dominance_ratio, sound_stage
from stopwise.patterns import flip_flops
from tests.auditing.worlds import draw, histogram_of
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
    found = set()
    for ends in product((0, 1), repeat=len(pairs)):
        p = np.zeros((K, K))
        for (i, j), end in zip(pairs, ends, strict=True):
            p[i, j] = p[j, i] = (bounds.low, bounds.high)[end][i, j]
        found.add(sound_stage(p, cascade))
    if verdict.finding is Finding.SOUND:
        assert found == {verdict.stage}
    elif verdict.finding is Finding.NONE:
        assert found == {None}
        assert verdict.stage is None
    else:
        assert verdict.stage == sound_stage(bounds.middle, cascade)
        assert len(found) > 1 or found == {None}


@pytest.mark.parametrize("seed", range(5))
def test_every_number_of_a_pair(seed):
    rng = np.random.default_rng(seed)
    _, outputs = draw(rng, 500, [0.3, 0.2, 0.1])
    cascade = Cascade([1, 2, 4], mistake_cost=20)
    verdict = judge(DisagreementBounds.of(histogram_of(outputs, cascade), alpha=0.03), cascade)
    for pair in verdict.pairs:
        i, j = pair.shallow, pair.deep
        changed = int((outputs[:, i] != outputs[:, j]).sum())
        price = sum([1, 2, 4][i + 1 : j + 1]) / 20
        assert (pair.n_seen, pair.n_disagreed) == (500, changed)
        assert pair.disagreement == changed / 500
        assert pair.price == pytest.approx(price)
        assert pair.interval == BettingSequence(0.01).interval(changed, 500)
        assert pair.margin == pytest.approx(price - changed / 500)
        assert pair.ratio == pytest.approx(price / (changed / 500))
        assert pair.ratio_interval.low == pytest.approx(price / pair.interval.high)
        inside = pair.interval.low < price < pair.interval.high
        assert pair.settled == (0 if inside else 1 if price >= pair.interval.high else -1)
    p = np.array([[(outputs[:, i] != outputs[:, j]).mean() for j in range(3)] for i in range(3)])
    if verdict.stage is not None:
        assert verdict.ratio == dominance_ratio(p, cascade, verdict.stage)


def test_the_number_of_cases_that_would_settle_it_does():
    cascade = Cascade([0, 0.12, 0.3])
    seen, disagreed = np.full((3, 3), 200), np.zeros((3, 3), dtype=int)
    disagreed[0, 1] = disagreed[1, 0] = 20
    disagreed[0, 2] = disagreed[2, 0] = 24
    disagreed[1, 2] = disagreed[2, 1] = 10
    verdict = judge(counts_to_bounds(seen, disagreed, cascade), cascade)
    assert verdict.finding is Finding.UNDECIDED
    assert verdict.stage == 0
    factor = (200 + verdict.n_more) / 200
    later = judge(counts_to_bounds(seen * factor, disagreed * factor, cascade), cascade)
    assert (later.finding, later.stage) == (Finding.SOUND, 0)
    factor = (200 + 0.9 * verdict.n_more) / 200
    before = judge(counts_to_bounds(seen * factor, disagreed * factor, cascade), cascade)
    assert before.finding is Finding.UNDECIDED


def test_a_price_that_is_met_exactly_is_never_settled():
    cascade = Cascade([0, 0.1])
    seen, disagreed = np.full((2, 2), 200), np.array([[0, 20], [20, 0]])
    verdict = judge(counts_to_bounds(seen, disagreed, cascade), cascade)
    assert (verdict.finding, verdict.n_more) == (Finding.UNDECIDED, math.inf)


def test_no_stage_is_sound_where_the_middle_one_blocks_the_way():
    """1 to 3 pays, 2 to 3 does not, and 2 does not pay against 1: nothing qualifies."""
    cascade = Cascade([0, 0.35, 0.02])
    seen, disagreed = np.full((3, 3), 10_000), np.zeros((3, 3), dtype=int)
    disagreed[0, 1] = disagreed[1, 0] = 2_000
    disagreed[0, 2] = disagreed[2, 0] = 4_500
    disagreed[1, 2] = disagreed[2, 1] = 100
    verdict = judge(counts_to_bounds(seen, disagreed, cascade), cascade)
    assert (verdict.finding, verdict.stage, verdict.n_more) == (Finding.NONE, None, 0)


def test_for_two_classes_what_contradicts_strong_dominance_are_the_flip_flops():
    cascade = Cascade([1] * 5)
    for row in product((0, 1), repeat=5):
        assert contradicts(list(row), cascade, {0, 1}, False) == flip_flops(row)
        assert not contradicts(list(row), cascade, {0, 1}, True)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_strong_dominance_is_refuted_by_what_no_label_explains(n_classes):
    rng = np.random.default_rng(4)
    cascade = Cascade([1] * 4)
    _, outputs = draw(rng, 400, [0.4, 0.3, 0.3, 0.2], n_classes=n_classes)
    found = strong_dominance(histogram_of(outputs, cascade), LabelSpace(), alpha=0.05)
    expected = 0
    for row in outputs.tolist():
        explained = False
        for y in range(n_classes):
            right = [output == y for output in row]
            explained |= all(later or not before for before, later in pairwise(right))
        expected += not explained
    assert found.n_contradicting == expected
    assert found.is_refuted == (expected > 0)
    assert found.interval == BettingSequence(0.05).interval(expected, 400)


def test_a_missing_output_does_not_contradict():
    assert not contradicts([0, -1, 0], Cascade([1] * 3), {0, 1}, False)
    assert contradicts([0, 1, -1, 0], Cascade([1] * 4), {0, 1}, False)
