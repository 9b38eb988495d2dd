"""Patterns of outputs: one table for logs and laws, which tests agree, changes of the answer."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.checks import whole_numbers
from stopwise.counts import disagreement_shares
from stopwise.errors import LogError
from stopwise.outputs import Outputs, present, rank

MISSING = -1
BLOCK = 1 << 20  # comparisons at a time
Row = Sequence[Hashable]
Pattern = tuple[Hashable, ...]
Read = Callable[[Any], Hashable]  # what a value of a column means
Blocks = tuple[int, ...]  # which tests agree, in codes


def flip_flops(outputs: Outputs) -> bool:
    """Whether the output changes more than once, which strong dominance of binary tests forbids.

    >>> flip_flops([0, 1, None, 1]), flip_flops([0, 1, 1, 0])
    (False, True)
    """
    return sum(bool(x != y) for x, y in pairwise(y for y in outputs if y is not None)) > 1


def agreement(outputs: Outputs, *, missing: Hashable = None) -> tuple[Any, ...]:
    """Return which outputs are equal and nothing else: for each the place of the first like it.

    A missing output, ``None`` or in codes -1, stays what it is. A prefix agrees as the whole does.

    >>> agreement(["cat", "dog", None, "cat"]), agreement([7, 3, -1, 3], missing=MISSING)
    ((0, 1, None, 0), (0, 1, -1, 1))
    """
    first: dict[Hashable, Any] = {missing: missing}
    return tuple(first.setdefault(y, place) for place, y in enumerate(outputs))


def agreement_of_rows(rows: IntArray, *, keep_gaps: bool = False) -> IntArray:
    """Return for each code the first place in its row that has the same code.

    Gaps are compared like any other code, or stay gaps with ``keep_gaps``.
    """
    first = [(rows[:, : k + 1] == rows[:, k, None]).argmax(axis=1) for k in range(rows.shape[1])]
    places = np.array(first, dtype=np.int64).reshape(rows.T.shape).T  # also without any column
    return np.where(rows == MISSING, MISSING, places) if keep_gaps else places


def standing_answer(outputs: Outputs) -> Hashable:
    """Return the last output that is not missing: what one would answer now, ``None`` if nothing.

    >>> standing_answer([1, 0, None])
    0
    """
    return next((y for y in reversed(outputs) if y is not None), None)


@dataclass(frozen=True, eq=False)
class PatternTable:
    """The distinct patterns of outputs and the weight of each: a log counted, or a law.

    Parameters
    ----------
    codes
        One row per pattern, one column per test: indices into ``classes``, -1 where the test was
        not run or gave nothing; shape (R, K). The rows differ and have at least one output.
    weights
        The number of cases with each pattern, or its probability, each > 0; shape (R,).
    classes
        The values that some test gives.
    cascade
        Whose outputs they are.
    n_blank
        The number of cases in which no test gave an output; they tell nothing.
    agreement_only
        Whether codes only say which tests agree, as `agreement` does: the log has too many
        patterns of values to count them. Then ``classes`` are made up.

    >>> log = PatternTable.from_rows([["a", "a"], ["a", "b"]], [3, 1], Cascade(costs=[1, 2]))
    >>> log.disagreement
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """

    codes: IntArray
    weights: NDArray[Any]
    classes: tuple[Hashable, ...]
    cascade: Cascade
    n_blank: int = 0
    agreement_only: bool = False

    @classmethod
    def from_rows(cls, rows: Iterable[Row], counts: Any, cascade: Cascade) -> PatternTable:
        """Count patterns given as values, ``None`` or NaN where an output is missing."""
        try:
            columns = list(zip(*rows, strict=True)) or [()] * cascade.n_stages
        except (TypeError, ValueError):
            raise LogError(f"patterns must have {cascade.n_stages} outputs each") from None
        return cls.from_columns(columns, counts, cascade)

    @classmethod
    def from_columns(
        cls, columns: Sequence[Row], counts: Any, cascade: Cascade, *, read: Read = present
    ) -> PatternTable:
        """Count patterns given as one column of values a test; ``read`` says what each means."""
        if len(columns) != cascade.n_stages:
            raise LogError(f"patterns must have {cascade.n_stages} outputs, got {len(columns)}")
        times = whole_numbers("counts", counts, LogError)
        if any(len(column) != len(times) for column in columns):
            raise LogError(f"counts must be one per pattern, got {len(times)}")
        codes = np.empty((len(times), cascade.n_stages), dtype=np.int64)
        values = []
        for k, column in enumerate(columns):
            code: dict[Hashable, int] = {}
            try:
                codes[:, k] = [code.setdefault(y, len(code)) for y in column]
            except TypeError:
                for y in column:
                    present(y)  # names the value that is no label
                raise
            values.append([*map(read, code)])
        return cls.from_codes(codes, values, times, cascade)

    @classmethod
    def from_codes(
        cls, codes: IntArray, values: Sequence[Row], counts: IntArray, cascade: Cascade
    ) -> PatternTable:
        """Count patterns given as indices into the values of each test, ``None`` a missing one."""
        code: dict[Hashable, int] = {None: MISSING}
        table = np.empty_like(codes)
        for k, column in enumerate(values):
            place = np.full(len(column), MISSING)
            for c in np.flatnonzero(np.bincount(codes[:, k])).tolist():
                place[c] = code.setdefault(present(column[c]), len(code) - 1)
            table[:, k] = place[codes[:, k]]
        classes = list(code)[1:]  # in the order in which they occur
        order = sorted(range(len(classes)), key=lambda c: rank(classes[c]))
        new_code = np.empty(len(classes) + 1, dtype=np.int64)
        new_code[order] = np.arange(len(classes))
        new_code[MISSING] = MISSING
        table = new_code[table]
        numbers = row_numbers(table)
        by_value = np.argsort(numbers, kind="stable")  # fast where they are in order already
        starts = np.flatnonzero(np.diff(numbers[by_value], prepend=-1))
        table, counts = table[by_value][starts], counts[by_value]
        counts = np.add.reduceat(counts, starts) if len(starts) else counts
        blank = (table == MISSING).all(axis=1)
        return cls(
            read_only(table[~blank]),
            read_only(counts[~blank]),
            tuple(classes[c] for c in order),
            cascade,
            int(counts[blank].sum()),
        )

    @property
    def n_stages(self) -> int:
        """The number of tests, K."""
        return self.cascade.n_stages

    @property
    def n_classes(self) -> int:
        """The number of values that the tests give."""
        return len(self.classes)

    @cached_property
    def n_cases(self) -> int:
        """The number of cases with at least one output."""
        return int(self.weights.sum())

    @cached_property
    def shown(self) -> BoolArray:
        """Where a pattern has an output; shape (R, K)."""
        return read_only(self.codes != MISSING)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every test gave an output in every case."""
        return bool(self.shown.all())

    @cached_property
    def probabilities(self) -> FloatArray:
        """The share of cases with each pattern; shape (R,)."""
        total = self.weights.sum()
        return read_only(self.weights / (total or 1))

    @cached_property
    def n_observed(self) -> IntArray:
        """For each test the number of cases in which it gave an output."""
        return read_only(self.weights @ self.shown)

    @cached_property
    def n_seen(self) -> NDArray[Any]:
        """For each pair the weight of the cases that show both outputs; shape (K, K)."""
        if self.is_complete:
            return read_only(np.full((self.n_stages,) * 2, self.weights.sum()))
        return self._pair_sums(lambda rows, i, j: (rows[:, i] >= 0) & (rows[:, j] >= 0))

    @cached_property
    def n_disagreed(self) -> NDArray[Any]:
        """For each pair the weight of the cases in which the two outputs differ; shape (K, K)."""
        if self.is_complete:
            return self._pair_sums(lambda rows, i, j: rows[:, i] != rows[:, j])
        return self._pair_sums(
            lambda rows, i, j: (rows[:, i] != rows[:, j]) & (rows[:, i] >= 0) & (rows[:, j] >= 0)
        )

    def _pair_sums(
        self, holds: Callable[[IntArray, IntArray, IntArray], BoolArray]
    ) -> NDArray[Any]:
        """Return for each pair the weight of the patterns for which ``holds``; symmetric."""
        R, K = self.codes.shape
        i, j = np.triu_indices(K)
        total = np.zeros(len(i), dtype=self.weights.dtype)
        step = max(BLOCK // len(i), 1)
        for start in range(0, R, step):
            rows = self.codes[start : start + step]
            total += self.weights[start : start + step] @ holds(rows, i, j)
        sums = np.zeros((K, K), dtype=total.dtype)
        sums[i, j] = sums[j, i] = total
        return read_only(sums)

    @cached_property
    def disagreement(self) -> FloatArray:
        """The share of disagreement among the cases that show both; NaN where none does."""
        return disagreement_shares(self.n_disagreed, self.n_seen)

    def flip_flop_rate(self) -> float:
        """Return the share of cases in which the answer changes more than once on some path.

        Binary tests, no gaps: zero exactly when some label makes the law strongly dominant.
        """
        paths, children = self.cascade.paths, self.cascade.children
        leaves = [path for path, below in zip(paths, children, strict=True) if not below]
        flips = [
            any(flip_flops([self.value(row[k]) for k in path]) for path in leaves)
            for row in self.codes.tolist()
        ]
        return float(self.probabilities[flips].sum())

    def priced(self, cascade: Cascade) -> PatternTable:
        """Return the same counts for ``cascade``: as many tests, maybe at other prices."""
        K = cascade.n_stages
        if self.n_stages != K:
            raise LogError(f"patterns must be those of {K} tests, got those of {self.n_stages}")
        return replace(self, cascade=cascade)

    def value(self, code: int) -> Hashable:
        """Return the output that ``code`` stands for, ``None`` for a missing one."""
        return None if code == MISSING else self.classes[code]

    def __add__(self, other: PatternTable) -> PatternTable:
        if not isinstance(other, PatternTable):
            return NotImplemented
        rows = [[h.value(c) for c in row] for h in (self, other) for row in h.codes.tolist()]
        counts = [*self.weights.tolist(), *other.weights.tolist()]
        total = PatternTable.from_rows(rows, counts, self.cascade)
        total = replace(total, n_blank=self.n_blank + other.n_blank)
        return total.by_agreement() if self.agreement_only or other.agreement_only else total

    def by_agreement(self) -> PatternTable:
        """Return the same cases counted by which tests agree, with one class that no test gives.

        Agreement is counted where values are many, and then all tests may be wrong.
        """
        rows = [agreement([self.value(c) for c in row]) for row in self.codes.tolist()]
        table = PatternTable.from_rows(rows, self.weights, self.cascade)
        classes = (*table.classes, self.n_stages)
        return replace(table, classes=classes, n_blank=self.n_blank, agreement_only=True)


def row_numbers(rows: IntArray) -> IntArray:
    """Return a number for each row of codes >= -1: equal rows share it, later rows have more.

    >>> row_numbers(np.array([[0, 1], [-1, 2], [0, 1]])).tolist()
    [6, 3, 6]
    """
    numbers, n_numbers = np.zeros(len(rows), dtype=np.int64), 1
    for column in rows.T + 1:
        base = int(column.max(initial=0)) + 1
        if n_numbers * base >= 2**63:
            numbers, n_numbers = np.unique(numbers, return_inverse=True)[1], len(rows)
        numbers, n_numbers = numbers * base + column, n_numbers * base
    return numbers
