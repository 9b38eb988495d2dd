"""What cases would have shown if none had been stopped early, from those that went on.

Whether a case goes on after a prefix s depends on s alone, and on chance. So those that went on
show what the others would have shown, and each stands for N(s) / n(s) cases, N(s) of which reached
s and n(s) went on (the product-limit estimate of E. L. Kaplan and P. Meier, "Nonparametric
estimation from incomplete observations", 1958, with prefixes for times). A model that is fitted to
the weighted table sees the mixture of cases that there is, not that which the rule lets through:
that matters where the model is only roughly right.
"""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.prefix_tree import Level, padded
from stopwise.cascade import FloatArray, IntArray


def representative_cases(levels: list[Level]) -> tuple[IntArray, IntArray]:
    """Return patterns and how often each would occur, in whole cases, had all been run to the end.

    Prefixes from which nobody went on stay as they are. The total is the effective number of cases,
    (Σw)² / Σw² over cases with weights w: few that stand for many do not count like many.

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
    table, weight, count = np.concatenate(codes), np.concatenate(weights), np.concatenate(counts)
    effective = weight.sum() ** 2 / (weight**2 / count).sum()
    order = np.lexsort(table.T[::-1])
    # Rounded along the sorted rows, so that what is lost of one is given to its neighbour.
    whole = np.floor(np.cumsum(weight[order]) * effective / weight.sum() + 0.5).astype(np.int64)
    times = np.diff(whole, prepend=0)
    kept = times > 0
    return table[order][kept], times[kept]
