"""Known truth: the joint law of the hidden label and the outputs of the tests."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import TOLERANCE, BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.disagreement import dominance_ratio, is_dominant_at
from stopwise.errors import InstanceError
from stopwise.patterns import PatternTable

Seed = int | np.random.Generator
MAX_CELLS = 50_000_000  # of a joint array; a larger one does not fit in memory


class Instance:
    """A cascade with the joint law of label and outputs, from which every true quantity follows.

    Stored as the distinct patterns (label, outputs…) that have positive probability, so 50
    stages are as easy as three. Stages are numbered from 0.

    Parameters
    ----------
    joint
        Probabilities; shape (M,)*(K+1), axis 0 the label, axis k the output of test k.
    cascade
        The tests and what they cost.

    >>> joint = [[[0.3, 0.0], [0.1, 0.0]], [[0.0, 0.1], [0.0, 0.5]]]
    >>> instance = Instance(joint, Cascade(costs=[0, 0.3]))
    >>> instance.error_rates
    array([0.2, 0. ])
    >>> instance.best_stage, instance.is_strongly_dominant()
    (0, True)
    """

    cascade: Cascade
    classes: tuple[Hashable, ...]
    labels: IntArray
    outputs: IntArray
    probabilities: FloatArray
    has_contexts = False
    instance = property(lambda self: self, doc="The law of this environment: itself.")

    def __init__(self, joint: Any, cascade: Cascade) -> None:
        try:
            cells = np.asarray(joint, dtype=np.float64)
        except (TypeError, ValueError):
            raise InstanceError("joint must be an array of probabilities") from None
        K = cascade.n_stages
        if cells.ndim != K + 1 or len(set(cells.shape)) != 1:
            raise InstanceError(
                f"joint must have shape (M,)*{K + 1}: the label and {K} tests, got {cells.shape}"
            )
        bad = np.argwhere(~(np.isfinite(cells) & (cells >= 0)))
        if len(bad):
            cell = tuple(map(int, bad[0]))
            raise InstanceError(
                f"joint must be finite and >= 0, got {float(cells[cell])!r} at {cell}"
            )
        if abs(cells.sum() - 1) > 1e-9:
            raise InstanceError(f"joint must sum to 1, got {float(cells.sum())!r}")
        rows = np.argwhere(cells > 0)
        self._keep(rows, cells[cells > 0], tuple(range(cells.shape[0])), cascade)

    @classmethod
    def from_patterns(
        cls, patterns: Iterable[Sequence[Hashable]], weights: Iterable[float], cascade: Cascade
    ) -> Instance:
        """Build an instance from rows (label, outputs…) and their weights, in any scale.

        >>> instance = Instance.from_patterns(
        ...     [("ill", "ill", "ill"), ("ill", "well", "ill"), ("well", "well", "well")],
        ...     [2, 1, 7],
        ...     Cascade(costs=[0, 0.2]),
        ... )
        >>> instance.error_rates
        array([0.1, 0. ])
        """
        table = [tuple(row) for row in patterns]
        for r, row in enumerate(table):
            if len(row) != cascade.n_stages + 1:
                raise InstanceError(
                    f"patterns must have a label and {cascade.n_stages} outputs, "
                    f"got {len(row)} entries at row {r + 1}"
                )
        codes, classes = _coded(table)
        return cls._build(codes, _checked_weights(weights, len(table)), classes, cascade)

    @classmethod
    def from_outcomes(cls, labels: Any, outputs: Any, cascade: Cascade) -> Instance:
        """Build the empirical instance of recorded cases: labels (n,), outputs (n, K)."""
        codes, classes = coded_outcomes(labels, outputs, cascade.n_stages)
        return cls._build(codes, np.ones(len(codes)), classes, cascade)

    @classmethod
    def _build(
        cls, codes: IntArray, weights: FloatArray, classes: tuple[Hashable, ...], cascade: Cascade
    ) -> Instance:
        instance = cls.__new__(cls)
        instance._keep(codes, weights, classes, cascade)
        return instance

    def _keep(
        self, codes: IntArray, weights: FloatArray, classes: tuple[Hashable, ...], cascade: Cascade
    ) -> None:
        rows, totals = distinct_rows(codes, weights)
        rows, totals = rows[totals > 0], totals[totals > 0]
        self.cascade = cascade
        self.classes = classes
        self.labels = read_only(rows[:, 0])
        self.outputs = read_only(rows[:, 1:])
        self.probabilities = read_only(totals / totals.sum())

    def __repr__(self) -> str:
        return (
            f"Instance({self.cascade.n_stages} stages, {len(self.classes)} classes, "
            f"{len(self.probabilities)} patterns, best stage {self.best_stage + 1})"
        )

    def with_cascade(self, cascade: Cascade) -> Instance:
        """Return the same law under other costs."""
        if cascade.n_stages != self.cascade.n_stages:
            raise InstanceError(
                f"cascade must have {self.cascade.n_stages} stages, got {cascade.n_stages}"
            )
        codes = np.column_stack([self.labels, self.outputs])
        return Instance._build(codes, self.probabilities, self.classes, cascade)

    @property
    def joint(self) -> FloatArray:
        """The law as a full array, shape (M,)*(K+1); refused where it would not fit in memory."""
        shape = (len(self.classes),) * (self.cascade.n_stages + 1)
        if len(self.classes) ** len(shape) > MAX_CELLS:
            raise InstanceError(f"joint of shape {shape} has too many cells: use the patterns")
        cells = np.zeros(shape)
        cells[(self.labels, *self.outputs.T)] = self.probabilities
        return read_only(cells)

    @cached_property
    def is_right(self) -> BoolArray:
        """For each pattern and test whether the output equals the label; shape (R, K)."""
        return read_only(self.outputs == self.labels[:, None])

    @cached_property
    def error_rates(self) -> FloatArray:
        """P(Y^k ≠ Y) for each test (γ_k)."""
        return read_only(self.probabilities @ ~self.is_right)

    @cached_property
    def total_costs(self) -> FloatArray:
        """The expected cost of stopping at each stage: γ_k + C_k."""
        return read_only(self.error_rates + self.cascade.cumulative_costs)

    @cached_property
    def optimal_stages(self) -> tuple[int, ...]:
        """All stages of least total cost."""
        cheap = self.total_costs <= self.total_costs.min() + TOLERANCE
        return tuple(map(int, np.flatnonzero(cheap)))

    @property
    def best_stage(self) -> int:
        """The first stage of least total cost (a*)."""
        return self.optimal_stages[0]

    @cached_property
    def gaps(self) -> FloatArray:
        """How much more stopping at each stage costs than stopping at the best one (Δ_k)."""
        gaps = self.total_costs - self.total_costs.min()
        gaps[list(self.optimal_stages)] = 0.0
        return read_only(gaps)

    @cached_property
    def output_law(self) -> PatternTable:
        """The law of the outputs without the label (P_S)."""
        return PatternTable(
            *distinct_rows(self.outputs, self.probabilities), self.classes, self.cascade
        )

    @cached_property
    def disagreement(self) -> FloatArray:
        """P(Y^i ≠ Y^j) for each pair; shape (K, K)."""
        return self.output_law.disagreement

    @cached_property
    def setbacks(self) -> FloatArray:
        """P(Y^i = Y, Y^j ≠ Y): test i is right where j is wrong (δ_ij); shape (K, K)."""
        right = self.is_right.astype(np.float64)
        return read_only((right * self.probabilities[:, None]).T @ (1 - right))

    def is_ordered(self) -> bool:
        """Whether no test errs more often than the one before it on its path (Θ_SA).

        The paper assumes it; here it is not required.
        """
        return all(
            parent is None or self.error_rates[k] <= self.error_rates[parent] + TOLERANCE
            for k, parent in enumerate(self.cascade.parents)
        )

    def is_strongly_dominant(self) -> bool:
        """Whether a right answer stays right along every path (Θ_SD, Definition 1)."""
        return all(
            parent is None or self.setbacks[parent, k] <= TOLERANCE
            for k, parent in enumerate(self.cascade.parents)
        )

    def is_weakly_dominant(self) -> bool:
        """Whether beyond the best stage each price covers the disagreement (Θ_WD, Definition 2)."""
        return is_dominant_at(self.disagreement, self.cascade, self.best_stage)

    def dominance_ratio(self) -> float:
        """Return the least price / disagreement beyond the best stage; >= 1 is weak dominance."""
        return dominance_ratio(self.disagreement, self.cascade, self.best_stage)

    def sample(self, n: int, seed: Seed) -> tuple[IntArray, IntArray]:
        """Draw ``n`` cases: labels (n,) and outputs (n, K), as codes into ``classes``."""
        rows = np.random.default_rng(seed).choice(
            len(self.probabilities), size=n, p=self.probabilities
        )
        return self.labels[rows], self.outputs[rows]


def coded_outcomes(
    labels: Any, outputs: Any, n_stages: int
) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return recorded cases as rows (label, outputs…) of indices into their classes, or raise."""
    # As objects: beside a text, NumPy would turn 1 into "1" and NaN into "nan".
    truth = np.asarray(labels, dtype=object)
    table = np.asarray(outputs, dtype=object)
    if truth.ndim != 1 or len(truth) == 0:
        raise InstanceError(f"labels must be a non-empty vector, got shape {truth.shape}")
    if table.shape != (len(truth), n_stages):
        raise InstanceError(
            f"outputs must have shape ({len(truth)}, {n_stages}), got {table.shape}"
        )
    return _coded([(y, *row) for y, row in zip(truth.tolist(), table.tolist(), strict=True)])


