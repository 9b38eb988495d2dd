"""The price map where nothing is expected, and of many tests; bands are in test_every_number."""

import time

import numpy as np

from stopwise.auditing.price_map import price_map
from stopwise.cascade import Cascade


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
