"""The bounds as one large programme: what stands in where the simplex over corners gets stuck."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stopwise.auditing.bounds.corners import Corners
from stopwise.cascade import FloatArray


class WholeProgramme:
    """The same maximum as `CornerSimplex`, as one large programme for HiGHS.

    One variable for each group of patterns and each of its choices. It takes about a hundred times
    as long, and stands in where rounding spoils the simplex over corners.
    """

    def __init__(self, corners: Corners, matrix: FloatArray, limits: FloatArray) -> None:
        self.corners, self.matrix, self.limits = corners, matrix, limits

    @cached_property
    def shortfall(self) -> float:
        """By how much the conditions have to be loosened before they can be met."""
        return max(-self._solve(np.zeros(self.corners.n_axes), loosen=True), 0.0)

    def maximum(self, w: FloatArray) -> float:
        """Return the largest w · z; the conditions must be solvable."""
        return self._solve(w, loosen=False)

    def _solve(self, w: FloatArray, *, loosen: bool) -> float:
        from scipy.optimize import linprog
        from scipy.sparse import csr_array

        groups, width = self.corners.choices.shape
        vectors = self.corners.vectors[self.corners.choices.ravel()]
        n = groups * width
        gains = np.append(-(vectors @ w), 1.0 if loosen else 0.0)
        conditions = np.hstack([(vectors @ self.matrix.T).T, -np.ones((len(self.limits), 1))])
        where = (np.repeat(np.arange(groups), width), np.arange(n))
        sums: Any = csr_array((np.ones(n), where), shape=(groups, n + 1))
        most = [(0, None)] * n + [(0, None if loosen else 0)]
        found: Any = linprog(
            gains, conditions, self.limits, sums, self.corners.weights, most, method="highs"
        )
        assert found.status == 0, found.message
        return -float(found.fun)
