"""Linear programmes over a polytope that is known only by its corners, by column generation."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.auditing.bounds.corners import Corners
from stopwise.cascade import FloatArray, IntArray

EXACT = 1e-9  # a bound is met, or a system solvable, if it is this close
SLACK = 1e-12  # added to limits, so that rounding does not exclude what can only just be met
MAX_ROUNDS = 1_000
MAX_ROWS = 2_000  # of one linear programme
HIGHS = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class CornerProgramme:
    """Maximise w · z over z in a polytope with A z <= b (Dantzig and Wolfe's decomposition).

    HiGHS solves the programme over mixtures of the corners found so far. Its prices π >= 0 ask the
    polytope for the corner furthest in the direction w - A'π, and imply the bound
    π · b + max (w - A'π) · z, which holds in spite of rounding. The programme ends where the bound
    is reached. Several directions are solved as blocks of one programme and share their corners.

    ``matrix`` and ``limits`` are A and b; shapes (m, axes) and (m,), m >= 1.
    """

    def __init__(self, polytope: Corners, matrix: FloatArray, limits: FloatArray) -> None:
        self._polytope, self._matrix, self._limits = polytope, matrix, limits
        self._corners = polytope.furthest(-matrix.sum(axis=0))[None, :]
        self.shortfall = self._least_shortfall()
        self._limits = limits + self.shortfall + SLACK

    def maxima(self, directions: FloatArray) -> FloatArray:
        """Return the largest w · z for each row w; the conditions must be solvable."""
        ideal = np.array([self._polytope.furthest(w) for w in directions])
        best = np.asarray((directions * ideal).sum(axis=1))  # reached where the corner is allowed
        open_rows = np.flatnonzero((ideal @ self._matrix.T > self._limits).any(axis=1))
        self._add(ideal[open_rows])
        step = max(MAX_ROWS // (len(self._limits) + 1), 1)
        for start in range(0, len(open_rows), step):
            part = open_rows[start : start + step]
            best[part] = self._climb(directions[part], best[part])
        return best

    def _climb(self, directions: FloatArray, best: FloatArray) -> FloatArray:
        """Add corners until no bound can be lowered further."""
        open_rows: IntArray = np.arange(len(directions))
        for _ in range(MAX_ROUNDS):
            w = directions[open_rows]
            prices, reached = self._solve(w)
            reduced_costs = w - prices @ self._matrix
            corners = np.array([self._polytope.furthest(direction) for direction in reduced_costs])
            bounds = prices @ self._limits + np.einsum("dz,dz->d", reduced_costs, corners)
            best[open_rows] = np.minimum(best[open_rows], bounds)
            is_loose = best[open_rows] - reached > EXACT
            if not is_loose.any() or not self._add(corners[is_loose]):
                break
            open_rows = open_rows[is_loose]
        return best

    def _solve(self, directions: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return prices and values of the programmes over the corners found so far."""
        from scipy.sparse import csr_array, kron

        n, blocks = len(directions), csr_array(np.eye(len(directions)))
        solution = _solve_programme(
            -(directions @ self._corners.T).ravel(),
            kron(blocks, self._matrix @ self._corners.T, format="csr"),
            np.tile(self._limits, n),
            kron(blocks, np.ones((1, len(self._corners))), format="csr"),
            np.ones(n),
        )
        prices = np.maximum(-np.asarray(solution.ineqlin.marginals), 0.0).reshape(n, -1)
        mixtures = np.asarray(solution.x).reshape(n, -1)
        return prices, np.einsum("dc,dc->d", mixtures, directions @ self._corners.T)

    def _least_shortfall(self) -> float:
        """Return by how much the conditions have to be loosened before they can be met."""
        for _ in range(MAX_ROUNDS):
            n = len(self._corners)
            rows = np.column_stack([self._matrix @ self._corners.T, -np.ones(len(self._limits))])
            costs, mixture = np.append(np.zeros(n), 1.0), np.append(np.ones(n), 0.0)
            solution = _solve_programme(costs, rows, self._limits, mixture[None, :], np.ones(1))
            shortfall = max(float(solution.fun), 0.0)
            if shortfall <= EXACT:
                return shortfall
            prices = np.maximum(-np.asarray(solution.ineqlin.marginals), 0.0)
            corner = self._polytope.furthest(-prices @ self._matrix)
            least = float(prices @ (self._matrix @ corner - self._limits))
            if least > shortfall - EXACT or not self._add(corner[None, :]):
                break
        return shortfall

    def _add(self, corners: FloatArray) -> bool:
        """Add corners; return whether any of them is new."""
        before = len(self._corners)
        self._corners = np.unique(np.vstack([self._corners, corners]), axis=0)
        return len(self._corners) > before


def _solve_programme(
    costs: FloatArray, matrix: Any, limits: FloatArray, sums: Any, totals: FloatArray
) -> Any:
    from scipy.optimize import linprog

    solve: Any = linprog  # its type hints allow no sparse matrices
    solution = solve(costs, matrix, limits, sums, totals, method="highs", options=HIGHS)
    assert solution.status == 0, solution.message
    return solution
