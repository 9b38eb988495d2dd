"""Dawid and Skene's estimate of error rates without labels, from the histogram of patterns.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28 (1979). It takes the tests to be independent given the label. The
packages that have it want one row an answer and bring a great deal with them; on a histogram it is
a few lines, and a slow test compares it with crowd-kit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.cascade import FloatArray, IntArray

MAX_STEPS = 10_000
# Largest change of a posterior at which the iteration has converged.
CONVERGED = 1e-10
# Keeps a logarithm finite where an answer was never given.
TINY = 1e-12


@dataclass(frozen=True, eq=False)
class DawidSkene:
    """What expectation maximisation ends at.

    Parameters
    ----------
    prior
        How often each class is the label; shape (M,).
    confusion
        ``confusion[k, y, x]``: how often test k says x where the label is y.
    posterior
        For each pattern the chance of each label; shape (R, M).
    error_rates
        How often each test is taken to err where it was seen; NaN where it never was; shape (K,).
    """

    prior: FloatArray
    confusion: FloatArray
    posterior: FloatArray
    error_rates: FloatArray


def majority(patterns: IntArray) -> FloatArray:
    """Return for each pattern the share of its outputs that vote for each class.

    >>> majority(np.array([[0, 1, 1, -1]])).round(2)
    array([[0.33, 0.67]])
    """
    votes = np.zeros((len(patterns), int(patterns.max()) + 1))
    for column in patterns.T:
        (rows,) = np.nonzero(column >= 0)
        votes[rows, column[rows]] += 1
    return np.asarray(votes / votes.sum(axis=1, keepdims=True))


def dawid_skene(
    patterns: IntArray, weights: FloatArray | IntArray, *, max_steps: int = MAX_STEPS
) -> DawidSkene:
    """Return the fixed point that is reached from the votes.

    Parameters
    ----------
    patterns
        One row a pattern, one column a test: codes of classes, -1 where there is no output. Each
        row shows at least one; shape (R, K).
    weights
        How often each pattern occurs, as a count or a share; shape (R,).
    max_steps
        Stop after so many steps even if the posteriors still move.

    >>> patterns = np.array([[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1]])
    >>> dawid_skene(patterns, np.array([5, 1, 1, 5])).error_rates.round(3)
    array([0.083, 0.   , 0.083])
    """
    shares = weights / weights.sum()
    posterior = majority(patterns)
    n_tests, n_classes = patterns.shape[1], posterior.shape[1]
    shown = [np.nonzero(column >= 0)[0] for column in patterns.T]
    said = [column[rows] for column, rows in zip(patterns.T, shown, strict=True)]
    for _ in range(max_steps):
        weighed = shares[:, None] * posterior
        prior = weighed.sum(axis=0)
        joint = np.zeros((n_tests, n_classes, n_classes))  # of what test k says and of the label
        for k, (rows, codes) in enumerate(zip(shown, said, strict=True)):
            np.add.at(joint[k], codes, weighed[rows])
        confusion = joint / np.maximum(joint.sum(axis=1, keepdims=True), TINY)
        logs = np.tile(np.log(prior + TINY), (len(patterns), 1))
        for k, (rows, codes) in enumerate(zip(shown, said, strict=True)):
            logs[rows] += np.log(confusion[k] + TINY)[codes]
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        new = likelihood / likelihood.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - posterior).max())
        posterior = new
        if moved < CONVERGED:
            break
    errs = [
        _share(shares[rows], posterior[rows, codes])
        for rows, codes in zip(shown, said, strict=True)
    ]
    return DawidSkene(prior, confusion.transpose(0, 2, 1), posterior, np.array(errs))


def _share(shares: FloatArray, right: FloatArray) -> float:
    return 1 - float(shares @ right) / float(shares.sum()) if len(shares) else float("nan")
