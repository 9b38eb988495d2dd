"""The rule of Algorithm 2 over any table of pair averages, and how long its answer is certain.

Tables are indexed ``table[j][i]`` with i <= j: lists of lists for a learner that runs in Python,
arrays where numba compiles these same functions for a simulation. ``swing`` is how far one case can
lower a sum: 0 where sums count disagreements, 1 where they are differences of two errors.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.cascade import Cascade

# "As long as anyone will ever play": the largest whole number that a float holds exactly.
FOREVER = 2**53
# Where a number of rounds comes out of a formula, a hair less is claimed, against rounding.
HAIR = 1 - 1e-12

# No stage.
NOTHING = -1

Rows = list[list[int]]


def price_rows(cascade: Cascade) -> list[list[float]]:
    """Return C_j - C_i as plain floats: ``rows[j][i]`` for i <= j."""
    C = cascade.cumulative_costs.tolist()
    return [[C[j] - C[i] for i in range(j + 1)] for j in range(len(C))]


def rejects(price: float, n: int, total: float, width: float) -> bool:
    """Whether the bound on an average, total / n + sqrt(width / n), is above the price."""
    return bool(n == 0 or price < total / n + math.sqrt(width / n))


# Called in every decision, so the test of `rejects` stands here without the call.
def first_accepted(prices: Any, seen: Any, sums: Any, width: float) -> int:
    """Return the first stage i with C_j - C_i >= m_ij + sqrt(width / n_ij) for all j > i.

    m_ij = sums[j][i] / seen[j][i]; the last stage if there is none (lines 5 to 7 of Algorithm 2).
    """
    last = len(prices) - 1
    for i in range(last):
        j = i + 1  # from the lowest price on: what rejects i is found soonest there
        while j <= last:
            n = seen[j][i]
            if n == 0 or prices[j][i] < sums[j][i] / n + math.sqrt(width / n):
                break
            j += 1
        if j > last:
            return i
    return last


def optimistic_choice(
    prices: Any, seen: Any, sums: Any, t: int, exploration: float, swing: int
) -> tuple[int, int]:
    """Return the stage to play in round ``t`` and for how many rounds that is certain."""
    width = exploration * math.log(t)
    stage = first_accepted(prices, seen, sums, width)
    certain = _accepted_for(prices, seen, sums, stage, exploration) - t + 1
    for i in range(stage - 1, -1, -1):  # the later, the closer to being accepted
        if certain <= 1:
            break
        certain = _rejected_for(prices, seen, sums, i, stage, width, swing, certain)
    return stage, max(certain, 1)


def _accepted_for(prices: Any, seen: Any, sums: Any, stage: int, exploration: float) -> int:
    """Return the last round in which ``stage`` is accepted: its pairs are not seen meanwhile."""
    until = FOREVER
    for j in range(stage + 1, len(prices)):
        n = seen[j][stage]
        spare = prices[j][stage] - sums[j][stage] / n
        # The bound stays below the price until ln t reaches this exponent.
        exponent = min(n * spare * spare / exploration, math.log(FOREVER))
        until = min(until, int(math.exp(exponent) * HAIR))
    return until


def _rejected_for(
    prices: Any, seen: Any, sums: Any, i: int, stage: int, width: float, swing: int, most: int
) -> int:
    """Return for how many rounds at ``stage`` some pair of ``i`` must stay above its price.

    One such pair rejects ``i``. More than ``most`` rounds are not asked for.
    """
    for j in range(stage + 1, len(prices)):
        if rejects(prices[j][i], seen[j][i], sums[j][i], width):
            return most  # not seen meanwhile, and the bound only grows with t
    longest = 1
    for j in range(i + 1, stage + 1):
        n, price, total = seen[j][i], prices[j][i], sums[j][i]
        if n > 0 and rejects(price, n, total, width):
            longest = max(longest, _above_for(price, n, total, width, swing))
            if longest >= most:
                return most  # what the other pairs add is not asked for
    return longest


def _above_for(price: float, n: int, total: int, width: float, swing: int) -> int:
    # After m further cases, each as low as can be, the bound is above the price as long as
    # a·x² - sqrt(width)·x - b < 0 with x = sqrt(n + m). That t grows too only helps.
    a, b = price + swing, total + swing * n
    if a <= 0:
        return FOREVER
    x = (math.sqrt(width) + math.sqrt(width + 4 * a * b)) / (2 * a)
    return int(min(x * x * HAIR - n, float(FOREVER)))
