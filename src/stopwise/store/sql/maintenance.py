"""Maintenance of a store: list its content, quarantine damaged rows, merge and delete rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from stopwise.store.protocol import KEYS, MERGED, Row, StoreInfo, WorkerRecord
from stopwise.store.sql.count_rows import SELECT, add_rows, quarantine, read_rows
from stopwise.store.sql.database import Database, Transaction
from stopwise.store.sql.records import SELECT as RECORDS
from stopwise.store.sql.records import (
    WHERE_KEY,
    ensure_cascade,
    list_cascades,
    read_records,
    record_name,
)

# Compaction deletes workers that have left for so long. It must be longer than any journal waits to
# be adopted: the journal of a deleted worker would be counted again.
FORGET_SECONDS = 90 * 86_400.0


def list_workers(tx: Transaction) -> list[WorkerRecord]:
    """Return all workers that have entered, closed ones too."""
    entries = tx.run(
        "SELECT worker, host, generation, position, lease_until, folded_at, closed "
        "FROM stopwise_workers ORDER BY worker"
    )
    return [
        WorkerRecord(name, host, generation, position, until, folded, bool(closed))
        for name, host, generation, position, until, folded, closed in entries
    ]


def info(database: Database, store_id: str, schema: int) -> StoreInfo:
    """Return sizes, versions and notes about the database."""
    kind, notes = database.describe()

    def work(tx: Transaction) -> StoreInfo:
        sizes = dict(tx.run("SELECT kind, COUNT(*) FROM stopwise_records GROUP BY kind"))
        return StoreInfo(
            url=database.url,
            store_id=store_id,
            schema=schema,
            database=kind,
            cascades=tuple(list_cascades(tx)),
            workers=tuple(list_workers(tx)),
            n_rows=tx.run("SELECT COUNT(*) FROM stopwise_counts")[0][0],
            n_keys=tx.run("SELECT COUNT(*) FROM stopwise_keys")[0][0],
            records=sizes,
            quarantined=tuple(
                name for (name,) in tx.run("SELECT name FROM stopwise_quarantine ORDER BY at")
            ),
            notes=notes,
        )

    return database.read(work)


def intact_rows(
    tx: Transaction, sql: str, values: Sequence[Any] = ()
) -> tuple[list[Row], list[str]]:
    """Return what `read_rows` returns for a query, and move damaged rows into quarantine."""
    rows, damage = [], []
    for entry in tx.run(sql, values):
        intact, problems = read_rows([entry])
        rows += intact
        damage += problems
        if problems:
            quarantine(tx, entry[:4], problems[0])
            _invalidate_readers(tx, entry[0])
    return rows, damage


def check(tx: Transaction) -> list[str]:
    """Move every damaged row and record into quarantine; return their names and the damage."""
    _, damage = intact_rows(tx, SELECT)
    for entry in tx.run(RECORDS):
        problems = read_records([entry])[1]
        if problems:
            damage += problems
            identity = entry[:3]
            tx.run(
                "INSERT INTO stopwise_quarantine VALUES (?, ?, ?, ?)",
                (record_name(*identity), entry[4], problems[0], tx.now()),
            )
            tx.run(f"DELETE FROM stopwise_records {WHERE_KEY}", identity)
    return damage


def compact(tx: Transaction, before: int | None, keep_keys: float | None) -> int:
    """Merge the rows of closed workers, delete old ones; return by how many rows it shrank."""
    ((rows_before,),) = tx.run("SELECT COUNT(*) FROM stopwise_counts")
    names = [row[0] for row in tx.run("SELECT cascade FROM stopwise_cascades ORDER BY cascade")]
    for name in names:
        ensure_cascade(tx, name, lock=True)
    # A higher generation fences off any process that is about to count for one of them.
    workers = tx.run(
        "UPDATE stopwise_workers SET generation = generation + 1 WHERE closed = 1 RETURNING worker"
    )
    rows: list[Row] = []
    for worker in sorted(name + part for (name,) in workers for part in ("", KEYS)):
        rows += intact_rows(tx, f"{SELECT} WHERE worker = ? {tx.locking}", (worker,))[0]
        tx.run("DELETE FROM stopwise_counts WHERE worker = ?", (worker,))
    add_rows(tx, [Row(r.cascade, r.epoch, r.bucket, MERGED, r.counts) for r in rows])
    if before is not None:
        tx.run(
            "DELETE FROM stopwise_counts WHERE bucket < ? AND epoch < (SELECT epoch FROM "
            "stopwise_cascades c WHERE c.cascade = stopwise_counts.cascade)",
            (before,),
        )
    tx.run(
        "DELETE FROM stopwise_workers WHERE closed = 1 AND folded_at < ?",
        (tx.now() - FORGET_SECONDS,),
    )
    if keep_keys is not None:
        tx.run("DELETE FROM stopwise_keys WHERE at < ?", (tx.now() - keep_keys,))
    for name in {row.cascade for row in rows}:
        _invalidate_readers(tx, name)
    ((rows_after,),) = tx.run("SELECT COUNT(*) FROM stopwise_counts")
    return int(rows_before - rows_after)


def _invalidate_readers(tx: Transaction, cascade: str) -> None:
    """Make readers of a cascade read all of its counts again."""
    ensure_cascade(tx, cascade)
    tx.run("UPDATE stopwise_cascades SET layout = layout + 1 WHERE cascade = ?", (cascade,))
