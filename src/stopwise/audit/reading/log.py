"""Reading logs: files, frames and tables of any engine become one table of outputs."""

from __future__ import annotations

import csv
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.audit.histogram import MAX_PATTERNS, Histogram, check_n_patterns
from stopwise.audit.reading.counting import count_patterns, is_countable
from stopwise.audit.reading.parquet import count_parquet
from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import LogError, MissingExtraError, StopwiseError

# What stands for "not run or failed" in a text file; `none` is left alone, some tests answer it.
NULLS = ["", "NULL", "null", "NaN", "nan", "NA", "N/A"]
SEPARATORS = ",;\t|"
TEXT = {".csv", ".tsv", ".txt", ".psv"}
COMPRESSED = {".gz", ".zst"}
PARQUET = {".parquet", ".pq", ".parq"}
_HEADERS = {"duckdb": (8, b"DUCK"), "sqlite": (0, b"SQLite format 3\x00")}


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
    """

    table: Any
    columns: tuple[str, ...]
    cascade: Cascade
    case_id: str | None = None
    parquet: tuple[Path, ...] = ()

    def histogram(self) -> Histogram:
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

    def _grouped(self) -> Histogram:
        rows = self.outputs()
        keys = rows.columns
        grouped = rows.group_by(keys).aggregate(n_cases=rows.count())
        found = grouped.limit(MAX_PATTERNS + 1).to_pyarrow()
        counts = found["n_cases"].to_numpy()
        histogram = Histogram.from_arrow([found[name] for name in keys], counts, self.cascade)
        check_n_patterns(found.num_rows, histogram.patterns, self.columns)
        return histogram

    def outputs(self, **more: Any) -> Any:
        """Return the outputs as columns s0, s1, … of an Ibis table, and ``more`` columns."""
        table = self.frame()
        named = {f"s{k}": table[column] for k, column in enumerate(self.columns)}
        return table.select(**named, **more)

    def frame(self) -> Any:
        """Return the log as an Ibis table, also where it is an array."""
        if isinstance(self.table, np.ndarray):
            return _memtable(_arrow(self.table, list(self.columns)))
        return self.table

    def ids(self, table: Any) -> Any:
        """Return the expression that names a case of ``table``."""
        if self.case_id is not None:
            return table[self.case_id]
        import ibis

        backend = "duckdb" if isinstance(self.table, np.ndarray) else _backend_name(self.table)
        if backend not in {"duckdb", "polars", "sqlite"}:
            raise LogError(
                f"case ids must be a column on {backend}: rows have no fixed order there"
            )
        return ibis.row_number() + 1


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
    if isinstance(source, np.ndarray):
        return Log(*_from_array(source, cascade, tests), cascade, None)
    found = source
    if not isinstance(source, Rows):
        found = open_rows(source, table=table, query=query)
    columns = _columns(found.columns, cascade, tests)
    if case_id is not None:
        known_name("case id", case_id, found.columns, LogError)
    return Log(found.table, columns, cascade, case_id, found.parquet)


@dataclass(frozen=True, eq=False)
class Rows:
    """An Ibis table, and the Parquet files that it shows if it is all of some."""

    table: Any
    parquet: tuple[Path, ...] = ()

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.columns)


def open_rows(source: Any, *, table: str | None = None, query: str | None = None) -> Rows:
    """Return any source of rows as an Ibis table."""
    ibis = _ibis()
    if isinstance(source, (str, Path)):
        with engine_errors(str(source)):
            return _from_path(source, table, query)
    if table is not None or query is not None:
        raise LogError("table and query must come with a file, not with a table in memory")
    if isinstance(source, ibis.Table):
        return Rows(source)
    with engine_errors("the log"):
        return Rows(_memtable(source))


@contextmanager
def engine_errors(place: str) -> Iterator[None]:
    """Turn what an engine raises, of whatever type, into one line of `LogError`.

    Engines also warn Ibis of calls that will go; that is no news for those who read a log.
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
    # DuckDB names the line of a CSV file first, shows it, and only then says what is wrong.
    more = [line for line in lines[1:3] if "CSV Error" in lines[0] and "Original Line" not in line]
    return "; ".join([lines[0], *more])


def _ibis() -> Any:
    try:
        import duckdb  # noqa: F401
        import ibis
    except ImportError:
        raise MissingExtraError(
            "reading logs needs duckdb and ibis: pip install 'stopwise[audit]'"
        ) from None
    return ibis


def _memtable(source: Any) -> Any:
    ibis = _ibis()
    try:
        if source is None:  # which Ibis takes for a table without columns
            raise TypeError
        _check_names(getattr(source, "columns", None))
        return ibis.memtable(source)
    except LogError:
        raise
    except Exception as error:
        raise LogError(
            "log must be a path, an array, a pandas, Polars or Arrow table or an Ibis table, "
            f"got {type(source).__name__}"
        ) from error


def _check_names(columns: Any) -> None:
    """Raise `LogError` where two columns have one name, which engines refuse or change."""
    names = [name for name in columns if isinstance(name, str)] if columns is not None else []
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LogError(f"columns must have different names, got {', '.join(twice)} twice")


