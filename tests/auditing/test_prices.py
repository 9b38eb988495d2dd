"""The price map says at every price what a fresh audit at that price says."""

from itertools import pairwise

import numpy as np
import pytest

from stopwise.auditing.bounds.assumptions import Ordered
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.bounds.regrets import minimax_stage, worst_regrets
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds
from stopwise.auditing.evidence.verdict import judge
from stopwise.auditing.prices import price_map
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable
from tests.auditing.worlds import ORDER, draw, highs_bound, histogram_of, law_of


def mapped(seed, K, *, ordered):
    rng = np.random.default_rng(seed)
    _, outputs = draw(rng, 2_000, np.linspace(0.4, 0.1, K))
    cascade = Cascade(rng.integers(1, 9, K).tolist(), mistake_cost=30)
    law = law_of(outputs, cascade)
    differences = IdentifiedSet(law, [Ordered()] if ordered else []).largest_differences
    bounds = DisagreementBounds.of(histogram_of(outputs, cascade), alpha=0.05)
    return law, cascade, bounds, differences, price_map(bounds, differences, cascade)


def value_at(bands, price):
    return next(band.value for band in bands if band.low <= price <= band.high)


WORLDS = [(0, 2, True), (1, 3, True), (2, 3, False), (3, 5, True)]


@pytest.mark.parametrize(("seed", "K", "ordered"), WORLDS)
def test_bands_are_what_each_price_gives(seed, K, ordered):
    _, cascade, bounds, differences, found = mapped(seed, K, ordered=ordered)
    paid = np.cumsum(cascade.prices)
    rng = np.random.default_rng(seed)
    for price in np.exp(rng.uniform(np.log(found.low), np.log(found.high), 300)):
        at = Cascade(cascade.prices, float(price), cascade.names)
        verdict = judge(bounds, at)
        assert value_at(found.sound, price) == (verdict.finding, verdict.stage)
        C = paid / price
        regrets = [max(differences[k, j] + C[k] - C[j] for j in range(K)) for k in range(K)]
        smallest = min(regrets)
        chosen = value_at(found.minimax, price)
        assert regrets[chosen] <= smallest + 1e-7
        known = value_at(found.known, price)
        assert (known is not None) == (smallest <= 1e-7) or 1e-9 < smallest < 1e-6
        if known is not None:
            assert regrets[known] <= 1e-7


def test_bands_join_without_gaps_and_hold_the_own_price():
    _, cascade, _, _, found = mapped(5, 4, ordered=True)
    for bands in (found.sound, found.minimax, found.known):
        assert bands[0].low == found.low
        assert bands[-1].high == found.high
        for left, right in pairwise(bands):
            assert left.high == right.low
            assert left.value != right.value
    assert found.low < cascade.mistake_cost < found.high


def test_the_guarantee_is_the_largest_regret_over_all_labels():
    """Worst-case regrets against one programme for each label law, prices included."""
    law, cascade, _, differences, found = mapped(7, 3, ordered=True)
    C = cascade.cumulative_costs
    unit = np.eye(3)
    expected = [
        max(
            highs_bound(law, unit[k] - unit[j], conditions=ORDER[3]) + C[k] - C[j] for j in range(3)
        )
        for k in range(3)
    ]
    np.testing.assert_allclose(worst_regrets(differences, C), expected, atol=1e-8)
    assert minimax_stage(np.array(expected)) == int(np.argmin(expected))
    at = np.searchsorted(found.prices, 10.0)
    paid = np.cumsum(cascade.prices) / found.prices[at]
    assert found.guarantees[at] == pytest.approx(worst_regrets(differences, paid).min())


def test_no_unlabelled_method_can_know_where_two_labellings_disagree_on_the_best_stage():
    """In such a band some labels make each stage worse than another one."""
    law, cascade, _, _, found = mapped(8, 3, ordered=True)
    unit = np.eye(3)
    bound = {
        (k, j): highs_bound(law, unit[k] - unit[j], conditions=ORDER[3])
        for k in range(3)
        for j in range(3)
    }
    for band in found.known:
        C = np.cumsum(cascade.prices) / np.sqrt(band.low * band.high)
        beaten = [max(bound[k, j] + C[k] - C[j] for j in range(3)) for k in range(3)]
        assert (min(beaten) > 1e-9) == (band.value is None)


def test_tests_that_always_agree():
    rows = [(0, 0), (1, 1)]
    cascade = Cascade([1, 1], mistake_cost=10)
    bounds = DisagreementBounds.of(PatternTable.from_rows(rows, [50, 50], cascade), alpha=0.05)
    found = price_map(bounds, np.zeros((2, 2)), cascade)
    assert [band.value for band in found.known] == [0]
