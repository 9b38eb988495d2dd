"""The model that reproduces the table of three tests with two values.

Such a table has seven free numbers, and so has the model. Let P be the joint law of the outputs of
tests 1 and 2, and Q the part of it in which test 3 says 0. With Θ for the laws of test 1 given the
right answer,

    Q P⁻¹ = Θ diag(θ_3[a, 0]) Θ⁻¹,

so the columns of Θ are eigenvectors (J. T. Chang, "Full reconstruction of Markov models on
evolutionary trees", Mathematical Biosciences 137, 1996), and all else follows by linear equations.
Expectation maximisation is slow where tests are hardly better than chance; this is its limit.
"""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.em import Design, posteriors
from stopwise.cascade import FloatArray
from stopwise.patterns import MISSING

LEAST = 1e-3  # probability: the solution for a sample may be outside of the simplex


def posteriors_by_moments(design: Design, counts: FloatArray) -> FloatArray | None:
    """Return the probability of each class given each pattern, shape (R, 2), by moments.

    ``None`` unless there are exactly three tests with two values, of which each pair is dependent.

    >>> codes = np.indices((2, 2, 2)).reshape(3, -1).T
    >>> law = np.array([0.325, 0.045, 0.045, 0.085, 0.085, 0.045, 0.045, 0.325])
    >>> posteriors_by_moments(Design(codes, 2), law).round(2)[[0, 3]]  # errors .2, .1, .1
    array([[1.  , 0.  ],
           [0.05, 0.95]])
    """
    if (design.n_tests, design.n_classes) != (3, 2):
        return None
    is_complete = (design.codes != MISSING).all(axis=1)
    table = np.zeros((2, 2, 2))
    np.add.at(table, tuple(design.codes[is_complete].T), counts[is_complete])
    pairs = table.sum(axis=2)
    with np.errstate(divide="ignore", invalid="ignore"):
        try:
            _, vectors = np.linalg.eig(table[:, :, 0] @ np.linalg.inv(pairs))
            first = _laws(vectors.real)
            parts = np.linalg.inv(first)  # turns joint laws with test 1 into those with the class
        except np.linalg.LinAlgError:
            return None
        prior = _laws(parts @ pairs.sum(axis=1))
        others = [_laws((parts @ joint).T) for joint in (pairs, table.sum(axis=1))]
        parameters = np.concatenate([prior[None], first, *others])
    if not np.isfinite(parameters).all():
        return None
    return posteriors(design, parameters[:, None, :])[0][:, 0]


def _laws(columns: FloatArray) -> FloatArray:
    """Return columns as laws: no entry below `LEAST`, sums of 1."""
    laws = np.maximum(columns / columns.sum(axis=0), LEAST)
    return np.asarray(laws / laws.sum(axis=0))
