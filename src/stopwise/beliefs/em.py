"""Expectation maximisation for latent classes, on a table of patterns.

The right answer a is hidden, and given a the tests err independently:

    P(y) = Σ_a π_a Π_k θ_k[a, y_k],

a product over the tests that were run (A. P. Dawid and A. M. Skene, "Maximum likelihood estimation
of observer error-rates using the EM algorithm", Applied Statistics 28, 1979). The rows of θ_k have
a Dirichlet prior worth τ cases around "one accuracy a test": a test is right with the same chance
α_k whatever the right answer, and where it errs it says b in proportion to how often it errs with
b at all. α_k and these proportions are estimated as well; with few errors the proportions are even.

Tests that err together on hard cases are not independent given a. With H = 2 levels of difficulty
they are independent given a and the level, which is hidden too: a shared error term.

All fits are columns of one matrix product, so several strengths, starts or resampled tables cost
little more than one. The steps are accelerated, see `Acceleration`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.beliefs.acceleration import TINY, Acceleration
from stopwise.cascade import BoolArray, FloatArray, IntArray

# Largest change of a probability at which the iteration has converged.
CONVERGED = 1e-6
ROUGHLY = 3e-3  # the same where fits are only compared
MAX_CYCLES = 300  # of three steps each
NO_UNDERFLOW = 20  # tests: a product of so many chances of at least TINY is above zero
DENSE = 200_000  # entries of the design matrix; a larger one is sparse
SLACK = 1.0  # by which the log likelihood may fall in an accelerated step


@dataclass(frozen=True, eq=False)
class Design:
    """Patterns as a matrix of indicators: row r has a 1 at (k, codes[r, k]) if test k was run.

    The first column is 1 throughout, for the prior.
    """

    codes: IntArray  # one row per pattern, one column per test, -1 where there is no output; (R, K)
    n_classes: int  # M

    @property
    def n_tests(self) -> int:
        """The number of tests, K."""
        return int(self.codes.shape[1])

    @cached_property
    def indicators(self) -> Any:
        """The matrix, dense or sparse; shape (R, 1 + K * M)."""
        R, K = self.codes.shape
        rows, tests = np.nonzero(self.codes >= 0)
        columns = 1 + tests * self.n_classes + self.codes[rows, tests]
        shape = (R, 1 + K * self.n_classes)
        if R * shape[1] > DENSE:
            from scipy.sparse import csr_array

            rows = np.concatenate([np.arange(R), rows])
            columns = np.concatenate([np.zeros(R, dtype=np.int64), columns])
            return csr_array((np.ones(len(rows)), (rows, columns)), shape)
        dense = np.zeros(shape)
        dense[:, 0] = 1.0
        dense[rows, columns] = 1.0
        return dense

    @cached_property
    def transposed(self) -> Any:
        """The transpose, laid out for products."""
        matrix = self.indicators.T
        return np.ascontiguousarray(matrix) if isinstance(matrix, np.ndarray) else matrix.tocsr()

    @cached_property
    def votes(self) -> FloatArray:
        """For each pattern the share of its outputs that is each class; shape (R, M)."""
        R, M = len(self.codes), self.n_classes
        counts = np.zeros((R, M))
        for column in self.codes.T:
            (rows,) = np.nonzero(column >= 0)
            counts[rows, column[rows]] += 1
        total = counts.sum(axis=1, keepdims=True)
        return np.asarray(np.where(total > 0, counts / np.maximum(total, 1), 1 / M))

    def with_levels(
        self, start: FloatArray, n_levels: int, pair: tuple[int, ...] = ()
    ) -> FloatArray:
        """Return first posteriors with difficulty: the harder, the less the tests agree.

        For a ``pair`` that errs together, hard is where it differs from the votes of the others.
        """
        if n_levels == 1:
            return start
        M, easy = self.n_classes, self.votes.max(axis=1)[:, None, None]
        if pair:
            others = Design(np.delete(self.codes, pair, axis=1), M).votes
            both = Design(self.codes[:, pair], M).votes
            start, easy = (others + both / 2)[:, None, :] / 1.5, both[:, None, :]
        start = np.concatenate([start * easy, start * (1 - easy) + 0.02 / M], axis=2)
        return np.asarray(start / start.sum(axis=2, keepdims=True))


@dataclass(frozen=True, eq=False)
class Fits:
    """Several fits at once; their parameters are laid out as those of `Hidden`."""

    parameters: FloatArray  # shape (1 + K * M, S, H * M)
    has_converged: BoolArray  # whether the last cycle left the fit unchanged; shape (S,)
    log_likelihood: FloatArray  # of the table, before the last step; shape (S,)


def posteriors(design: Design, parameters: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return P(class | pattern) and log P(pattern) for each fit; shapes (R, S, L) and (R, S)."""
    chances, total, top = _joint(design, parameters)
    chances /= total[:, :, None]
    return chances, np.log(total) + top


