"""How often each pattern of outputs occurs in a log: all that the rest of the audit looks at."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.audit.values import present, rank
from stopwise.cascade import BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.errors import LogError
from stopwise.patterns import PatternCounts

MISSING = -1
BLOCK = 1 << 20  # comparisons at a time

Row = Sequence[Hashable]


@dataclass(frozen=True, eq=False)
class Histogram:
    """The distinct patterns of a log and how many cases show each.

    Parameters
    ----------
    patterns
        One row a pattern, one column a test: indices into ``classes``, -1 where the test was not
        run or gave nothing; shape (R, K). The rows differ and show at least one output.
    counts
        The number of cases with each pattern, each > 0; shape (R,).
    classes
        The values that some test gives.
    cascade
        Whose outputs they are.
    n_blank
        The number of cases in which no test gave an output; they tell nothing.

    >>> log = Histogram.from_rows([["a", "a"], ["a", "b"]], [3, 1], Cascade(costs=[1, 2]))
    >>> log.disagreement
    array([[0.  , 0.25],
           [0.25, 0.  ]])
    """

    patterns: IntArray
    counts: IntArray
    classes: tuple[Hashable, ...]
    cascade: Cascade
    n_blank: int = 0

    @classmethod
    def from_rows(cls, rows: Iterable[Row], counts: Iterable[int], cascade: Cascade) -> Histogram:
        """Count patterns given as values, ``None`` or NaN where an output is missing."""
        code: dict[Hashable, int] = {None: MISSING}
        total: dict[tuple[int, ...], int] = {}
        for row, times in zip(rows, counts, strict=True):
            key = tuple(code.setdefault(present(y), len(code) - 1) for y in row)
            total[key] = total.get(key, 0) + int(times)
        table = np.array(list(total), dtype=np.int64).reshape(-1, cascade.n_stages)
        times_seen = np.array(list(total.values()), dtype=np.int64)
        return cls.of_classes(table, times_seen, list(code)[1:], cascade)

    @classmethod
    def from_counts(cls, counts: PatternCounts) -> Histogram:
        """Return what was counted case by case, or raise `LogError` where patterns were dropped."""
        if counts.n_other:
            raise LogError(
                f"pattern counts must hold every pattern, got {counts.n_other} cases beyond the "
                f"first {counts.max_patterns} patterns"
            )
        return cls.from_rows(counts.table, counts.table.values(), counts.cascade)

    @classmethod
    def from_arrow(
        cls,
        columns: Sequence[Any],
        counts: IntArray,
        cascade: Cascade,
        *,
        read: Callable[[Any], Hashable] = present,
    ) -> Histogram:
        """Count patterns given as Arrow columns, one a test, without a loop over rows.

        ``read`` says what each value stands for.
        """
        codes = np.empty((len(counts), len(columns)), dtype=np.int64)
        values = []
        for k, column in enumerate(columns):
            chunk = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            if chunk.type.num_fields:
                raise LogError(f"outputs must be labels, got {chunk.type} from test {k + 1}")
            encoded = chunk.dictionary_encode()
            values.append([*map(read, encoded.dictionary.to_pylist()), None])
            codes[:, k] = encoded.indices.fill_null(len(values[k]) - 1)
        return cls.from_codes(codes, values, np.asarray(counts, dtype=np.int64), cascade)

    @classmethod
    def from_codes(
        cls, codes: IntArray, values: Sequence[Row], counts: IntArray, cascade: Cascade
    ) -> Histogram:
        """Count patterns given as indices into the values of each test, ``None`` a missing one."""
        code: dict[Hashable, int] = {None: MISSING}
        table = np.empty_like(codes)
        for k, known in enumerate(values):
            place = np.full(len(known), MISSING)
            for c in np.flatnonzero(np.bincount(codes[:, k])).tolist():
                place[c] = code.setdefault(present(known[c]), len(code) - 1)
            table[:, k] = place[codes[:, k]]
        return cls.of_classes(table, counts, list(code)[1:], cascade)

    @classmethod
    def from_numbers(cls, rows: NDArray[Any], counts: IntArray, cascade: Cascade) -> Histogram:
        """Count patterns given as an array of booleans or whole numbers, none of them missing."""
        values, place = np.unique(rows, return_inverse=True)
        return cls.of_classes(place.reshape(rows.shape), counts, values.tolist(), cascade)

    @classmethod
    def of_classes(
        cls, table: IntArray, counts: IntArray, shown: list[Hashable], cascade: Cascade
    ) -> Histogram:
        """Count patterns given as indices into ``shown``, each of which occurs; -1 is a gap."""
        order = sorted(range(len(shown)), key=lambda c: rank(shown[c]))
        renamed = np.empty(len(shown) + 1, dtype=np.int64)
        renamed[order] = np.arange(len(shown))
        renamed[MISSING] = MISSING
        table = renamed[table]
        by_value = _lexical(table, len(shown) + 1)
        table, counts = table[by_value], counts[by_value]
        fresh = np.ones(len(table), dtype=bool)
        fresh[1:] = (table[1:] != table[:-1]).any(axis=1)
        starts = np.flatnonzero(fresh)
        table, counts = table[starts], np.add.reduceat(counts, starts) if len(starts) else counts
        blank = (table == MISSING).all(axis=1)
        return cls(
            read_only(table[~blank]),
            read_only(counts[~blank]),
            tuple(shown[c] for c in order),
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
        return int(self.counts.sum())

    @cached_property
    def shown(self) -> BoolArray:
        """Where a pattern has an output; shape (R, K)."""
        return read_only(self.patterns != MISSING)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every test gave an output in every case."""
        return bool(self.shown.all())

    @cached_property
    def probabilities(self) -> FloatArray:
        """The share of cases with each pattern; shape (R,)."""
        return read_only(self.counts / max(self.n_cases, 1))

    @cached_property
    def n_observed(self) -> IntArray:
        """For each test the number of cases in which it gave an output."""
        return read_only(self.counts @ self.shown)

    @cached_property
    def n_seen(self) -> IntArray:
        """For each pair the number of cases that show both outputs; shape (K, K)."""
        seen = self.shown.astype(np.int64)
        return read_only(seen.T @ (self.counts[:, None] * seen))

    @cached_property
    def n_disagreed(self) -> IntArray:
        """For each pair the number of cases in which the two outputs differ; shape (K, K)."""
        R, K = self.patterns.shape
        total = np.zeros(K * K, dtype=np.int64)
        step = max(BLOCK // K**2, 1)
        for start in range(0, R, step):
            rows = self.patterns[start : start + step]
            differ = rows[:, :, None] != rows[:, None, :]
            if not self.is_complete:
                seen = self.shown[start : start + step]
                differ &= seen[:, :, None] & seen[:, None, :]
            total += self.counts[start : start + step] @ differ.reshape(len(rows), -1)
        return read_only(total.reshape(K, K))

    @cached_property
    def disagreement(self) -> FloatArray:
        """The share of disagreement among the cases that show both; NaN where none does."""
        share = np.full((self.n_stages, self.n_stages), math.nan)
        np.divide(self.n_disagreed, self.n_seen, out=share, where=self.n_seen > 0)
        np.fill_diagonal(share, 0.0)
        return read_only(share)

    def priced(self, cascade: Cascade) -> Histogram:
        """Return the same counts for ``cascade``: as many tests, maybe at other prices."""
        if cascade.n_stages != self.n_stages:
            raise LogError(
                f"a histogram must be of the tests of the cascade, got {self.n_stages} tests "
                f"for {cascade.n_stages}"
            )
        return replace(self, cascade=cascade)

    def value(self, code: int) -> Hashable:
        """Return the output that ``code`` stands for, ``None`` for a missing one."""
        return None if code == MISSING else self.classes[code]

    def __add__(self, other: Histogram) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        rows = [[h.value(c) for c in row] for h in (self, other) for row in h.patterns.tolist()]
        counts = [*self.counts.tolist(), *other.counts.tolist()]
        total = Histogram.from_rows(rows, counts, self.cascade)
        return replace(total, n_blank=self.n_blank + other.n_blank)


def _lexical(table: IntArray, base: int) -> IntArray:
    """Return the order of rows by their codes -1, …, ``base`` - 2, the first column first."""
    K = table.shape[1]
    if base**K >= 2**63:
        return np.asarray(np.lexsort(table.T[::-1]))
    # One number a row sorts faster than many keys.
    return np.argsort((table + 1) @ np.array([base ** (K - 1 - k) for k in range(K)]))
