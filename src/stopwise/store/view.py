"""What a worker knows of all others: rows that replace each other, and their sum."""

from __future__ import annotations

from dataclasses import dataclass, field

from stopwise.store.base import Changes, Cursor
from stopwise.store.cases import Counts, add_counts

RECENT = 48
"""How many time buckets are remembered one by one; older ones are only remembered as a sum."""


@dataclass(frozen=True)
class Update:
    """What a sync has brought from other workers.

    ``added`` goes to the learner (`tellable`). With ``is_rebuild`` something was taken away, or a
    new epoch has begun: then the learner is to be made anew from `SharedCounts.totals`.
    """

    epoch: int
    is_rebuild: bool
    added: Counts = field(default_factory=dict)
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Staleness:
    """How far behind a worker is: seconds since it last read, own cases not yet in the store."""

    seconds: float
    n_unfolded: int
    n_failures: int


class View:
    """The rows of one epoch, without those of one worker."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.total: Counts = {}
        self.cursor: Cursor | None = None
        self._rows: dict[tuple[int, str], Counts] = {}
        self._settled = -2

    def forget(self) -> None:
        """Make the next changes complete ones."""
        self.cursor = None

    def can_apply(self, changes: Changes) -> bool:
        """Whether no row has changed of which only the sum is remembered."""
        return changes.is_complete or all(
            row.bucket > self._settled or row.worker == self.worker for row in changes.rows
        )

    def apply(self, changes: Changes) -> tuple[Counts, bool]:
        """Take changes in; return what they add, and whether they take something away."""
        before: Counts = {}
        if changes.is_complete:
            before, self.total = self.total, {}
            self._rows = {}
            self._settled = -2
        added: Counts = {}
        for row in changes.rows:
            if row.worker != self.worker:
                old = self._rows.get((row.bucket, row.worker), {})
                add_counts(added, row.counts)
                add_counts(added, old, sign=-1)
                self._rows[row.bucket, row.worker] = row.counts
        add_counts(self.total, added)
        add_counts(added, before, sign=-1)
        self.cursor = changes.cursor
        self._settle()
        return added, any(times < 0 for times in added.values())

    def _settle(self) -> None:
        buckets = sorted({bucket for bucket, _ in self._rows})
        if len(buckets) > 2 * RECENT:
            self._settled = buckets[-RECENT - 1]
            self._rows = {k: row for k, row in self._rows.items() if k[0] > self._settled}
