"""The rule of Algorithm 2 over any table of pair averages, and how long its answer is certain.

The settings are the exploration and the *swing*, how far one case can lower a sum: 0 if sums count
disagreements, 1 if they are differences of two errors. A learner calls these functions with lists;
for a simulation numba compiles them over arrays.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.compiled_rule import FOREVER, HAIR, Tables, pair


def rejects(price: float, n: int, total: float, width: float) -> bool:
    """Whether the bound on an average, total / n + sqrt(width / n), is above the price."""
    return bool(n == 0 or price < total / n + math.sqrt(width / n))


# Called in every decision, so the test of `rejects` stands here without the call.
def first_accepted(tables: Tables, width: float) -> int:
    """Return the first stage i with C_j - C_i >= m_ij + sqrt(width / n_ij) for all j > i.

    m_ij = sums[j][i] / seen[j][i]; the last stage if there is none (lines 5 to 7 of Algorithm 2).
    """
    prices, seen, sums = tables.prices, tables.seen, tables.sums
    last = len(prices) - 1
    for i in range(last):
        j = i + 1  # from the lowest price on, where a rejection is most likely
        while j <= last:
            n = seen[j][i]
            if n == 0 or prices[j][i] < sums[j][i] / n + math.sqrt(width / n):
                break
            j += 1
        if j > last:
            return i
    return last


def optimistic_choice(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    """Return the stage to play after ``n_rounds`` and for how many rounds that is certain."""
    exploration, swing = tables.settings[0], int(tables.settings[1])
    t = n_rounds + 1
    width = exploration * math.log(t)
    stage = first_accepted(tables, width)
    certain = _accepted_for(tables, stage, exploration) - t + 1
    for i in range(stage - 1, -1, -1):  # the later, the closer to being accepted
        if certain <= 1:
            break
        certain = _rejected_for(tables, i, stage, width, swing, certain)
    return stage, max(certain, 1)


def _accepted_for(tables: Tables, stage: int, exploration: float) -> int:
    """Return the last round in which ``stage`` is accepted: its pairs are not seen meanwhile."""
    until = FOREVER
    for j in range(stage + 1, len(tables.prices)):
        n, total, price = pair(tables, stage, j)
        spare = price - total / n
        # The bound stays below the price until ln t reaches this exponent.
        exponent = min(n * spare * spare / exploration, math.log(FOREVER))
        until = min(until, int(math.exp(exponent) * HAIR))
    return until


def _rejected_for(tables: Tables, i: int, stage: int, width: float, swing: int, most: int) -> int:
    """Return for how many rounds at ``stage``, up to ``most``, some pair of ``i`` must reject it.

    A pair rejects ``i`` while its bound is above its price.
    """
    for j in range(stage + 1, len(tables.prices)):
        n, total, price = pair(tables, i, j)
        if rejects(price, n, total, width):
            return most  # not seen meanwhile, and the bound only grows with t
    longest = 1
    for j in range(i + 1, stage + 1):
        n, total, price = pair(tables, i, j)
        if n > 0 and rejects(price, n, total, width):
            longest = max(longest, _above_for(price, n, total, width, swing))
            if longest >= most:
                return most
    return longest


def _above_for(price: float, n: int, total: int, width: float, swing: int) -> int:
    # After m further cases, each as low as can be, the bound is above the price as long as
    # a·x² - sqrt(width)·x - b < 0 with x = sqrt(n + m). That t grows too only helps.
    a, b = price + swing, total + swing * n
    if a <= 0:
        return FOREVER
    x = (math.sqrt(width) + math.sqrt(width + 4 * a * b)) / (2 * a)
    return int(min(x * x * HAIR - n, float(FOREVER)))
