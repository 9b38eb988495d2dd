"""Extrapolation of an iteration x ← g(x) from its last steps.

Two steps from x show how the change f(x) = g(x) - x itself changes. At first one such pair gives
the length of a step along it, in logarithms (SQUAREM: R. Varadhan and C. Roland, "Simple and
globally convergent methods for accelerating the convergence of any EM algorithm", Scandinavian
Journal of Statistics 35, 2008). Several pairs, ΔG of g and ΔF of f, show where f vanishes if it is
linear:

    g(x) - γ ΔG,  γ = argmin |f(x) - γ ΔF|

(quasi-Newton: H. Zhou, D. Alexander and K. Lange, "A quasi-Newton acceleration for high-dimensional
optimization algorithms", Statistics and Computing 21, 2011). That speeds up iterations that
converge slowly in several directions. ΔG sums to 0 over the outputs of a test, so probabilities
still sum to 1.
"""

from __future__ import annotations

import numpy as np

from stopwise.cascade import BoolArray, FloatArray

TINY = 1e-12  # keeps a logarithm finite where an answer was never given
LONGEST_STEP = 64.0  # of SQUAREM, in steps of the iteration
N_PAIRS, N_SQUAREM = 5, 6  # pairs that are kept; SQUAREM steps before the first quasi-Newton step
RIDGE = 1e-8  # pairs may be multiples of each other
LEAST_LEFT = 0.1  # of each probability, after a quasi-Newton step
BY_FIT = (1, 0, 2)  # axes


class Acceleration:
    """The history of S iterations at once, whose points have the shape (D, S, L)."""

    def __init__(self, shape: tuple[int, ...], n_classes: int, max_cycles: int) -> None:
        D, S, L = shape
        self._n_classes = n_classes
        self._keeps_pairs = max_cycles > N_SQUAREM  # otherwise no history is needed
        self._g, self._f = np.zeros((2, S, N_PAIRS if self._keeps_pairs else 0, D * L))
        self._n = np.zeros(S, dtype=np.int64)  # cycles since the history was cleared
        self._turn = 0
        self.is_quasi_newton = np.zeros(S, dtype=bool)  # whether the last step was

    def forget(self, which: BoolArray) -> None:
        """Clear the history of some iterations."""
        self._n[which] = 0
        self._g[which] = self._f[which] = 0.0

    def after(self, start: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
        """Return the point to continue from after two steps."""
        if not self._keeps_pairs:
            return _squarem(start, first, second, self._n_classes)
        S, change = start.shape[1], second - first
        self._g[:, self._turn] = change.transpose(BY_FIT).reshape(S, -1)
        self._f[:, self._turn] = (change - first + start).transpose(BY_FIT).reshape(S, -1)
        self._n += 1
        self.is_quasi_newton = by_pairs = self._n > N_SQUAREM
        point = self._quasi_newton(second) if by_pairs.any() else second
        self._turn = (self._turn + 1) % N_PAIRS
        if by_pairs.all():
            return point
        by_one = _squarem(start, first, second, self._n_classes)
        return np.where(by_pairs[:, None], point, by_one) if by_pairs.any() else by_one

    def _quasi_newton(self, second: FloatArray) -> FloatArray:
        """Return where the change vanishes if it is linear in the directions of all pairs."""
        D, S, L = second.shape
        gram = self._f @ self._f.transpose(0, 2, 1)
        diagonal = np.einsum("sii->si", gram)
        diagonal += RIDGE * diagonal.max(axis=1, keepdims=True) + 1e-300
        weights = np.linalg.solve(gram, self._f @ self._g[:, self._turn, :, None])
        back = (weights.transpose(0, 2, 1) @ self._g).reshape(S, D, L).transpose(BY_FIT)
        part = (back / second).max(axis=(0, 2)) / (1 - LEAST_LEFT)
        return np.asarray(second - back / np.maximum(part, 1.0)[:, None])


def _squarem(
    start: FloatArray, first: FloatArray, second: FloatArray, n_classes: int
) -> FloatArray:
    """Return the extrapolation along the last two steps, in logarithms."""
    a, b, c = (np.log(x + TINY) for x in (start, first, second))
    r = b - a
    v = c - b - r
    squares = np.einsum("dsl,dsl->s", r, r) / (np.einsum("dsl,dsl->s", v, v) + TINY)
    length = np.sqrt(np.minimum(np.maximum(squares, 1.0), LONGEST_STEP**2))[:, None]
    point = np.exp(np.minimum(a + length * (r + r + length * v), 1.0))
    point[0] /= np.add.reduce(point[0], axis=1, keepdims=True) + TINY
    tests = point[1:].reshape(-1, n_classes, *point.shape[1:])
    tests /= np.add.reduce(tests, axis=1, keepdims=True) + TINY
    return np.asarray(point)
