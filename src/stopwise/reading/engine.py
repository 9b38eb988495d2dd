"""Engines that hold rows: DuckDB for files, Ibis for tables in memory and all other engines."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from stopwise.cascade import Cascade
from stopwise.errors import LogError, StopwiseError
from stopwise.extras import load_extra
from stopwise.outputs import present
from stopwise.patterns import PatternTable

Columns = list[Sequence[Any]]
# Counts the patterns of columns faster than the engine; ``None`` where it cannot.
Counter = Callable[[Sequence[str], Cascade], PatternTable | None]


class Rows(Protocol):
    """Rows of some engine, one a case."""

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""

    @property
    def read(self) -> Callable[[Any], Hashable]:
        """What a value of the engine stands for, ``None`` for a gap."""

    @property
    def count(self) -> Counter | None:
        """A faster way to count than `groups`, where there is one."""

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""

    def frame(self) -> Any:
        """Return the rows as an Ibis table."""


@dataclass(frozen=True, eq=False)
class DuckRows:
    """Rows that DuckDB reads."""

    connect: Callable[[], Any]  # opens the connection, the same each time
    query: str  # what selects the rows, with the values as they are
    columns: list[str]  # the names of the columns
    # What a value stands for: a text file has gaps and numbers that are still text.
    read: Callable[[Any], Hashable] = present
    view: str = ""  # the view with the same rows and NULL for gaps; by default one of ``query``
    count: Counter | None = None  # A faster way to count patterns

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""
        keys = ", ".join(map(quoted_name, columns))
        return self._run(f"{keys}, count(*)", f"group by {keys} limit {limit}", len(columns) + 1)

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return self._run(", ".join(map(quoted_name, columns)), "", len(columns))

    def _run(self, selected: str, rest: str, width: int) -> Columns:
        rows = self.connect().execute(f"select {selected} from ({self.query}) {rest}").fetchall()
        return list(zip(*rows, strict=True)) or [()] * width

    def frame(self) -> Any:
        """Return the rows as an Ibis table."""
        if not self.view:
            self.connect().execute(f"create or replace temp view shown as {self.query}")
        return load_ibis().duckdb.from_connection(self.connect()).table(self.view or "shown")


class IbisRows:
    """Rows of an Ibis table, or of one that is made where it is needed."""

    read: Callable[[Any], Hashable] = staticmethod(present)
    count: Counter | None = None

    def __init__(self, table: Any, columns: Sequence[str] | None = None) -> None:
        self._table = table
        self.columns = list(table.columns if columns is None else columns)

    @cached_property
    def table(self) -> Any:
        """The Ibis table."""
        return self._table() if callable(self._table) else self._table

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""
        keyed = self.table.select(**{f"s{k}": self.table[name] for k, name in enumerate(columns)})
        counted = keyed.group_by(keyed.columns).aggregate(n_cases=keyed.count())
        return [column.to_pylist() for column in counted.limit(limit).to_pyarrow().columns]

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return [column.to_pylist() for column in self.table.select(*columns).to_pyarrow().columns]

    def frame(self) -> Any:
        """Return the table."""
        return self.table


class SqliteRows(IbisRows):
    """Rows of SQLite, in which a column may hold what it is not declared to hold.

    Values are read as they are held; Ibis would take one for another, 1.5 for 1 say.
    """

    def __init__(self, table: Any, con: Any, source: str) -> None:
        super().__init__(table)
        self._con = con
        self._source = source

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""
        keys = ", ".join(map(quoted_name, columns))
        return self._run(columns, ", count(*)", f"group by {keys} limit {limit}")

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return self._run(columns, "", "")

    def _run(self, columns: Sequence[str], more: str, rest: str) -> Columns:
        keys = ", ".join(map(quoted_name, columns))
        rows = self._con.execute(f"select {keys}{more} from {self._source} {rest}").fetchall()
        found: Columns = list(zip(*rows, strict=True)) or [()] * (len(columns) + bool(more))
        for k, name in enumerate(columns):
            if self.table[name].type().is_boolean() and set(found[k]) <= {0, 1, None}:
                found[k] = [None if value is None else bool(value) for value in found[k]]
        return found

    def frame(self) -> Any:
        """Return the table, or raise `LogError` where Ibis would read one value as another."""
        for name, kind in self.table.schema().items():
            what = f"typeof({quoted_name(name)})"
            held: set[Any] = {"null", "text"}
            if kind.is_boolean():
                what, held = quoted_name(name), {None, 0, 1}
            elif kind.is_binary():
                held = {"null", "blob"}
            elif kind.is_numeric():
                held = {"null", "integer"} | ({"real"} if not kind.is_integer() else set())
            found = self._con.execute(f"select distinct {what} from {self._source}").fetchall()
            if odd := {value for (value,) in found} - held:
                raise LogError(
                    f"column {name!r} must hold what it is declared to hold, got {odd.pop()!r} in "
                    f"one of type {kind}: CAST it in a query"
                )
        return self.table


@contextmanager
def engine_errors(place: str) -> Iterator[None]:
    """Turn what an engine raises, of whatever type, into one line of `LogError`.

    Deprecation warnings of engines about calls by Ibis are silenced.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except (StopwiseError, FileNotFoundError):
        raise
    except Exception as error:
        raise LogError(f"{place} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what an engine says, without its advice and the text of the query."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "Expected bytes, got a" in lines[0]:  # from Arrow, of a column of objects
        return "a column must hold values of one kind, got text and others in one"
    # DuckDB names the line of a CSV file first, shows it, and only then says what is wrong.
    more = [line for line in lines[1:3] if "Original Line" not in line]
    more += [line for line in lines[3:] if line.startswith("file = ")]
    return "; ".join([lines[0], *(more if "CSV Error" in lines[0] else [])])


def load_ibis() -> Any:
    """Return the module, or raise `MissingExtraError`."""
    load_duckdb()
    return load_extra("ibis", extra="audit", purpose="reading logs")


def load_duckdb() -> Any:
    """Return the module, or raise `MissingExtraError`."""
    return load_extra("duckdb", extra="audit", purpose="reading logs")


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'" + text.replace("'", "''") + "'"


def quoted_name(name: str) -> str:
    """Return the name of a column or table for SQL."""
    return '"' + name.replace('"', '""') + '"'


def memtable(source: Any) -> Any:
    """Return what is in memory as an Ibis table, or raise `LogError` where it is no table."""
    ibis = load_ibis()
    try:
        if source is None or isinstance(source, (list, tuple)):
            raise TypeError  # Ibis takes them for a table without columns, or without their names
        if type(source).__name__ == "LazyFrame":
            source = source.collect()
        return ibis.memtable(_named(source))
    except LogError:
        raise
    except Exception as error:
        raise LogError(
            "log must be a path, an array, a pandas, Polars or Arrow table or an Ibis table, "
            f"got {type(source).__name__}"
        ) from error


def _named(frame: Any) -> Any:
    """Return a frame whose columns have text for names, each its own, or raise `LogError`."""
    columns: Any = getattr(frame, "column_names", getattr(frame, "columns", ()))
    names = list(columns)
    if hasattr(frame, "set_axis"):  # of pandas, which allows numbers, and tuples in levels
        for name in names:
            if isinstance(name, tuple):
                raise LogError(f"columns must have one name each, got {name!r}")
        names = [str(name) for name in names]
        frame = frame.set_axis(names, axis=1)
    check_names(names)
    return frame


def check_names(columns: Iterable[str]) -> None:
    """Raise `LogError` where two columns have one name, which engines refuse or change.

    Small and capital letters are the same to some of them.
    """
    first: dict[str, str] = {}
    for name in columns:
        other = first.get(name.casefold())
        if other is not None:
            shown = f"{name} twice" if other == name else f"{other!r} and {name!r}"
            raise LogError(f"columns must have different names, got {shown}")
        first[name.casefold()] = name


def arrow_table(array: Any, names: Sequence[str]) -> Any:
    """Return an array with one column a test as an Arrow table; what is masked or NaN is NULL."""
    pa = load_extra("pyarrow", extra="audit", purpose="reading logs")

    columns = []
    for column, masked in zip(np.ma.getdata(array).T, np.ma.getmaskarray(array).T, strict=True):
        values = np.ascontiguousarray(column)
        if array.dtype.kind not in "buif":  # text and objects: Arrow finds a type for the values
            held = [None if gap else y for y, gap in zip(values.tolist(), masked, strict=True)]
            columns.append(pa.array(held, from_pandas=True))
        else:
            gaps = masked | np.isnan(values) if array.dtype.kind == "f" else masked
            columns.append(pa.array(values, mask=gaps))
    return pa.table(dict(zip(names, columns, strict=True)))
