"""The intervals hold while one watches, for any values in [0, 1]."""

import math

import numpy as np
import pytest

from stopwise.auditing.evidence.sequences import BettingSequence
from tests.strategies import hoeffding

RUNS, LENGTH = 2_000, 1_000


def capital(total, n, mean):
    """The gambler's capital by adding up stakes q = sin² θ: the law of q is even in θ."""
    q = np.sin((np.arange(4_000) + 0.5) / 4_000 * np.pi / 2) ** 2
    growth = total * np.log(q / mean) + (n - total) * np.log((1 - q) / (1 - mean))
    return np.exp(growth).mean()


@pytest.mark.parametrize(("total", "n"), [(0, 5), (3, 10), (2.5, 10), (40, 50), (1, 100)])
def test_the_interval_is_where_the_capital_stays_below_the_bar(total, n):
    interval = BettingSequence(0.05).interval(total, n)
    for mean in np.linspace(0.005, 0.995, 100):
        if min(abs(mean - interval.low), abs(mean - interval.high)) > 1e-6:
            assert (mean in interval) == (capital(total, n, mean) < 1 / 0.05)


def ever_missed(values, mean, alpha, *, step=1.0):
    """The share of runs in which the interval misses the mean at some time.

    Totals are multiples of ``step``; where they are not, a few more count as missed.
    """
    sequence, totals = BettingSequence(alpha), values.cumsum(axis=1)
    missed = np.zeros(len(values), dtype=bool)
    low = high = 0.0  # the totals between which the mean is inside: both grow with n
    for n, total in enumerate(totals.T, start=1):
        while sequence.excludes(mean, low, n):
            low += step
        high = max(low, high)
        while high + step <= n and not sequence.excludes(mean, high + step, n):
            high += step
        missed |= (total < low) | (total > high)
    return missed.mean()


@pytest.mark.parametrize("mean", [0.01, 0.1, 0.5])
def test_coverage_of_coins_under_continuous_monitoring(mean):
    rng = np.random.default_rng(1)
    values = (rng.random((RUNS, LENGTH)) < mean).astype(float)
    assert ever_missed(values, mean, 0.05) <= 0.05 + hoeffding(RUNS)


def test_coverage_of_other_values_in_the_unit_interval():
    rng = np.random.default_rng(2)
    values = rng.beta(0.3, 0.9, (300, 400))
    assert ever_missed(values, 0.25, 0.05, step=0.05) <= 0.05 + hoeffding(300)


def test_a_bar_set_too_low_would_be_seen():
    """The coverage test has teeth: at level 0.9 the sequence misses far more often than 0.05."""
    rng = np.random.default_rng(1)
    values = (rng.random((RUNS, LENGTH)) < 0.1).astype(float)
    assert ever_missed(values, 0.1, 0.9) > 0.05 + hoeffding(RUNS)


def test_intervals_are_not_wider_than_they_have_to_be():
    """At n = 10,000 at most 2.1 times the width of an interval that is right at one time only."""
    for p in (0.02, 0.1, 0.5):
        width = BettingSequence(0.05).interval(10_000 * p, 10_000).width
        assert width <= 2.1 * 2 * 1.96 * math.sqrt(p * (1 - p) / 10_000)


@pytest.mark.parametrize(("total", "n", "value"), [(20, 100, 0.25), (5, 400, 0.02), (0, 10, 0.1)])
def test_the_forecast_settles_it_and_no_earlier(total, n, value):
    sequence = BettingSequence(0.05)
    more = sequence.n_more(value, total, n)
    assert more > 0
    later, earlier = n + more, n + 0.98 * more - 2
    assert sequence.excludes(value, total / n * later, later)
    assert not sequence.excludes(value, total / n * earlier, earlier)


def test_forecasts_at_the_ends():
    sequence = BettingSequence(0.05)
    assert sequence.n_more(0.5, 10, 1000) == 0
    assert sequence.n_more(0.2, 20, 100) == math.inf
    assert sequence.n_more(0.2, 0, 0) == math.inf
