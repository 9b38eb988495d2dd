r"""The distribution function of a beta law, without SciPy, whose import takes longer than an audit.

With T = x^a (1 - x)^b / B(a, b) it is T / a divided by a continued fraction (DLMF 8.17.22) that
converges fast for x below (a + 1) / (a + b + 2); beyond it, I_x(a, b) = 1 - I_{1-x}(b, a).
"""

from __future__ import annotations

import math

LEAST = 1e-300  # in place of 0 as a divisor (Lentz)


def beta_cdf(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function I_x(a, b), also where it is tiny.

    >>> beta_cdf(0.5, 2, 3)
    0.6875
    """
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    term = math.exp(a * math.log(x) + b * math.log1p(-x) - log_beta)
    value, c, d, m, factor = 1.0, 1.0, 0.0, 0, 0.0
    while abs(factor - 1) > 1e-15:
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        factor = 1.0
        for step in (odd, even):
            d = 1 / (1 + step * d or LEAST)
            c = 1 + step / c or LEAST
            factor *= c * d
        value *= factor
    return term / (a * value)


def student_cdf(t: float, freedom: float) -> float:
    """Return the chance that a variable with Student's law is at most t <= 0."""
    return beta_cdf(freedom / (freedom + t * t), freedom / 2, 0.5) / 2
