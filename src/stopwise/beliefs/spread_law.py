"""The law of complete patterns from cases with gaps, whichever tests were run in each.

Which tests a case has depends on its outputs so far, and on chance. So a case with gaps may be
spread over the patterns that it leaves possible, in proportion to their law, and the law follows
from the counts: expectation maximisation. It starts from the complete cases, among which the chance
of an output given others is right wherever these others decided what was run.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import MISSING

STEPS = 30


def spread_law(
    prior: FloatArray, codes: IntArray, weights: FloatArray, *, strength: float
) -> FloatArray:
    """Return the law of complete patterns, shape (M,) * K.

    Parameters
    ----------
    prior
        What is expected of it, positive; shape (M,) * K.
    codes, weights
        The patterns seen, -1 for no output, and how often; shapes (R, K) and (R,).
    strength
        The number of cases that ``prior`` is worth.

    >>> codes = np.array([[0, 0], [0, 1], [0, -1], [1, -1], [1, 1]])
    >>> even = np.full((2, 2), 0.25)
    >>> spread_law(even, codes, np.array([9.0, 1, 40, 40, 10]), strength=1e-6).round(3)
    array([[0.45, 0.05],
           [0.  , 0.5 ]])
    """
    K, M = prior.ndim, prior.shape[0]
    shown = codes != MISSING
    by_tests: dict[tuple[bool, ...], FloatArray] = defaultdict(lambda: np.zeros((M + 1,) * K))
    for row, output, n in zip(shown.tolist(), codes, weights, strict=True):
        by_tests[tuple(row)][tuple(output)] += n
    counted = strength * prior
    gaps = []
    for tests, table in by_tests.items():
        # One place along each axis that was not shown, the last; the others along those that were.
        places = tuple(slice(M) if is_shown else slice(M, None) for is_shown in tests)
        missing = tuple(k for k in range(K) if not tests[k])
        if missing:
            gaps.append((table[places], missing))
        else:
            counted = counted + table[places]
    law = counted / counted.sum()
    for _ in range(STEPS if gaps else 0):
        total = counted.copy()
        for table, missing in gaps:
            total += law * (table / law.sum(axis=missing, keepdims=True))
        law = total / total.sum()
    return np.asarray(law)
