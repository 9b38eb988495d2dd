"""The store on an SQL database."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from stopwise.errors import FencedError, InputError
from stopwise.store import protocol
from stopwise.store.sql import epochs, keyed_tells, maintenance, records
from stopwise.store.sql.count_rows import SELECT, read_rows
from stopwise.store.sql.database import Database, Transaction
from stopwise.store.sql.schema import prepare, refuse_newer

T = TypeVar("T")


class SqlStore:
    """A `Store` in the tables of a database; `open_store` makes one from a URL."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.url = database.url
        self.is_durable = database.is_durable
        try:
            self.store_id, self.schema = prepare(database)
        except BaseException:
            database.close()
            raise

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def __enter__(self) -> SqlStore:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the connection; it is opened again when it is next needed."""
        self.database.close()

    def now(self) -> float:
        """Return the clock by which leases expire, in seconds since 1970."""
        return self.database.read(lambda tx: tx.now())

    def cascades(self) -> list[protocol.CascadeRecord]:
        """Return the current version of every cascade, by name."""
        return self.database.read(records.list_cascades)

    def cascade(self, name: str) -> protocol.CascadeRecord | None:
        """Return the current version of one cascade, if it is known."""
        return next(iter(self.database.read(lambda tx: records.list_cascades(tx, name))), None)

    def put_cascade(self, name: str, description: Mapping[str, Any]) -> protocol.CascadeRecord:
        """Add a version of a cascade, unless the current one has the same description."""
        return self.write(lambda tx: records.put_cascade(tx, name, description))

    def open_epoch(
        self,
        cascade: str,
        *,
        expected: int,
        reason: str = "",
        since: float | None = None,
        change: protocol.StageChange | None = None,
    ) -> int:
        """Return the current epoch, one more than ``expected`` if that was the current one."""
        body = {"reason": reason} if since is None else {"reason": reason, "since": since}
        return self.write(lambda tx: epochs.open_epoch(tx, cascade, expected, body, change))

    def enter(
        self, worker: str, *, host: str, seconds: float = 30.0, only_expired: bool = False
    ) -> protocol.Lease | None:
        """Take the lease of a worker, known or new, and fence off its last holder."""

        def work(tx: Transaction) -> protocol.Lease | None:
            now = tx.now()
            entries = tx.run(
                "INSERT INTO stopwise_workers VALUES (?, ?, 1, 0, ?, ?, 0) "
                "ON CONFLICT (worker) DO UPDATE SET generation = stopwise_workers.generation + 1, "
                "lease_until = excluded.lease_until, closed = 0 "
                "WHERE ? = 0 OR stopwise_workers.lease_until < ? RETURNING generation, position",
                (worker, host, now + seconds, now, int(only_expired), now),
            )
            if not entries:
                return None
            rows, _ = maintenance.intact_rows(tx, f"{SELECT} WHERE worker = ?", (worker,))
            generation, position = entries[0]
            return protocol.Lease(worker, generation, position, tuple(rows))

        return self.write(work)

    def fold(
        self,
        lease: protocol.Lease,
        *,
        position: int,
        rows: Sequence[protocol.Row],
        seconds: float = 30.0,
    ) -> None:
        """Replace rows of a worker and its position at once and renew its lease."""
        for row in rows:
            if row.worker != lease.worker:
                raise InputError(f"rows must be those of {lease.worker!r}, got {row.worker!r}")

        def work(tx: Transaction) -> None:
            now = tx.now()
            # First: a process that takes over now waits here, and then finds everything done.
            entries = tx.run(
                "UPDATE stopwise_workers SET position = ?, lease_until = ?, folded_at = ? "
                "WHERE worker = ? AND generation = ? AND position <= ? RETURNING 1",
                (position, now + seconds, now, lease.worker, lease.generation, position),
            )
            if not entries:
                raise FencedError(
                    f"worker {lease.worker!r} was taken over: generation {lease.generation} "
                    "is no longer the newest"
                )
            epochs.write_own_rows(tx, rows)

        self.write(work)

    def leave(self, lease: protocol.Lease) -> None:
        """End a lease for good; the worker's rows may then be merged with others."""
        self.write(
            lambda tx: tx.run(
                "UPDATE stopwise_workers SET lease_until = 0, closed = 1 "
                "WHERE worker = ? AND generation = ?",
                (lease.worker, lease.generation),
            )
        )

    def workers(self) -> list[protocol.WorkerRecord]:
        """Return all workers that have entered, closed ones too."""
        return self.database.read(maintenance.list_workers)

    def changes(self, cascade: str, since: protocol.Cursor | None = None) -> protocol.Changes:
        """Return the current epoch's rows that may have changed since a cursor, or all."""

        def work(tx: Transaction) -> protocol.Changes:
            at = records.cascade_row(tx, cascade)
            is_complete = since is None or (since.epoch, since.layout) != (at.epoch, at.layout)
            first = 0 if since is None or is_complete else since.revision
            where = "WHERE cascade = ? AND epoch = ? AND revision >= ?"
            rows, damaged = read_rows(tx.run(f"{SELECT} {where}", (cascade, at.epoch, first)))
            cursor = protocol.Cursor(at.epoch, at.layout, tx.horizon())
            return protocol.Changes(at.epoch, tuple(rows), cursor, is_complete, tuple(damaged))

        return self.database.read(work)

    def rows(self, cascade: str, *, epoch: int | None = None, since: int = 0) -> list[protocol.Row]:
        """Return the rows of one epoch (the current one) or of all (``-1``) from a bucket on."""

        def work(tx: Transaction) -> list[protocol.Row]:
            epoch_number = records.cascade_row(tx, cascade).epoch if epoch is None else epoch
            entries = tx.run(
                f"{SELECT} WHERE cascade = ? AND (? = -1 OR epoch = ?) AND bucket >= ? "
                "ORDER BY epoch, bucket, worker",
                (cascade, epoch_number, epoch_number, since),
            )
            return read_rows(entries)[0]

        return self.database.read(work)

    def tell_keyed(
        self, worker: str, tells: Sequence[protocol.KeyedTell]
    ) -> list[protocol.Outcome]:
        """Count tells under keys: a repetition is not counted again, another case is a conflict."""
        return self.write(lambda tx: keyed_tells.tell_keyed(tx, worker, tells))

    def put(
        self, record: protocol.Record, *, replace: bool = True, keep: int | None = None
    ) -> bool:
        """Write a record; return whether it was written."""
        return self.write(lambda tx: records.put_record(tx, record, replace=replace, keep=keep))

    def get(self, kind: str, cascade: str, key: str) -> protocol.Record | None:
        """Return one record, if it exists."""
        return self.database.read(lambda tx: records.get_record(tx, kind, cascade, key))

    def records(
        self, kind: str, cascade: str | None = None, *, limit: int = 1000, since: int | None = None
    ) -> list[protocol.Record]:
        """Return the newest records of a kind, or the first ones after a revision."""
        return self.database.read(lambda tx: records.list_records(tx, kind, cascade, limit, since))

    def delete(self, kind: str, cascade: str, key: str) -> bool:
        """Remove one record; return whether it existed."""
        sql = f"DELETE FROM stopwise_records {records.WHERE_KEY} RETURNING 1"
        return bool(self.write(lambda tx: tx.run(sql, (kind, cascade, key))))

    def info(self) -> protocol.StoreInfo:
        """Return sizes, versions and notes about the database."""
        return maintenance.info(self.database, self.store_id, self.schema)

    def check(self) -> list[str]:
        """Check every row, move damaged ones into quarantine and return their names."""
        return [*self.database.examine(), *self.write(maintenance.check)]

    def compact(self, *, before: int | None = None, keep_keys: float | None = None) -> int:
        """Merge the rows of closed workers and return by how many rows the store has shrunk."""
        n_removed = self.write(lambda tx: maintenance.compact(tx, before, keep_keys))
        self.database.shrink()
        return n_removed

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run work in a transaction, unless the schema is newer than this release."""

        def checked_work(tx: Transaction) -> T:
            # A newer release may have migrated the store since this one opened it.
            ((version,),) = tx.run("SELECT value FROM stopwise_meta WHERE name = 'schema'")
            refuse_newer(int(version), self.url)
            return work(tx)

        return self.database.write(checked_work)
