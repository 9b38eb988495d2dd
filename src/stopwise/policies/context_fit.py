"""A test of the logistic model of contextual policies, and richer features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray
from stopwise.errors import ContextError
from stopwise.outputs import check_outputs
from stopwise.policies.context_checks import check_context
from stopwise.policies.logistic import chances

# Newton steps of a fit, and the ridge penalty with which it converges.
STEPS = 25
RIDGE = 1e-3
# With fewer cases a pair is left out.
CASES_A_COEFFICIENT = 10


@dataclass(frozen=True)
class PairFit:
    """How well logistic disagreement in the features fits one pair of stages."""

    # The two stages.
    shallow: int
    deep: int
    n_seen: int  # how many cases showed both
    # Rao's score statistic for squares and products of features, and its degrees of freedom.
    statistic: float
    degrees: int
    p_value: float  # how likely such a statistic or a larger one is for any pair if the model holds


def context_misfit(cases: Iterable[tuple[Any, Any]], cascade: Cascade) -> tuple[PairFit, ...]:
    """Test whether P(Y^i ≠ Y^j | x) = σ(θ_ij·x) for each pair, against squares and products.

    A small p-value says that the model does not fit with these features: give the policy
    `quadratic_features`, or other features. Cases have to be stopped by their features or at
    random, not by their outputs. Pairs with too few cases are left out.

    Parameters
    ----------
    cases
        (outputs, context) as `tell_many` of a contextual policy takes them.
    cascade
        The tests; a chain.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2_000, 1))
    >>> y = rng.random(2_000) < chances(x[:, 0] ** 2 - 2)  # no line in x
    >>> cascade = Cascade(costs=[0, 0.3])
    >>> (fit,) = context_misfit(zip([(0, int(d)) for d in y], x, strict=True), cascade)
    >>> fit.p_value < 1e-6
    True
    >>> (fit,) = context_misfit(
    ...     zip([(0, int(d)) for d in y], quadratic_features(x), strict=True), cascade
    ... )
    >>> fit.p_value > 0.01
    True
    """
    from scipy.special import chdtrc  # the chance that χ² exceeds a value

    rows: list[Any] = []
    contexts: list[list[float]] = []
    for outputs, context in cases:
        rows.append(check_outputs(outputs, cascade)[1])
        contexts.append(check_context(context, len(contexts[0] if contexts else context)))
    x = np.array(contexts, dtype=np.float64).reshape(len(rows), len(contexts[0]) if rows else 0)
    pairs = list(combinations(range(cascade.n_stages), 2))
    fits = []
    for i, j in pairs:
        both = [r for r, row in enumerate(rows) if j < len(row) and None not in (row[i], row[j])]
        d = x.shape[1]
        if len(both) < CASES_A_COEFFICIENT * (1 + d * (d + 3) // 2):
            continue
        features = _scaled(x[both])
        more = _independent(_scaled(quadratic_features(features)[:, d:]))
        if not more.shape[1]:
            continue
        disagreed = np.array([float(rows[r][i] != rows[r][j]) for r in both])
        statistic = _score(disagreed, features, more)
        chance = float(chdtrc(more.shape[1], max(statistic, 0.0))) * len(pairs)
        fits.append(PairFit(i, j, len(both), statistic, more.shape[1], min(chance, 1.0)))
    return tuple(fits)


def quadratic_features(contexts: Any) -> FloatArray:
    """Return features with their squares and products, d (d + 3) / 2 of them.

    Parameters
    ----------
    contexts
        The d features of a case, or rows of them.

    >>> quadratic_features([2.0, 3.0])
    array([2., 3., 4., 6., 9.])
    """
    try:
        x = np.asarray(contexts, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise ContextError(f"contexts must be numbers, got {contexts!r}") from problem
    if x.ndim not in (1, 2):
        raise ContextError(f"contexts must be features or rows of them, got shape {x.shape}")
    a, b = np.triu_indices(x.shape[-1])
    return np.concatenate([x, x[..., a] * x[..., b]], axis=-1)


def _scaled(x: FloatArray) -> FloatArray:
    deviation = x.std(axis=0)
    return np.asarray((x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0))


def _independent(columns: FloatArray) -> FloatArray:
    """Leave out columns that are constant or follow from those before them."""
    basis: list[int] = []
    for k in range(columns.shape[1]):
        part = columns[:, [*basis, k]]
        if np.linalg.matrix_rank(part, tol=1e-6 * max(len(part), 1) ** 0.5) == len(basis) + 1:
            basis.append(k)
    return columns[:, basis]


def _score(y: FloatArray, features: FloatArray, more: FloatArray) -> float:
    """Return Rao's score statistic for ``more`` in the logistic model of ``features``."""
    x = np.column_stack([np.ones(len(y)), features])
    theta = np.zeros(x.shape[1])
    for _ in range(STEPS):
        p = chances(x @ theta)
        information = (x * (p * (1 - p))[:, None]).T @ x + RIDGE * np.eye(len(theta))
        theta = theta + np.linalg.solve(information, x.T @ (y - p) - RIDGE * theta)
    p = chances(x @ theta)
    weight = (p * (1 - p))[:, None]
    information, cross = (x * weight).T @ x + RIDGE * np.eye(len(theta)), (x * weight).T @ more
    variance = (more * weight).T @ more - cross.T @ np.linalg.solve(information, cross)
    score = more.T @ (y - p)
    return float(score @ np.linalg.lstsq(variance, score, rcond=None)[0])
