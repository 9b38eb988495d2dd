"""Cases as they would be had none been stopped."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
from stopwise.beliefs.representative import representative_cases, representative_of_any_order


def test_complete_cases_stay_as_they_are():
    codes = np.indices((2, 2, 2)).reshape(3, -1).T
    weights = np.array([7, 1, 2, 3, 4, 5, 6, 9])
    found, times = representative_cases(prefix_levels(ToldCases.complete(codes, weights), 2))
    assert found.tolist() == codes.tolist()
    assert times.tolist() == weights.tolist()


def test_those_that_went_on_stand_for_those_that_stopped():
    """One in ten goes on from 0: the law of complete patterns comes out as it was."""
    rng = np.random.default_rng(0)
    n = 40_000
    outputs = (rng.random((n, 3)) < [0.3, 0.6, 0.5]).astype(np.int64)
    outputs[:, 2] = np.where(outputs[:, 0] == 1, outputs[:, 2], outputs[:, 1])
    stops = (outputs[:, 0] == 0) & (rng.random(n) < 0.9)
    codes = np.where(stops[:, None] & (np.arange(3) > 0), -1, outputs)
    distinct, place = np.unique(codes, axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1)).astype(float)
    lengths = (distinct != -1).sum(axis=1)
    cases = ToldCases(distinct, lengths, weights, np.zeros(len(weights)))
    found, times = representative_cases(prefix_levels(cases, 2))
    truth, true_place = np.unique(outputs, axis=0, return_inverse=True)
    shares = np.bincount(true_place.reshape(-1)) / n
    assert found.tolist() == truth.tolist()
    # Five standard deviations of the rarest kind, about 2,800 cases of which went on.
    assert np.abs(times / times.sum() - shares).max() < 5 * np.sqrt(0.25 / 2_800)
    assert times.sum() < n / 2  # few that stand for many do not count like many


def test_a_prefix_from_which_nobody_went_on_stays_a_prefix():
    cases = ToldCases(
        np.array([[0, -1], [1, 0]]), np.array([1, 2]), np.array([5.0, 5.0]), np.zeros(2)
    )
    found, times = representative_cases(prefix_levels(cases, 2))
    assert found.tolist() == [[0, -1], [1, 0]]
    assert times.tolist() == [5, 5]


def test_tests_in_any_order_leave_the_law_of_complete_patterns():
    """Test 3 is run first, then test 1 if it said 1, and one case in ten is run to the end."""
    rng = np.random.default_rng(1)
    n = 60_000
    outputs = (rng.random((n, 3)) < [0.3, 0.6, 0.5]).astype(np.int64)
    outputs[:, 1] = np.where(outputs[:, 2] == 1, outputs[:, 1], outputs[:, 0])
    shown = np.zeros((n, 3), dtype=bool)
    shown[:, 2] = True
    shown[:, 0] = outputs[:, 2] == 1
    shown[rng.random(n) < 0.1] = True
    codes, place = np.unique(np.where(shown, outputs, -1), axis=0, return_inverse=True)
    weights = np.bincount(place.reshape(-1)).astype(float)
    found, times = representative_of_any_order(codes, weights, 2)
    truth, true_place = np.unique(outputs, axis=0, return_inverse=True)
    shares = np.bincount(true_place.reshape(-1)) / n
    assert found.tolist() == truth.tolist()
    # Five standard deviations; about 6,000 cases are complete.
    assert np.abs(times / times.sum() - shares).max() < 5 * np.sqrt(0.25 / 6_000)
    assert times.sum() < n / 4


def test_complete_cases_in_any_order_stay_as_they_are():
    codes = np.indices((2, 2, 2)).reshape(3, -1).T
    weights = np.array([7.0, 1, 2, 3, 4, 5, 6, 9])
    found, times = representative_of_any_order(codes, weights, 2)
    assert found.tolist() == codes.tolist()
    assert times.tolist() == weights.tolist()
