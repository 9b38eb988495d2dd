"""The sources of a log: files of every kind, folders and globs of them, databases, frames."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Hashable
from functools import cache, partial
from pathlib import Path
from typing import Any

from stopwise.checks import known_name
from stopwise.errors import LogError
from stopwise.extras import load_extra
from stopwise.outputs import present
from stopwise.reading.parquet import count_parquet
from stopwise.reading.query_engines import (
    DuckRows,
    IbisRows,
    Rows,
    SqliteRows,
    check_names,
    engine_errors,
    load_duckdb,
    load_ibis,
    memtable,
    quoted,
    quoted_name,
)
from stopwise.reading.text import COMPRESSED, Cells, TextFiles, escaped

WILD = set("*?[")
TEXT = {".csv", ".tsv", ".txt", ".psv"}
PARQUET = {".parquet", ".pq", ".parq"}
_HEADERS = {"duckdb": (8, b"DUCK"), "sqlite": (0, b"SQLite format 3\x00")}


def open_rows(
    source: Any, *, table: str | None, query: str | None, values: Collection[Hashable]
) -> Rows:
    """Return the rows of any source but an array; parameters as in `open_log`."""
    if isinstance(source, (str, Path)):
        if not str(source):
            raise LogError("log must be a path, got ''")
        with engine_errors(str(source)):
            return _from_path(Path(source), table, query, values)
    if table is not None or query is not None:
        raise LogError("table and query must come with a file, not with a table in memory")
    if isinstance(source, load_ibis().Table):
        return IbisRows(source)
    with engine_errors("the log"):
        return IbisRows(memtable(source))


def log_files(source: str | Path) -> list[Path]:
    """Return the files that a log at ``source`` is read from."""
    path = Path(source)
    return [path] if _database(path) is not None else _files(path)


def _from_path(
    path: Path, table: str | None, query: str | None, values: Collection[Hashable]
) -> Rows:
    if table is not None and query is not None:
        raise LogError("table and query must not be given together")
    kind = _database(path)
    if kind == "sqlite":
        return _from_sqlite(path, table, query)
    if kind == "duckdb":
        con = load_duckdb().connect(str(path), read_only=True)
        if query is None:
            rows = con.execute(
                "select table_name from duckdb_tables() union all "
                "select view_name from duckdb_views() where not internal"
            ).fetchall()
            query = f"from {quoted_name(_table_name(path, table, [name for (name,) in rows]))}"
        return _select(con, query)
    files = _files(path)
    if table is not None:
        raise LogError(f"table must come with a database, {path} is none")
    duck_rows = _from_files(files, values)
    if query is None:
        return duck_rows
    try:
        return _select(duck_rows.connect(), query, duck_rows.read)
    except load_duckdb().CatalogException as error:
        if "Table with name" not in str(error):
            raise
        raise LogError(
            f"query must select from the table log, which is {path}, got {query!r}"
        ) from None


def _from_files(files: list[Path], values: Collection[Hashable]) -> DuckRows:
    """Return the rows of files, also as the view ``log``."""
    if _kind(files[0]) == "text":
        text = TextFiles([p for p in files if p.stat().st_size], Cells(values))
        connect = cache(partial(_with_view, text.query_without_gaps()))
        count = partial(text.count_lines, connect)
        return DuckRows(connect, text.query(), text.columns, "log", text.cells, count)
    pq = load_extra("pyarrow.parquet", extra="audit", purpose="reading Parquet")
    check_names(pq.read_schema(files[0]).names)
    paths = ", ".join(quoted(escaped(path)) for path in files)
    con = _with_view(f"from read_parquet([{paths}])")
    columns = [name for name, *_ in con.execute("describe log").fetchall()]
    count = partial(count_parquet, files)
    return DuckRows(lambda: con, "from log", columns, "log", count=count)


def _with_view(query: str) -> Any:
    """Return a connection in which ``log`` is what a query selects."""
    con = load_duckdb().connect()
    con.execute(f"create view log as {query}")
    return con


def _select(con: Any, query: str, read: Callable[[Any], Hashable] = present) -> DuckRows:
    """Return what a query selects, from the view ``log`` or a database, or raise `LogError`."""
    statements = con.extract_statements(query)
    if [s.type for s in statements] != [load_duckdb().StatementType.SELECT]:
        raise LogError(f"query must be one SELECT, got {query!r}")
    con.execute(f"create temp view selected as {statements[0].query}")
    columns = [name for name, *_ in con.execute("describe selected").fetchall()]
    return DuckRows(lambda: con, "from selected", columns, "selected", read)


def _from_sqlite(path: Path, table: str | None, query: str | None) -> IbisRows:
    con = load_ibis().sqlite.connect(path)
    weakref.finalize(con, con.con.close)  # Ibis leaves it open, and Python 3.13 warns of that
    # Ibis makes a view of a query, and SQLite allows a view of one SELECT only.
    if query is not None:
        return SqliteRows(con.sql(query), con.con, "(" + query.rstrip("; \n") + "\n)")
    name = _table_name(path, table, con.list_tables())
    return SqliteRows(con.table(name), con.con, quoted_name(name))


def _table_name(path: Path, table: str | None, names: list[str]) -> str:
    if table is not None:
        return known_name("the table (--table, table)", table, sorted(names), LogError)
    if len(names) != 1:
        raise LogError(
            f"{path} must have one table, or --table (in Python table) must name one, got "
            f"{sorted(names)}"
        )
    return names[0]


def _database(path: Path) -> str | None:
    if not path.is_file():
        return None
    with path.open("rb") as stream:
        start = stream.read(64)
    for kind, (offset, magic) in _HEADERS.items():
        if start[offset : offset + len(magic)] == magic:
            return kind
    return None


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        files = sorted(p for p in path.rglob("*") if p.is_file() and _kind(p) is not None)
    elif path.exists():
        files = [path]
    else:
        pattern = str(path.relative_to(path.anchor))
        is_glob = not WILD.isdisjoint(pattern)
        files = sorted(p for p in Path(path.anchor).glob(pattern) if p.is_file()) if is_glob else []
    if not files:
        what = "no CSV or Parquet file in this folder" if path.is_dir() else "no such file"
        raise FileNotFoundError(f"{path} cannot be read: {what}")
    if not any(p.stat().st_size for p in files):
        raise LogError(f"{path} cannot be read: it is empty")
    kinds = {_kind(p) or "?" for p in files}
    if len(kinds) > 1 or "?" in kinds:
        raise LogError(
            f"{path} must be CSV or Parquet files or a DuckDB or SQLite file, "
            f"got {', '.join(sorted({p.suffix or p.name for p in files}))}"
        )
    return files


def _kind(path: Path) -> str | None:
    suffixes = [s.lower() for s in path.suffixes]
    if suffixes and suffixes[-1] in COMPRESSED:
        suffixes.pop()
    last = suffixes[-1] if suffixes else ""
    return "text" if last in TEXT else "parquet" if last in PARQUET else None
