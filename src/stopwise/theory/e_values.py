r"""Evidence that a share has changed: an e-value for each cut of time.

A stream of yes and no is kept as counts in buckets of time. For a cut s between two buckets, with d
of n yes before it and d' of n' after it,

    e(s) = KT(d, n) · KT(d', n') / max_p p^(d+d') (1-p)^(n+n'-d-d'),

where KT(d, n) = B(d + ½, n - d + ½) / B(½, ½) is Krichevsky and Trofimov's mixture. Without a
change the maximum is at least the likelihood of the truth, so for each fixed s the process e(s) is
at most a martingale of mean 1, and reaches 1 / w with probability at most w (Ville).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray

LN_PI = math.log(math.pi)


def log_kt(hits: Any, seen: Any) -> FloatArray:
    """Return ln KT(d, n), elementwise.

    >>> log_kt(np.array([0.0, 1.0]), np.array([1.0, 2.0])).round(4)
    array([-0.6931, -2.0794])
    """
    from scipy.special import gammaln

    d, n = np.asarray(hits, dtype=np.float64), np.asarray(seen, dtype=np.float64)
    values = gammaln(d + 0.5) + gammaln(n - d + 0.5) - gammaln(n + 1) - LN_PI
    return np.asarray(values)


def log_best_likelihood(hits: Any, seen: Any) -> FloatArray:
    """Return max_p ln p^d (1-p)^(n-d), elementwise, 0 where nothing was seen."""
    from scipy.special import xlogy

    d, n = np.asarray(hits, dtype=np.float64), np.asarray(seen, dtype=np.float64)
    safe = np.maximum(n, 1)
    values = xlogy(d, d / safe) + xlogy(n - d, (n - d) / safe)
    return np.asarray(values)


def log_e_values(hits: Any, seen: Any) -> FloatArray:
    """Return ln e(s) for each cut and stream; shape (B - 1, S).

    Parameters
    ----------
    hits, seen
        Counts for each bucket and stream, oldest first; shape (B, S).
    """
    d, n = np.cumsum(hits, axis=0), np.cumsum(seen, axis=0)
    before = log_kt(d[:-1], n[:-1])
    after = log_kt(d[-1] - d[:-1], n[-1] - n[:-1])
    return before + after - log_best_likelihood(d[-1], n[-1])