def _joint(design: Design, parameters: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return P(class, pattern) / exp(top), their sums over classes, and top."""
    D, S, L = parameters.shape
    logs = np.log(parameters + TINY)
    chances = np.asarray(design.indicators @ logs.reshape(D, S * L)).reshape(-1, S, L)
    if design.n_tests <= NO_UNDERFLOW:
        top = np.zeros((1, 1))
    else:
        top = chances.max(axis=2)
        chances -= top[:, :, None]
    np.exp(chances, out=chances)
    return chances, chances @ np.ones(L), top


def maximise(
    design: Design,
    weighted: FloatArray,
    strengths: float | FloatArray,
    pair: tuple[int, ...] = (),
) -> FloatArray:
    """Return the parameters given the expected number of cases of each class.

    How hard a case is does not depend on its right answer.

    Parameters
    ----------
    design
        The patterns.
    weighted
        For each pattern, fit and hidden class the expected number of cases; shape (R, S, L).
    strengths
        τ, the number of cases that the prior of a row of θ is worth, of all fits or of each.
    pair
        The tests that err more on hard cases, if not all do.
    """
    R, S, L = weighted.shape
    M = design.n_classes
    parameters = np.asarray(design.transposed @ weighted.reshape(R, S * L)).reshape(-1, S, L)
    prior, counts = parameters[0], parameters[1:].reshape(-1, M, S, L // M, M)  # views
    prior += 1 / L
    prior /= np.add.reduce(prior, axis=1, keepdims=True)
    if L > M:
        mass = prior.reshape(S, -1, M)
        mass[...] = mass.sum(axis=1, keepdims=True) * mass.sum(axis=2, keepdims=True)
    if pair:
        others = [k for k in range(design.n_tests) if k not in pair]
        counts[others] = counts[others].sum(axis=3, keepdims=True)
    tau = np.reshape(strengths, (-1, 1, 1))
    total = np.add.reduce(counts, axis=1, keepdims=True)
    total += tau + TINY
    counts += tau * one_accuracy(counts)
    counts /= total
    return parameters


def one_accuracy(counts: FloatArray) -> FloatArray:
    """Return the confusion of tests with one accuracy each that is nearest to ``counts``.

    Both have the shape (K, M, S, H, M): test, output, fit, difficulty, right answer.

    >>> counts = np.array([[8.0, 1, 2], [0, 9, 0], [1, 0, 7]])
    >>> one_accuracy(counts.reshape(1, 3, 1, 1, 3)).round(2).reshape(3, 3)
    array([[0.83, 0.11, 0.13],
           [0.06, 0.83, 0.03],
           [0.11, 0.06, 0.83]])
    """
    M = counts.shape[1]
    if M == 1:
        return np.ones_like(counts)
    right = counts.diagonal(axis1=1, axis2=4)  # with the answer last
    wrong = np.add.reduce(counts, axis=4).transpose(0, 2, 3, 1) - right
    wrong += 1  # each answer, where it is wrong
    n_right = np.add.reduce(right, axis=3, keepdims=True)
    n_wrong = np.add.reduce(wrong, axis=3, keepdims=True)
    inaccuracy = (n_wrong + (1 - M)) / (n_right + n_wrong + (2 - M))
    scale = inaccuracy / (n_wrong - wrong)
    spread = wrong.transpose(0, 3, 1, 2)[..., None] * scale[:, None]
    np.einsum("kasha->ksha", spread)[...] = 1 - inaccuracy
    return np.asarray(spread)


def fit_all(
    design: Design,
    weights: FloatArray,
    strengths: float | FloatArray,
    start: FloatArray,
    *,
    pair: tuple[int, ...] = (),
    max_cycles: int = MAX_CYCLES,
    tolerance: float = CONVERGED,
) -> Fits:
    """Run all fits until they converge.

    Parameters
    ----------
    design
        The patterns.
    weights
        How many cases show each pattern in each fit; shape (R, S), or (R, 1) for all.
    strengths, pair
        As for `maximise`.
    start
        The first parameters; shape (1 + K * M, S, L).
    max_cycles
        Stop after so many cycles of three steps, at least one.
    tolerance
        The largest change of a probability at which a fit has converged.
    """

    def step(parameters: FloatArray) -> tuple[FloatArray, Any]:
        """Return the parameters after one step, and the arguments of `likelihood`."""
        chances, total, top = _joint(design, parameters)
        chances *= (weights / total)[:, :, None]
        return maximise(design, chances, strengths, pair), (total, top)

    def likelihood(total: FloatArray, top: FloatArray) -> FloatArray:
        return np.asarray(np.add.reduce(weights * (np.log(total) + top), axis=0))

    now, ahead = start, Acceleration(start.shape, design.n_classes, max_cycles)
    for _ in range(max_cycles):
        first, at_start = step(now)
        second, before = step(first)
        target = ahead.after(now, first, second)
        now, after = step(target)
        least, reached, change = likelihood(*before), likelihood(*after), _largest(second - first)
        # If plain steps lower the likelihood too, it is because of the prior.
        rises, diverges = least > likelihood(*at_start), _largest(now - target) > change
        fails = (reached < least - SLACK) & (rises | diverges)
        fails |= ahead.is_quasi_newton & diverges
        if fails.any():
            now[:, fails], reached[fails] = second[:, fails], least[fails]
            ahead.forget(fails & ahead.is_quasi_newton)
        has_converged = change < tolerance
        if has_converged.all():
            break
    return Fits(now, has_converged, reached)


def _largest(change: FloatArray) -> FloatArray:
    """Return the largest change of a probability in each fit."""
    return np.asarray(np.abs(change).max(axis=(0, 2)))
