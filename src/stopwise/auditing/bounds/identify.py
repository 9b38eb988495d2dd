"""What the labels can still be: sharp bounds on error rates and regrets, by linear programming."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

import numpy as np

from stopwise.auditing.bounds.assumptions import Assumption, Axes, Conditions
from stopwise.auditing.bounds.corners import Corners, LabelSpace
from stopwise.auditing.bounds.simplex import EXACT, CornerSimplex, StuckError
from stopwise.auditing.bounds.whole_programme import WholeProgramme
from stopwise.auditing.interval import Interval
from stopwise.cascade import FloatArray, read_only
from stopwise.errors import AssumptionError
from stopwise.outputs import known_value
from stopwise.patterns import PatternTable


class IdentifiedSet:
    """All error rates that some label could have given, with this log and these assumptions.

    Given a pattern s, each value y that the label may have makes some tests wrong:
    ℓ_k(s, y) = 1{s_k ≠ y}. If the label is y in a share q(y|s) of the cases with pattern s,

        γ_k = Σ_s P(s) Σ_y q(y|s) ℓ_k(s, y),

    so the possible γ form a polytope, the sum over s of P(s) times the hull of the ℓ(s, y).
    A missing output may be right or wrong. Assumptions are linear in γ (and in the shares of the
    label's values), and so are error rates, differences and regrets. The maximum of a linear
    function over the polytope alone is a sum over patterns; with assumptions, a programme with
    few rows is solved over the corners found so far, its prices ask for the next corner, until
    the bound they imply is met (Dantzig and Wolfe).

    Parameters
    ----------
    law
        The patterns and their shares.
    assumptions
        What is taken for granted; see `stopwise.auditing.bounds.assumptions`.
    space
        Which values the label may have.
    """

    def __init__(
        self,
        law: PatternTable,
        assumptions: Iterable[Assumption] = (),
        space: LabelSpace = LabelSpace(),  # noqa: B008  # frozen
    ) -> None:
        self.law = law
        self.assumptions = tuple(assumptions)
        self.space = space
        named = _named_values(self.assumptions, law)
        self._named = named
        self._corners = Corners.of(law, space, named)
        axes = Axes(law.cascade, tuple(law.classes[code] for code in named))
        said = [a.conditions(axes) for a in self.assumptions]
        self._matrix, self._limits = _stacked(said, self._corners.n_axes)
        self._owner = np.repeat(np.arange(len(said)), [len(s.limits) for s in said])
        self._programme = self._feasible() if len(self._limits) else None

    def maximum(self, direction: FloatArray) -> float:
        """Return the largest value of direction · γ (then the shares of the named values)."""
        w = np.zeros(self._corners.n_axes)
        w[: len(direction)] = direction
        if self._programme is None:
            return float(w @ self._corners.furthest(w))
        try:
            return self._programme.maximum(w)
        except (StuckError, np.linalg.LinAlgError):
            return WholeProgramme(self._corners, self._matrix, self._limits).maximum(w)

    @cached_property
    def error_rates(self) -> tuple[Interval, ...]:
        """For each stage the smallest and the largest error rate."""
        unit = np.eye(self.law.cascade.n_stages)
        return tuple(Interval(max(-self.maximum(-e), 0.0), self.maximum(e)) for e in unit)

    @cached_property
    def largest_differences(self) -> FloatArray:
        """For each pair the largest γ_i - γ_j, how much worse i can be than j; shape (K, K)."""
        K = self.law.cascade.n_stages
        unit = np.eye(K)
        most = np.zeros((K, K))
        for i in range(K):
            for j in range(K):
                if i != j:
                    most[i, j] = self.maximum(unit[i] - unit[j])
        return read_only(most)

    def _feasible(self) -> CornerSimplex | WholeProgramme:
        """Return the programme if its conditions can be met, or say which of them contradict."""
        programme = _programme(self._corners, self._matrix, self._limits)
        if programme.shortfall <= EXACT:
            return programme
        clash = list(range(len(self.assumptions)))
        for a in list(clash):  # a deletion filter: what can be left out is no part of the clash
            rest = np.isin(self._owner, [b for b in clash if b != a])
            if not rest.any():
                continue
            without = _programme(self._corners, self._matrix[rest], self._limits[rest])
            if without.shortfall > EXACT:
                clash.remove(a)
        names = [str(self.assumptions[a]) for a in clash]
        if self._clashes_with_never_right():
            names.append(f"never right is {', '.join(map(repr, self.space.never_right))}")
        if len(names) == 1:
            raise AssumptionError(f"given the log it cannot be that {names[0]}")
        raise AssumptionError(
            f"given the log it cannot be at once that {'; and that '.join(names)}"
        )

    def _clashes_with_never_right(self) -> bool:
        """Whether the conditions could be met if the label were free to be any value."""
        if not self.space.never_right:
            return False
        free = LabelSpace((), self.space.unseen)
        corners = Corners.of(self.law, free, self._named)
        return _programme(corners, self._matrix, self._limits).shortfall <= EXACT


def _programme(
    corners: Corners, matrix: FloatArray, limits: FloatArray
) -> CornerSimplex | WholeProgramme:
    try:
        return CornerSimplex(corners, matrix, limits)
    except (StuckError, np.linalg.LinAlgError):
        return WholeProgramme(corners, matrix, limits)


def _stacked(said: Sequence[Conditions], n_axes: int) -> tuple[FloatArray, FloatArray]:
    if not said:
        return np.empty((0, n_axes)), np.empty(0)
    return np.vstack([s.matrix for s in said]), np.concatenate([s.limits for s in said])


def _named_values(assumptions: Iterable[Assumption], law: PatternTable) -> tuple[int, ...]:
    named: list[int] = []
    for assumption in assumptions:
        for given in assumption.values:
            rule = "a prevalence must be that of a value in the log"
            code = law.classes.index(known_value(rule, given, law.classes))
            if code not in named:
                named.append(code)
    return tuple(named)
