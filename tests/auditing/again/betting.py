"""Intervals by root finding: where a gambler has won enough, where a divergence is too large."""

import math

from scipy.optimize import brentq
from scipy.special import betaln, xlogy


def edges(log_capital, mean, bar):
    """Where a function that grows on both sides of the mean reaches the bar."""

    def edge(outside):
        if mean == outside or log_capital(outside) < bar:
            return float(round(outside))
        inside = mean + 1e-13 * (outside - mean)
        return brentq(lambda m: log_capital(m) - bar, inside, outside, xtol=1e-14)

    return edge(1e-15), edge(1 - 1e-15)


def betting(total, n, alpha):
    """All means at which a gambler with mixed stakes has not won 1 / alpha times the stake."""
    if not n:
        return 0.0, 1.0

    def log_capital(m):
        mixed = betaln(total + 0.5, n - total + 0.5) - math.log(math.pi)
        return mixed - xlogy(total, m) - xlogy(n - total, 1 - m)

    return edges(log_capital, total / n, -math.log(alpha))
