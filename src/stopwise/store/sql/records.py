"""Records of every kind, and the cascades with their versions and epochs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stopwise.store.protocol import CascadeRecord, Record
from stopwise.store.sql.database import Transaction, seal, unseal

SELECT = "SELECT kind, cascade, record_key, at, body, checksum, revision FROM stopwise_records"
WHERE_KEY = "WHERE kind = ? AND cascade = ? AND record_key = ?"
_SELECT_CASCADES = "SELECT cascade, version, epoch, layout FROM stopwise_cascades"


class CascadeRow(NamedTuple):
    """The row of a cascade; a change of ``layout`` makes readers read all of its counts again."""

    cascade: str
    version: int
    epoch: int
    layout: int


def read_records(entries: Iterable[tuple[Any, ...]]) -> tuple[list[Record], list[str]]:
    """Return the records that are intact, and the names of those that are damaged."""
    records, damaged = [], []
    for kind, cascade, key, at, body, checksum, revision in entries:
        try:
            content = unseal(body, checksum, kind, cascade, key)
        except ValueError as error:
            damaged.append(f"{record_name(kind, cascade, key)}: {error}")
        else:
            records.append(Record(kind, cascade, key, at, content, revision))
    return records, damaged


def get_record(tx: Transaction, kind: str, cascade: str, key: str) -> Record | None:
    """Return one record, if it exists and is intact."""
    entries = tx.run(f"{SELECT} {WHERE_KEY}", (kind, cascade, key))
    return next(iter(read_records(entries)[0]), None)


def record_name(kind: str, cascade: str, key: str) -> str:
    """Return the name of a record in messages."""
    return f"{kind} {key!r} of {cascade!r}"


def put_record(tx: Transaction, record: Record, *, replace: bool, keep: int | None = None) -> bool:
    """Write a record and delete the oldest beyond ``keep``; return whether it was written."""
    identity = (record.kind, record.cascade, record.key)
    update = (
        "DO UPDATE SET at = excluded.at, revision = excluded.revision, "
        "body = excluded.body, checksum = excluded.checksum"
    )
    rows = tx.run(
        "INSERT INTO stopwise_records VALUES (?, ?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (kind, cascade, record_key) {update if replace else 'DO NOTHING'} "
        "RETURNING 1",
        (*identity, record.at, tx.revision(), *seal(record.body, *identity)),
    )
    if keep is not None:
        tx.run(
            "DELETE FROM stopwise_records WHERE kind = ? AND cascade = ? AND record_key IN "
            "(SELECT record_key FROM stopwise_records WHERE kind = ? AND cascade = ? "
            "ORDER BY at DESC, record_key DESC LIMIT 1000 OFFSET ?)",
            (*identity[:2], *identity[:2], keep),
        )
    return bool(rows)


def list_records(
    tx: Transaction, kind: str, cascade: str | None, limit: int, since: int | None
) -> list[Record]:
    """Return the newest records of a kind, or the first ones after a revision."""
    where, values = "WHERE kind = ?", [kind]
    if cascade is not None:
        where, values = f"{where} AND cascade = ?", [*values, cascade]
    if since is None:
        sql = f"{SELECT} {where} ORDER BY at DESC, record_key DESC LIMIT ?"
        return read_records(tx.run(sql, (*values, limit)))[0][::-1]
    # Beyond the horizon, lower revisions may still become visible.
    sql = f"{SELECT} {where} AND revision > ? AND revision < ? ORDER BY revision, record_key"
    entries = tx.run(f"{sql} LIMIT ?", (*values, since, tx.horizon(), limit))
    return read_records(entries)[0]


def cascade_row(tx: Transaction, name: str) -> CascadeRow:
    """Return the row of a cascade, with zeros if it is unknown."""
    entries = tx.run(f"{_SELECT_CASCADES} WHERE cascade = ?", (name,))
    return CascadeRow(*entries[0]) if entries else CascadeRow(name, 0, 0, 0)


def ensure_cascade(tx: Transaction, name: str, *, lock: bool = False) -> CascadeRow:
    """Return the row of a cascade, and insert it if it is unknown."""
    tx.run("INSERT INTO stopwise_cascades VALUES (?, 0, 0, 0) ON CONFLICT DO NOTHING", (name,))
    if lock:
        tx.run(f"SELECT 1 FROM stopwise_cascades WHERE cascade = ? {tx.locking}", (name,))
    return cascade_row(tx, name)


def list_cascades(tx: Transaction, name: str | None = None) -> list[CascadeRecord]:
    """Return the current version of every cascade, by name, or of one alone."""
    where = "" if name is None else "WHERE cascade = ?"
    values = () if name is None else (name,)
    entries = tx.run(f"{_SELECT_CASCADES} {where} ORDER BY cascade", values)
    return [_describe_cascade(tx, CascadeRow(*row)) for row in entries]


def _describe_cascade(tx: Transaction, row: CascadeRow) -> CascadeRecord:
    record = get_record(tx, "cascade", row.cascade, f"{row.version:08d}")
    return CascadeRecord(row.cascade, row.version, row.epoch, record.body if record else {})


def put_cascade(tx: Transaction, name: str, description: Mapping[str, Any]) -> CascadeRecord:
    """Add a version of a cascade, unless the current one has the same description."""
    row = ensure_cascade(tx, name, lock=True)
    current = _describe_cascade(tx, row)
    body = dict(description)
    if row.version and seal(current.description) == seal(body):
        return current
    version = row.version + 1
    tx.run("UPDATE stopwise_cascades SET version = ? WHERE cascade = ?", (version, name))
    put_record(tx, Record("cascade", name, f"{version:08d}", tx.now(), body), replace=True)
    return CascadeRecord(name, version, row.epoch, body)
