"""Cases as they would be had none been stopped."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
from stopwise.beliefs.representative import representative_cases, representative_of_any_order
from tests.beliefs.worlds import distinct_cases


def test_complete_cases_stay_as_they_are():
    codes = np.indices((2, 2, 2)).reshape(3, -1).T
    weights = np.array([7.0, 1, 2, 3, 4, 5, 6, 9])
    levels = prefix_levels(ToldCases.complete(codes, weights), 2)
    for rows, times in (
        representative_cases(levels),
        representative_of_any_order(codes, weights, 2),
    ):
        assert rows.tolist() == codes.tolist()
        assert times.tolist() == weights.tolist()


def assert_law(rows, times, outputs, n_complete):
    """The shares are those of all outputs, within five standard deviations of ``n_complete``."""
    law, counts = np.unique(outputs, axis=0, return_counts=True)
    assert rows.tolist() == law.tolist()
    off = np.abs(times / times.sum() - counts / len(outputs))
    assert off.max() < 5 * np.sqrt(0.25 / n_complete)


def test_those_that_went_on_stand_for_those_that_stopped():
    """One in ten goes on from 0: the law of complete patterns comes out as it was."""
    rng = np.random.default_rng(0)
    n = 40_000
    outputs = (rng.random((n, 3)) < [0.3, 0.6, 0.5]).astype(np.int64)
    outputs[:, 2] = np.where(outputs[:, 0] == 1, outputs[:, 2], outputs[:, 1])
    stops = (outputs[:, 0] == 0) & (rng.random(n) < 0.9)
    codes = np.where(stops[:, None] & (np.arange(3) > 0), -1, outputs)
    rows, times = representative_cases(prefix_levels(distinct_cases(codes), 2))
    assert_law(rows, times, outputs, 2_800)  # about as many went on from the rarest prefix
    assert times.sum() < n / 2  # few that stand for many do not count like many


def test_a_prefix_from_which_nobody_went_on_stays_a_prefix():
    cases = distinct_cases(np.array([[0, -1], [1, 0]] * 5))
    rows, times = representative_cases(prefix_levels(cases, 2))
    assert rows.tolist() == [[0, -1], [1, 0]]
    assert times.tolist() == [5, 5]


def test_tests_in_any_order_leave_the_law_of_complete_patterns():
    """Test 3 is run first, then test 1 if it said 1, and one case in ten is run to the end."""
    rng = np.random.default_rng(1)
    n = 60_000
    outputs = (rng.random((n, 3)) < [0.3, 0.6, 0.5]).astype(np.int64)
    outputs[:, 1] = np.where(outputs[:, 2] == 1, outputs[:, 1], outputs[:, 0])
    was_run = np.zeros((n, 3), dtype=bool)
    was_run[:, 2] = True
    was_run[:, 0] = outputs[:, 2] == 1
    was_run[rng.random(n) < 0.1] = True
    cases = distinct_cases(np.where(was_run, outputs, -1))
    rows, times = representative_of_any_order(cases.codes, cases.weights, 2)
    assert_law(rows, times, outputs, 6_000)  # about as many are complete
    assert times.sum() < n / 4
