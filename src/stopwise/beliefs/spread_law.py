"""The law of complete patterns from cases with gaps, whichever tests were run in each.

Which tests a case has depends on its outputs so far and on chance alone. So a case with gaps may be
spread over the patterns that it leaves possible, in proportion to their law, and the law follows
from the counts: expectation maximisation. It starts from the complete cases. Among these the chance
of an output given others is unbiased if these others decided what was run.
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
        The expected law, positive; shape (M,) * K.
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
    was_run = codes != MISSING
    by_tests: dict[tuple[bool, ...], FloatArray] = defaultdict(lambda: np.zeros((M + 1,) * K))
    for row, outputs, n in zip(was_run.tolist(), codes, weights, strict=True):
        by_tests[tuple(row)][tuple(outputs)] += n
    complete = strength * prior
    gaps = []
    for tests, table in by_tests.items():
        # The last place along the axis of a test that was not run, and otherwise all but the last.
        places = tuple(slice(M) if is_run else slice(M, None) for is_run in tests)
        missing = tuple(k for k in range(K) if not tests[k])
        if missing:
            gaps.append((table[places], missing))
        else:
            complete = complete + table[places]
    law = complete / complete.sum()
    for _ in range(STEPS if gaps else 0):
        total = complete.copy()
        for table, missing in gaps:
            total += law * (table / law.sum(axis=missing, keepdims=True))
        law = total / total.sum()
    return np.asarray(law)
