"""The outputs that cases would have shown had none been stopped early, from those that went on.

Whether a case goes on after a prefix s depends on s and on chance alone. So those that went on
show what the others would have shown. If N(s) cases reached s and n(s) went on, each of these
stands for N(s) / n(s) cases (the product-limit estimate of E. L. Kaplan and P. Meier,
"Nonparametric estimation from incomplete observations", 1958, with prefixes for times). A model
fitted to the weighted table sees the mixture of all cases, not of those that the rule lets through.
That matters where the model is only roughly right.
"""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.prefix_tree import Level, padded
from stopwise.beliefs.spread_law import spread_law
from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import MISSING

EVEN = 1e-3  # cases that are spread evenly, so that no pattern is impossible


def representative_cases(levels: list[Level]) -> tuple[IntArray, IntArray]:
    """Return the patterns, and their counts if every case had run all tests, as whole numbers.

    Prefixes after which every case stopped stay as they are. The counts sum to the effective number
    of cases, (Σw)² / Σw² over cases with weights w: a few cases that represent many count as few.

    Parameters
    ----------
    levels
        The prefixes, see `prefix_levels`.

    >>> from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
    >>> cases = ToldCases(np.array([[0, -1], [0, 0], [1, 1]]), np.array([1, 2, 2]),
    ...                   np.array([90.0, 10.0, 100.0]), np.zeros(3))
    >>> representative_cases(prefix_levels(cases, 2))
    (array([[0, 0],
           [1, 1]]), array([18, 18]))
    """
    K = len(levels)
    codes: list[IntArray] = []
    weights: list[FloatArray] = []
    counts: list[FloatArray] = []
    mass = np.ones(1)  # of the empty prefix
    went_on = levels[0].weights.sum(keepdims=True)
    for level in levels:
        n = went_on[level.parent]
        share = np.divide(level.weights, n, out=np.zeros(len(n)), where=n > 0)
        mass = mass[level.parent] * share
        went_on = level.weights - level.stopped
        ends = (went_on == 0) & (level.stopped > 0)
        codes.append(padded(level.codes[ends], K))
        weights.append(mass[ends])
        counts.append(level.stopped[ends])
    return _whole_cases(np.concatenate(codes), np.concatenate(weights), np.concatenate(counts))


def representative_of_any_order(
    codes: IntArray, weights: FloatArray, n_classes: int
) -> tuple[IntArray, IntArray]:
    """Return the same for tests that were run in any order, by the law of complete patterns.

    Parameters
    ----------
    codes, weights
        The patterns seen, -1 for no output, and how often; shapes (R, K) and (R,).
    n_classes
        The number of values, M.

    >>> codes = np.array([[-1, 0], [0, 0], [1, 0], [1, 1]])
    >>> representative_of_any_order(codes, np.array([80.0, 10, 10, 100]), 2)
    (array([[0, 0],
           [1, 0],
           [1, 1]]), array([17, 16, 34]))
    """
    K = codes.shape[1]
    is_complete = (codes != MISSING).all(axis=1)
    counts = np.zeros((n_classes,) * K)
    np.add.at(counts, tuple(codes[is_complete].T), weights[is_complete])
    even = np.full(counts.shape, 1 / counts.size)
    law = spread_law(even, codes, weights, strength=EVEN)
    occurs = counts > 0
    return _whole_cases(np.argwhere(occurs), law[occurs], counts[occurs])


def _whole_cases(
    table: IntArray, weight: FloatArray, count: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return patterns of some weight, each shown by ``count`` cases, as whole effective cases."""
    effective = weight.sum() ** 2 / (weight**2 / count).sum()
    order = np.lexsort(table.T[::-1])
    # Rounded along the sorted rows, so that what one row loses its neighbour gets.
    whole = np.floor(np.cumsum(weight[order]) * effective / weight.sum() + 0.5).astype(np.int64)
    times = np.diff(whole, prepend=0)
    return table[order][times > 0], times[times > 0]
