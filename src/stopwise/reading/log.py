"""Reading logs: files, frames and tables of any engine become one table of outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import LogError
from stopwise.patterns import PatternTable
from stopwise.reading.checks import MAX_PATTERNS, check_n_patterns
from stopwise.reading.counting import count_patterns, is_countable
from stopwise.reading.engine import arrow_table, engine_errors, memtable
from stopwise.reading.parquet import count_parquet
from stopwise.reading.rows import Rows, open_rows
from stopwise.reading.text import without_fraction, without_fractions
from stopwise.values import present

ORDERED = {"duckdb", "polars", "sqlite"}  # engines whose rows keep their order


@dataclass(frozen=True, eq=False)
class Log:
    """A table of outputs in some engine: one row a case, one column a test.

    Parameters
    ----------
    table
        An Ibis table, or a NumPy array of whole numbers which needs no engine.
    columns
        The columns of the tests in order.
    cascade
        The tests.
    case_id
        The column that names a case; ``None`` takes the row number, from 1.
    parquet
        The files that the table shows, where it is all of some Parquet files.
    is_text
        Whether it was read from text files, which have no numbers: there 1.0 counts as 1.
    """

    table: Any
    columns: tuple[str, ...]
    cascade: Cascade
    case_id: str | None = None
    parquet: tuple[Path, ...] = ()
    is_text: bool = False

    def histogram(self) -> PatternTable:
        """Reduce the log to its pattern histogram by one GROUP BY inside the engine.

        Arrays and Parquet files of a few small values are counted faster without an engine.
        """
        found = None
        with engine_errors("the log"):
            if isinstance(self.table, np.ndarray):
                found = count_patterns(self.table, self.cascade)
            elif self.parquet:
                found = count_parquet(self.parquet, self.columns, self.cascade)
            return self._grouped() if found is None else found

    def _grouped(self) -> PatternTable:
        rows = self.outputs(self.frame())
        keys = rows.columns
        grouped = rows.group_by(keys).aggregate(n_cases=rows.count())
        found = grouped.limit(MAX_PATTERNS + 1).to_pyarrow()
        counts = found["n_cases"].to_numpy()
        histogram = PatternTable.from_arrow(
            [found[name] for name in keys],
            counts,
            self.cascade,
            read=without_fraction if self.is_text else present,
        )
        check_n_patterns(found.num_rows, histogram.codes, self.columns)
        return histogram

    def outputs(self, table: Any, **more: Any) -> Any:
        """Return the outputs as columns s0, s1, … of the log's frame, and ``more`` columns."""
        named = {f"s{k}": table[column] for k, column in enumerate(self.columns)}
        return table.select(**named, **more)

    def frame(self) -> Any:
        """Return the log as an Ibis table, also where it is an array."""
        if isinstance(self.table, np.ndarray):
            return memtable(arrow_table(self.table, self.columns))
        return self.table

    @property
    def has_ids(self) -> bool:
        """Whether a case has a name: a column's, or its row number where rows have an order."""
        return self.case_id is not None or self._backend in ORDERED

    def cases(self) -> Any:
        """Return the outputs as columns s0, s1, … and the name of each as ``case``."""
        if not self.has_ids:
            raise LogError(
                f"case ids must be a column on {self._backend}: rows have no fixed order there"
            )
        import ibis

        named = [] if self.case_id is None else [self.case_id]
        log = self
        if self._backend == "polars":  # which can number no rows for Ibis: the embedded engine can
            wanted = list(dict.fromkeys([*self.columns, *named]))
            log = replace(self, table=memtable(self.table.select(wanted).to_pyarrow()))
        table = log.frame()
        case = table[self.case_id] if named else ibis.row_number() + 1
        rows = log.outputs(table, case=case)
        if self.is_text:
            tests = [f"s{k}" for k in range(len(self.columns)) if rows[f"s{k}"].type().is_string()]
            rows = rows.mutate(**{name: without_fractions(rows[name]) for name in tests})
        floats = [name for name, kind in rows.schema().items() if kind.is_floating()]
        if not floats or self._backend == "sqlite":  # which has no NaN
            return rows
        return rows.mutate(
            **{name: rows[name].isnan().ifelse(ibis.null("float64"), rows[name]) for name in floats}
        )

    @property
    def _backend(self) -> str:
        held = isinstance(self.table, np.ndarray)
        return "duckdb" if held else str(self.table.get_backend().name)


def open_log(
    source: Any,
    cascade: Cascade,
    *,
    tests: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    case_id: str | None = None,
) -> Log:
    """Return the log in ``source`` with the columns of the tests, or raise `LogError`.

    Parameters
    ----------
    source
        A CSV or Parquet file, a folder or a glob of them, a DuckDB or SQLite file; a pandas,
        Polars or Arrow table; a NumPy array with one column a test; any Ibis table.
    cascade
        The tests. Where ``tests`` is not given, their names are the columns.
    tests
        The columns in the order of the cascade.
    table, query
        Which table of a database file, or what to select from it (or, as ``log``, from a file).
    case_id
        The column that names a case.
    """
    if isinstance(tests, str):
        raise LogError(f"tests must be a list of columns, got {tests!r}")
    columns = _columns(cascade, tests)
    if isinstance(source, np.ndarray):
        if (table, query, case_id) != (None, None, None):
            raise LogError("table, query and case_id must come with named columns, not an array")
        return Log(_from_array(source, columns), columns, cascade)
    found = source
    if not isinstance(source, Rows):
        found = open_rows(source, table=table, query=query)
    for name in columns:
        known_name("a test", name, found.columns, LogError)
    if case_id is not None:
        known_name("case id", case_id, found.columns, LogError)
    return Log(found.table, columns, cascade, case_id, found.parquet, found.is_text)


def _from_array(array: np.ndarray[Any, Any], columns: tuple[str, ...]) -> Any:
    K = len(columns)
    if array.ndim != 2 or array.shape[1] != K:
        raise LogError(f"an array must have shape (n, {K}), one column a test, got {array.shape}")
    if is_countable(array) and not np.ma.is_masked(array):
        return np.ma.getdata(array)
    with engine_errors("the array"):
        return memtable(arrow_table(array, columns))


def _columns(cascade: Cascade, tests: Sequence[str] | None) -> tuple[str, ...]:
    wanted = tuple(cascade.names if tests is None else tests)
    if len(wanted) != cascade.n_stages:
        raise LogError(
            f"tests must name one column a cost, got {len(wanted)} for {cascade.n_stages} costs"
        )
    if len(set(wanted)) != len(wanted):
        raise LogError(f"tests must be different columns, got {', '.join(wanted)}")
    return wanted
