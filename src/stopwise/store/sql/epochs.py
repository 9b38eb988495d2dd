"""Epochs of a cascade: begin one, and take over the cases of those before it.

An epoch that begins because the stages have changed takes over what was counted before. Workers
write their cases some time after they were told, so some are still to come then: what is new in
their rows is added to the current epoch in the transaction that writes them. So each case is taken
over once, whenever it arrives and whoever writes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stopwise.store.case_encoding import Counts, add_counts, case_for
from stopwise.store.protocol import MERGED, PAST, Record, Row, StageChange
from stopwise.store.sql.count_rows import SELECT, WHERE_KEY, add_rows, read_rows, write_rows
from stopwise.store.sql.database import Transaction
from stopwise.store.sql.records import ensure_cascade, get_record, put_cascade, put_record

Sources = Sequence[int | None]


def open_epoch(
    tx: Transaction,
    cascade: str,
    expected: int,
    body: Mapping[str, Any],
    change: StageChange | None,
) -> int:
    """Return the current epoch, one more than ``expected`` if that was the current one."""
    before = ensure_cascade(tx, cascade, lock=True).epoch
    if before != expected:
        return before
    epoch = before + 1
    tx.run("UPDATE stopwise_cascades SET epoch = ? WHERE cascade = ?", (epoch, cascade))
    record = Record("epoch", cascade, _key(epoch), tx.now(), dict(body))
    if change is not None:
        record.body["sources"] = list(change.sources)
        put_cascade(tx, cascade, change.description)
        where = "WHERE cascade = ? AND epoch = ?"
        rows, _ = read_rows(tx.run(f"{SELECT} {where}", (cascade, before)))
        _take_over(tx, epoch, change.sources, rows)
    put_record(tx, record, replace=True)
    return epoch


def write_own_rows(tx: Transaction, rows: Sequence[Row]) -> None:
    """Replace rows of a worker; add what is new in earlier epochs to one that took them over."""
    for cascade in sorted({row.cascade for row in rows}):
        current = locked_epoch(tx, cascade)
        for row in rows:
            if row.cascade == cascade and row.epoch < current:
                sources = sources_since(tx, cascade, row.epoch, current)
                if sources is not None:
                    _take_over(tx, current, sources, _new_in(tx, row))
    write_rows(tx, rows)


def locked_epoch(tx: Transaction, cascade: str) -> int:
    """Return the current epoch; no other one begins before the end of the transaction."""
    sql = f"SELECT epoch FROM stopwise_cascades WHERE cascade = ? {tx.sharing}"
    return next((int(epoch) for (epoch,) in tx.run(sql, (cascade,))), 0)


def sources_since(tx: Transaction, cascade: str, epoch: int, current: int) -> Sources | None:
    """Return where the stages of the current epoch are in cases of an earlier one.

    ``None`` if the cases were not taken over.
    """
    sources: Sources | None = None
    for number in range(epoch + 1, current + 1):
        record = get_record(tx, "epoch", cascade, _key(number))
        step = None if record is None else record.body.get("sources")
        if step is None:
            return None
        sources = step if sources is None else [k if k is None else sources[k] for k in step]
    return sources


def _take_over(tx: Transaction, epoch: int, sources: Sources, rows: Iterable[Row]) -> None:
    """Count the cases of rows in another epoch, for its stages."""
    total: Counts = {}
    cascade = ""
    for row in rows:
        cascade = row.cascade
        for text, times in row.counts.items():
            case = case_for(text, sources)
            if case is not None:
                add_counts(total, {case: times})
    if total:
        add_rows(tx, [Row(cascade, epoch, PAST, MERGED, total)])


def _new_in(tx: Transaction, row: Row) -> list[Row]:
    """Return what a row has that its stored version has not; nothing if that one is damaged."""
    key = (row.cascade, row.epoch, row.bucket, row.worker)
    stored, damaged = read_rows(tx.run(f"{SELECT} {WHERE_KEY}", key))
    if damaged:
        return []
    counts = dict(row.counts)
    add_counts(counts, stored[0].counts if stored else {}, sign=-1)
    return [replace(row, counts=counts)]


def _key(epoch: int) -> str:
    return f"{epoch:08d}"
