"""How often each pattern of outputs occurs in a log: all that the rest of the audit looks at."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.errors import LogError
from stopwise.patterns import PatternCounts

MISSING = -1
MAX_PATTERNS = 200_000
BLOCK = 1 << 20  # comparisons at a time
MAX_FRACTIONS = 50  # different numbers with a fraction: more are scores, not labels

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
            key = tuple(code.setdefault(_present(y), len(code) - 1) for y in row)
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
    def from_arrow(cls, columns: Sequence[Any], counts: IntArray, cascade: Cascade) -> Histogram:
        """Count patterns given as Arrow columns, one a test, without a loop over rows."""
        codes = np.empty((len(counts), len(columns)), dtype=np.int64)
        values = []
        for k, column in enumerate(columns):
            chunk = column.combine_chunks() if hasattr(column, "combine_chunks") else column
            if chunk.type.num_fields:
                raise LogError(f"outputs must be labels, got {chunk.type} from test {k + 1}")
            encoded = chunk.dictionary_encode()
            values.append([*encoded.dictionary.to_pylist(), None])
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
                place[c] = code.setdefault(_present(known[c]), len(code) - 1)
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
        order = sorted(range(len(shown)), key=lambda c: _rank(shown[c]))
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

    def value(self, code: int) -> Hashable:
        """Return the output that ``code`` stands for, ``None`` for a missing one."""
        return None if code == MISSING else self.classes[code]

    def __add__(self, other: Histogram) -> Histogram:
        if not isinstance(other, Histogram):
            return NotImplemented
        rows = [[h.value(c) for c in row] for h in (self, other) for row in h.patterns.tolist()]
        counts = [*self.counts.tolist(), *other.counts.tolist()]
        total = Histogram.from_rows(rows, counts, self.cascade)
        object.__setattr__(total, "n_blank", self.n_blank + other.n_blank)
        return total


def _lexical(table: IntArray, base: int) -> IntArray:
    """Return the order of rows by their codes -1, …, ``base`` - 2, the first column first."""
    K = table.shape[1]
    if base**K >= 2**63:
        return np.asarray(np.lexsort(table.T[::-1]))
    # One number a row sorts faster than many keys.
    return np.argsort((table + 1) @ np.array([base ** (K - 1 - k) for k in range(K)]))


def check_n_patterns(n_patterns: int, codes: IntArray, columns: Sequence[str]) -> None:
    """Raise `LogError` where there are too many patterns; ``codes`` are some of them."""
    if n_patterns <= MAX_PATTERNS:
        return
    n_values = [len(np.unique(column)) for column in codes.T]
    widest = int(np.argmax(n_values))
    raise LogError(
        f"outputs must be labels, got more than {MAX_PATTERNS} different patterns; test "
        f"{columns[widest]!r} alone has {n_values[widest]} values: cut scores into classes first"
    )


def _present(value: Any) -> Hashable:
    """Return an output as a hashable value, ``None`` where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    try:
        hash(value)
    except TypeError:
        raise LogError(
            f"outputs must be labels (numbers, text, true or false), got {value!r}"
        ) from None
    return value  # type: ignore[no-any-return]


def _rank(value: Hashable) -> tuple[bool, float, str]:
    """Numbers in their order, then all else by name."""
    if isinstance(value, (bool, int, float)):
        return (False, float(value), "")
    return (True, 0.0, str(value))


def looks_like(value: Hashable) -> Hashable:
    """Return what a reader would take ``value`` for: case, blanks and ``1`` against ``1.0`` aside.

    >>> looks_like("Yes ") == looks_like("yes"), looks_like("1") == looks_like(1.0)
    (True, True)
    """
    if isinstance(value, bool):
        return int(value)
    text = " ".join(str(value).split()).casefold()
    for number in (int, float):  # as a float a large whole number would be another one
        with suppress(ValueError):
            found = number(text)
            return found if math.isfinite(found) else text
    return {"true": 1, "false": 0}.get(text, text)


def matching(value: Hashable, classes: Sequence[Hashable]) -> Hashable:
    """Return the one of ``classes`` that ``value`` is or looks like, or ``value`` itself.

    A command line and a CSV file give text where a frame gives numbers.
    """
    if value in classes:
        return classes[list(classes).index(value)]
    alike = looks_like(value)
    return next((known for known in classes if looks_like(known) == alike), value)


def check_log(histogram: Histogram) -> None:
    """Raise `LogError` where a log cannot be audited: empty, constant, labels that look alike."""
    names = histogram.cascade.names
    if not histogram.n_cases:
        raise LogError("the log must have at least one case with an output, got none")
    alike: dict[Hashable, Hashable] = {}
    for value in histogram.classes:
        other = alike.setdefault(looks_like(value), value)
        if other is not value:
            raise LogError(
                f"labels must be spelled in one way, got {other!r} {_places(histogram, other)} and "
                f"{value!r} {_places(histogram, value)}: they would count as disagreement; "
                "a query can mend that"
            )
    for k, name in enumerate(names):
        values = np.unique(histogram.patterns[histogram.shown[:, k], k])
        if len(values) == 0:
            raise LogError(f"test {name!r} must have outputs, got none in {histogram.n_cases}")
        if len(values) == 1:
            raise LogError(
                f"test {name!r} must tell cases apart, got {histogram.value(values[0])!r} in all "
                f"{histogram.n_observed[k]} cases: leave it out, or see if it is the right column"
            )
    _check_values(histogram)


def _check_values(histogram: Histogram) -> None:
    """Raise `LogError` where a test gives scores, or nothing that any other test gives."""
    names = histogram.cascade.names
    given = [
        set(np.unique(histogram.patterns[histogram.shown[:, k], k]).tolist())
        for k in range(histogram.n_stages)
    ]
    for k, name in enumerate(names):
        values = [histogram.classes[c] for c in given[k]]
        scores = [value for value in values if _is_fraction(value)]
        if len(scores) > MAX_FRACTIONS:
            raise LogError(
                f"outputs must be labels, got {len(scores)} different numbers such as "
                f"{scores[0]!r} from test {name!r}: cut scores into classes first"
            )
        others = set().union(*(given[j] for j in range(len(names)) if j != k))
        if not given[k] & others:
            shown = ", ".join(map(repr, values[:3])) + (", …" if len(values) > 3 else "")
            raise LogError(
                f"tests must give answers to one question, got {shown} from test {name!r} and "
                "none of them from any other test: is it a test, and in the words of the others?"
            )


def _is_fraction(value: Hashable) -> bool:
    alike = looks_like(value)
    return isinstance(alike, float) and not alike.is_integer()


def _places(histogram: Histogram, value: Hashable) -> str:
    code = histogram.classes.index(value)
    columns = np.flatnonzero((histogram.patterns == code).any(axis=0))
    return "in " + ", ".join(repr(histogram.cascade.names[k]) for k in columns)
