"""Which stage to play for a context: the rules over what `model` knows.

They run in Python and are compiled alike. The price of pair (i, j) *covers* it where
C_j - C_i >= U_ij(x), an upper bound on P(Y^i ≠ Y^j | x): surely i need not go on to j. All is
compared in log odds, so that the bound is θ_ij·x + sqrt(bonus · xᵀ H_ij⁻¹ x).
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.pair_models import Model, is_warm, outlook

REFUTED = -1


def optimistic_stage(model: Model, n_stages: int, context: Any, bonus: float) -> int:
    """Return the first stage i with C_j - C_i >= U_ij(x) for all j > i.

    The last stage if there is none, if a pair was never seen, or while features have no scale.
    """
    return covered_stage(model, n_stages, context, bonus, False, None)


def covered_stage(
    model: Model, n_stages: int, context: Any, bonus: float, is_drawn: bool, rng: Any
) -> int:
    """Return the first stage whose prices cover all later ones, by bounds or in a draw."""
    last = n_stages - 1
    if not is_warm(model):
        return last
    spares, spreads = outlook(model, context)
    for i in range(last):
        j = i + 1
        while j <= last:
            p = j * (j - 1) // 2 + i
            deviation = math.sqrt(bonus * spreads[p])
            if is_drawn:
                covers = deviation * rng.standard_normal() <= spares[p]
            else:
                covers = spares[p] >= deviation and model.seen[p] > 0
            if not covers:
                break
            j += 1
        if j > last:
            return i
    return last


def resolving_stage(model: Model, n_stages: int, context: Any, bonus: float) -> int:
    """Return the first stage that is not refuted, or the deepest stage that may refute it.

    Stage i is refuted by j if C_j - C_i is below a lower bound on P(Y^i ≠ Y^j | x). If the prices
    cover all pairs of i, it is played; otherwise the deepest j for which neither is known.
    """
    last = n_stages - 1
    if not is_warm(model):
        return last
    spares, spreads = outlook(model, context)
    for i in range(last):
        deepest = i
        for j in range(i + 1, n_stages):
            p = j * (j - 1) // 2 + i
            deviation = math.sqrt(bonus * spreads[p])
            if -deviation <= spares[p] < deviation or model.seen[p] == 0:
                deepest = j
            elif spares[p] < 0:
                deepest = REFUTED
                break
        if deepest != REFUTED:
            return deepest
    return last


def sampled_stage(model: Model, n_stages: int, context: Any, bonus: float, rng: Any) -> int:
    """Return what `optimistic_stage` does with a draw of θ_ij·x in place of its upper bound.

    θ_ij·x is normal with mean θ̂_ij·x and variance bonus · xᵀ H_ij⁻¹ x, one draw a pair.
    """
    return covered_stage(model, n_stages, context, bonus, True, rng)


def growing_bonus(exploration: float, n_rounds: int) -> float:
    """Return the squared number of standard deviations of a bound after ``n_rounds`` rounds."""
    return exploration * math.log(2.0 + n_rounds)
