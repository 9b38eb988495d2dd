"""How well one coin can be distinguished from another."""

from __future__ import annotations

import math

MOST_STEPS = 60  # of Newton's method, which needs about six


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


def edge_of_ball(centre: float, target: float, radius: float) -> float:
    """Return the last q on the way from ``centre`` to ``target`` with kl(centre, q) <= radius.

    Rounded outwards. With ``target`` 1 and ``radius`` E / n it is the highest chance that a share
    ``centre`` of n cases leaves possible at evidence E.

    >>> round(edge_of_ball(0.3, 1.0, 0.02), 4), edge_of_ball(0.3, 0.0, math.inf)
    (0.3961, 0.0)
    """
    if bernoulli_kl(centre, target) <= radius:
        return target
    if target < centre:
        p, limit = 1 - centre, 1 - target
    else:
        p, limit = centre, target
    # Newton's method on a convex function that grows: from beyond the root it stays beyond. It
    # starts at the nearer of two bounds, Pinsker's and the one without the term of q.
    q = p + math.sqrt(radius / 2)
    if p < 1:
        q = min(q, -math.expm1(-(bernoulli_entropy(p) + radius) / (1 - p)))
    q = min(q, limit)
    for _ in range(MOST_STEPS):
        if not p < q < 1:
            break
        step = (bernoulli_kl(p, q) - radius) * q * (1 - q) / (q - p)
        q -= step
        if step <= 1e-9 * q:  # the next one would be of the order of its square
            break
    q = max(q, p)
    edge = 1 - q if target < centre else q
    gap = math.copysign(math.ulp(edge), target - centre)
    while bernoulli_kl(centre, edge) <= radius:  # make up for rounding; ``target`` is beyond
        edge, gap = edge + gap, 2 * gap
    return edge


def log_e_value(n: int, d: int, q: float) -> float:
    """Return the log of the evidence of ``d`` hits in ``n`` trials against a chance of ``q``.

    The likelihood ratio of Krichevsky and Trofimov's mixture, ∫ p^d (1-p)^(n-d) Beta(½, ½) dp, to
    q. It is a martingale of mean 1 if q is the chance: that it ever exceeds 1/α has chance α, also
    for any chance on the other side of q than the hits (Ville).

    >>> log_e_value(0, 0, 0.3), round(log_e_value(100, 5, 0.2), 2)
    (0.0, 6.86)
    """
    if n == 0:
        return 0.0
    mixture = math.lgamma(d + 0.5) + math.lgamma(n - d + 0.5)
    mixture -= math.lgamma(n + 1) + math.log(math.pi)
    share = d / n
    return n * (bernoulli_kl(share, q) + bernoulli_entropy(share)) + mixture


def bernoulli_entropy(p: float) -> float:
    """Return -p log p - (1 - p) log(1 - p)."""
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)
