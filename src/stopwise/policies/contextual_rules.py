"""Which stage to play for a context: the rules of all contextual policies, in one function.

It runs in Python and is compiled once for all of them: a kernel for each rule would take numba
three times as long. The price of pair (i, j) *covers* it if C_j - C_i >= U_ij(x), an upper bound on
P(Y^i ≠ Y^j | x): then going on from i to j surely does not pay. Everything is compared in log odds,
so the bound is θ_ij·x + sqrt(bonus · xᵀ H_ij⁻¹ x).
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.policies.pair_models import Model, is_warm, outlook

# Which rule: the first covered stage, with a bound or with a draw, or the first not refuted.
BOUND, DRAWN, RESOLVING = 0, 1, 2

REFUTED = -1


def contextual_stage(
    kind: int, model: Model, n_stages: int, context: Any, exploration: float, rng: Any
) -> int:
    """Return the stage that a rule plays; the last one while features have no scale.

    A bound is sqrt(bonus) standard deviations away, and the bonus grows with the rounds. It does
    not grow if θ_ij·x is drawn, normal with mean θ̂_ij·x and variance bonus · xᵀ H_ij⁻¹ x.
    """
    if not is_warm(model):
        return n_stages - 1
    bonus = exploration if kind == DRAWN else exploration * math.log(2.0 + model.counts[0])
    spares, deviations = outlook(model, context, bonus)
    if kind == RESOLVING:
        return unrefuted_stage(spares, deviations, model.seen, n_stages)
    return covered_stage(kind, spares, deviations, model.seen, n_stages, rng)


def covered_stage(
    kind: int, spares: Any, deviations: Any, seen: Any, n_stages: int, rng: Any
) -> int:
    """Return the first stage i whose prices cover all pairs (i, j), j > i; the last if none does.

    A bound on a pair that was never seen covers nothing. A draw takes the place of the bound.
    """
    last = n_stages - 1
    for i in range(last):
        j = i + 1
        while j <= last:
            p = j * (j - 1) // 2 + i
            if kind == DRAWN:
                covers = deviations[p] * rng.standard_normal() <= spares[p]
            else:
                covers = spares[p] >= deviations[p] and seen[p] > 0
            if not covers:
                break
            j += 1
        if j > last:
            return i
    return last


def unrefuted_stage(spares: Any, deviations: Any, seen: Any, n_stages: int) -> int:
    """Return the first stage that is not refuted, or the deepest stage that may refute it.

    Stage i is refuted by j if C_j - C_i is below a lower bound on P(Y^i ≠ Y^j | x). If the prices
    cover all pairs of i, it is played; otherwise the deepest j for which neither is known.
    """
    last = n_stages - 1
    for i in range(last):
        deepest = i
        for j in range(i + 1, n_stages):
            p = j * (j - 1) // 2 + i
            if -deviations[p] <= spares[p] < deviations[p] or seen[p] == 0:
                deepest = j
            elif spares[p] < 0:
                deepest = REFUTED
                break
        if deepest != REFUTED:
            return deepest
    return last
