"""Recorded cases with features: rows drawn with replacement, the features being the context."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray, read_only
from stopwise.errors import InstanceError
from stopwise.problem.contextual import ContextualCases
from stopwise.problem.recording import Recording

# A context must have come up so often for its best stage to be known at all.
LEAST_ROWS = 20


class ContextualRecording(Recording):
    """A `Recording` whose rows have features that a learner may look at before it starts.

    What is the best stage for a context? Where features take few values it is the stage that costs
    least among the rows that share them. Where every row is its own context, that would be the best
    stage in hindsight for a single case, which nobody can know. So by default regret is measured
    against the best *fixed* stage: for each row what a stage cost there, price and error, minus
    what the best fixed stage cost. It can be negative; that is what contexts are good for.

    Parameters
    ----------
    outputs, labels, cascade
        As in `Recording`; labels are needed.
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

    def __init__(
        self,
        outputs: Any,
        labels: Any,
        features: Any,
        cascade: Cascade,
        *,
        per_context: bool = False,
    ) -> None:
        if labels is None:
            raise InstanceError("labels must be recorded for regret to be known, got none")
        super().__init__(outputs, labels, cascade)
        if not cascade.is_chain:
            raise InstanceError(f"cascade must be a chain, got a tree: {cascade!r}")
        self.features = _features(features, len(self))
        self.per_context = bool(per_context)
        self._codes, self._labels = _coded(self.outputs, self.labels)
        self._gaps = read_only(self._gaps_per_context() if per_context else self._excess())

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        cascade: Cascade,
        *,
        label: str | None = "y",
        tests: Sequence[str] | None = None,
        features: Sequence[str] = (),
        per_context: bool = False,
    ) -> ContextualRecording:
        """Read a CSV file with a header: columns of features, of tests, and one with the label.

        Parameters
        ----------
        path, cascade, label, tests
            As in `Recording.from_csv`, but the columns of the tests have to be named.
        features
            The columns of the context, all numbers.
        per_context
            As for the class.
        """
        if tests is None or not features:
            raise InstanceError(f"tests and features of {path} must be named, column by column")
        answers = Recording.from_csv(path, cascade, label=label, tests=tests)
        # Read like the answers of so many tests, then taken as numbers.
        columns = Cascade([0.0] * len(features))
        known = Recording.from_csv(path, columns, label=None, tests=features)
        return cls(answers.outputs, answers.labels, known.outputs, cascade, per_context=per_context)

    def __repr__(self) -> str:
        return (
            f"ContextualRecording({len(self)} cases, {self.n_features} features, "
            f"{self.cascade.n_stages} stages)"
        )

    @property
    def n_features(self) -> int:
        """The length of a context."""
        return int(self.features.shape[1])

    @cached_property
    def row_costs(self) -> FloatArray:
        """What stopping each row at each stage cost, price and error; shape (n, K)."""
        wrong = self._codes != self._labels[:, None]
        return read_only(wrong + self.cascade.cumulative_costs)

    @property
    def best_fixed_stage(self) -> int:
        """The stage that costs least if it is the same for all rows."""
        return self.instance.best_stage

    @cached_property
    def average_gaps(self) -> FloatArray:
        """The mean over rows of what each stage costs more than what regret is measured against."""
        return read_only(self._gaps.mean(axis=0))

    def draw(self, n: int, rng: np.random.Generator) -> ContextualCases:
        """Draw ``n`` rows with replacement."""
        rows = rng.integers(len(self), size=n)
        return ContextualCases(
            self.features[rows], self._labels[rows], self._codes[rows], self._gaps[rows]
        )

    def _excess(self) -> FloatArray:
        return self.row_costs - self.row_costs[:, [self.best_fixed_stage]]

    def _gaps_per_context(self) -> FloatArray:
        _, group, sizes = np.unique(self.features, axis=0, return_inverse=True, return_counts=True)
        group = group.reshape(-1)
        if sizes.min() < LEAST_ROWS:
            raise InstanceError(
                f"features must take few values for per_context, each in {LEAST_ROWS} rows or "
                f"more, got {len(sizes)} distinct contexts, one of them in {sizes.min()}"
            )
        sums = np.zeros((len(sizes), self.cascade.n_stages))
        np.add.at(sums, group, self.row_costs)
        means = sums / sizes[:, None]
        return np.asarray((means - means.min(axis=1, keepdims=True))[group])


def _features(features: Any, n: int) -> FloatArray:
    try:
        table = np.array(features, dtype=np.float64)
    except (TypeError, ValueError):
        raise InstanceError("features must be a table of numbers") from None
    if table.ndim != 2 or len(table) != n:
        raise InstanceError(f"features must have shape ({n}, d), got {table.shape}")
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, column = map(int, bad[0])
        raise InstanceError(
            f"features must be finite, got {float(table[row, column])!r} at row {row + 1}, "
            f"feature {column + 1}"
        )
    return read_only(table)


def _coded(outputs: Any, labels: Any) -> tuple[IntArray, IntArray]:
    """Return outputs and labels as codes, equal where they were equal."""
    codes: dict[Any, int] = {}

    def code(value: Any) -> int:
        return codes.setdefault(value, len(codes))

    shown = [[code(value) for value in row] for row in outputs.tolist()]
    truth = [code(value) for value in labels.tolist()]
    return np.array(shown, dtype=np.int64), np.array(truth, dtype=np.int64)
