"""What disagreement tells: where going on can pay, and the stage that follows from it."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from stopwise.cascade import TOLERANCE, Cascade, FloatArray
from stopwise.errors import InputError


def price_covers(extra_cost: float, disagreement: float) -> bool:
    """Whether going on costs at least what it can gain: C_j - C_i >= P(Y^i ≠ Y^j).

    Since γ_i - γ_j <= P(Y^i ≠ Y^j) for any outputs, going on from i to j then never pays.
    False where the disagreement is unknown (NaN).
    """
    return extra_cost >= disagreement - TOLERANCE


def price_ratio(extra_cost: float, disagreement: float) -> float:
    """Return (C_j - C_i) / P(Y^i ≠ Y^j), >= 1 where going on cannot pay; infinite if they agree."""
    return math.inf if disagreement <= TOLERANCE else extra_cost / disagreement


def dominated_pairs(cascade: Cascade, stage: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) whose price must cover their disagreement for ``stage`` to be sound.

    They are (stage, j) for each j below ``stage`` and, on a tree, (a, j) for each proper ancestor a
    of ``stage`` and each j below a in another branch. In a chain: (stage, j) for all later j.
    """
    pairs = [(stage, j) for j in cascade.descendants[stage]]
    for ancestor, towards in pairwise(cascade.paths[stage]):
        branches = cascade.branches[ancestor]
        pairs += [(ancestor, j) for j in cascade.descendants[ancestor] if branches[j] != towards]
    return tuple(pairs)


def is_dominant_at(disagreement: FloatArray, cascade: Cascade, stage: int) -> bool:
    """Whether the condition of weak dominance holds at ``stage``: nothing beyond it can pay."""
    C = cascade.cumulative_costs
    return all(
        price_covers(C[j] - C[i], disagreement[i, j]) for i, j in dominated_pairs(cascade, stage)
    )


def dominance_ratio(disagreement: FloatArray, cascade: Cascade, stage: int) -> float:
    """Return the smallest (C_j - C_i) / P(Y^i ≠ Y^j) over the pairs that ``stage`` has to dominate.

    At the best stage it is >= 1 exactly when the instance is weakly dominant. Infinite where
    there is nothing to dominate; NaN where a disagreement is unknown.
    """
    C = cascade.cumulative_costs
    ratios = [
        price_ratio(float(C[j] - C[i]), float(disagreement[i, j]))
        for i, j in dominated_pairs(cascade, stage)
    ]
    return math.nan if any(map(math.isnan, ratios)) else min(ratios, default=math.inf)


def sound_stage(disagreement: Any, cascade: Cascade) -> int | None:
    """Return the one stage that disagreement alone shows to be best under weak dominance (a_wd).

    It is the stage i beyond which nothing can pay, C_j - C_i >= P(Y^i ≠ Y^j) for each j below i
    (on a tree also for the branches that leave the path to i), and which pays itself:
    C_i - C_j < P(Y^j ≠ Y^i) for each j on the path to i. ``None`` where no stage meets both
    (Definition 3 of the paper, for any number of classes, chains and trees).

    ``disagreement`` is a (K, K) array; NaN stands for a pair that was never seen together.

    >>> import numpy as np
    >>> p = np.array([[0, 0.30, 0.35], [0.30, 0, 0.05], [0.35, 0.05, 0]])
    >>> sound_stage(p, Cascade(costs=[0, 0.1, 0.1]))
    1
    """
    p = _checked_disagreement(disagreement, cascade)
    C = cascade.cumulative_costs
    for i, path in enumerate(cascade.paths):
        pays = all(p[j, i] - (C[i] - C[j]) > TOLERANCE for j in path[:-1])
        if pays and is_dominant_at(p, cascade, i):
            return i
    return None


def _checked_disagreement(disagreement: Any, cascade: Cascade) -> FloatArray:
    try:
        p = np.asarray(disagreement, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"disagreement must be an array of numbers, got {disagreement!r}"
        ) from None
    K = cascade.n_stages
    if p.shape != (K, K):
        raise InputError(f"disagreement must have shape ({K}, {K}), got {p.shape}")
    bad = np.argwhere((p < 0) | (p > 1 + TOLERANCE))
    if len(bad):
        i, j = map(int, bad[0])
        raise InputError(
            f"disagreement must lie in [0, 1], got {float(p[i, j])!r} at stages {i + 1}, {j + 1}"
        )
    if not np.array_equal(p, p.T, equal_nan=True):
        i, j = map(int, np.argwhere((p != p.T) & ~(np.isnan(p) & np.isnan(p.T)))[0])
        raise InputError(
            f"disagreement must be symmetric, got {float(p[i, j])!r} and {float(p[j, i])!r} "
            f"for stages {i + 1} and {j + 1}"
        )
    return p
