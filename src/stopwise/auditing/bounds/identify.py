"""Sharp bounds on error rates and regrets by linear programming, and what a proof rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import Enum
from functools import cached_property

import numpy as np

from stopwise.auditing.assumptions import Assumption, Axes, LabelSpace
from stopwise.auditing.bounds.columns import EXACT, CornerProgramme
from stopwise.auditing.bounds.corners import Corners
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.interval import Interval
from stopwise.cascade import FloatArray, read_only
from stopwise.errors import AssumptionError
from stopwise.outputs import known_value
from stopwise.patterns import PatternTable


class IdentifiedSet:
    """All error rates that are possible given a log and some assumptions.

    Given a pattern s, each value y that the label may have makes some tests wrong:
    ℓ_k(s, y) = 1{s_k ≠ y}. If the label is y in a share q(y|s) of the cases with pattern s,

        γ_k = Σ_s P(s) Σ_y q(y|s) ℓ_k(s, y),

    so the possible γ form a polytope, the sum over s of P(s) times the hull of the ℓ(s, y).
    A missing output may be right or wrong. Assumptions are linear in γ (and in the shares of the
    label's values), and so are error rates, differences and regrets. The maximum of a linear
    function over the polytope alone is a sum over patterns; with assumptions it is found by column
    generation, see `CornerProgramme`.
    """

    def __init__(self, law: PatternTable, assumptions: Sequence[Assumption] = ()) -> None:
        self.law, self.assumptions = law, assumptions
        self._corners, matrix, limits = _polytope(law, assumptions)
        self._programme = None
        if len(limits):
            self._programme = CornerProgramme(self._corners, matrix, limits)
            if self._programme.shortfall > EXACT:
                raise AssumptionError(self._contradiction())

    def maxima(self, directions: FloatArray) -> FloatArray:
        """Return for each row the largest direction · γ."""
        w = np.zeros((len(directions), self._corners.vectors.shape[1]))
        w[:, : directions.shape[1]] = directions
        if self._programme is None:
            return np.array([float(row @ self._corners.furthest(row)) for row in w])
        return self._programme.maxima(w)

    @property
    def error_rates(self) -> tuple[Interval, ...]:
        """For each stage the smallest and the largest error rate."""
        return self._bounds[0]

    @property
    def largest_differences(self) -> FloatArray:
        """For each pair the largest γ_i - γ_j, how much worse i can be than j; shape (K, K)."""
        return self._bounds[1]

    @cached_property
    def _bounds(self) -> tuple[tuple[Interval, ...], FloatArray]:
        K = self.law.n_stages
        unit, most = np.eye(K), np.zeros((K, K))
        off_diagonal = ~np.eye(K, dtype=bool)
        pairs = (unit[:, None] - unit[None, :])[off_diagonal]
        maxima = self.maxima(np.vstack([unit, -unit, pairs]))
        most[off_diagonal] = maxima[2 * K :]
        ends = zip((-maxima[K : 2 * K]).tolist(), maxima[:K].tolist(), strict=True)
        return tuple(Interval(max(low, 0.0), high) for low, high in ends), read_only(most)

    def worst_regret(self, stage: int) -> float:
        """Return the largest regret of stopping at ``stage`` that the labels allow."""
        unit, costs = np.eye(self.law.n_stages), self.law.cascade.cumulative_costs
        ahead = self.maxima(unit[stage] - unit) + costs[stage] - costs
        return float(ahead.max())

    def _contradiction(self) -> str:
        """Say which assumptions cannot be true at once: those that cannot be left out."""
        clash = list(self.assumptions)
        for assumption in sorted(clash, key=lambda a: not a.never_right):  # a deletion filter
            rest = [other for other in clash if other is not assumption]
            corners, matrix, limits = _polytope(self.law, rest)
            if len(limits) and CornerProgramme(corners, matrix, limits).shortfall > EXACT:
                clash = rest
        together = "" if len(clash) == 1 else "at once "
        said = [assumption.said_of(self.law.cascade.names) for assumption in clash]
        return f"given the log it cannot be {together}that {'; and that '.join(said)}"


def _polytope(
    law: PatternTable, assumptions: Sequence[Assumption]
) -> tuple[Corners, FloatArray, FloatArray]:
    """Return what the log allows, and the conditions that assumptions add."""
    bounded_values = _bounded_values(assumptions, law)
    corners = Corners.of(law, LabelSpace.of(assumptions, law), bounded_values)
    axes = Axes(law.cascade, tuple(law.classes[code] for code in bounded_values))
    conditions = [condition for a in assumptions for condition in a.conditions(axes)]
    matrix = np.array([row for row, _ in conditions]).reshape(-1, corners.vectors.shape[1])
    return corners, matrix, np.array([limit for _, limit in conditions])


def _bounded_values(assumptions: Iterable[Assumption], law: PatternTable) -> tuple[int, ...]:
    """Return the codes of the values whose share some assumption bounds."""
    rule, classes = "a prevalence must be that of a value in the log", law.classes
    values = [known_value(rule, value, classes) for a in assumptions for value in a.values]
    return tuple(dict.fromkeys(map(classes.index, values)))


class Ground(Enum):
    """The weakest premises from which it follows that a stage is best."""

    LOG = "log"
    ASSUMED = "assumptions"
    GAPS = "gaps at random"  # maybe with further assumptions
    LABELS = "labels"
    BOTH = "labels and assumptions"


def ground_of(
    stage: int,
    law: PatternTable,
    assumptions: Sequence[Assumption],
    gap_bounds: Sequence[Assumption],
    label_bounds: Sequence[Assumption],
) -> Ground:
    """Return the weakest premises that prove ``stage`` best, given that all together do.

    ``gap_bounds`` is what follows if gaps are random, ``label_bounds`` what labels say. Both hold
    only with some confidence.
    """
    wider = [a for a in assumptions if a.allows_unseen]  # these prove nothing, so they always apply
    trials = {Ground.LOG: wider, Ground.ASSUMED: [*assumptions]}
    if gap_bounds:
        trials[Ground.GAPS] = [*assumptions, *gap_bounds]
    if not any(a.never_right for a in assumptions):  # else the bounds from labels rest on that too
        trials[Ground.LABELS] = [*wider, *label_bounds]
    for ground, conditions in trials.items():
        if IdentifiedSet(law, conditions).worst_regret(stage) <= TINY:
            return ground
    return Ground.BOTH
