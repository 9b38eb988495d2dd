"""PostgreSQL as the database of a store, for workers of many hosts.

Revisions are ordered by the number of their transaction. Numbers are given at the start of a
transaction and visible at its end, so a reader continues from the oldest one that was still running
when it read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from stopwise.errors import StoreError, StoreUnavailableError
from stopwise.extras import load_extra
from stopwise.store.sql.database import without_password

if TYPE_CHECKING:
    import psycopg

T = TypeVar("T")

_SCHEMA_LOCK = 7_305_612  # any number, but the same in all releases
# The BEGIN also returns the time and the number of the transaction, which saves a round trip.
_NOW = "SELECT extract(epoch FROM clock_timestamp())::float8"
_READ = (
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; "
    f"{_NOW}, pg_snapshot_xmin(pg_current_snapshot())::text"
)
_WRITE = f"BEGIN; {_NOW}, pg_current_xact_id()::text"


class PostgresDatabase:
    """A PostgreSQL database; one connection, opened when needed and reopened after it was lost.

    Parameters
    ----------
    url
        In libpq's format; passwords are better kept in ``~/.pgpass`` or ``PGPASSWORD``.
    """

    is_durable = True

    def __init__(self, url: str) -> None:
        self._psycopg = load_extra("psycopg", extra="postgres", purpose="a store on PostgreSQL")
        self._full_url = url
        self.url = without_password(url)
        self._lock = threading.RLock()
        self._connection: psycopg.Connection[tuple[Any, ...]] | None = None
        self._pid = os.getpid()
        self._inherited: list[object] = []

    def read(self, work: Callable[[PostgresTransaction], T]) -> T:
        """Run ``work`` on one snapshot."""
        return self._run_with_retry(_READ, work)

    def write(self, work: Callable[[PostgresTransaction], T]) -> T:
        """Run ``work`` and commit."""
        return self._run_with_retry(_WRITE, work)

    def describe(self) -> tuple[str, tuple[str, ...]]:
        """Return the version of the server."""
        ((version,),) = self.read(lambda tx: tx.run("SHOW server_version"))
        return f"PostgreSQL {version}", ()

    def examine(self) -> list[str]:
        """Return nothing: the server checks its own files."""
        return []

    def shrink(self) -> None:
        """Do nothing: the server's autovacuum does it."""

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    def _run_with_retry(self, begin: str, work: Callable[[PostgresTransaction], T]) -> T:
        """Run ``work`` in a transaction, and once more if the connection or a lock was lost."""
        psycopg = self._psycopg
        with self._lock:
            for is_last in (False, True):
                try:
                    return self._run(begin, work)
                except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                    # A deadlock or a lost connection: everything that a store does may be repeated.
                    self.close()
                    if is_last:
                        raise StoreUnavailableError(
                            f"the store at {self.url} cannot be used now: {_first_line(error)}"
                        ) from error
                except psycopg.Error as error:
                    self.close()
                    raise StoreError(
                        f"the store at {self.url} refused: {_first_line(error)}"
                    ) from error
        raise AssertionError("unreachable")

    def _run(self, begin: str, work: Callable[[PostgresTransaction], T]) -> T:
        connection = self._open_connection()
        with connection.cursor() as cursor:
            cursor.execute(begin.encode())
            try:
                cursor.nextset()
                ((now, number),) = cursor.fetchall()
                result = work(PostgresTransaction(cursor, now, int(number)))
                cursor.execute("COMMIT")
            except BaseException:
                if not connection.closed:
                    cursor.execute("ROLLBACK")
                raise
            return result

    def _open_connection(self) -> psycopg.Connection[tuple[Any, ...]]:
        if self._connection is not None and self._pid != os.getpid():
            self._inherited.append(self._connection)  # closing it would end the parent's session
            self._connection = None
        if self._connection is None:
            self._pid = os.getpid()
            self._connection = self._psycopg.connect(
                self._full_url,
                autocommit=True,
                connect_timeout=5,
                application_name="stopwise",
            )
            # A process that was stopped in a transaction must not hold up the others for ever.
            self._connection.execute("SET lock_timeout = '30s'")
            self._connection.execute("SET idle_in_transaction_session_timeout = '60s'")
        return self._connection


class PostgresTransaction:
    """One open transaction of PostgreSQL."""

    locking = "FOR UPDATE"
    sharing = "FOR SHARE"

    def __init__(self, cursor: psycopg.Cursor[tuple[Any, ...]], now: float, number: int) -> None:
        self._cursor = cursor
        self._now = now
        self._number = number

    def run(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Run a statement and return its rows."""
        self._cursor.execute(sql.replace("?", "%s").encode(), values)
        return self._cursor.fetchall() if self._cursor.description else []

    def now(self) -> float:
        """Return the clock of the server."""
        return self._now

    def revision(self) -> int:
        """Return the number of this transaction, if it writes."""
        return self._number

    def horizon(self) -> int:
        """Return the oldest transaction that was running at this one's snapshot, if it reads."""
        return self._number

    def lock_schema(self) -> None:
        """Wait for other processes that may be creating the tables."""
        self.run("SELECT pg_advisory_xact_lock(?)", (_SCHEMA_LOCK,))


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
