"""Rows of counts: read with their checksums, replaced, or added to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeVar

from stopwise.store.base import Row
from stopwise.store.cases import Counts, add_counts
from stopwise.store.database import Transaction
from stopwise.store.schema import sealed, unsealed

T = TypeVar("T")

SELECT = "SELECT cascade, epoch, bucket, worker, body, checksum FROM stopwise_counts"
# Values in one statement; both databases take far more parameters than that.
_CHUNK = 500


def read_rows(found: Iterable[tuple[Any, ...]]) -> tuple[list[Row], list[str]]:
    """Return the rows that are sound and the names of those that are damaged."""
    rows, damaged = [], []
    for cascade, epoch, bucket, worker, body, checksum in found:
        place = (cascade, epoch, bucket, worker)
        try:
            rows.append(Row(*place, checked_counts(body, checksum, place)))
        except ValueError as error:
            damaged.append(f"{row_name(*place)}: {error}")
    return rows, damaged


def checked_counts(body: str, checksum: int, place: Sequence[object]) -> Counts:
    """Return the counts of a row, or raise ``ValueError``."""
    counts = unsealed(body, checksum, *place)
    if not isinstance(counts, dict) or not all(type(n) is int for n in counts.values()):
        raise ValueError("the body holds no counts")
    return counts


def row_name(cascade: str, epoch: int, bucket: int, worker: str) -> str:
    """Return how a row is called in messages."""
    return f"counts of {cascade!r}, epoch {epoch}, bucket {bucket}, worker {worker!r}"


def write_rows(tx: Transaction, rows: Iterable[Row]) -> None:
    """Replace rows by what is given, or insert them."""
    entries = []
    for row in rows:
        place = (row.cascade, row.epoch, row.bucket, row.worker)
        entries.append((*place, tx.revision(), *sealed(row.counts, *place)))
    for chunk in chunks(entries):
        marks = ", ".join(["(?, ?, ?, ?, ?, ?, ?)"] * len(chunk))
        tx.run(
            f"INSERT INTO stopwise_counts VALUES {marks} "
            "ON CONFLICT (cascade, epoch, bucket, worker) DO UPDATE SET "
            "revision = excluded.revision, body = excluded.body, checksum = excluded.checksum",
            [value for entry in chunk for value in entry],
        )


def add_rows(tx: Transaction, rows: Iterable[Row]) -> None:
    """Add to rows, which nobody else can change before the end of the transaction."""
    for row in sorted(rows, key=lambda r: (r.cascade, r.epoch, r.bucket)):
        place = (row.cascade, row.epoch, row.bucket, row.worker)
        # Inserted first, so that there is always something to lock.
        tx.run(
            "INSERT INTO stopwise_counts VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (*place, tx.revision(), *sealed({}, *place)),
        )
        where = "WHERE cascade = ? AND epoch = ? AND bucket = ? AND worker = ?"
        sound, damaged = read_rows(tx.run(f"{SELECT} {where} {tx.locking}", place))
        if damaged:
            quarantine(tx, place, "found when counts were to be added")
        total: Counts = dict(sound[0].counts) if sound else {}
        add_counts(total, row.counts)
        write_rows(tx, [Row(*place, total)])


def quarantine(tx: Transaction, place: Sequence[object], reason: str) -> None:
    """Move one row out of the way, as it is."""
    where = "WHERE cascade = ? AND epoch = ? AND bucket = ? AND worker = ?"
    ((body,),) = tx.run(f"SELECT body FROM stopwise_counts {where}", place)
    name = row_name(*place)  # type: ignore[arg-type]
    tx.run("INSERT INTO stopwise_quarantine VALUES (?, ?, ?, ?)", (name, body, reason, tx.now()))
    tx.run(f"DELETE FROM stopwise_counts {where}", place)


def chunks(entries: Sequence[T]) -> Iterator[Sequence[T]]:
    """Cut what goes into the database into statements of a bounded size."""
    for start in range(0, len(entries), _CHUNK):
        yield entries[start : start + _CHUNK]
