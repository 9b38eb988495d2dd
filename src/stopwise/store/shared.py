"""The counts of one cascade as one worker sees them: its own, and those of all others."""

from __future__ import annotations

import math
import random
import threading
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING

from stopwise.checks import whole_number
from stopwise.errors import OutputsError, StoreError, StoreUnavailableError
from stopwise.store.adoption import Place
from stopwise.store.cases import Counts, add_counts, case_text
from stopwise.store.view import RECENT, Staleness, Update, View

if TYPE_CHECKING:
    from stopwise.store.worker import Worker

PAST = -1
"""The bucket of cases that were seen before: in a log, or in an earlier epoch."""
# Different cases that are counted in one bucket; outputs that never repeat are free text.
MAX_CASES = 20_000
_LONGEST_PAUSE = 30.0


class SharedCounts:
    """The counts of a cascade, told here and shared through the store; `Worker.open` makes one.

    `tell` keeps a case safe and never waits for the database. `is_due` says when to `sync`: after
    1, 2, 4, … cases of an epoch, so that nobody decides on less than about half of what all know,
    less often if the store is slow, and at least every ``worker.settings.sync_seconds``.
    """

    def __init__(self, worker: Worker, cascade: str) -> None:
        self.worker = worker
        self.cascade = cascade
        self.epoch = 0
        self.n_told = 0
        self.n_folded = 0
        self._past: Counts = {}  # own counts of the epoch that are no longer in the worker's rows
        self._least_bucket = -1
        self._from, self._until = math.inf, -math.inf
        self._place: Place = (cascade, 0, 0)
        self._row: Counts = {}
        self._lines: dict[object, tuple[bytes, str]] = {}
        self._view = View(worker.name)
        self._sync_lock = threading.Lock()
        self._n_failures = 0
        self._random = random.Random(f"{worker.name} {cascade}")
        self._hastened_at = math.inf
        self._read_at = self._next_at = self._next_told = self._not_before = 0.0
        worker.store.open_epoch(cascade, expected=-1)  # none is opened, but the cascade is known
        self._read()
        self._schedule(0.0)

    def tell(
        self,
        outputs: Iterable[Hashable],
        *,
        stage: int | None = None,
        label: Hashable = None,
        times: int = 1,
    ) -> None:
        """Count a case; when this returns it is as safe as the worker's durability says.

        Raises `JournalFullError` if there is no room: then the case is not counted.
        """
        worker = self.worker
        with worker.lock:
            if not self._from <= worker.clock() < self._until:
                self._check_open()
                self._turn()
            try:
                line, text = self._lines[outputs, stage, label, times]
            except (KeyError, TypeError):
                line, text = self._line(outputs, stage, label, times)
            journal = worker.journal
            if journal is not None:
                journal.append(line)
            self._row[text] = self._row.get(text, 0) + times
            self.n_told += times
            end = journal.end if worker.is_flushing and journal is not None else 0
        if end and journal is not None:
            journal.flush(end)

    def tell_many(self, counts: Mapping[str, int], *, is_past: bool = False) -> None:
        """Count cases by their texts (`case_text`), written at once.

        Those that are past are in the bucket `PAST`, so that nobody takes them for new ones.
        """
        worker = self.worker
        for times in counts.values():
            whole_number("times", times, OutputsError, least=1)
        with worker.lock:
            if not self._from <= worker.clock() < self._until:
                self._check_open()
                self._turn()
            place, row = self._place, self._row
            if is_past:
                place = (self.cascade, self.epoch, PAST)
                row = worker.rows.setdefault(place, {})
                worker.dirty.add(place)
            self._check_room(row, len(counts.keys() - row.keys()))
            journal = worker.journal
            if journal is not None:
                lines = [self._encode(place, text, n) for text, n in counts.items()]
                journal.append(b"".join(lines))
            add_counts(row, counts)
            self.n_told += sum(counts.values())
            end = journal.end if worker.is_flushing and journal is not None else 0
        if end and journal is not None:
            journal.flush(end)

    @property
    def is_due(self) -> bool:
        """Whether it is time to `sync`."""
        now = self.worker.timer()
        return now >= self._next_at or (self.n_told >= self._next_told and now >= self._not_before)

    @property
    def is_fresh(self) -> bool:
        """Whether others' counts were read within the last ``worker.settings.fresh_seconds``."""
        return self.worker.timer() - self._read_at <= self.worker.settings.fresh_seconds

    @property
    def has_caught_up(self) -> bool:
        """Whether others' counts were read since the last call of `hasten`."""
        return self._read_at >= self._hastened_at

    def hasten(self) -> None:
        """Make the next sync due now, since somebody wants to know more or has news for others."""
        self._hastened_at = self.worker.timer()
        if not self._n_failures:
            self._next_told, self._not_before = 0, -math.inf

    def sync(self) -> Update:
        """Fold what was told into the store and read what others have told.

        Raises `StoreUnavailableError` if the store cannot be reached: the worker then goes on
        with what it knows, and `is_due` waits longer after each failure.
        """
        with self._sync_lock:
            began = self.worker.timer()
            try:
                self.worker.fold()
                update = self._read()
            except StoreUnavailableError:
                self._n_failures += 1
                pause = min(
                    _LONGEST_PAUSE, self.worker.settings.sync_seconds * 2.0**self._n_failures
                )
                self._next_told, self._next_at = math.inf, self.worker.timer() + pause
                raise
            self._n_failures = 0
            self._schedule(self.worker.timer() - began)
            return update

    def open_epoch(self, reason: str) -> Update:
        """Begin a new epoch, unless another worker just has; counts of the old are kept apart."""
        self.worker.store.open_epoch(self.cascade, expected=self.epoch, reason=reason)
        return self.sync()

    def totals(self) -> Counts:
        """Return all that is known here of the current epoch, own and others'."""
        with self.worker.lock:
            total = dict(self._view.total)
            add_counts(total, self._past)
            for (cascade, epoch, _), counts in self.worker.rows.items():
                if (cascade, epoch) == (self.cascade, self.epoch):
                    add_counts(total, counts)
            return total

    @property
    def staleness(self) -> Staleness:
        """How far behind this worker is."""
        seconds = self.worker.timer() - self._read_at
        return Staleness(seconds, self.n_told - self.n_folded, self._n_failures)

    # For the worker, which calls these under its lock

    def place(self) -> Place | None:
        """Return the row that was told to since the last fold, if there is one."""
        return self._place if self.n_told != self.n_folded else None

    def prune(self) -> None:
        """Keep own rows that are long past as a sum alone."""
        rows = self.worker.rows
        past = (self.cascade, self.epoch, PAST)
        own = sorted(place for place in rows if place[0] == self.cascade and place != past)
        for place in own[: -2 * RECENT] if len(own) > 3 * RECENT else []:
            if place not in self.worker.dirty and place != self._place:
                counts = rows.pop(place)
                if place[1] == self.epoch:
                    add_counts(self._past, counts)
                    self._least_bucket = max(self._least_bucket, place[2])

    def restart(self) -> None:
        """Go on from rows that were read back from the store."""
        self._past = {}
        self._view.forget()
        self.n_folded = self.n_told  # what is not in the store is in the worker's dirty rows
        self._turn()

    def expire(self) -> None:
        """Make the next tell look whether the worker is still open."""
        self._until = -math.inf

    def _turn(self) -> None:
        """Count in the row of the present epoch and bucket from now on."""
        worker = self.worker
        self._from = worker.bucket()
        self._until = self._from + worker.settings.bucket_seconds
        if self.n_told != self.n_folded:
            worker.dirty.add(self._place)
        # A row that is no longer in memory cannot be added to, should the clock have gone back.
        bucket = self._from if self._from > self._least_bucket else self._least_bucket + 1
        self._place = (self.cascade, self.epoch, int(bucket))
        self._row = worker.rows.setdefault(self._place, {})
        self._lines.clear()

    def _line(
        self, outputs: Iterable[Hashable], stage: int | None, label: Hashable, times: int
    ) -> tuple[bytes, str]:
        whole_number("times", times, OutputsError, least=1)
        text = case_text(outputs, stage=stage, label=label)
        if text not in self._row:
            self._check_room(self._row, 1)
        if len(self._lines) >= MAX_CASES:
            self._lines.clear()
        entry = self._encode(self._place, text, times), text
        if isinstance(outputs, tuple):
            self._lines[outputs, stage, label, times] = entry
        return entry

    def _encode(self, place: Place, text: str, times: int) -> bytes:
        if self.worker.journal is None:
            return b""
        from stopwise.store.journal import journal_line

        return journal_line([*place, text, times])

    def _check_open(self) -> None:
        if self.worker.is_closed:
            raise StoreError(f"worker {self.worker.name!r} is closed: the case was not counted")

    def _check_room(self, row: Counts, n_new: int) -> None:
        if len(row) + n_new > MAX_CASES:
            raise OutputsError(
                f"cases of {self.cascade!r} must repeat: more than {MAX_CASES} different ones "
                f"within {self.worker.settings.bucket_seconds} s; are the outputs free text?"
            )

    def _read(self) -> Update:
        view, store, is_first = self._view, self.worker.store, self._view.cursor is None
        changes = store.changes(self.cascade, view.cursor)
        if not view.can_apply(changes):
            changes = store.changes(self.cascade)
        with self.worker.lock:
            is_new = changes.epoch != self.epoch
            if is_new or is_first:
                if self.n_told != self.n_folded:
                    self.worker.dirty.add(self._place)
                if is_new:
                    self._past = {}
                    self.n_told = 0  # the evidence of an epoch starts from nothing
                self.n_folded = self.n_told
                self.epoch = changes.epoch
                self._turn()
            added, is_less = view.apply(changes)
            self._read_at = self.worker.timer()
        is_rebuild = is_first or is_new or is_less
        return Update(self.epoch, is_rebuild, {} if is_rebuild else added, changes.damaged)

    def _schedule(self, seconds: float) -> None:
        """Say when the next sync is due, after one that took some seconds."""
        self._next_told = max(1, 2 * self.n_told)
        # A little less than the whole time, by chance, so that workers that started together part.
        share = 0.7 + 0.3 * self._random.random()
        now, longest = self.worker.timer(), self.worker.settings.sync_seconds
        self._next_at = now + share * longest
        # At most a tenth of the time goes into syncs for evidence: when many start at once and the
        # store is slow, they ask it less often.
        self._not_before = now + 10.0 * seconds
