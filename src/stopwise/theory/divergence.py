"""How well one coin can be told from another."""

from __future__ import annotations

import math


def bernoulli_kl(p: float, q: float) -> float:
    """Return the Kullback-Leibler divergence from a coin with chance ``p`` to one with ``q``.

    kl(p, q) = p log(p / q) + (1 - p) log((1 - p) / (1 - q)), with 0 log 0 = 0. Infinite where q
    makes impossible what p makes possible.

    Parameters
    ----------
    p
        A chance in [0, 1].
    q
        A chance; <= 0 is taken as 0 and >= 1 as 1, so that a price may stand here.

    >>> round(bernoulli_kl(0.05, 0.1), 5)
    0.01671
    >>> bernoulli_kl(0.5, 1.2), bernoulli_kl(1, 1.2)
    (inf, 0.0)
    """
    if q <= 0:
        return 0.0 if p <= 0 else math.inf
    if q >= 1:
        return 0.0 if p >= 1 else math.inf
    kl = 0.0
    if p > 0:
        kl += p * (math.log(p) - math.log(q))
    if p < 1:
        kl += (1 - p) * (math.log(1 - p) - math.log(1 - q))
    return max(kl, 0.0)  # where p and q nearly agree, rounding can fall below zero
