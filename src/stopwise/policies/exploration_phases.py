"""When Algorithm 1 explores: plain loops over counts, which numba can compile."""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.compiled_rule import FOREVER, HAIR

# What `phase` returns other than an arm that has to be seen.
EXPLOIT, PLAN = -1, -2


def least_seen(observed: Any) -> int:
    """Return the arm seen least; of equals the last, which in a cascade shows the others."""
    least = 0
    for k in range(len(observed)):
        if observed[k] <= observed[least]:
            least = k
    return least


def phase(observed: Any, demands: Any, rate: float, forced: float, least: int) -> int:
    """Return EXPLOIT if all arms were seen often enough, else PLAN or ``least``.

    ``least`` is the arm seen least; it is returned if it has to be seen before there is a plan.
    """
    enough = True
    for k in range(len(observed)):
        enough = enough and observed[k] >= rate * demands[k]
    if enough:
        return EXPLOIT
    # With infinite demands all look equally good: nothing is known to plan by.
    return least if observed[least] < forced or demands[least] == math.inf else PLAN


def first_lacking(plays: Any, plan: Any, rate: float) -> int:
    """Return the first arm that was played less often than planned, or -1."""
    for k in range(len(plays)):
        if plays[k] < rate * plan[k]:
            return k
    return -1


def informed_for(observed: Any, demands: Any, alpha: float, t: int) -> int:
    """Return for how many rounds the counts suffice if the estimates stay as they are."""
    exponent = math.log(FOREVER)
    for k in range(len(observed)):
        if demands[k] > 0:
            exponent = min(exponent, observed[k] / (4 * alpha * demands[k]))
    return max(int(math.exp(exponent) * HAIR) - t + 1, 1)
