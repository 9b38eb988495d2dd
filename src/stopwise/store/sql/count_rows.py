"""Rows of counts: read them with their checksums, replace them, add to them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from stopwise.store.case_encoding import Counts, add_counts
from stopwise.store.protocol import Row
from stopwise.store.sql.database import Transaction, run_with_rows, seal, unseal

SELECT = "SELECT cascade, epoch, bucket, worker, body, checksum FROM stopwise_counts"
WHERE_KEY = "WHERE cascade = ? AND epoch = ? AND bucket = ? AND worker = ?"


def read_rows(entries: Iterable[tuple[Any, ...]]) -> tuple[list[Row], list[str]]:
    """Return the rows that are intact, and the names of those that are damaged."""
    rows, damaged = [], []
    for cascade, epoch, bucket, worker, body, checksum in entries:
        key = (cascade, epoch, bucket, worker)
        try:
            rows.append(Row(*key, _read_counts(body, checksum, key)))
        except ValueError as error:
            damaged.append(f"{row_name(*key)}: {error}")
    return rows, damaged


def _read_counts(body: str, checksum: int, key: Sequence[object]) -> Counts:
    counts = unseal(body, checksum, *key)
    if not isinstance(counts, dict) or not all(type(n) is int for n in counts.values()):
        raise ValueError("the body holds no counts")
    return counts


def row_name(cascade: str, epoch: int, bucket: int, worker: str) -> str:
    """Return the name of a row in messages."""
    return f"counts of {cascade!r}, epoch {epoch}, bucket {bucket}, worker {worker!r}"


def write_rows(tx: Transaction, rows: Iterable[Row]) -> None:
    """Replace rows, or insert them."""
    entries = []
    for row in rows:
        key = (row.cascade, row.epoch, row.bucket, row.worker)
        entries.append((*key, tx.revision(), *seal(row.counts, *key)))
    run_with_rows(
        tx,
        "INSERT INTO stopwise_counts VALUES {rows} "
        "ON CONFLICT (cascade, epoch, bucket, worker) DO UPDATE SET "
        "revision = excluded.revision, body = excluded.body, checksum = excluded.checksum",
        entries,
    )


def add_rows(tx: Transaction, rows: Iterable[Row]) -> None:
    """Add to rows, which stay locked until the end of the transaction."""
    for row in sorted(rows, key=lambda r: (r.cascade, r.epoch, r.bucket)):
        key = (row.cascade, row.epoch, row.bucket, row.worker)
        # Inserted first, so that there is always a row to lock.
        tx.run(
            "INSERT INTO stopwise_counts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (*key, tx.revision(), *seal({}, *key)),
        )
        intact, damaged = read_rows(tx.run(f"{SELECT} {WHERE_KEY} {tx.locking}", key))
        if damaged:
            quarantine(tx, key, "found when counts were to be added")
        total: Counts = dict(intact[0].counts) if intact else {}
        add_counts(total, row.counts)
        write_rows(tx, [Row(*key, total)])


def quarantine(tx: Transaction, key: Sequence[object], reason: str) -> None:
    """Move one row into the table of damaged ones, as it is."""
    ((body,),) = tx.run(f"SELECT body FROM stopwise_counts {WHERE_KEY}", key)
    name = row_name(*key)  # type: ignore[arg-type]
    tx.run("INSERT INTO stopwise_quarantine VALUES (?, ?, ?, ?)", (name, body, reason, tx.now()))
    tx.run(f"DELETE FROM stopwise_counts {WHERE_KEY}", key)
