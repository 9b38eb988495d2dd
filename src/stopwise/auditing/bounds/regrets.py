"""Regrets from the largest differences of error rates: what a stop can cost, what may be best."""

from __future__ import annotations

import numpy as np

from stopwise.cascade import BoolArray, FloatArray

TINY = 1e-9  # a regret below this is none


def worst_regrets(differences: FloatArray, costs: FloatArray) -> FloatArray:
    """Return for each stage k the largest regret: max_j (γ_k - γ_j) + C_k - C_j.

    ``differences`` are the largest γ_i - γ_j, ``costs`` are C in error units; shape (…, K).
    """
    return np.asarray(_largest_regrets(differences, costs).max(axis=-1))


def minimax_stage(regrets: FloatArray) -> int:
    """Return the first stage with the smallest worst-case regret."""
    return int(np.argmax(regrets <= regrets.min() + TINY))


def possible_stages(differences: FloatArray, costs: FloatArray) -> tuple[int, ...]:
    """Return the stages that may be best given the largest differences γ_i - γ_j; costs are C."""
    return tuple(np.flatnonzero(may_be_best(differences, costs)).tolist())


def may_be_best(differences: FloatArray, costs: FloatArray) -> BoolArray:
    """Return for each stage whether no other is sure to be better; shape (…, K), as ``costs``."""
    return np.asarray((_largest_regrets(differences, costs) >= -TINY).all(axis=-2))


def _largest_regrets(differences: FloatArray, costs: FloatArray) -> FloatArray:
    """Return how much more i can cost than j, at most; shape (…, K, K)."""
    return differences + costs[..., :, None] - costs[..., None, :]
