"""The price map says at every price what a fresh look at that price says."""

import time
from itertools import pairwise

import numpy as np
import pytest

from stopwise.auditing.assumptions import Ordered
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.price_map import price_map
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, law_of


def mapped(seed, K, *, ordered):
    rng = np.random.default_rng(seed)
    _, outputs = draw(rng, 2_000, np.linspace(0.4, 0.1, K))
    cascade = Cascade(rng.integers(1, 9, K).tolist(), mistake_cost=30)
    law = law_of(outputs, cascade)
    differences = IdentifiedSet(law, [Ordered()] if ordered else []).largest_differences
    rates = np.linspace(0.4, 0.1, K)
    return law, cascade, differences, rates, price_map(differences, rates, cascade)


WORLDS = [(0, 2, True), (1, 3, True), (2, 3, False), (3, 5, True)]


@pytest.mark.parametrize(("seed", "K", "ordered"), WORLDS)
def test_bands_are_what_each_price_gives(seed, K, ordered):
    _, cascade, differences, rates, bands = mapped(seed, K, ordered=ordered)
    paid = np.cumsum(cascade.prices)
    rng = np.random.default_rng(seed)
    for price in np.exp(rng.uniform(np.log(bands[0].low), np.log(bands[-1].high), 300)):
        band = next(band for band in bands if band.low <= price <= band.high)
        C = paid / price
        regrets = [max(differences[k, j] + C[k] - C[j] for j in range(K)) for k in range(K)]
        assert band.is_sure == (min(regrets) <= 1e-7) or 1e-9 < min(regrets) < 1e-6
        if band.is_sure:
            assert regrets[band.stage] <= 1e-7
            continue
        possible = [
            k for k in range(K) if all(differences[j, k] + C[j] - C[k] >= 0 for j in range(K))
        ]
        best = min(rates[k] + C[k] for k in possible)
        assert rates[band.stage] + C[band.stage] <= best + 1e-7


def test_bands_join_without_gaps_and_hold_the_own_price():
    _, cascade, *_, bands = mapped(5, 4, ordered=True)
    for left, right in pairwise(bands):
        assert left.high == right.low
        assert (left.stage, left.is_sure) != (right.stage, right.is_sure)
    assert bands[0].low < cascade.mistake_cost < bands[-1].high


def test_tests_that_always_agree_and_nothing_expected():
    (band,) = price_map(np.zeros((2, 2)), np.full(2, np.nan), Cascade([1, 1], mistake_cost=10))
    assert (band.stage, band.is_sure) == (0, True)
    open_band = price_map(
        np.full((2, 2), 0.9) - 0.9 * np.eye(2), np.full(2, np.nan), Cascade([1, 1], 10)
    )
    assert {(b.stage, b.is_sure) for b in open_band} == {(0, True), (None, False)}


def test_thirty_tests_take_less_than_a_second():
    rng = np.random.default_rng(0)
    differences = rng.random((30, 30)) * 0.3
    np.fill_diagonal(differences, 0.0)
    start = time.process_time()
    price_map(differences, rng.random(30), Cascade(rng.random(30).tolist(), 10))
    assert time.process_time() - start < 1
