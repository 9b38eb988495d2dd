"""Which stage to play for a context: what several contextual policies share of their rules.

It runs in Python and is compiled alike. The price of pair (i, j) *covers* it where
C_j - C_i >= U_ij(x), an upper bound on P(Y^i ≠ Y^j | x): surely i need not go on to j. All is
compared in log odds, so that the bound is θ_ij·x + sqrt(bonus · xᵀ H_ij⁻¹ x).
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.pair_models import Model, is_warm, outlook


def covered_stage(
    model: Model, n_stages: int, context: Any, bonus: float, is_drawn: bool, rng: Any
) -> int:
    """Return the first stage i whose prices cover all pairs (i, j), j > i; the last if none does.

    Also the last while a pair was never seen or features have no scale. Where ``is_drawn``, a draw
    of θ_ij·x, normal with mean θ̂_ij·x and variance bonus · xᵀ H_ij⁻¹ x, is in place of the bound.
    """
    last = n_stages - 1
    if not is_warm(model):
        return last
    spares, deviations = outlook(model, context, bonus)
    for i in range(last):
        j = i + 1
        while j <= last:
            p = j * (j - 1) // 2 + i
            if is_drawn:
                covers = deviations[p] * rng.standard_normal() <= spares[p]
            else:
                covers = spares[p] >= deviations[p] and model.seen[p] > 0
            if not covers:
                break
            j += 1
        if j > last:
            return i
    return last


def growing_bonus(exploration: float, n_rounds: int) -> float:
    """Return the squared number of standard deviations of a bound after ``n_rounds`` rounds."""
    return exploration * math.log(2.0 + n_rounds)
