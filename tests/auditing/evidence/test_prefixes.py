"""Intervals for changed answers where earlier outputs decided which cases were tested further."""

from collections import Counter

import numpy as np
import pytest

import stopwise as sw
from stopwise.auditing import MissingAtRandom
from stopwise.auditing.evidence.prefixes import interval_at_random
from stopwise.auditing.evidence.verdict import Finding
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable
from tests.auditing.worlds import draw, histogram_of

CASCADE = Cascade([0.01, 0.1, 0.1])


def routed(rng, n_cases):
    """Cases with 1 from the first test go on more often, and further if the second disagrees."""
    _, outputs = draw(rng, n_cases, [0.25, 0.12, 0.05])
    log = outputs.astype(object)
    second = rng.random(n_cases) < np.where(outputs[:, 0] == 1, 0.9, 0.2)
    changed = outputs[:, 1] != outputs[:, 0]
    third = second & (rng.random(n_cases) < np.where(changed, 0.8, 0.3))
    log[~second, 1] = None
    log[~third, 2] = None
    return outputs, log


def test_looked_at_all_the_time_it_holds():
    """Of 150 logs, each looked at 8 times, more than 24 miss some pair with chance 1e-6 at 5 %."""
    rng = np.random.default_rng(2)
    p = [0.25, 0.12, 0.05]
    truth = {(i, j): p[i] + p[j] - 2 * p[i] * p[j] for i, j in [(0, 1), (0, 2), (1, 2)]}
    n_missed = Counter()
    for _ in range(150):
        _, log = routed(rng, 400)
        for n in np.geomspace(10, 400, 8).astype(int):
            h = histogram_of(log[:n], CASCADE)
            for pair, share in truth.items():
                if share not in interval_at_random(h, *pair, alpha=0.05):
                    n_missed[pair] += 1
    assert all(n_missed[pair] <= 24 for pair in truth)


def test_on_a_tree_only_the_path_to_the_test_counts():
    rng = np.random.default_rng(3)
    _, log = routed(rng, 500)
    tree = Cascade([0.1] * 4, parents=[None, 0, 1, 0])
    other = np.column_stack([log, rng.integers(0, 2, 500).astype(object)])
    interval = interval_at_random(histogram_of(other, tree), 0, 2, alpha=0.05)
    assert interval == interval_at_random(histogram_of(log, CASCADE), 0, 2, alpha=0.05)


def test_prefixes_beyond_number():
    """2,000 values in 120 tests: 2,000^119 prefixes are possible, more than a float counts."""
    rng = np.random.default_rng(4)
    _, outputs = draw(rng, 3_000, [0.3] * 120, n_classes=2_000)
    log = outputs.astype(object)
    log[outputs[:, 0] < 400, 1:] = None
    interval = interval_at_random(histogram_of(log, Cascade([0.1] * 120)), 0, 119, alpha=0.05)
    assert (interval.low, interval.high) == pytest.approx((0, 1), abs=0.05)


def test_gaps_assumed_to_be_random_give_a_verdict():
    """Without the assumption nothing can be said; with it the verdict is that of the whole log."""
    outputs, log = routed(np.random.default_rng(5), 60_000)
    cascade = Cascade([1, 15, 30], mistake_cost=100, names=["a", "b", "c"])
    whole = sw.audit(outputs, cascade)
    assert (whole.facts.verdict.finding, whole.facts.verdict.stage) == (Finding.SOUND, 1)
    blind = sw.audit(log, cascade)
    assert blind.facts.verdict.finding is Finding.UNDECIDED
    assert blind.facts.verdict.n_more == np.inf
    assumed = sw.audit(log, cascade, assumptions=[MissingAtRandom()])
    assert (assumed.facts.verdict.finding, assumed.facts.verdict.stage) == (Finding.SOUND, 1)
    assert assumed.facts.guarantee < blind.facts.guarantee
    assert (assumed.facts.largest_differences <= blind.facts.largest_differences + 1e-9).all()
    most = np.array([[p.interval.high for p in assumed.facts.verdict.pairs]])
    assert abs(assumed.facts.largest_differences).max() <= most.max() + 1e-9
    for pair in assumed.facts.verdict.pairs:
        assert not pair.is_biased
        assert pair.disagreement in pair.interval
        assert whole.facts.verdict.pair(pair.shallow, pair.deep).disagreement in pair.interval


def test_six_cases_of_a_thousand_prove_nothing_even_if_gaps_are_random():
    log = [[0, None], [1, None]] * 497 + [[0, 0], [1, 1]] * 3
    report = sw.audit(
        np.array(log, dtype=object), Cascade([0, 0.2]), assumptions=[MissingAtRandom()]
    )
    assert report.facts.ground is None
    assert not report.facts.is_known
    assert report.facts.verdict.finding is Finding.UNDECIDED


@pytest.mark.parametrize(("price", "sign"), [(0.25, -1), (0.36, 1)])
def test_the_forecast_of_cases_is_about_right(price, sign):
    _, log = routed(np.random.default_rng(6), 3_000)
    cascade = Cascade([0.01, price, 0.3])
    interval = sw.audit(log, cascade, assumptions=[MissingAtRandom()])
    pair = interval.facts.verdict.pair(0, 1)
    assert pair.settled == 0
    assert 0 < pair.n_more < 1e6
    h = interval.facts.table
    for times, settled in ((2.0, sign), (0.4, 0)):
        more = np.round(h.weights * (1 + times * pair.n_more / pair.n_seen)).astype(np.int64)
        later = sw.audit(
            PatternTable(h.codes, more, h.classes, cascade),
            cascade,
            assumptions=[MissingAtRandom()],
        )
        assert later.facts.verdict.pair(0, 1).settled == settled
