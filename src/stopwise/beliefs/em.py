"""Expectation maximisation for latent classes, on a table of patterns.

The right answer a is hidden, and given a the tests err independently:

    P(y) = Σ_a π_a Π_k θ_k[a, y_k],

a product over the tests that were run (A. P. Dawid and A. M. Skene, "Maximum likelihood estimation
of observer error-rates using the EM algorithm", Applied Statistics 28, 1979). The rows of θ_k have
a Dirichlet prior worth τ cases around "one accuracy a test": a test is right with the same chance
α_k whatever the right answer, and where it errs it says b in proportion to how often it errs with
b at all. α_k and these proportions are estimated along; few errors leave the proportions even.

All fits are columns of one matrix product, so several strengths, starts or resampled tables cost
little more than one. The steps are accelerated (R. Varadhan and C. Roland, "Simple and globally
convergent methods for accelerating the convergence of any EM algorithm", Scandinavian Journal of
Statistics 35, 2008).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import BoolArray, FloatArray, IntArray

# Largest change of a probability at which the iteration has converged.
CONVERGED = 1e-6
MAX_CYCLES = 300  # of three steps each
# Keeps a logarithm finite where an answer was never given.
TINY = 1e-12
DENSE = 200_000  # entries of the design matrix up to which it is not worth a sparse one
LONGEST_JUMP = 16.0


@dataclass(frozen=True, eq=False)
class Design:
    """Patterns as a matrix of indicators: row r has a 1 at (k, codes[r, k]) if test k was run.

    Parameters
    ----------
    codes
        One row a pattern, one column a test, -1 where there is no output; shape (R, K).
    n_classes
        The number of classes, M.
    """

    codes: IntArray
    n_classes: int

    @cached_property
    def indicators(self) -> Any:
        """The matrix, dense or sparse; shape (R, K * M)."""
        R, K = self.codes.shape
        rows, tests = np.nonzero(self.codes >= 0)
        columns = tests * self.n_classes + self.codes[rows, tests]
        if R * K * self.n_classes > DENSE:
            from scipy.sparse import csr_array

            return csr_array((np.ones(len(rows)), (rows, columns)), (R, K * self.n_classes))
        dense = np.zeros((R, K * self.n_classes))
        dense[rows, columns] = 1.0
        return dense

    @cached_property
    def transposed(self) -> Any:
        """The transpose, laid out for products."""
        turned = self.indicators.T
        return np.ascontiguousarray(turned) if isinstance(turned, np.ndarray) else turned.tocsr()

    @cached_property
    def votes(self) -> FloatArray:
        """For each pattern the share of its outputs that is each class; shape (R, M)."""
        R, M = len(self.codes), self.n_classes
        counts = np.zeros((R, M))
        for column in self.codes.T:
            (rows,) = np.nonzero(column >= 0)
            counts[rows, column[rows]] += 1
        total = counts.sum(axis=1, keepdims=True)
        return np.where(total > 0, counts / np.maximum(total, 1), 1 / M)


@dataclass(frozen=True, eq=False)
class Fits:
    """Several fits at once.

    Parameters
    ----------
    prior
        How often each class is right; shape (S, M).
    confusion
        ``confusion[s, k, a, b]``: how often test k says b where a is right.
    has_converged
        Whether the last cycle left the fit unchanged; shape (S,).
    log_likelihood
        Of the table, before the last step; shape (S,).
    """

    prior: FloatArray
    confusion: FloatArray
    has_converged: BoolArray
    log_likelihood: FloatArray

    def pick(self, which: IntArray | list[int]) -> Fits:
        """Return some of the fits."""
        return Fits(
            self.prior[which],
            self.confusion[which],
            self.has_converged[which],
            self.log_likelihood[which],
        )


def log_joint(design: Design, prior: FloatArray, confusion: FloatArray) -> FloatArray:
    """Return log P(pattern, a) for each pattern and fit; shape (R, S, M)."""
    S, K, M, _ = confusion.shape
    by_output = np.log(confusion + TINY).transpose(1, 3, 0, 2).reshape(K * M, S * M)
    logs = np.asarray(design.indicators @ by_output).reshape(-1, S, M)
    logs += np.log(prior + TINY)
    return logs


def posteriors(logs: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the posterior of each class and the log likelihood of each pattern; in place."""
    top = logs.max(axis=2, keepdims=True)
    logs -= top
    np.exp(logs, out=logs)
    total = logs.sum(axis=2, keepdims=True)
    logs /= total
    return logs, (top + np.log(total))[:, :, 0]


