"""How well one coin can be told from another."""

from __future__ import annotations

import math

HALVINGS = 60  # of [0, 1]: beyond the precision of a float


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


def edge_of_ball(inside: float, outside: float, radius: float) -> float:
    """Return the last q on the way from ``inside`` to ``outside`` with kl(inside, q) <= radius.

    Rounded outwards. With ``outside`` 1 and ``radius`` E / n it is the highest chance that a share
    ``inside`` of n cases leaves possible at evidence E.

    >>> round(edge_of_ball(0.3, 1.0, 0.02), 4), edge_of_ball(0.3, 0.0, math.inf)
    (0.3961, 0.0)
    """
    if bernoulli_kl(inside, outside) <= radius:
        return outside
    near, far = inside, outside
    for _ in range(HALVINGS):
        middle = (near + far) / 2
        if bernoulli_kl(inside, middle) <= radius:
            near = middle
        else:
            far = middle
    return far
