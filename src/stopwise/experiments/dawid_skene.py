"""Dawid and Skene's estimate of error rates without labels, from the histogram of patterns.

A. P. Dawid and A. M. Skene, "Maximum likelihood estimation of observer error-rates using the EM
algorithm", Applied Statistics 28 (1979). It takes the tests to be independent given the label. The
packages that have it want one row an answer and bring a great deal with them; on a histogram it is
a few lines, and tests compare it with crowd-kit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import OutputLaw

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
    """

    prior: FloatArray
    confusion: FloatArray
    posterior: FloatArray

    @property
    def error_rates(self) -> FloatArray:
        """How often each test is taken to err."""
        right = np.einsum("y,kyy->k", self.prior, self.confusion)
        return np.asarray(1 - right)


def majority(patterns: IntArray) -> FloatArray:
    """Return for each pattern the share of the tests that vote for each class."""
    n_classes = int(patterns.max()) + 1
    votes = patterns[:, :, None] == np.arange(n_classes)
    return np.asarray(votes.mean(axis=1))


def dawid_skene(law: OutputLaw) -> DawidSkene:
    """Return the fixed point that is reached from the votes.

    >>> from stopwise.cascade import Cascade
    >>> from stopwise.problem.families import nested_errors
    >>> law = nested_errors(Cascade(costs=[0, 0, 0])).output_law
    >>> dawid_skene(law).error_rates.round(3)
    array([0.3 , 0.  , 0.05])
    """
    answers = (law.patterns[:, :, None] == np.arange(int(law.patterns.max()) + 1)).astype(float)
    posterior = majority(law.patterns)
    for _ in range(MAX_STEPS):
        prior = law.probabilities @ posterior
        joint = np.einsum("r,ry,rkx->kyx", law.probabilities, posterior, answers)
        confusion = joint / np.maximum(joint.sum(axis=2, keepdims=True), TINY)
        logs = np.einsum("rkx,kyx->ry", answers, np.log(confusion + TINY)) + np.log(prior + TINY)
        likelihood = np.exp(logs - logs.max(axis=1, keepdims=True))
        new = likelihood / likelihood.sum(axis=1, keepdims=True)
        moved = float(np.abs(new - posterior).max())
        posterior = new
        if moved < CONVERGED:
            break
    return DawidSkene(prior, confusion, posterior)
