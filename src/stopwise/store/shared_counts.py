"""The counts of one cascade as one worker knows them: its own, and those of all others."""

from __future__ import annotations

import math
import threading
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

from stopwise.checks import whole_number
from stopwise.errors import OutputsError, StoreError, StoreUnavailableError
from stopwise.store.case_encoding import Counts, add_counts, case_text
from stopwise.store.journal import journal_line
from stopwise.store.protocol import PAST, BucketKey, StageChange
from stopwise.store.remote_counts import RECENT_BUCKETS, RemoteCounts, Staleness, Update
from stopwise.store.sync_schedule import SyncSchedule

if TYPE_CHECKING:
    from stopwise.store.worker import Worker

# Different cases in one bucket; if there are more, the outputs are free text.
MAX_CASES = 20_000


class SharedCounts:
    """The counts of a cascade, told here and shared through the store; `Worker.open` makes one.

    `tell` writes a case to the journal and never waits for the database. `is_due` says when to
    `sync`, by a `SyncSchedule`.
    """

    def __init__(self, worker: Worker, cascade: str) -> None:
        self.worker = worker
        self.cascade = cascade
        self.epoch = 0
        self.n_told = 0
        self.n_folded = 0
        self._pruned: Counts = {}  # own counts of the epoch that are no longer in the worker's rows
        self._pruned_bucket = -1  # the latest of them
        self._bucket_start, self._bucket_end = math.inf, -math.inf
        self._row_key: BucketKey = (cascade, 0, 0)
        self._row: Counts = {}
        self._line_cache: dict[object, tuple[bytes, str]] = {}
        self._remote = RemoteCounts(worker.name)
        self._sync_lock = threading.Lock()
        seed = f"{worker.name} {cascade}"
        self._schedule = SyncSchedule(worker.settings.sync_seconds, worker.timer, seed)
        worker.store.open_epoch(cascade, expected=-1)  # opens none, but makes the cascade known
        self._read()
        self._schedule.succeeded(n_told=self.n_told, seconds=0.0)

    def tell(
        self, outputs: Iterable[Hashable], *, stage: int | None = None, epoch: int | None = None
    ) -> bool:
        """Count a case; when this returns it is as safe as the worker's durability says.

        It is not counted, and this returns ``False``, if another epoch than ``epoch`` has begun.
        Raises `JournalFullError` if there is no room: then the case is not counted.
        """
        worker = self.worker
        with worker.lock:
            if epoch is not None and epoch != self.epoch:
                return False
            if not self._bucket_start <= worker.clock() < self._bucket_end:
                self._next_bucket()
            try:
                line, text = self._line_cache[outputs, stage]
            except (KeyError, TypeError):
                line, text = self._line(outputs, stage)
            journal = worker.journal
            if journal is not None:
                journal.append(line)
            self._row[text] = self._row.get(text, 0) + 1
            self.n_told += 1
            end = journal.end if journal is not None and journal.is_durable else 0
        if end and journal is not None:
            journal.flush(end)
        return True

    def tell_many(
        self, counts: Mapping[str, int], *, is_past: bool = False, epoch: int | None = None
    ) -> bool:
        """Count cases by their texts (`case_text`), written at once, or none as in `tell`.

        Past ones go into the bucket `PAST`, so that they are not taken for new ones.
        """
        worker = self.worker
        for times in counts.values():
            whole_number("times", times, OutputsError, least=1)
        with worker.lock:
            if epoch is not None and epoch != self.epoch:
                return False
            if not self._bucket_start <= worker.clock() < self._bucket_end:
                self._next_bucket()
            key, row = self._row_key, self._row
            if is_past:
                key = (self.cascade, self.epoch, PAST)
                row = worker.rows.setdefault(key, {})
                worker.dirty.add(key)
            self._check_room(row, len(counts.keys() - row.keys()))
            journal = worker.journal
            if journal is not None:
                lines = [journal_line([*key, text, n]) for text, n in counts.items()]
                journal.append(b"".join(lines))
            add_counts(row, counts)
            self.n_told += sum(counts.values())
            end = journal.end if journal is not None and journal.is_durable else 0
        if end and journal is not None:
            journal.flush(end)
        return True

    @property
    def is_due(self) -> bool:
        """Whether it is time to `sync`."""
        return self._schedule.is_due(self.n_told)

    @property
    def is_fresh(self) -> bool:
        """Whether others' counts were read within the last ``worker.settings.fresh_seconds``."""
        return self._schedule.age <= self.worker.settings.fresh_seconds

    @property
    def has_caught_up(self) -> bool:
        """Whether others' counts were read since the last call of `hasten`."""
        return self._schedule.has_caught_up

    def hasten(self) -> None:
        """Make the next sync due now, to read fresh counts or to share new ones."""
        self._schedule.hasten()

    def sync(self) -> Update:
        """Fold what was told into the store and read what others have told.

        Raises `StoreUnavailableError` if the store cannot be reached: the worker then continues
        with the counts it has, and `is_due` waits longer after each failure.
        """
        with self._sync_lock:
            start = self.worker.timer()
            try:
                self.worker.fold()
                update = self._read()
            except StoreUnavailableError:
                self._schedule.failed()
                raise
            seconds = self.worker.timer() - start
            self._schedule.succeeded(n_told=self.n_told, seconds=seconds)
            return update

    def open_epoch(
        self, reason: str, *, since: float | None = None, change: StageChange | None = None
    ) -> Update:
        """Begin a new epoch, unless another worker just has; earlier counts are no longer used.

        ``since`` and ``change`` are as for `Store.open_epoch`.
        """
        self.worker.store.open_epoch(
            self.cascade, expected=self.epoch, reason=reason, since=since, change=change
        )
        return self.sync()

    def totals(self) -> Counts:
        """Return all known counts of the current epoch, own and others'."""
        with self.worker.lock:
            total = dict(self._remote.total)
            add_counts(total, self._pruned)
            for (cascade, epoch, _), counts in self.worker.rows.items():
                if (cascade, epoch) == (self.cascade, self.epoch):
                    add_counts(total, counts)
            return total

    @property
    def staleness(self) -> Staleness:
        """How far behind this worker is."""
        schedule = self._schedule
        return Staleness(schedule.age, self.n_told - self.n_folded, schedule.n_failures)

    # For the worker, which calls these with its lock held

    def changed_rows(self) -> set[BucketKey]:
        """Return the key of the row that changed since the last fold, if there is one."""
        return {self._row_key} if self.n_told != self.n_folded else set()

    def prune(self) -> None:
        """Keep only the sum of own rows whose buckets are long past."""
        rows = self.worker.rows
        past = (self.cascade, self.epoch, PAST)
        own = sorted(key for key in rows if key[0] == self.cascade and key != past)
        for key in own[: -2 * RECENT_BUCKETS] if len(own) > 3 * RECENT_BUCKETS else []:
            if key not in self.worker.dirty and key != self._row_key:
                counts = rows.pop(key)
                if key[1] == self.epoch:
                    add_counts(self._pruned, counts)
                    self._pruned_bucket = max(self._pruned_bucket, key[2])

    def restart(self) -> None:
        """Continue from rows that were read back from the store."""
        self._pruned = {}
        self._remote.reset()
        self.n_folded = self.n_told  # the rest is in the worker's dirty rows
        self._start_bucket()

    def expire(self) -> None:
        """Make the next tell check whether the worker is still open."""
        self._bucket_end = -math.inf

    def _next_bucket(self) -> None:
        if self.worker.is_closed:
            raise StoreError(f"worker {self.worker.name!r} is closed: the case was not counted")
        self._start_bucket()

    def _start_bucket(self) -> None:
        """Count in the row of the present epoch and bucket from now on."""
        worker = self.worker
        bucket = worker.bucket()
        self._bucket_start, self._bucket_end = bucket, bucket + worker.settings.bucket_seconds
        if self.n_told != self.n_folded:
            worker.dirty.add(self._row_key)
        # If the clock went back, the row may have been pruned and cannot be added to.
        self._row_key = (self.cascade, self.epoch, max(bucket, self._pruned_bucket + 1))
        self._row = worker.rows.setdefault(self._row_key, {})
        self._line_cache.clear()

    def _line(self, outputs: Iterable[Hashable], stage: int | None) -> tuple[bytes, str]:
        text = case_text(outputs, stage=stage)
        if text not in self._row:
            self._check_room(self._row, 1)
        if len(self._line_cache) >= MAX_CASES:
            self._line_cache.clear()
        has_journal = self.worker.journal is not None
        entry = journal_line([*self._row_key, text, 1]) if has_journal else b"", text
        if isinstance(outputs, tuple):
            self._line_cache[outputs, stage] = entry
        return entry

    def _check_room(self, row: Counts, n_new: int) -> None:
        if len(row) + n_new > MAX_CASES:
            raise OutputsError(
                f"cases of {self.cascade!r} must repeat: more than {MAX_CASES} different ones "
                f"within {self.worker.settings.bucket_seconds} s; are the outputs free text?"
            )

    def _read(self) -> Update:
        remote, store, is_first = self._remote, self.worker.store, self._remote.cursor is None
        changes = store.changes(self.cascade, remote.cursor)
        if not remote.can_apply(changes):
            changes = store.changes(self.cascade)
        with self.worker.lock:
            is_new = changes.epoch != self.epoch
            if is_new or is_first:
                if self.n_told != self.n_folded:
                    self.worker.dirty.add(self._row_key)
                if is_new:
                    self._pruned = {}
                    self.n_told = 0  # an epoch starts without cases
                self.n_folded = self.n_told
                self.epoch = changes.epoch
                self._start_bucket()
            additions, is_reduced = remote.apply(changes)
            self._schedule.note_read()
        is_rebuild = is_first or is_new or is_reduced
        return Update(is_rebuild, {} if is_rebuild else additions, changes.damaged)
