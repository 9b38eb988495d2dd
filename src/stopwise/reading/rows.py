"""Rows from any source, as a table of an engine: files of every kind, frames, Ibis tables."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stopwise.checks import known_name
from stopwise.errors import LogError
from stopwise.reading.engine import check_names, engine_errors, load_ibis, memtable
from stopwise.reading.text import COMPRESSED, read_text

WILD = set("*?[")
TEXT = {".csv", ".tsv", ".txt", ".psv"}
PARQUET = {".parquet", ".pq", ".parq"}
_HEADERS = {"duckdb": (8, b"DUCK"), "sqlite": (0, b"SQLite format 3\x00")}


@dataclass(frozen=True, eq=False)
class Rows:
    """An Ibis table, the Parquet files that it shows if it is all of some, and if it was text."""

    table: Any
    parquet: tuple[Path, ...] = ()
    is_text: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(self.table.columns)


def open_rows(
    source: Any,
    *,
    table: str | None = None,
    query: str | None = None,
    values: Collection[Hashable] = (),
) -> Rows:
    """Return any source of rows as an Ibis table.

    ``values`` are known to be outputs: a text file may hold ``NA`` where that is one of them.
    """
    ibis = load_ibis()
    if isinstance(source, (str, Path)):
        with engine_errors(str(source)):
            return _from_path(source, table, query, values)
    if table is not None or query is not None:
        raise LogError("table and query must come with a file, not with a table in memory")
    if isinstance(source, ibis.Table):
        return Rows(source)
    with engine_errors("the log"):
        return Rows(memtable(source))


def _from_path(
    source: str | Path, table: str | None, query: str | None, values: Collection[Hashable]
) -> Rows:
    ibis = load_ibis()
    path = Path(source)
    kind = _database(path)
    if kind == "duckdb":
        con = ibis.duckdb.connect(path, read_only=True)
        return Rows(_from_database(con, path, table, query))
    if kind == "sqlite":
        return Rows(_from_database(ibis.sqlite.connect(path), path, table, query))
    con = ibis.duckdb.connect()
    files = _files(path)
    rows = _from_files(con, files, values)
    if table is not None:
        raise LogError(f"table must come with a database, {path} is none")
    is_text = _kind(files[0]) == "text"
    if query is None:
        return Rows(rows, () if is_text else tuple(files), is_text)
    con.create_view("log", rows)
    return Rows(con.sql(query), is_text=is_text)


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
        found = sorted(p for p in root.glob(pattern) if p.is_file()) if set(pattern) & WILD else []
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


def _from_files(con: Any, files: list[Path], values: Collection[Hashable]) -> Any:
    if _kind(files[0]) == "text":
        return read_text(con, [p for p in files if p.stat().st_size], values)
    import pyarrow.parquet as pq

    table = con.read_parquet([str(p) for p in files])
    check_names(pq.read_schema(files[0]).names)
    return table