def maximise(
    design: Design, weighted: FloatArray, strengths: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return prior and confusion given the expected number of cases of each class.

    Parameters
    ----------
    design
        The patterns.
    weighted
        For each pattern, fit and class the expected number of cases; shape (R, S, M).
    strengths
        τ, the number of cases that the prior of a row of θ is worth; shape (S,).
    """
    R, S, M = weighted.shape
    K = design.codes.shape[1]
    mass = weighted.sum(axis=0)
    prior = (mass + 1 / M) / (mass.sum(axis=1, keepdims=True) + 1)
    counts = np.asarray(design.transposed @ weighted.reshape(R, S * M))
    counts = counts.reshape(K, M, S, M).transpose(2, 0, 3, 1)  # s, k, a, b
    base = one_accuracy(counts)
    tau = strengths[:, None, None, None]
    return prior, (counts + tau * base) / (counts.sum(axis=3, keepdims=True) + tau)


def one_accuracy(counts: FloatArray) -> FloatArray:
    """Return the confusion of tests with one accuracy each that is nearest to ``counts``.

    >>> one_accuracy(np.array([[[8.0, 0, 1], [1, 9, 0], [2, 0, 7]]])).round(2)
    array([[[0.83, 0.06, 0.11],
            [0.11, 0.83, 0.06],
            [0.13, 0.03, 0.83]]])
    """
    M = counts.shape[-1]
    if M == 1:
        return np.ones_like(counts)
    right = np.einsum("...aa->...a", counts)
    accuracy = (right.sum(axis=-1) + 1) / (counts.sum(axis=(-1, -2)) + 2)
    wrong = counts.sum(axis=-2) - right + 1  # each answer, where it is wrong
    wrong /= wrong.sum(axis=-1, keepdims=True)
    spread = wrong[..., None, :] * ((1 - accuracy)[..., None] / (1 - wrong))[..., None]
    spread[..., range(M), range(M)] = accuracy[..., None]
    return np.asarray(spread)


def fit_all(
    design: Design,
    weights: FloatArray,
    strengths: FloatArray,
    start: FloatArray | Fits,
    *,
    max_cycles: int = MAX_CYCLES,
) -> Fits:
    """Run all fits until they converge.

    Parameters
    ----------
    design
        The patterns.
    weights
        How many cases show each pattern in each fit; shape (R, S).
    strengths
        τ of each fit; shape (S,).
    start
        The first posteriors, shape (R, S, M), or the fits to go on from.
    max_cycles
        Stop after so many cycles of three steps.
    """
    if not isinstance(start, Fits):
        S = start.shape[1]
        prior, confusion = maximise(design, weights[:, :, None] * start, strengths)
        start = Fits(prior, confusion, np.zeros(S, dtype=bool), np.full(S, -np.inf))
    fits = start
    for _ in range(max_cycles):
        first = _step(design, weights, strengths, fits)
        second = _step(design, weights, strengths, first)
        leap = _step(design, weights, strengths, _jump(fits, first, second))
        good = leap.log_likelihood >= second.log_likelihood - 1e-9 * np.abs(second.log_likelihood)
        moved = np.maximum(
            np.abs(first.prior - second.prior).max(axis=1),
            np.abs(first.confusion - second.confusion).max(axis=(1, 2, 3)),
        )
        fits = replace(_choose(good, leap, second), has_converged=moved < CONVERGED)
        if fits.has_converged.all():
            break
    return fits


def _step(design: Design, weights: FloatArray, strengths: FloatArray, fits: Fits) -> Fits:
    """Return the fits after one step, with the likelihood before it."""
    posterior, logs = posteriors(log_joint(design, fits.prior, fits.confusion))
    posterior *= weights[:, :, None]
    prior, confusion = maximise(design, posterior, strengths)
    return Fits(prior, confusion, fits.has_converged, np.einsum("rs,rs->s", weights, logs))


def _jump(start: Fits, first: Fits, second: Fits) -> Fits:
    """Return where the last two steps lead to if they go on as they did, in logarithms."""
    S = len(start.prior)
    points = [
        np.log(np.concatenate([f.prior, f.confusion.reshape(S, -1)], axis=1) + TINY)
        for f in (start, first, second)
    ]
    r, v = points[1] - points[0], points[2] - 2 * points[1] + points[0]
    length = np.sqrt((r * r).sum(axis=1) / np.maximum((v * v).sum(axis=1), TINY))
    a = np.clip(length, 1.0, LONGEST_JUMP)[:, None]
    landed = np.exp(np.clip(points[0] + 2 * a * r + a * a * v, np.log(TINY), 1.0))
    M = start.prior.shape[1]
    prior, confusion = landed[:, :M], landed[:, M:].reshape(start.confusion.shape)
    return replace(
        start,
        prior=prior / prior.sum(axis=1, keepdims=True),
        confusion=confusion / confusion.sum(axis=3, keepdims=True),
    )


def _choose(good: BoolArray, one: Fits, other: Fits) -> Fits:
    """Return ``one`` where it is good, else ``other``."""
    return Fits(
        np.where(good[:, None], one.prior, other.prior),
        np.where(good[:, None, None, None], one.confusion, other.confusion),
        one.has_converged,
        np.where(good, one.log_likelihood, other.log_likelihood),
    )
