"""Evidence of a change: the formula by hand, and how seldom it is wrong."""

import math

import numpy as np
import pytest
from scipy.integrate import quad

from stopwise.theory.e_values import log_e_values, log_kt


@pytest.mark.parametrize(("d", "n"), [(0, 0), (0, 1), (3, 7), (5, 5)])
def test_kt_is_the_mixture_over_the_arcsine_prior(d, n):
    density = lambda p: p**d * (1 - p) ** (n - d) / (math.pi * math.sqrt(p * (1 - p)))  # noqa: E731
    expected, _ = quad(density, 0, 1)
    assert math.exp(log_kt(d, n)) == pytest.approx(expected, rel=1e-6)


def test_evidence_by_hand():
    hits, seen = np.array([[1.0], [4.0]]), np.array([[5.0], [5.0]])
    best = 0.5**10
    expected = math.exp(log_kt(1, 5) + log_kt(4, 5)) / best
    assert math.exp(log_e_values(hits, seen)[0, 0]) == pytest.approx(expected)


@pytest.mark.parametrize("p", [0.02, 0.3, 0.5])
def test_the_mean_of_e_is_at_most_one_without_a_change(p):
    """A fixed cut, 40,000 draws: the mean exceeds 1 by five standard errors once in 3 million."""
    rng = np.random.default_rng(1)
    hits = rng.binomial(20, p, size=(2, 40_000)).astype(float)
    e = np.exp(log_e_values(hits, np.full(hits.shape, 20.0)))[0]
    assert e.mean() <= 1 + 5 * e.std() / math.sqrt(e.size)