def _arrow(array: Any, names: list[str]) -> Any:
    import pyarrow as pa

    columns = [np.ascontiguousarray(column) for column in array.T]
    if array.dtype.kind not in "buif":  # text and objects: Arrow finds a type for the values
        columns = [column.tolist() for column in columns]
    arrays = [pa.array(column, from_pandas=True) for column in columns]  # NaN is NULL
    return pa.table(dict(zip(names, arrays, strict=True)))


def _from_array(
    array: np.ndarray[Any, Any], cascade: Cascade, tests: Sequence[str] | None
) -> tuple[Any, tuple[str, ...]]:
    names = list(tests) if tests is not None else list(cascade.names)
    K = cascade.n_stages
    if array.ndim != 2 or array.shape[1] != K or len(names) != K:
        raise LogError(f"an array must have shape (n, {K}), one column a test, got {array.shape}")
    if is_countable(array):
        return array, tuple(names)
    with engine_errors("the array"):
        return _memtable(_arrow(array, names)), tuple(names)


def _backend_name(table: Any) -> str:
    return str(table.get_backend().name)


def _columns(found: list[str], cascade: Cascade, tests: Sequence[str] | None) -> tuple[str, ...]:
    wanted = list(cascade.names if tests is None else tests)
    if len(wanted) != cascade.n_stages:
        raise LogError(
            f"tests must name one column a cost, got {len(wanted)} for {cascade.n_stages} costs"
        )
    if len(set(wanted)) != len(wanted):
        raise LogError(f"tests must be different columns, got {', '.join(wanted)}")
    for name in wanted:
        known_name("a test", name, found, LogError)
    return tuple(wanted)


def _from_path(source: str | Path, table: str | None, query: str | None) -> Rows:
    ibis = _ibis()
    path = Path(source)
    kind = _database(path)
    if kind is not None:
        open_file = ibis.duckdb.connect if kind == "duckdb" else ibis.sqlite.connect
        options = {"read_only": True} if kind == "duckdb" else {}
        return Rows(_from_database(open_file(path, **options), path, table, query))
    con = ibis.duckdb.connect()
    files = _files(path)
    rows = _from_files(con, files)
    if table is not None:
        raise LogError(f"table must come with a database, {path} is none")
    if query is None:
        return Rows(rows, tuple(files) if _kind(files[0]) == "parquet" else ())
    con.create_view("log", rows)
    return Rows(con.sql(query))


def log_files(source: str | Path) -> list[Path]:
    """Return the files that a log at ``source`` is read from."""
    path = Path(source)
    return [path] if _database(path) is not None else _files(path)


def _database(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        start = stream.read(64)
    for kind, (offset, magic) in _HEADERS.items():
        if start[offset : offset + len(magic)] == magic:
            return kind
    return None


def _from_database(con: Any, path: Path, table: str | None, query: str | None) -> Any:
    if query is not None:
        if table is not None:
            raise LogError("table and query must not be given together")
        return con.sql(query)
    tables = sorted(con.list_tables())
    if table is not None:
        return con.table(known_name("table", table, tables, LogError))
    if len(tables) != 1:
        raise LogError(f"{path} must have one table or table must be given, got {tables}")
    return con.table(tables[0])


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        found = sorted(p for p in path.rglob("*") if p.is_file() and _kind(p) is not None)
    elif path.exists():
        found = [path]
    else:
        root = Path(path.anchor) if path.is_absolute() else Path()
        pattern = str(path.relative_to(path.anchor) if path.is_absolute() else path)
        found = sorted(p for p in root.glob(pattern) if p.is_file()) if "*" in pattern else []
    if not found:
        raise FileNotFoundError(f"{path} must be a log, no such file, or nothing to read in it")
    if not any(p.stat().st_size for p in found):
        raise LogError(f"{path} cannot be read: it is empty")
    kinds = {_kind(p) or "?" for p in found}
    if len(kinds) > 1 or "?" in kinds:
        raise LogError(
            f"{path} must be CSV or Parquet files or a DuckDB or SQLite file, "
            f"got {', '.join(sorted({p.suffix or p.name for p in found}))}"
        )
    return found


def _kind(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return "text" if last in TEXT else "parquet" if last in PARQUET else None


def _from_files(con: Any, files: list[Path]) -> Any:
    names = [str(p) for p in files]
    if _kind(files[0]) == "parquet":
        return con.read_parquet(names)
    # As text: sniffed types would make 1 a number in one column and a word in the next.
    table = con.read_csv(names, all_varchar=True, nullstr=NULLS, header=True)
    _check_names(_header(files[0], len(table.columns)))
    (first, *others) = table.columns
    if not others and any(mark in first for mark in SEPARATORS):
        raise LogError(
            f"{files[0]} must have as many fields in every row as in its header, {first!r}"
        )
    return table


def _header(path: Path, n_columns: int) -> list[str]:
    """Return the names in the first line of a text file; none where it cannot be read plainly."""
    if path.suffix.lower() in COMPRESSED:
        return []
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
    for mark in SEPARATORS:
        names = next(csv.reader([first], delimiter=mark), [])
        if len(names) == n_columns:
            return [name.strip() for name in names if name.strip()]
    return []
