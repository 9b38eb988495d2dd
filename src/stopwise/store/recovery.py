"""Recovery of journals: workers adopt those of dead workers and count what is left in them.

On one host the lock on the file shows whether its owner is dead, for it ends with the process. A
journal of another host, in a directory that both see, is counted once the owner's lease has
expired. The owner may still be alive, only stopped: so its file stays, and the next generation of
the lease fences it off until it has read what was counted without it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from stopwise.errors import FencedError, JournalError
from stopwise.store.case_encoding import Counts, add_counts
from stopwise.store.journal import DRAFT, SUFFIX, JournalEntry, JournalReader, still_at
from stopwise.store.protocol import BucketKey, Lease, Record, Row, Store


def adopt(store: Store, directory: Path, *, host: str, seconds: float = 30.0) -> list[str]:
    """Count what dead workers left in a directory of journals; return their names."""
    for path in directory.glob(f"*{DRAFT}"):  # its owner died while it shortened its journal
        with _lock_if_abandoned(path) as file:
            if file is not None:
                path.unlink(missing_ok=True)
    names = []
    for path in sorted(directory.glob(f"*{SUFFIX}")):
        with _lock_if_abandoned(path) as file:
            name = None if file is None else _adopt(store, path, file, host, seconds)
            if name is not None:
                names.append(name)
    _close_without_journal(store, directory, host)
    return names


def replay(entries: Iterable[JournalEntry], rows: dict[BucketKey, Counts]) -> set[BucketKey]:
    """Add the tells of a journal to rows; return the keys of those that changed."""
    keys = set()
    for entry in entries:
        key = (entry.cascade, entry.epoch, entry.bucket)
        add_counts(rows.setdefault(key, {}), {entry.case: entry.times})
        keys.add(key)
    return keys


def rows_of(lease: Lease) -> dict[BucketKey, Counts]:
    """Return the counts of a worker in the store."""
    return {(row.cascade, row.epoch, row.bucket): dict(row.counts) for row in lease.rows}


def _adopt(store: Store, path: Path, file: int, host: str, seconds: float) -> str | None:
    try:
        journal = JournalReader(file, path)
    except JournalError as error:
        _report_damage(store, path.name, [str(error)])
        return None
    header = journal.header
    if header is None:
        path.unlink(missing_ok=True)  # nothing was acknowledged before the first line was complete
        return None
    if header.store_id != store.store_id:
        return None
    is_ours = header.host == host
    if not is_ours and _is_counted(store, header.worker, journal):
        return None
    lease = store.enter(header.worker, host=header.host, seconds=seconds, only_expired=not is_ours)
    if lease is None:
        return None
    rows = rows_of(lease)
    keys = replay(journal.entries(lease.position), rows)
    _report_damage(store, header.worker, journal.damaged)
    try:
        store.fold(
            lease,
            position=max(journal.end, lease.position),
            rows=[Row(*key, header.worker, rows[key]) for key in sorted(keys)],
        )
        store.leave(lease)
    except FencedError:
        return None  # somebody else has taken it over, perhaps the owner
    if is_ours:
        path.unlink(missing_ok=True)
    return header.worker


def _close_without_journal(store: Store, directory: Path, host: str) -> None:
    """Close the workers of this host that died without a journal."""
    for worker in store.workers():
        if (
            worker.host == host
            and not worker.is_closed
            and not (directory / f"{worker.worker}{SUFFIX}").exists()
        ):
            lease = store.enter(worker.worker, host=host, only_expired=True)
            if lease is not None:
                store.leave(lease)


def _is_counted(store: Store, worker: str, journal: JournalReader) -> bool:
    """Whether nothing was added to a journal since its worker was adopted."""
    for record in store.workers():
        if record.worker == worker and record.is_closed:
            return not any(True for _ in journal.entries(record.position))
    return False


def _report_damage(store: Store, name: str, damaged: list[str]) -> None:
    for text in damaged:
        body = {"journal": name, "damage": text}
        store.put(Record("damage", "", f"{name}: {text}"[:500], store.now(), body), replace=False)


@contextmanager
def _lock_if_abandoned(path: Path) -> Iterator[int | None]:
    """Open and lock a file, if its owner on this host is dead and it is still in its place."""
    try:
        file = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        yield None
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield file if still_at(file, path) else None
    except BlockingIOError:
        yield None
    finally:
        os.close(file)
