"""Online logistic regression, one case at a time: an implicit Newton step and its uncertainty.

Plain loops over vectors and matrices, which numba compiles for a simulation. A coefficient vector
``theta`` goes with ``inverse``, the inverse of λI + Σ σ'(θ·x) x xᵀ over the cases it has seen. No
function is called with a row of it: compiled, each such call would count references.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray

# The equation of a step is solved to this precision, far below the noise of one case.
PRECISION = 1e-10
MOST_ITERATIONS = 50
# Up to this q Newton's method needs no care.
EASY = 4.0


def chance(z: float) -> float:
    """Return σ(z) = 1 / (1 + exp(-z)), without overflow."""
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    odds = math.exp(z)
    return odds / (1 + odds)


def log_odds(p: float) -> float:
    """Return the z with σ(z) = p; infinite for p <= 0 and p >= 1."""
    if p <= 0:
        return -math.inf
    return math.inf if p >= 1 else math.log(p / (1 - p))


def dot(a: Any, b: Any) -> float:
    """Return a·b."""
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


def spread(inverse: Any, x: Any) -> float:
    """Return xᵀ H⁻¹ x, about the variance of θ̂·x; never below 0, whatever was rounded."""
    total = 0.0
    for a in range(len(x)):
        row, along = inverse[a], 0.0
        for b in range(len(x)):
            along += row[b] * x[b]
        total += x[a] * along
    return max(total, 0.0)


def step_size(z: float, q: float, y: int) -> float:
    """Return the s with s = y - σ(z + s q): how far an implicit step goes.

    The right side falls in s, so there is one solution, between 0 and y - σ(z). Newton's method,
    kept inside the interval that must hold it.
    """
    s = y - chance(z)
    low, high = min(0.0, s), max(0.0, s)
    for _ in range(MOST_ITERATIONS):
        p = chance(z + s * q)
        miss = s - y + p
        if abs(miss) <= PRECISION:
            break
        if miss > 0:
            high = s
        else:
            low = s
        s -= miss / (1 + q * p * (1 - p))
        if not low < s < high:
            s = (low + high) / 2
    return s


def chances(z: FloatArray) -> FloatArray:
    """Return σ(z), elementwise."""
    return np.asarray(0.5 + 0.5 * np.tanh(0.5 * z))


def step_sizes(z: FloatArray, q: FloatArray, y: Any) -> tuple[FloatArray, FloatArray]:
    """Return what `step_size` does, elementwise, and σ'(z + s q).

    With h = tanh(z / 2), σ(z) = (1 + h) / 2 and σ'(z) = (1 - h²) / 4. Newton's method makes of an
    error e one of less than q² e² / 20, and it starts below 1; so up to q = 4 it needs no care.
    """
    z, aim, highest = z / 2, y - 0.5, float(q.max())
    if highest > EASY:
        rows = zip((2 * z).tolist(), q.tolist(), y.tolist(), strict=True)
        s: FloatArray = np.array([step_size(*row) for row in rows])
        h = np.tanh(z + s * (q / 2))
        return s, (1 - h * h) / 4
    quarter, half, error = q / 4, q / 2, 1.0
    h = np.tanh(z)
    slope = 1 - h * h
    s = (aim - h / 2) / (1 + quarter * slope)
    while True:
        h = np.tanh(z + s * half)
        slope = 1 - h * h
        error *= highest * highest * error / 20
        if error <= PRECISION:
            return s, slope / 4
        s -= (s - aim + h / 2) / (1 + quarter * slope)


def learn(theta: Any, inverse: Any, x: Any, direction: Any, y: int) -> None:
    """Move ``theta`` and ``inverse`` by one case: features ``x``, outcome ``y`` of 0 or 1.

    The step goes to the minimum of (θ' - θ)ᵀ H (θ' - θ) / 2 + logistic loss of the case at θ':
    unlike an explicit Newton step it cannot overshoot, however uncertain θ is. Then H grows by
    σ'(θ'·x) x xᵀ, its inverse by Sherman and Morrison. ``direction`` is room for H⁻¹ x.
    """
    n = len(x)
    q, z = 0.0, 0.0
    for a in range(n):
        row, along = inverse[a], 0.0
        for b in range(n):
            along += row[b] * x[b]
        direction[a] = along
        q += x[a] * along
        z += theta[a] * x[a]
    q = max(q, 0.0)
    s = step_size(z, q, y)
    p = chance(z + s * q)
    shrink = p * (1 - p) / (1 + p * (1 - p) * q)
    for a in range(n):
        theta[a] += s * direction[a]
        row, share = inverse[a], shrink * direction[a]
        for b in range(n):
            row[b] -= share * direction[b]
