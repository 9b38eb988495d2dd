"""SQLite as the database of a store: one file for the processes of one host, or memory.

Writers queue at a lock file before they begin. SQLite's own busy handler polls, so that some
writers wait for seconds. The lock also separates checkpoints from writes of other processes, which
SQLite below 3.51.3 needs (its WAL-reset bug).
"""

from __future__ import annotations

import fcntl
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from stopwise.errors import StoreError, StoreUnavailableError

T = TypeVar("T")

PRIVATE = 0o600
_CREATE = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
_WAL_RESET_FIXED = (3, 51, 3)


class SqliteDatabase:
    """A database file, or a private database in memory where ``path`` is ``None``.

    Parameters
    ----------
    path
        The file, created with mode 0600 if it does not exist.
    is_durable
        Whether a commit survives loss of power (`synchronous=FULL`), not only of the process.
    clock
        The time in seconds, for leases.
    timeout
        Seconds to wait for other writers.
    """

    def __init__(
        self,
        path: Path | None,
        *,
        is_durable: bool = False,
        clock: Callable[[], float] = time.time,
        timeout: float = 30.0,
    ) -> None:
        self.path = None if path is None else path.absolute()
        self.url = "memory://" if path is None else f"sqlite:///{path}"
        self.is_durable = is_durable
        self.clock = clock
        self.timeout = timeout
        self._lock = threading.RLock()
        self._connection: sqlite3.Connection | None = None
        self._lock_file = -1
        self._pid = os.getpid()
        self._inherited: list[sqlite3.Connection | None] = []

    def read(self, work: Callable[[SqliteTransaction], T]) -> T:
        """Run ``work`` on one snapshot."""
        with self._lock, self._transaction("BEGIN") as tx:
            return work(tx)

    def write(self, work: Callable[[SqliteTransaction], T]) -> T:
        """Run ``work`` and commit, after all writers that came before."""
        with self._lock, self._write_lock(), self._transaction("BEGIN IMMEDIATE") as tx:
            return work(tx)

    def describe(self) -> tuple[str, tuple[str, ...]]:
        """Return the version of SQLite, and a note if it has a bug that matters here."""
        notes = []
        if sqlite3.sqlite_version_info < _WAL_RESET_FIXED and self.path is not None:
            notes.append(
                f"SQLite {sqlite3.sqlite_version} may damage a file in WAL mode that several "
                "programs write (fixed in 3.51.3). Workers of stopwise write one at a time; "
                "let no other program write to the file."
            )
        return f"SQLite {sqlite3.sqlite_version}", tuple(notes)

    def examine(self) -> list[str]:
        """Return what SQLite's own check finds."""
        rows = self.read(lambda tx: tx.run("PRAGMA quick_check"))
        return [str(text) for (text,) in rows if text != "ok"]

    def shrink(self) -> None:
        """Rebuild the file without its free pages and empty the log."""
        with self._lock, self._write_lock(), _translate_errors(self.url):
            connection = self._open_connection()
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file; a database in memory stays."""
        with self._lock:
            if self.path is not None and self._connection is not None:
                with self._write_lock():  # the last one to close writes a checkpoint
                    self._connection.close()
                self._connection = None
                os.close(self._lock_file)
                self._lock_file = -1

    def __del__(self) -> None:
        connection = getattr(self, "_connection", None)
        if connection is not None and self._pid == os.getpid():
            connection.close()
            if self._lock_file >= 0:
                os.close(self._lock_file)

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[SqliteTransaction]:
        with _translate_errors(self.url):
            connection = self._open_connection()
            connection.execute(begin)
            try:
                yield SqliteTransaction(connection, self.clock)
                connection.execute("COMMIT")
            except BaseException:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _write_lock(self) -> Iterator[None]:
        """Wait in the kernel's queue for the right to write."""
        if self.path is None:
            yield
            return
        with _translate_errors(self.url):
            self._open_connection()
        with self._hold_lock():
            yield

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        if not lock_within(self._lock_file, self.timeout):
            self._lock_file = self._open_lock()  # the old one belongs to the thread that waits
            raise StoreUnavailableError(
                f"the store at {self.url} is busy: another process has been writing for "
                f"{self.timeout:g} s"
            )
        try:
            yield
        finally:
            fcntl.flock(self._lock_file, fcntl.LOCK_UN)

    def _open_lock(self) -> int:
        return os.open(f"{self.path}-lock", _CREATE, PRIVATE)

    def _open_connection(self) -> sqlite3.Connection:
        if self._connection is not None and (self.path is None or self._pid == os.getpid()):
            return self._connection
        if self.path is None:
            self._connection = _connect(":memory:")
            return self._connection
        # A connection from before a fork is the parent's; closing it would disturb the parent.
        self._inherited.append(self._connection)
        self._pid = os.getpid()
        if not self.path.parent.is_dir():
            raise StoreError(f"a store must be in an existing directory, got {self.path.parent}")
        os.close(os.open(self.path, _CREATE, PRIVATE))
        self._lock_file = self._open_lock()
        with self._hold_lock():  # changing the mode does not wait for other connections
            connection = _connect(self.path)
            connection.execute("PRAGMA journal_mode=WAL")
        connection.execute(f"PRAGMA synchronous={'FULL' if self.is_durable else 'NORMAL'}")
        # A checkpoint waits for the disk, and all writers for the checkpoint, so make them rare.
        connection.execute("PRAGMA wal_autocheckpoint=4000")
        self._connection = connection
        return connection


class SqliteTransaction:
    """One open transaction of SQLite."""

    locking = sharing = ""  # there is one writer at a time

    def __init__(self, connection: sqlite3.Connection, clock: Callable[[], float]) -> None:
        self._connection = connection
        self._revision: int | None = None
        self.now = clock

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        return self._connection.execute(sql, values).fetchall()

    def revision(self) -> int:
        """Return the number of this transaction: with one writer at a time, a counter will do."""
        if self._revision is None:
            ((value,),) = self.run(
                "UPDATE stopwise_meta SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT) "
                "WHERE name = 'revision' RETURNING value"
            )
            self._revision = int(value)
        return self._revision

    def horizon(self) -> int:
        """Return the number of the next transaction."""
        ((value,),) = self.run("SELECT value FROM stopwise_meta WHERE name = 'revision'")
        return int(value) + 1

    def lock_schema(self) -> None:
        """Do nothing: there is one writer at a time."""


def lock_within(file: int, seconds: float) -> bool:
    """Wait for the lock on a file in the kernel's queue, for a limited time.

    After a time-out the file belongs to the thread that still waits, which closes it.
    """
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    else:
        return True
    is_locked, is_abandoned, mutex = threading.Event(), threading.Event(), threading.Lock()

    def wait() -> None:
        fcntl.flock(file, fcntl.LOCK_EX)
        with mutex:
            if is_abandoned.is_set():
                os.close(file)
            is_locked.set()

    threading.Thread(target=wait, daemon=True).start()
    if is_locked.wait(seconds):
        return True
    with mutex:
        if not is_locked.is_set():
            is_abandoned.set()
        return is_locked.is_set()


def _connect(path: Path | str) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA trusted_schema=OFF")
    return connection


@contextmanager
def _translate_errors(url: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        # Busy, full or not to be opened, unless it is SQLITE_ERROR: a statement that cannot run.
        is_statement = getattr(error, "sqlite_errorcode", 0) == sqlite3.SQLITE_ERROR
        if isinstance(error, sqlite3.OperationalError) and not is_statement:
            raise StoreUnavailableError(
                f"the store at {url} cannot be used now: {error}"
            ) from error
        raise StoreError(f"the store at {url} cannot be read: {error}") from error
