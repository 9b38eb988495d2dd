"""Keyed tells: they may arrive several times, and are counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from stopwise.store.case_encoding import Counts, add_counts, case_for
from stopwise.store.protocol import KEYS, MERGED, BucketKey, KeyedTell, Outcome, Row
from stopwise.store.sql.count_rows import SELECT, add_rows, read_rows
from stopwise.store.sql.database import Transaction, run_with_rows
from stopwise.store.sql.epochs import locked_epoch, sources_since
from stopwise.store.sql.records import ensure_cascade

TellKey = tuple[str, str]  # cascade and key


def tell_keyed(tx: Transaction, worker: str, tells: Sequence[KeyedTell]) -> list[Outcome]:
    """Count the tells whose keys are new, and return the outcome of each.

    An amendment of a case that the epoch did not count is a conflict: nothing is there to replace.
    """
    digests = [((t.cascade, t.key), _digest(t.case)) for t in tells]
    first: dict[TellKey, str] = {}
    for key, digest in digests:
        first.setdefault(key, digest)
    new_keys = _insert(tx, first)
    digest_of = first | _read(tx, [key for key in first if key not in new_keys])
    outcomes, new_tells = [], []
    amendments: list[tuple[int, str]] = []
    for place, (tell, (key, digest)) in enumerate(zip(tells, digests, strict=True)):
        before = digest_of[key]
        if digest != before and tell.amends and _replace_digest(tx, key, before, digest):
            amendments.append((place, before))
            digest_of[key] = digest
            outcomes.append(Outcome.AMENDED)
        elif digest != before:
            outcomes.append(Outcome.CONFLICT)
        elif key not in new_keys:
            outcomes.append(Outcome.REPEATED)
        else:
            new_keys.remove(key)  # a second tell of this batch with the key is a repetition
            outcomes.append(Outcome.COUNTED)
            new_tells.append(tell)
    _count(tx, worker + KEYS, new_tells)
    for place, before in amendments:
        if outcomes[place] is Outcome.CONFLICT:
            continue
        tell, (key, _) = tells[place], digests[place]
        if _subtract(tx, tell, before):
            _count(tx, worker + KEYS, [tell])
            continue
        _replace_digest(tx, key, digest_of[key], before)
        for later in range(place, len(tells)):
            if digests[later][0] == key:
                outcomes[later] = Outcome.CONFLICT
    return outcomes


def _digest(case: str) -> str:
    return hashlib.sha256(f"1 {case}".encode()).hexdigest()  # the 1 is part of stored digests


def _replace_digest(tx: Transaction, key: TellKey, before: str, after: str) -> bool:
    """Store another case under a key, unless another process just has."""
    where = "WHERE cascade = ? AND tell_key = ? AND digest = ? RETURNING tell_key"
    return bool(tx.run(f"UPDATE stopwise_keys SET digest = ? {where}", (after, *key, before)))


def _subtract(tx: Transaction, tell: KeyedTell, before: str) -> bool:
    """Subtract the case that a key had before from the epoch; return whether it was counted there.

    Only a digest of the case is stored, so the case is searched among those told with keys.
    """
    epoch = ensure_cascade(tx, tell.cascade).epoch
    names = (f"%{KEYS}", f"%{KEYS}@%", MERGED, f"{MERGED}@%")  # with @ if they were imported
    workers = " OR ".join(["worker LIKE ?"] * len(names))
    where = f"WHERE cascade = ? AND epoch = ? AND ({workers}) ORDER BY bucket DESC"
    entries = tx.run(f"{SELECT} {where} {tx.locking}", (tell.cascade, epoch, *names))
    for row in read_rows(entries)[0]:
        for text, times in row.counts.items():
            if times > 0 and _digest(text) == before:
                add_rows(tx, [replace(row, counts={text: -1})])
                return True
    return False


def _insert(tx: Transaction, digests: dict[TellKey, str]) -> set[TellKey]:
    """Insert the keys that are new, and return them."""
    now = tx.now()
    # Always in the same order, so that two batches with common keys cannot deadlock.
    entries = [(*key, digests[key], now) for key in sorted(digests)]
    sql = (
        "INSERT INTO stopwise_keys VALUES {rows} ON CONFLICT DO NOTHING RETURNING cascade, tell_key"
    )
    return {(cascade, key) for cascade, key in run_with_rows(tx, sql, entries)}


def _read(tx: Transaction, keys: Sequence[TellKey]) -> dict[TellKey, str]:
    sql = (
        "SELECT cascade, tell_key, digest FROM stopwise_keys "
        "WHERE (cascade, tell_key) IN (VALUES {rows})"
    )
    return {(cascade, key): digest for cascade, key, digest in run_with_rows(tx, sql, keys)}


def _count(tx: Transaction, worker: str, tells: Iterable[KeyedTell]) -> None:
    epochs: dict[str, int] = {}
    counts_by_row: dict[BucketKey, Counts] = {}
    for tell in tells:
        if tell.cascade not in epochs:
            ensure_cascade(tx, tell.cascade)
            epochs[tell.cascade] = locked_epoch(tx, tell.cascade)
        epoch, case = _placed(tx, tell, epochs[tell.cascade])
        key = (tell.cascade, epoch, tell.bucket)
        add_counts(counts_by_row.setdefault(key, {}), {case: 1})
    add_rows(tx, [Row(*key, worker, counts) for key, counts in counts_by_row.items()])


def _placed(tx: Transaction, tell: KeyedTell, current: int) -> tuple[int, str]:
    """Return the epoch in which a tell is counted, and its case for the stages of that one.

    It is the current one, unless that has not taken over the cases of the tell's own epoch.
    """
    if tell.epoch is None or tell.epoch >= current:
        return current, tell.case
    sources = sources_since(tx, tell.cascade, tell.epoch, current)
    case = None if sources is None else case_for(tell.case, sources)
    return (tell.epoch, tell.case) if case is None else (current, case)