def _coded(table: list[tuple[Hashable, ...]]) -> tuple[IntArray, tuple[Hashable, ...]]:
    """Return rows as indices into their classes, which are sorted where that is possible."""
    if not table:
        raise InstanceError("patterns must not be empty")
    flat = [value for row in table for value in row]
    try:
        classes: list[Any] = list(dict.fromkeys(flat))
        if any(value is None or value != value for value in classes):  # noqa: PLR0124  # NaN
            raise TypeError
    except TypeError:
        for place, value in enumerate(flat):
            _check_outcome(value, *divmod(place, len(table[0])))
        raise
    with suppress(TypeError):  # labels of mixed types keep the order in which they came
        classes = sorted(classes)
    codes = {value: code for code, value in enumerate(classes)}
    indices = np.array([codes[value] for value in flat], dtype=np.int64)
    return indices.reshape(len(table), -1), tuple(classes)


def _check_outcome(value: Any, row: int, column: int) -> None:
    """Refuse a value that is not an outcome, with its place."""
    place = f"at row {row + 1}, " + (f"stage {column}" if column else "the label")
    if not isinstance(value, Hashable):
        raise InstanceError(f"outcomes must be hashable labels, got {value!r} {place}")
    if value is None or value != value:  # noqa: PLR0124  # NaN
        raise InstanceError(
            f"outcomes must not be missing, got {value!r} {place}: "
            "leave the row out, or write a value such as 'none' that counts as a wrong answer"
        )


def _checked_weights(weights: Iterable[float], n: int) -> FloatArray:
    try:
        values = np.array(list(weights), dtype=np.float64)
    except (TypeError, ValueError):
        raise InstanceError("weights must be numbers") from None
    if values.shape != (n,):
        raise InstanceError(f"weights must have one entry per pattern, got {values.size} for {n}")
    bad = np.flatnonzero(~(np.isfinite(values) & (values >= 0)))
    if len(bad):
        r = int(bad[0])
        raise InstanceError(
            f"weights must be finite and >= 0, got {float(values[r])!r} at row {r + 1}"
        )
    if not values.sum() > 0:
        raise InstanceError("weights must not all be zero")
    return values


def distinct_rows(rows: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the distinct rows in lexical order and the total weight of each."""
    unique, inverse = np.unique(rows, axis=0, return_inverse=True)
    totals = np.zeros(len(unique))
    np.add.at(totals, inverse.reshape(-1), weights)
    return read_only(unique), read_only(totals)
