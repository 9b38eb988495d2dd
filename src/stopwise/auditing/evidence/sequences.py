"""Confidence sequences: intervals that stay right however often one looks at them."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stopwise.auditing.interval import Interval
from stopwise.theory.divergence import bernoulli_kl, edge_of_ball

NEVER = math.inf


@dataclass(frozen=True)
class BettingSequence:
    """Bounds on the mean of values in [0, 1] that hold at every sample size at once.

    A gambler who doubts that the mean is m stakes on every case, at odds that are fair if it is m.
    With the stakes mixed over Beta(1/2, 1/2), the capital after n values that sum to s is at least

        ∫ (q/m)^s ((1-q)/(1-m))^(n-s) dBeta(q) = B(s + 1/2, n - s + 1/2) / (π m^s (1-m)^(n-s)),

    with equality for values 0 and 1; for others it follows from the concavity of the logarithm. The
    capital is a non-negative martingale, so by Ville's inequality it exceeds 1/α at some n with
    probability at most α. The interval holds the m at which it does not: a Kullback-Leibler ball
    around s / n. It depends on n and s alone, not on the order of the cases, and may be read after
    each of them.

    Parameters
    ----------
    alpha
        The chance, in (0, 1), that the mean is ever outside.

    >>> BettingSequence(0.05).interval(30, 100)
    Interval(low=0.165..., high=0.462...)
    """

    alpha: float

    def radius(self, total: float, n: float) -> float:
        """Return the largest kl(s/n, m) of an m in the interval."""
        if n <= 0:
            return math.inf
        mean = total / n
        log_mixture = _log_beta(total + 0.5, n - total + 0.5) - math.log(math.pi)
        return (-math.log(self.alpha) - log_mixture - n * _entropy(mean)) / n

    def interval(self, total: float, n: float) -> Interval:
        """Return the interval after ``n`` values that sum to ``total``."""
        if n <= 0:
            return Interval(0.0, 1.0)
        return kl_ball(total / n, self.radius(total, n))

    def excludes(self, value: float, total: float, n: float) -> bool:
        """Whether ``value`` is outside the interval."""
        return n > 0 and bernoulli_kl(min(total / n, 1.0), value) > self.radius(total, n)

    def n_more(self, value: float, total: float, n: float) -> float:
        """Return how many more cases would exclude ``value`` if the mean stays as it is.

        0 where it is excluded already, infinite where the mean is that value.
        """
        if n <= 0:
            return NEVER
        if self.excludes(value, total, n):
            return 0
        mean = total / n
        if bernoulli_kl(mean, value) < 1e-15:
            return NEVER
        high = n
        while not self.excludes(value, mean * high, high):
            high *= 2
            if high > 1e15:
                return NEVER
        low = high / 2
        while high - low > max(1.0, high / 1000):  # three digits are more than a forecast has
            middle = (low + high) / 2
            if self.excludes(value, mean * middle, middle):
                high = middle
            else:
                low = middle
        return math.ceil(high - n)


def kl_ball(mean: float, radius: float) -> Interval:
    """Return all m with kl(mean, m) <= radius, rounded outwards."""
    centre = min(max(mean, 0.0), 1.0)
    return Interval(edge_of_ball(centre, 0.0, radius), edge_of_ball(centre, 1.0, radius))


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _entropy(p: float) -> float:
    return -sum(x * math.log(x) for x in (p, 1 - p) if x > 0)
