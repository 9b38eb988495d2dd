"""Maximising over a polytope that is known by its corners only, under a few linear conditions."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from stopwise.cascade import FloatArray, IntArray

EXACT = 1e-9  # a bound is met, or a system solvable, if it is this close
NUDGE = 1e-11  # each limit is loosened by a little more than the one before, so that no step stalls
PIVOT = 1e-9
MAX_STEPS = 20_000


class Polytope(Protocol):
    """A polytope that can name the corner furthest in a direction."""

    @property
    def n_axes(self) -> int:
        """The number of coordinates."""

    def furthest(self, w: FloatArray) -> FloatArray:
        """Return the corner z with the largest w · z."""


class StuckError(ArithmeticError):
    """The steps did not end, or rounding spoiled them."""


class CornerSimplex:
    """The simplex method over mixtures of corners, which are found when they are needed.

    Maximise w · z over z in the polytope with A z <= b (Dantzig and Wolfe's decomposition): a
    basis has one row for each condition and one for "the mixture sums to 1". Its prices π ask the
    polytope for the corner furthest in the direction w - A'π; where none improves, weak duality
    gives the bound π · b + max (w - A'π) · z, which holds for any π >= 0 whatever was rounded on
    the way. Corners and the basis are kept from one direction to the next.

    Parameters
    ----------
    polytope
        What the points lie in.
    matrix, limits
        A and b; shapes (m, axes) and (m,), m >= 1.
    """

    def __init__(self, polytope: Polytope, matrix: FloatArray, limits: FloatArray) -> None:
        m = len(limits)
        self.polytope, self.matrix, self.limits = polytope, matrix, limits
        self.corners = np.empty((0, polytope.n_axes))
        self._right = np.append(limits + NUDGE * (1 + np.arange(m) / m), 1.0)
        # Columns: how far all conditions are missed, a slack for each condition, then corners.
        self._columns = np.vstack([np.hstack([-np.ones((m, 1)), np.eye(m)]), np.zeros((1, m + 1))])
        first = self._add(polytope.furthest(-matrix.sum(axis=0)))
        self._basis: IntArray = np.append(np.arange(1, m + 1), first)
        missed = matrix @ self.corners[0] - self._right[:-1]
        if missed.max() > 0:
            self._basis[int(missed.argmax())] = 0
        self.shortfall = self._meet() if missed.max() > 0 else 0.0

    def maximum(self, w: FloatArray) -> float:
        """Return the largest w · z; the conditions must be solvable (no shortfall)."""
        prices = self._climb(w, missing_cost=-np.inf)
        prices = np.maximum(prices[:-1], 0.0)
        ahead = w - prices @ self.matrix
        bound = float(prices @ self.limits + ahead @ self.polytope.furthest(ahead))
        reached = float(self._values(w)[self._basis] @ self._amounts())
        if bound - reached > EXACT:
            raise StuckError
        return bound

    def _meet(self) -> float:
        """Reduce by how much the conditions are missed, and return what is left of it."""
        self._climb(np.zeros(self.polytope.n_axes), missing_cost=-1.0)
        where = np.flatnonzero(self._basis == 0)
        if not len(where):
            return 0.0
        left = max(float(self._amounts()[where[0]]), 0.0)
        if left <= EXACT:  # solvable, but only just: allow what is left and let it go
            self._right[:-1] += left
            row = np.linalg.inv(self._columns[:, self._basis])[where[0]] @ self._columns
            row[self._basis] = 0.0
            self._basis[where[0]] = int(np.abs(row).argmax())
        return left

    def _climb(self, w: FloatArray, *, missing_cost: float) -> FloatArray:
        """Walk to the best basis for ``w`` and return its prices."""
        for _ in range(MAX_STEPS):
            values = self._values(w)
            values[0] = missing_cost
            inverse = np.linalg.inv(self._columns[:, self._basis])
            prices = np.asarray(values[self._basis] @ inverse)
            gains = values - prices @ self._columns
            gains[self._basis] = -np.inf
            enters = int(gains.argmax())
            if gains[enters] <= EXACT / 100:
                corner = self.polytope.furthest(w - prices[:-1] @ self.matrix)
                if w @ corner - prices[:-1] @ (self.matrix @ corner) - prices[-1] <= EXACT / 10:
                    return prices
                enters = self._add(corner)
            self._exchange(enters, inverse)
            if missing_cost > -np.inf and 0 not in self._basis:
                return prices
        raise StuckError

    def _exchange(self, enters: int, inverse: FloatArray) -> None:
        step = inverse @ self._columns[:, enters]
        amounts = np.maximum(inverse @ self._right, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            room = np.where(step > PIVOT, amounts / step, np.inf)
        least = room.min()
        if not np.isfinite(least):
            raise StuckError
        close = np.flatnonzero(room <= least + 1e-15)
        self._basis[close[step[close].argmax()]] = enters

    def _values(self, w: FloatArray) -> FloatArray:
        return np.append(np.zeros(len(self._right)), self.corners @ w)

    def _amounts(self) -> FloatArray:
        return np.asarray(np.linalg.solve(self._columns[:, self._basis], self._right))

    def _add(self, corner: FloatArray) -> int:
        self.corners = np.vstack([self.corners, corner])
        column = np.append(self.matrix @ corner, 1.0)
        self._columns = np.column_stack([self._columns, column])
        return int(self._columns.shape[1]) - 1
