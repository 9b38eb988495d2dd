"""The price map where nothing is expected, and of many tests; bands are in test_every_number."""

import time

import numpy as np

from stopwise.auditing.price_map import price_map
from stopwise.cascade import Cascade


def test_tests_that_always_agree_and_nothing_expected():
    nothing, same = np.full(2, np.nan), np.zeros((2, 2))
    (band,) = price_map(same, same, nothing, Cascade([1, 1], mistake_cost=10))
    assert (band.stage, band.is_sure) == (0, True)
    apart = np.full((2, 2), 0.9) - 0.9 * np.eye(2)
    open_band = price_map(apart, apart, nothing, Cascade([1, 1], 10))
    assert {(b.stage, b.is_sure) for b in open_band} == {(0, True), (None, False)}


def test_what_takes_labels_is_sure_and_not_proven():
    wide, narrow = np.full((2, 2), 0.9) - 0.9 * np.eye(2), np.zeros((2, 2))
    bands = price_map(narrow, wide, np.full(2, np.nan), Cascade([1, 1], 10))
    assert [(b.stage, b.is_sure, b.is_proven) for b in bands] == [(0, True, True), (0, True, False)]


def test_thirty_tests_take_less_than_a_second():
    rng = np.random.default_rng(0)
    differences = rng.random((30, 30)) * 0.3
    np.fill_diagonal(differences, 0.0)
    start = time.process_time()
    price_map(differences, differences, rng.random(30), Cascade(rng.random(30).tolist(), 10))
    assert time.process_time() - start < 1
