"""The interface of a store: additive counts by worker, and records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, runtime_checkable

from stopwise.checks import stored_text
from stopwise.errors import SettingError
from stopwise.store.case_encoding import Counts, add_counts

MERGED = "merged"
"""The worker under whose name the rows of closed ones are merged."""

KEYS = "+keys"
"""The suffix of the name under which keyed tells of a worker are counted."""

PAST = -1
"""The bucket of cases from before: from a log, or from an earlier epoch."""

BucketKey = tuple[str, int, int]
"""Cascade, epoch and time bucket, which identify a row among those of one worker."""


@dataclass(frozen=True)
class Row:
    """All counts of one worker for one cascade, epoch and time bucket."""

    cascade: str
    epoch: int
    bucket: int
    worker: str
    counts: Counts


@dataclass(frozen=True)
class Lease:
    """The right to write the rows of a worker, until a higher generation exists.

    ``position`` is how far the worker's journal has been counted, ``rows`` are its counts so far.
    """

    worker: str
    generation: int
    position: int
    rows: tuple[Row, ...] = ()


@dataclass(frozen=True)
class Cursor:
    """Up to where a reader has read; only the store that made it understands it."""

    epoch: int
    layout: int
    revision: int


@dataclass(frozen=True)
class Changes:
    """The rows of the current epoch that may have changed since a cursor.

    Rows are absolute: one that comes twice replaces itself. With ``is_complete`` they are all
    rows of the epoch, and the reader must drop those it had.
    """

    epoch: int
    rows: tuple[Row, ...]
    cursor: Cursor
    is_complete: bool
    damaged: tuple[str, ...] = ()


class Outcome(Enum):
    """The outcome of a keyed tell."""

    COUNTED = "counted"
    REPEATED = "repeated"
    CONFLICT = "conflict"
    AMENDED = "amended"


@dataclass(frozen=True)
class KeyedTell:
    """A tell that may arrive more than once; ``case`` is the text that `case_text` gives.

    With ``amends`` another case under the same key replaces what was told before. ``epoch`` is the
    one to which the case belongs, if it is not the current one.
    """

    cascade: str
    key: str
    case: str
    bucket: int = 0
    amends: bool = False
    epoch: int | None = None

    def __post_init__(self) -> None:
        if not stored_text("key", self.key, SettingError):
            raise SettingError("key must not be empty")


@dataclass(frozen=True)
class StageChange:
    """Other stages for a cascade: its new description, and where each stage was before.

    ``sources`` has an entry per stage: its index in the epoch before, ``None`` if it is new.
    """

    description: Mapping[str, Any]
    sources: Sequence[int | None]


@dataclass(frozen=True)
class CascadeRecord:
    """The current version of a cascade with its description, and its epoch."""

    name: str
    version: int
    epoch: int
    description: dict[str, Any]


@dataclass(frozen=True)
class WorkerRecord:
    """A worker as the store knows it; times are those of the store's clock."""

    worker: str
    host: str
    generation: int
    position: int
    lease_until: float
    folded_at: float
    is_closed: bool


@dataclass(frozen=True)
class Record:
    """One entry of a kind: an event, a logged case, a label, a request for one, a token."""

    kind: str
    cascade: str
    key: str
    at: float
    body: dict[str, Any]
    revision: int = 0


@dataclass(frozen=True)
class StoreInfo:
    """Sizes, versions and notes about the database, from `Store.info`."""

    url: str
    store_id: str
    schema: int
    database: str
    cascades: tuple[CascadeRecord, ...]
    workers: tuple[WorkerRecord, ...]
    n_rows: int
    n_keys: int
    records: dict[str, int] = field(default_factory=dict)
    quarantined: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@runtime_checkable
