"""The entry to every log: files, frames and tables of any engine become tables of patterns."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import LogError
from stopwise.patterns import MISSING, PatternTable
from stopwise.reading.counting import count_array
from stopwise.reading.log_checks import MAX_PATTERNS, check_no_scores
from stopwise.reading.query_engines import (
    IbisRows,
    Rows,
    arrow_table,
    engine_errors,
    load_ibis,
    memtable,
)
from stopwise.reading.sources import open_rows
from stopwise.reading.text import Cells, unicode_path, without_fractions

ORDERED = {"duckdb", "polars", "sqlite"}  # engines whose rows keep their order


@dataclass(frozen=True, eq=False)
class Log:
    """Rows of some engine: one row per case, one column per test; `open_log` opens one.

    Parameters
    ----------
    name
        What to call it in a report.
    held
        The rows.
    columns
        The columns of the tests in order.
    cascade
        The tests; they cost nothing unless a cascade was given.
    case_id
        The column that names a case; ``None`` takes the row number, from 1.
    path
        The path that was given, ``None`` for a table in memory.
    selected
        The ``table`` or ``query`` that was given, with its value.

    >>> log = open_log(np.array([[0, 0], [0, 1], [1, 1], [0, 0]]))
    >>> float(log.table().disagreement[0, 1])
    0.25
    """

    name: str
    held: Rows
    columns: tuple[str, ...]
    cascade: Cascade
    case_id: str | None = None
    path: str | None = None
    selected: tuple[str, str] | None = None

    def table(self) -> PatternTable:
        """Count the patterns of outputs, by one GROUP BY inside the engine.

        Some sources can be counted faster in another way. Where there are too many patterns of
        values, those of agreement are counted instead.
        """
        with engine_errors(self.name):
            table = None
            if self.held.count is not None:
                table = self.held.count(self.columns, self.cascade)
            return table or self._by_value() or self._by_agreement()

    def _by_value(self) -> PatternTable | None:
        *values, counts = self.held.groups(self.columns, MAX_PATTERNS + 1)
        if len(counts) > MAX_PATTERNS:
            return None
        return PatternTable.from_columns(values, counts, self.cascade, read=self.held.read)

    def _by_agreement(self) -> PatternTable:
        outputs = self._outputs(self.held.frame())
        names = outputs.columns
        sizes = outputs.aggregate(
            n_cases=outputs.count(), **{name: outputs[name].nunique() for name in names}
        )
        n_cases, *n_values = sizes.select("n_cases", *names).to_pyarrow().to_pylist()[0].values()
        check_no_scores(n_values, n_cases, self.columns)
        first = {f"a{k}": agreement_column(outputs, k) for k in range(len(names))}
        *places, counts = IbisRows(outputs.select(**first)).groups(list(first), MAX_PATTERNS + 1)
        if len(counts) > MAX_PATTERNS:
            raise LogError(
                f"outputs must be labels, got more than {MAX_PATTERNS} different ways to agree"
            )
        read = {MISSING: None, **{k: k for k in range(len(names))}}
        table = PatternTable.from_columns(places, counts, self.cascade, read=read.__getitem__)
        return table.by_agreement()

    def rows(self, *more: str) -> list[tuple[Hashable, ...]]:
        """Return every row as values, ``None`` for a gap: the outputs, then ``more`` columns."""
        for name in more:
            known_name("a column", name, self.held.columns, LogError)
        with engine_errors(self.name):
            columns = self.held.values([*self.columns, *more])
            return list(zip(*([*map(self.held.read, column)] for column in columns), strict=True))

    @property
    def has_ids(self) -> bool:
        """Whether a case has an id: that of a column, or its row number if rows have an order."""
        return self.case_id is not None or self._backend in ORDERED

    def cases(self, *show: str) -> Any:
        """Return an Ibis table: the outputs as columns s0, s1, … and the id of each as ``case``.

        Further columns to ``show`` are show0, show1, ….
        """
        for name in show:
            known_name("a column to show", name, self.held.columns, LogError)
        if not self.has_ids:
            raise LogError(
                f"case ids must be a column on {self._backend}: rows have no fixed order there"
            )
        ibis = load_ibis()
        table = self.held.frame()
        if self._backend == "polars":  # where Ibis cannot number rows; in DuckDB it can
            ids = [] if self.case_id is None else [self.case_id]
            columns = list(dict.fromkeys([*self.columns, *ids, *show]))
            table = memtable(table.select(columns).to_pyarrow())
        case = ibis.row_number() + 1 if self.case_id is None else table[self.case_id]
        further = {f"show{c}": table[name] for c, name in enumerate(show)}
        return self._outputs(table, case=case, **further)

    def _outputs(self, table: Any, **more: Any) -> Any:
        """Return the outputs as columns s0, s1, …, NULL for a gap, and ``more`` columns."""
        ibis = load_ibis()
        tests = {f"s{k}": table[column] for k, column in enumerate(self.columns)}
        rows = table.select(**tests, **more)
        changes = {}
        for name, kind in rows.schema().items():
            if kind.is_string() and name in tests and isinstance(self.held.read, Cells):
                changes[name] = without_fractions(rows[name])
            elif kind.is_floating() and self._backend != "sqlite":  # which has no NaN
                changes[name] = rows[name].isnan().ifelse(ibis.null("float64"), rows[name])
        return rows.mutate(**changes) if changes else rows

    @property
    def _backend(self) -> str:
        return str(self.held.frame().get_backend().name)


def open_log(
    source: Any,
    cascade: Cascade | None = None,
    *,
    tests: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    case_id: str | None = None,
    values: Collection[Hashable] = (),
) -> Log:
    """Return the log in ``source`` with the columns of the tests, or raise `LogError`.

    Text files may be separated by ``,``, ``;``, tabs or ``|``, begin with a byte order mark and be
    compressed. Blanks around a cell are dropped. Empty cells, ``NA`` and the like are gaps, ``1.0``
    counts as ``1``, and every other value is text.

    Parameters
    ----------
    source
        A CSV or Parquet file, a folder or a glob of them, a DuckDB or SQLite file; a pandas,
        Polars or Arrow table; a NumPy array with one column per test; any Ibis table; a `Log`, to
        read other columns of its rows.
    cascade
        The tests. Where ``tests`` is not given, their names are the columns.
    tests
        The columns in the order of the cascade; without a cascade, all but ``case_id`` by default.
    table, query
        Which table of a database file, or one SELECT from it (or, as ``log``, from a file).
    case_id
        The column that names a case.
    values
        Known outputs: a text file may hold ``NA`` where that is one of them.
    """
    if isinstance(tests, str):
        raise LogError(f"tests must be a list of columns, got {tests!r}")
    if tests is None and cascade is not None:
        tests = cascade.names
    if isinstance(source, np.ndarray):
        if (table, query, case_id) != (None, None, None):
            raise LogError("table, query and case_id must come with named columns, not an array")
        return _from_array(source, tests, cascade)
    path = selected = None
    if isinstance(source, Log):
        name, rows, case_id = source.name, source.held, case_id or source.case_id
        path, selected = source.path, source.selected
    else:
        rows = open_rows(source, table=table, query=query, values=values)
        name = "a table in memory"
        if isinstance(source, (str, Path)):
            name, path = (unicode_path(p) for p in (Path(Path(source).name), Path(source)))
            given = {"table": table, "query": query}
            selected = next(((kind, text) for kind, text in given.items() if text), None)
    if case_id is not None:
        known_name("the case id (--id, case_id)", case_id, rows.columns, LogError)
    columns = [name for name in rows.columns if name != case_id] if tests is None else tests
    if case_id in columns:
        raise LogError(f"tests must be columns other than the case id, got {case_id!r} as both")
    for column in columns:
        known_name("a test", column, rows.columns, LogError)
    return Log(name, rows, *_tests(columns, cascade), case_id, path, selected)


def _from_array(array: NDArray[Any], tests: Sequence[str] | None, cascade: Cascade | None) -> Log:
    if tests is None:
        tests = [f"test {k + 1}" for k in range(array.shape[-1])] if array.ndim else []
    columns, cascade = _tests(tests, cascade)
    if array.ndim != 2 or array.shape[1] != len(columns):
        K = len(columns)
        raise LogError(f"an array must have shape (n, {K}), one column per test, got {array.shape}")
    rows = IbisRows(lambda: memtable(arrow_table(array, columns)), columns)
    if array.dtype.kind in "bui" and not np.ma.is_masked(array):
        rows.count = partial(count_array, np.ma.getdata(array), columns)
    return Log("a table in memory", rows, columns, cascade)


def _tests(columns: Sequence[str], cascade: Cascade | None) -> tuple[tuple[str, ...], Cascade]:
    """Return the columns and the cascade of the tests."""
    if not columns:
        raise LogError("the log must have columns of tests besides an id and a label, got none")
    if cascade is not None and len(columns) != cascade.n_stages:
        raise LogError(
            f"tests must name one column per cost, got {len(columns)} for {cascade.n_stages} costs"
        )
    if len(set(columns)) != len(columns):
        raise LogError(f"tests must be different columns, got {', '.join(columns)}")
    return tuple(columns), cascade or Cascade([0.0] * len(columns), names=list(columns))


def agreement_column(outputs: Any, k: int) -> Any:
    """Return `patterns.agreement` of column s_k of an Ibis table, as a column of numbers."""
    ibis = load_ibis()
    here = outputs[f"s{k}"]
    first: Any = ibis.literal(k, "int64")
    for i in reversed(range(k)):
        first = ibis.ifelse(_same(outputs[f"s{i}"], here), ibis.literal(i, "int64"), first)
    return ibis.ifelse(here.isnull(), ibis.literal(MISSING, "int64"), first)


def _same(first: Any, second: Any) -> Any:
    """Return whether two outputs are equal as in Python: true is 1, and text is never a number.

    Engines compare only values of the same type.
    """
    first, second = (x.cast("int8") if x.type().is_boolean() else x for x in (first, second))
    kinds = first.type(), second.type()
    comparable = type(kinds[0]) is type(kinds[1]) or all(kind.is_numeric() for kind in kinds)
    return first == second if comparable else load_ibis().literal(False)
