"""Recorded cases with features as contexts; rows are drawn with replacement."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray, read_only
from stopwise.errors import InstanceError
from stopwise.problem.contextual_instance import ContextualCases
from stopwise.problem.contextual_laws import checked_table
from stopwise.problem.recording import Recording

MIN_ROWS = 20  # of each context, to know its best stage


class ContextualRecording(Recording):
    """A `Recording` whose rows have features that a learner may look at before it starts.

    By default regret is measured against the best *fixed* stage: for each row the cost of a stage,
    price and error, minus the cost of the best fixed stage. It can be negative, which is the point
    of contexts. If features take few values, regret can be measured against the best stage for
    each context, which costs least among the rows that share it. If every row had its own context,
    that would be the best stage in hindsight for a single case, which nobody can know.

    Parameters
    ----------
    outputs, labels, cascade
        As in `Recording`.
    features
        The context of each row; shape (n, d), finite numbers.
    per_context
        Measure regret against the best stage for each distinct context; refused unless each
        occurs in 20 rows at least.

    >>> recording = ContextualRecording(
    ...     [[0, 0], [0, 1], [1, 1]], [0, 1, 1], [[0.3], [1.2], [1.1]], Cascade(costs=[0, 0.1])
    ... )
    >>> recording.n_features, recording.best_fixed_stage
    (1, 1)
    """

    has_contexts = True

    def __init__(
        self,
        outputs: Any,
        labels: Any,
        features: Any,
        cascade: Cascade,
        *,
        per_context: bool = False,
    ) -> None:
        super().__init__(outputs, labels, cascade)
        if not cascade.is_chain:
            raise InstanceError(f"cascade must be a chain, got a tree: {cascade!r}")
        self.features = read_only(checked_table("features", features).copy())
        if len(self.features) != len(self):
            raise InstanceError(
                f"features must have shape ({len(self)}, d), got {self.features.shape}"
            )
        self.per_context = bool(per_context)
        self._gaps = read_only(self._gaps_per_context() if per_context else self._excess())

    def __repr__(self) -> str:
        return (
            f"ContextualRecording({len(self)} cases, {self.n_features} features, "
            f"{self.cascade.n_stages} stages)"
        )

    @property
    def n_features(self) -> int:
        """The length of a context."""
        return int(self.features.shape[1])

    def extreme_contexts(self) -> FloatArray:
        """Return contexts with the largest features that can be drawn; shape (n, d)."""
        return self.features

    @cached_property
    def row_costs(self) -> FloatArray:
        """What stopping each row at each stage cost, price and error; shape (n, K)."""
        wrong = self._codes[:, 1:] != self._codes[:, :1]
        return read_only(wrong + self.cascade.cumulative_costs)

    @property
    def best_fixed_stage(self) -> int:
        """The stage that costs least if it is the same for all rows."""
        return self.instance.best_stage

    @cached_property
    def average_gaps(self) -> FloatArray:
        """How much more each stage costs than what regret is measured against, on average."""
        return read_only(self._gaps.mean(axis=0))

    def draw(self, n: int, rng: np.random.Generator) -> ContextualCases:
        """Draw ``n`` rows with replacement."""
        rows = rng.integers(len(self), size=n)
        codes = self._codes[rows]
        return ContextualCases(self.features[rows], codes[:, 0], codes[:, 1:], self._gaps[rows])

    def _excess(self) -> FloatArray:
        return self.row_costs - self.row_costs[:, [self.best_fixed_stage]]

    def _gaps_per_context(self) -> FloatArray:
        _, group, sizes = np.unique(self.features, axis=0, return_inverse=True, return_counts=True)
        group = group.reshape(-1)
        if sizes.min() < MIN_ROWS:
            raise InstanceError(
                f"features must take few values for per_context, each in {MIN_ROWS} rows or "
                f"more, got {len(sizes)} distinct contexts, one of them in {sizes.min()}"
            )
        sums = np.zeros((len(sizes), self.cascade.n_stages))
        np.add.at(sums, group, self.row_costs)
        means = sums / sizes[:, None]
        return np.asarray((means - means.min(axis=1, keepdims=True))[group])