class Store(Protocol):
    """What workers and services need from a store; `stopwise.store.contract` tests all of it.

    All methods may be called from several threads. Each is one transaction, and may be repeated
    after a failure: a repeated call has the effect of one.
    """

    url: str
    store_id: str
    schema: int
    is_durable: bool
    """Whether committed data survive loss of power."""

    def close(self) -> None:
        """Release the connection; a closed store opens it again when it is next used."""

    def now(self) -> float:
        """Return the clock by which leases expire, in seconds since 1970."""

    def cascades(self) -> list[CascadeRecord]:
        """Return the current version of every cascade, by name."""

    def cascade(self, name: str) -> CascadeRecord | None:
        """Return the current version of one cascade, if it is known."""

    def put_cascade(self, name: str, description: Mapping[str, Any]) -> CascadeRecord:
        """Add a version of a cascade, unless the current one has the same description."""

    def open_epoch(
        self,
        cascade: str,
        *,
        expected: int,
        reason: str = "",
        since: float | None = None,
        change: StageChange | None = None,
    ) -> int:
        """Return the current epoch, one more than ``expected`` if that was the current one.

        Counts of earlier epochs are kept and no longer used. ``since`` is the time from which on
        cases belong to the new one; its record says so to other workers. With a ``change`` of
        stages counts are taken over for the new ones, also those that workers write later.
        """

    def enter(
        self, worker: str, *, host: str, seconds: float = 30.0, only_expired: bool = False
    ) -> Lease | None:
        """Take the lease of a worker, known or new, and fence off its last holder.

        With ``only_expired``, return ``None`` while another lease is valid.
        """

    def fold(
        self, lease: Lease, *, position: int, rows: Sequence[Row], seconds: float = 30.0
    ) -> None:
        """Replace rows of a worker and its position at once and renew its lease.

        Raises `FencedError` if the lease is no longer the newest.
        """

    def leave(self, lease: Lease) -> None:
        """End a lease for good; the worker's rows may then be merged with others."""

    def workers(self) -> list[WorkerRecord]:
        """Return all workers that have entered, closed ones too."""

    def changes(self, cascade: str, since: Cursor | None = None) -> Changes:
        """Return the current epoch's rows that may have changed since a cursor, or all."""

    def rows(self, cascade: str, *, epoch: int | None = None, since: int = 0) -> list[Row]:
        """Return the rows of one epoch (the current one) or of all (``-1``) from a bucket on."""

    def tell_keyed(self, worker: str, tells: Sequence[KeyedTell]) -> list[Outcome]:
        """Count tells under keys: a repetition is not counted again, another case is a conflict.

        One that ``amends`` replaces what was told before in the same epoch. They are counted for
        ``worker`` under a separate name, so the worker sees them when it next reads changes.
        """

    def put(self, record: Record, *, replace: bool = True, keep: int | None = None) -> bool:
        """Write a record; return whether it was written (not if it exists, without ``replace``).

        With ``keep`` only that many of its kind and cascade are kept, the newest.
        """

    def get(self, kind: str, cascade: str, key: str) -> Record | None:
        """Return one record, if it exists."""

    def records(
        self, kind: str, cascade: str | None = None, *, limit: int = 1000, since: int | None = None
    ) -> list[Record]:
        """Return the newest records of a kind, the oldest of them first.

        With ``since`` the first ones whose revision is higher, in the order of revisions: a reader
        that continues from the last revision it has seen misses none and sees none twice.
        """

    def delete(self, kind: str, cascade: str, key: str) -> bool:
        """Remove one record; return whether it existed."""

    def info(self) -> StoreInfo:
        """Return sizes, versions and notes about the database."""

    def check(self) -> list[str]:
        """Check every row, move damaged ones into quarantine and return their names."""

    def compact(self, *, before: int | None = None, keep_keys: float | None = None) -> int:
        """Merge the rows of closed workers and return by how many rows the store has shrunk.

        Rows of past epochs whose bucket is below ``before`` are deleted, and so are keys older than
        ``keep_keys`` seconds.
        """


def totals(rows: Sequence[Row]) -> Counts:
    """Return the sum of rows.

    >>> totals([Row("a", 0, 0, "w1", {"[0]": 2}), Row("a", 0, 0, "w2", {"[0]": 1, "[1]": 1})])
    {'[0]': 3, '[1]': 1}
    """
    total: Counts = {}
    for row in rows:
        add_counts(total, row.counts)
    return total
