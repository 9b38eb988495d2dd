"""Tests that look nested: each sees what the one before it saw, and more.

The outputs of early exits, or of models with ever more features, are close to a Markov chain:

    P(y) = P(y_1) Π_k P(y_k+1 | y_k).

The model of independent errors explains such a table by a test in the middle that hardly errs,
where in truth later tests are better. If a chain explains nearly as well how the outputs of tests
depend on each other, outputs alone do not determine error rates.

If all tests were run, a chain is the same in both directions. If the outputs so far decided whether
the next test was run, only this direction is valid: among the cases that went on, P(y_k+1 | y_k) is
what it is among all cases, and P(y_k | y_k+1) is not.
"""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.acceleration import TINY
from stopwise.beliefs.em import Design, maximise
from stopwise.cascade import FloatArray
from stopwise.patterns import MISSING


def chain_logs(design: Design, weights: FloatArray, strengths: FloatArray) -> FloatArray:
    """Return log P(pattern) under chains fitted to ``weights``; shape (R, S).

    A test that was not run is left out of the chain of its pattern. The arguments are those of
    `fit_all`; the prior is that of a row of P(y_k+1 | y_k).
    """
    codes, M = design.codes, design.n_classes
    logs = np.zeros(weights.shape)
    after = np.full(len(codes), MISSING)  # the next test that was run
    for k in reversed(range(design.n_tests)):
        column = codes[:, k]
        is_output = (column[:, None] == np.arange(M))[:, None, :]
        parameters = maximise(design, weights[:, :, None] * is_output, strengths)
        (rows,) = np.nonzero((column != MISSING) & (after != MISSING))
        next_output = 1 + after[rows] * M + codes[rows, after[rows]]
        logs[rows] += np.log(parameters[next_output, :, column[rows]] + TINY)
        after[column != MISSING] = k
        (rows,) = np.nonzero((column != MISSING) & (codes[:, :k] == MISSING).all(axis=1))
        logs[rows] += np.log(parameters[0][:, column[rows]].T + TINY)
    return logs


def unrelated_logs(design: Design, weights: FloatArray) -> FloatArray:
    """Return log P(pattern) if no output tells anything of another; shape (R, S)."""
    shares = np.asarray(design.transposed @ weights)[1:]
    shares = shares.reshape(design.n_tests, design.n_classes, -1) + 1 / design.n_classes
    shares /= shares.sum(axis=1, keepdims=True)
    logs = np.log(shares).reshape(-1, weights.shape[1])
    return np.asarray(design.indicators[:, 1:] @ logs)


def settles_down(design: Design, counts: FloatArray) -> bool:
    """Whether the last test changes no more answers than some step between tests before it."""
    before, after = design.codes[:, :-1], design.codes[:, 1:]
    both = (before != MISSING) & (after != MISSING)
    change_rates = counts @ (both & (before != after)) / np.maximum(counts @ both, TINY)
    return bool(change_rates[-1] <= change_rates[:-1].max())
