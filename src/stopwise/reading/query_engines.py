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
    """Rows of some engine, one per case."""

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
    view: str  # the view with the same rows and NULL for gaps
    # What a value stands for: in a text file gaps and numbers are still text.
    read: Callable[[Any], Hashable] = present
    count: Counter | None = None  # a faster way to count patterns

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""
        return _fetch_groups(self.connect(), f"({self.query})", columns, limit)

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return _fetch_columns(self.connect(), f"({self.query})", columns)

    def frame(self) -> Any:
        """Return the rows as an Ibis table."""
        return load_ibis().duckdb.from_connection(self.connect()).table(self.view)


class IbisRows:
    """Rows of an Ibis table, or of one that is made when it is needed."""

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
        keys = self.table.select(**{f"s{k}": self.table[name] for k, name in enumerate(columns)})
        counts = keys.group_by(keys.columns).aggregate(n_cases=keys.count())
        return [column.to_pylist() for column in counts.limit(limit).to_pyarrow().columns]

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return [column.to_pylist() for column in self.table.select(*columns).to_pyarrow().columns]

    def frame(self) -> Any:
        """Return the table."""
        return self.table


class SqliteRows(IbisRows):
    """Rows of SQLite, where a column may hold values of another type than it declares.

    Values are read as they are stored; Ibis would change some, such as 1.5 into 1.
    """

    def __init__(self, table: Any, con: Any, source: str) -> None:
        super().__init__(table)
        self._con = con
        self._source = source

    def groups(self, columns: Sequence[str], limit: int) -> Columns:
        """Return distinct rows, column by column, the last one how often each occurs."""
        groups = _fetch_groups(self._con, self._source, columns, limit)
        return self._with_booleans(columns, groups)

    def values(self, columns: Sequence[str]) -> Columns:
        """Return all rows, column by column."""
        return self._with_booleans(columns, _fetch_columns(self._con, self._source, columns))

    def _with_booleans(self, names: Sequence[str], columns: Columns) -> Columns:
        for k, name in enumerate(names):
            if self.table[name].type().is_boolean() and set(columns[k]) <= {0, 1, None}:
                columns[k] = [None if value is None else bool(value) for value in columns[k]]
        return columns

    def frame(self) -> Any:
        """Return the table, or raise `LogError` where Ibis would read one value as another."""
        for name, kind in self.table.schema().items():
            what = f"typeof({quoted_name(name)})"
            regular: set[Any] = {"null", "text"}
            if kind.is_boolean():
                what, regular = quoted_name(name), {None, 0, 1}
            elif kind.is_binary():
                regular = {"null", "blob"}
            elif kind.is_numeric():
                regular = {"null", "integer"} | ({"real"} if not kind.is_integer() else set())
            rows = self._con.execute(f"select distinct {what} from {self._source}").fetchall()
            if odd := {value for (value,) in rows} - regular:
                raise LogError(
                    f"values of column {name!r} must have its type {kind}, got {odd.pop()!r}: "
                    "CAST them in a query"
                )
        return self.table


def _fetch_groups(con: Any, source: str, columns: Sequence[str], limit: int) -> Columns:
    keys = ", ".join(map(quoted_name, columns))
    query = f"select {keys}, count(*) from {source} group by {keys} limit {limit}"
    return list(zip(*con.execute(query).fetchall(), strict=True)) or [()] * (len(columns) + 1)


def _fetch_columns(con: Any, source: str, columns: Sequence[str]) -> Columns:
    query = f"select {', '.join(map(quoted_name, columns))} from {source}"
    return list(zip(*con.execute(query).fetchall(), strict=True)) or [()] * len(columns)


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
        return "a column must have values of one type, got text and other types in one"
    # DuckDB first names the line of a CSV file, then quotes it, and only then gives the reason.
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
        return ibis.memtable(_with_text_names(source))
    except LogError:
        raise
    except Exception as error:
        raise LogError(
            "log must be a path, an array, a pandas, Polars or Arrow table or an Ibis table, "
            f"got {type(source).__name__}"
        ) from error


def _with_text_names(frame: Any) -> Any:
    """Return a frame whose columns have different names, all text, or raise `LogError`."""
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
    """Raise `LogError` if two columns have the same name, which engines refuse or change.

    Some engines ignore case.
    """
    first: dict[str, str] = {}
    for name in columns:
        other = first.get(name.casefold())
        if other is not None:
            both = f"{name} twice" if other == name else f"{other!r} and {name!r}"
            raise LogError(f"columns must have different names, got {both}")
        first[name.casefold()] = name


def arrow_table(array: Any, names: Sequence[str]) -> Any:
    """Return an array as an Arrow table, one column per test; masked values and NaN are NULL."""
    pa = load_extra("pyarrow", extra="audit", purpose="reading logs")
    columns = []
    for column, mask in zip(np.ma.getdata(array).T, np.ma.getmaskarray(array).T, strict=True):
        values = np.ascontiguousarray(column)
        if array.dtype.kind not in "buif":  # text and objects: Arrow infers a type
            outputs = [None if gap else y for y, gap in zip(values.tolist(), mask, strict=True)]
            columns.append(pa.array(outputs, from_pandas=True))
        else:
            gaps = mask | np.isnan(values) if array.dtype.kind == "f" else mask
            columns.append(pa.array(values, mask=gaps))
    return pa.table(dict(zip(names, columns, strict=True)))
