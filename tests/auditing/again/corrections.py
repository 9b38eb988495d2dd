"""The share of changes that are corrections, on a grid: what it may be and what labels tell."""

import numpy as np
from scipy.stats import binom

GRID = (np.arange(4_000) + 0.5) / 4_000


class Counted:
    """y ~ Beta(1 + v ŷ, 1 + v (1 - ŷ)), with x = 2 y - 1 estimated and b the price."""

    def __init__(self, v, x, b):
        right = 0.5 if np.isnan(x) else min(max((1 + x) / 2, 0.0), 1.0)
        self.a, self.b = 1 + v * right, 1 + v * (1 - right)
        self.even = min(max((1 + b) / 2, 0.0), 1.0)
        density = GRID ** (self.a - 1) * (1 - GRID) ** (self.b - 1)
        self.weights = density / density.sum()

    def lost(self, is_taken):
        """What a step that is taken, or not, costs too much on average, in changes."""
        gain = 2 * (GRID - self.even)
        return float(self.weights @ np.maximum(-gain if is_taken else gain, 0))

    def tells(self, m, n):
        """The chance that m of n labels leave y 1.5 standard deviations from where it pays."""
        total = 0.0
        for k in range(m + 1):
            a, b = self.a + k, self.b + m - k
            mean = a / (a + b)
            spread = (mean * (1 - mean) / (a + b + 1) * (max(1 - m / n, 0) if n > 0 else 0)) ** 0.5
            if abs(mean - self.even) > 1.5 * spread:
                total += float(self.weights @ binom.pmf(k, m, GRID))
        return total
