"""The rule of Algorithm 2 over any table of pair averages, and how long its answer is certain."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stopwise.cascade import Cascade

# "As long as anyone will ever play": the largest whole number that a float holds exactly.
FOREVER = 2**53
# Where a number of rounds is computed from a formula, a hair less is claimed, against rounding.
HAIR = 1 - 1e-12

Rows = list[list[int]]


def price_rows(cascade: Cascade) -> list[list[float]]:
    """Return C_j - C_i as plain floats: ``rows[j][i]`` for i <= j."""
    C = cascade.cumulative_costs.tolist()
    return [[C[j] - C[i] for i in range(j + 1)] for j in range(len(C))]


@dataclass(frozen=True)
class Optimism:
    """Play the first stage whose price covers the upper bound of every pair beyond it.

    Stage i is accepted when C_j - C_i >= m_ij + sqrt(width / n_ij) for all j > i, where m_ij =
    sums[j][i] / seen[j][i]; the last stage always is (lines 5 to 7 of Algorithm 2).

    Parameters
    ----------
    prices
        C_j - C_i, as `price_rows` gives it.
    swing
        How far one case can lower a sum: 0 where the sums count disagreements, 1 where they
        are differences of two errors.
    """

    prices: list[list[float]]
    swing: int = 0

    def first_accepted(self, seen: Rows, sums: Rows, width: float) -> int:
        """Return the stage to play."""
        last = len(self.prices) - 1
        for i in range(last):
            for j in range(last, i, -1):
                n = seen[j][i]
                if n == 0 or self.prices[j][i] < sums[j][i] / n + math.sqrt(width / n):
                    break
            else:
                return i
        return last

    def decide(self, seen: Rows, sums: Rows, t: int, exploration: float) -> tuple[int, int]:
        """Return the stage to play in round ``t`` and for how many rounds that is certain."""
        width = exploration * math.log(t)
        stage = self.first_accepted(seen, sums, width)
        certain = self._accepted_for(stage, seen, sums, t, exploration)
        for i in range(stage):
            certain = min(certain, self._rejected_for(i, stage, seen, sums, width))
        return stage, max(certain, 1)

    def _accepted_for(self, stage: int, seen: Rows, sums: Rows, t: int, exploration: float) -> int:
        """Return for how many rounds ``stage`` stays accepted: its pairs are not seen meanwhile."""
        until: float = FOREVER
        for j in range(stage + 1, len(self.prices)):
            n = seen[j][stage]
            spare = self.prices[j][stage] - sums[j][stage] / n
            # The bound stays below the price until ln t reaches this exponent.
            exponent = min(n * spare * spare / exploration, math.log(FOREVER))
            until = min(until, math.exp(exponent) * HAIR)
        return int(until) - t + 1

    def _rejected_for(self, i: int, stage: int, seen: Rows, sums: Rows, width: float) -> int:
        """Return for how many rounds at ``stage`` some pair of ``i`` must stay above its price."""
        longest = 1
        for j in range(len(self.prices) - 1, i, -1):
            n, price = seen[j][i], self.prices[j][i]
            if n and price >= sums[j][i] / n + math.sqrt(width / n):
                continue
            if j > stage:
                return FOREVER  # not seen meanwhile, and the bound only grows with t
            if n:
                longest = max(longest, self._above_for(price, n, sums[j][i], width))
        return longest

    def _above_for(self, price: float, n: int, total: int, width: float) -> int:
        # After m further cases, each as low as can be, the bound is above the price as long as
        # a·x² - sqrt(width)·x - b < 0 with x = sqrt(n + m). That t grows too only helps.
        a, b = price + self.swing, total + self.swing * n
        if a <= 0:
            return FOREVER
        x = (math.sqrt(width) + math.sqrt(width + 4 * a * b)) / (2 * a)
        return int(min(x * x * HAIR - n, FOREVER))
