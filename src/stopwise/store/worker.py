"""A worker: one process that counts cases, keeps them safe and shares them with all others."""

from __future__ import annotations

import math
import os
import re
import socket
import threading
import time
import uuid
import warnings
import weakref
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

from stopwise.checks import known_name, stored_text
from stopwise.errors import (
    FencedError,
    SettingError,
    StoreError,
    StoreUnavailableError,
    StoreWarning,
)
from stopwise.store.case_encoding import Counts
from stopwise.store.journal import SUFFIX, Header, Journal
from stopwise.store.protocol import MERGED, BucketKey, KeyedTell, Lease, Outcome, Row, Store
from stopwise.store.recovery import adopt, replay, rows_of
from stopwise.store.shared_counts import SharedCounts
from stopwise.store.urls import journal_directory, open_store
from stopwise.store.worker_settings import WorkerSettings

Durability = Literal["memory", "process", "disk"]
_CUT_BYTES = 1_000_000  # a longer journal is shortened by what the store has counted
_workers: weakref.WeakSet[Worker] = weakref.WeakSet()


class Worker:
    """One process that tells cases to a store; threads may share it, processes may not.

    Each tell is written to the worker's own journal. From time to time `SharedCounts.sync` folds
    the journal into the worker's own rows of the store: its absolute counts, and in the same
    transaction the position up to which they are counted. So folding again changes nothing.

    Parameters
    ----------
    store
        A store or its URL.
    directory
        Where the journals are, on this host and the same for all its workers. By default beside
        an SQLite file; for PostgreSQL in ``~/.local/state/stopwise``, of each user.
    durability
        What a tell survives once it has returned: ``memory`` nothing, ``process`` the death of
        the process (kill -9), ``disk`` loss of power too.
    settings
        Time spans and sizes; the defaults usually do.
    name, host
        The name is unique for ever; the host is that of all processes that share file locks.
    clock, timer
        Wall time for buckets, and a monotonic time for the schedule of syncs.
    """

    def __init__(
        self,
        store: Store | str,
        *,
        directory: Path | str | None = None,
        durability: Durability = "process",
        settings: WorkerSettings | None = None,
        name: str | None = None,
        host: str | None = None,
        clock: Callable[[], float] = time.time,
        timer: Callable[[], float] = time.monotonic,
    ) -> None:
        known_name("durability", durability, ["memory", "process", "disk"], SettingError)
        self.durability = durability
        self.settings = settings or WorkerSettings()
        self._owns_store = isinstance(store, str)
        self.host = host or socket.gethostname()
        self.name = _check_name(name or f"{self.host}-{os.getpid()}-{uuid.uuid4().hex[:8]}")
        self.clock = clock
        self.timer = timer
        # One lock for tells, held for microseconds; another for folds.
        self.lock = threading.Lock()
        self.rows: dict[BucketKey, Counts] = {}
        self.dirty: set[BucketKey] = set()
        self.journal: Journal | None = None
        self.is_closed = False
        self.directory: Path | None = None
        self.adopted: list[str] = []
        self._fold_lock = threading.Lock()
        self._shared: dict[str, SharedCounts] = {}
        self.store, self._lease = self._open_store(store)
        self._position = self._lease.position
        self._adopt_at = math.inf
        if durability != "memory" and self.store.url != "memory://":
            self._open_journal(directory)
        _workers.add(self)

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def open(self, cascade: str) -> SharedCounts:
        """Return the counts of a cascade that this worker shares with all others."""
        if cascade not in self._shared:
            stored_text("cascade", cascade, SettingError)
            self._shared[cascade] = SharedCounts(self, cascade)
        return self._shared[cascade]

    def tell_keyed(self, tells: Sequence[KeyedTell]) -> list[Outcome]:
        """Count tells from the network, each key once; learners see them at the next sync."""
        epochs = {name: shared.epoch for name, shared in self._shared.items()}
        bucket = self.bucket()
        dated_tells = [
            replace(tell, bucket=tell.bucket or bucket, epoch=epochs.get(tell.cascade))
            for tell in tells
        ]
        return self.store.tell_keyed(self.name, dated_tells)

    def bucket(self) -> int:
        """Return the current time bucket, named by its first second."""
        width = self.settings.bucket_seconds
        return int(self.clock() // width) * width

    def fold(self) -> None:
        """Write the counts to the store; repeating it changes nothing.

        Raises `StoreUnavailableError` if the store cannot be reached; nothing is lost then.
        """
        with self._fold_lock:
            try:
                self._fold()
            except FencedError:
                self._reclaim()
                self._fold()
            if self.timer() >= self._adopt_at:
                self.adopt()

    def adopt(self) -> list[str]:
        """Count what dead workers left in their journals; return their names."""
        if self.directory is None:
            return []
        seconds = self.settings.lease_seconds
        self._adopt_at = self.timer() + seconds
        names = adopt(self.store, self.directory, host=self.host, seconds=seconds)
        self.adopted += names
        return names

    def close(self) -> None:
        """Fold a last time and leave; if that fails, the journal waits to be adopted."""
        with self.lock:
            if self.is_closed:
                return
            self.is_closed = True  # from here on every tell is refused
            for shared in self._shared.values():
                shared.expire()
        try:
            self.fold()
            self.store.leave(self._lease)
            if self.journal is not None:
                self.journal.remove()
        finally:
            if self.journal is not None:
                self.journal.release()
            if self._owns_store:
                self.store.close()

    def _open_journal(self, directory: Path | str | None) -> None:
        folder = Path(directory) if directory is not None else journal_directory(self.store)
        try:
            folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise SettingError(
                f"directory must be a folder for journals on this host, got {folder}: {error}"
            ) from error
        self.directory = folder
        self.journal = Journal(
            folder / f"{self.name}{SUFFIX}",
            Header(self.name, self.host, self.store.store_id, self._lease.position),
            max_bytes=self.settings.max_journal_bytes,
            is_durable=self.durability == "disk",
        )
        self.adopt()
        self._warn_about_database(folder)

    def _open_store(self, store: Store | str) -> tuple[Store, Lease]:
        """Open the store and take a lease; a worker cannot start without it."""
        is_durable = self.durability == "disk"
        try:
            if isinstance(store, str):
                store = open_store(store, is_durable=is_durable)
            if not isinstance(store, Store):
                raise SettingError(
                    f"store must be a URL such as sqlite:///file.db, or a Store, got {store!r}"
                )
            if is_durable and not store.is_durable:
                raise SettingError(
                    f"durability 'disk' needs a store that survives loss of power, {store.url} "
                    "does not: open it with is_durable=True"
                )
            return store, self._enter(store)
        except StoreUnavailableError as error:
            raise StoreUnavailableError(
                f"worker {self.name!r} cannot start: {error}. It needs the store once, to read "
                "what is known; journals of earlier workers are kept until it is back"
            ) from error

    def _enter(self, store: Store) -> Lease:
        lease = store.enter(self.name, host=self.host, seconds=self.settings.lease_seconds)
        if lease is None:
            raise StoreError(f"worker {self.name!r} got no lease from {store.url}")
        return lease

    def _warn_about_database(self, folder: Path) -> None:
        """Issue the notes about the database if another process writes to it as well."""
        ours, now = {self.name, *(worker.name for worker in _workers)}, self.store.now()
        for other in self.store.workers():
            is_alive = other.lease_until > now and (folder / f"{other.worker}{SUFFIX}").exists()
            if is_alive and other.worker not in ours:
                for note in self.store.info().notes:
                    warnings.warn(note, StoreWarning, stacklevel=4)
                return

    def _fold(self) -> None:
        with self.lock:
            marks = {name: (shared.epoch, shared.n_told) for name, shared in self._shared.items()}
            keys = self.dirty.union(*(shared.changed_rows() for shared in self._shared.values()))
            self.dirty = set()
            rows = [Row(*key, self.name, dict(self.rows[key])) for key in sorted(keys)]
            position = self._position if self.journal is None else self.journal.end
        seconds = self.settings.lease_seconds
        try:
            self.store.fold(self._lease, position=position, rows=rows, seconds=seconds)
        except BaseException:
            with self.lock:
                self.dirty |= keys
            raise
        with self.lock:
            self._position = position
            for name, shared in self._shared.items():
                epoch, n_told = marks.get(name, (None, 0))
                if shared.epoch == epoch:
                    shared.n_folded = n_told
                shared.prune()
            if self.journal is not None and self.journal.size > min(
                _CUT_BYTES, self.settings.max_journal_bytes // 2
            ):
                self.journal.cut(position)

    def _reclaim(self) -> None:
        """Continue from what another process has counted of this worker's journal."""
        if self.journal is None:
            raise FencedError(
                f"worker {self.name!r} was taken over and has no journal to continue from"
            )
        self._lease = self._enter(self.store)
        with self.lock:
            self.rows = rows_of(self._lease)
            reader = self.journal.reader()
            self.dirty = replay(reader.entries(self._lease.position), self.rows)
            for shared in self._shared.values():
                shared.restart()


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9._-]{1,120}", name) or name == MERGED:
        raise SettingError(f"name must consist of letters, digits, '.', '_' and '-', got {name!r}")
    return name


def _after_fork() -> None:
    """Close the journals in a forked child: their locks must end with the parent."""
    for worker in list(_workers):
        worker.lock = threading.Lock()
        if worker.journal is not None:
            worker.journal.disown()
    _workers.clear()


os.register_at_fork(after_in_child=_after_fork)
