"""Fits that converge slowly: tests hardly better than chance, and errors held to one accuracy."""

from itertools import product

import numpy as np
import pytest

import stopwise as sw
from stopwise.beliefs.em import Design
from stopwise.beliefs.moments import posteriors_by_moments
from stopwise.beliefs.prediction import pattern_law
from stopwise.patterns import PatternTable
from tests.beliefs.worlds import law

CODES = np.array(list(product((0, 1), repeat=3)))
CASCADE = sw.Cascade(costs=[1, 2, 3])


# Expectation maximisation alone takes more than 900 steps for the first three.
SLOW = [
    [146648, 110484, 111564, 96570, 154759, 126425, 130159, 123391],
    [148210, 119402, 127034, 117318, 129611, 119035, 120178, 119212],
    [2692, 2409, 2873, 2855, 1979, 2065, 2472, 2655],
    [4378, 2500, 212, 171, 673, 594, 5124, 6348],
]


@pytest.mark.parametrize("counts", SLOW)
def test_tests_hardly_better_than_chance_converge(counts):
    model = sw.LatentClasses.fit(PatternTable.from_rows(CODES.tolist(), counts, CASCADE))
    assert model.has_converged
    # With as many parameters as patterns it reproduces the table.
    if model.is_identified and model.complexity.share == 0:
        shares = np.array(counts) / sum(counts)
        np.testing.assert_allclose(pattern_law(model).reshape(-1), shares, atol=2e-5)


@pytest.mark.parametrize("seed", range(8))
def test_moments_of_a_law_give_the_beliefs_that_made_it(seed):
    rng = np.random.default_rng(seed)
    prior, errors = rng.uniform(0.2, 0.8), rng.uniform(0.02, 0.45, (3, 2))
    confusion = [[[1 - a, a], [b, 1 - b]] for a, b in errors]
    chances = law([prior, 1 - prior], confusion).weights
    first = prior * np.where(CODES == 0, 1 - errors[:, 0], errors[:, 0]).prod(axis=1)
    posterior = posteriors_by_moments(Design(CODES, 2), chances)
    if posterior[0, 0] < posterior[-1, 0]:  # the order of the classes is open
        posterior = posterior[:, ::-1]
    np.testing.assert_allclose(posterior[:, 0], first / chances, atol=1e-7)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    "counts",
    [
        [5, 0, 0, 0, 0, 0, 0, 5],  # all agree
        [5, 5, 5, 5, 0, 0, 0, 0],  # the first test is constant
        [5, 0, 5, 0, 5, 0, 5, 0],  # the third is
        [9, 1, 0, 0, 0, 0, 1, 9],  # the first two are equal
        [1, 1, 1, 1, 1, 1, 1, 1],  # none says anything about another
    ],
)
def test_moments_of_degenerate_tables_are_no_belief_or_a_finite_one(counts):
    posterior = posteriors_by_moments(Design(CODES, 2), np.array(counts, dtype=float))
    assert posterior is None or np.isfinite(posterior).all()
