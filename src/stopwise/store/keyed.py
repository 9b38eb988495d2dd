"""Tells from the network: they come at least once, and are counted once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace

from stopwise.store.base import KEYS, MERGED, KeyedTell, Outcome, Row
from stopwise.store.cases import Counts, add_counts
from stopwise.store.database import Transaction
from stopwise.store.records import known_cascade
from stopwise.store.rows import SELECT, add_rows, chunks, read_rows

Place = tuple[str, str]


def tell_keyed(tx: Transaction, worker: str, tells: Sequence[KeyedTell]) -> list[Outcome]:
    """Count the tells whose keys are new, and say of each what became of it."""
    asked = [((t.cascade, t.key), _digest(t)) for t in tells]
    first: dict[Place, str] = {}
    for place, digest in asked:
        first.setdefault(place, digest)
    inserted = _insert(tx, first)
    known = first | _read(tx, [place for place in first if place not in inserted])
    outcomes, counted = [], []
    amended: list[tuple[KeyedTell, str]] = []
    for tell, (place, digest) in zip(tells, asked, strict=True):
        if digest != known[place] and tell.amends and _replaced(tx, place, known[place], digest):
            amended.append((tell, known[place]))
            known[place] = digest
            outcomes.append(Outcome.AMENDED)
        elif digest != known[place]:
            outcomes.append(Outcome.CONFLICT)
        elif place not in inserted:
            outcomes.append(Outcome.REPEATED)
        else:
            inserted.remove(place)  # a second tell of this batch with the key is a repetition
            outcomes.append(Outcome.COUNTED)
            counted.append(tell)
    _count(tx, worker + KEYS, counted)
    for tell, before in amended:
        if _take_off(tx, tell, before):
            _count(tx, worker + KEYS, [tell])
    return outcomes


def _digest(tell: KeyedTell) -> str:
    return hashlib.sha256(f"{tell.times} {tell.case}".encode()).hexdigest()


def _replaced(tx: Transaction, place: Place, before: str, after: str) -> bool:
    """Put another case under a key, unless somebody else just has."""
    where = "WHERE cascade = ? AND tell_key = ? AND digest = ? RETURNING tell_key"
    return bool(tx.run(f"UPDATE stopwise_keys SET digest = ? {where}", (after, *place, before)))


def _take_off(tx: Transaction, tell: KeyedTell, before: str) -> bool:
    """Take the case that a key had before off the counts of the epoch; return whether it was there.

    Only a digest of the case is kept, so it is looked for among those that were told with keys.
    """
    epoch = known_cascade(tx, tell.cascade).epoch
    where = "WHERE cascade = ? AND epoch = ? AND (worker LIKE ? OR worker = ?) ORDER BY bucket DESC"
    found = tx.run(f"{SELECT} {where} {tx.locking}", (tell.cascade, epoch, f"%{KEYS}", MERGED))
    for row in read_rows(found)[0]:
        for text, times in row.counts.items():
            old = replace(tell, case=text)
            if times >= tell.times and _digest(old) == before:
                place = (row.cascade, row.epoch, row.bucket, row.worker)
                add_rows(tx, [Row(*place, {text: -tell.times})])
                return True
    return False


def _insert(tx: Transaction, digests: dict[Place, str]) -> set[Place]:
    """Insert the keys that are new, and return them."""
    now = tx.now()
    # In one order everywhere, so that two batches with common keys cannot wait for each other.
    entries = [(*place, digests[place], now) for place in sorted(digests)]
    inserted: set[Place] = set()
    for chunk in chunks(entries):
        found = tx.run(
            f"INSERT INTO stopwise_keys VALUES {', '.join(['(?, ?, ?, ?)'] * len(chunk))} "
            "ON CONFLICT DO NOTHING RETURNING cascade, tell_key",
            [value for entry in chunk for value in entry],
        )
        inserted.update((cascade, key) for cascade, key in found)
    return inserted


def _read(tx: Transaction, places: Sequence[Place]) -> dict[Place, str]:
    known: dict[Place, str] = {}
    for chunk in chunks(places):
        found = tx.run(
            "SELECT cascade, tell_key, digest FROM stopwise_keys WHERE (cascade, tell_key) IN "
            f"(VALUES {', '.join(['(?, ?)'] * len(chunk))})",
            [value for place in chunk for value in place],
        )
        known.update({(cascade, key): digest for cascade, key, digest in found})
    return known


def _count(tx: Transaction, worker: str, tells: Iterable[KeyedTell]) -> None:
    epochs: dict[str, int] = {}
    added: dict[tuple[str, int, int], Counts] = {}
    for tell in tells:
        if tell.cascade not in epochs:
            epochs[tell.cascade] = known_cascade(tx, tell.cascade).epoch
        place = (tell.cascade, epochs[tell.cascade], tell.bucket)
        add_counts(added.setdefault(place, {}), {tell.case: tell.times})
    add_rows(tx, [Row(*place, worker, counts) for place, counts in added.items()])
