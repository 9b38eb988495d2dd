"""The counts of all other workers, as one worker has read them."""

from __future__ import annotations

from dataclasses import dataclass, field

from stopwise.store.case_encoding import Counts, add_counts
from stopwise.store.protocol import Changes, Cursor

RECENT_BUCKETS = 48
"""The number of time buckets that are kept one by one; of older ones only the sum is kept."""


@dataclass(frozen=True)
class Update:
    """What a sync has read from other workers.

    ``added`` goes to the learner (`tellable`). With ``is_rebuild`` counts were subtracted, or a new
    epoch has begun: then the learner must be rebuilt from `SharedCounts.totals`.
    """

    is_rebuild: bool
    added: Counts = field(default_factory=dict)
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True)
class Staleness:
    """How far behind a worker is: seconds since it last read, and own cases not yet stored."""

    seconds: float
    n_unfolded: int
    n_failures: int


class RemoteCounts:
    """The rows of one epoch except those of one worker, and their sum."""

    def __init__(self, worker: str) -> None:
        self.worker = worker
        self.total: Counts = {}
        self.cursor: Cursor | None = None
        self._rows: dict[tuple[int, str], Counts] = {}
        self._summed_bucket = -2  # rows up to this bucket are in the sum only

    def reset(self) -> None:
        """Read everything at the next opportunity."""
        self.cursor = None

    def can_apply(self, changes: Changes) -> bool:
        """Whether all rows that changed are still kept one by one."""
        return changes.is_complete or all(
            row.bucket > self._summed_bucket or row.worker == self.worker for row in changes.rows
        )

    def apply(self, changes: Changes) -> tuple[Counts, bool]:
        """Apply changes; return what they add, and whether they subtract anything."""
        before: Counts = {}
        if changes.is_complete:
            before, self.total = self.total, {}
            self._rows = {}
            self._summed_bucket = -2
        additions: Counts = {}
        for row in changes.rows:
            if row.worker != self.worker:
                old = self._rows.get((row.bucket, row.worker), {})
                add_counts(additions, row.counts)
                add_counts(additions, old, sign=-1)
                self._rows[row.bucket, row.worker] = row.counts
        add_counts(self.total, additions)
        add_counts(additions, before, sign=-1)
        self.cursor = changes.cursor
        self._sum_old()
        return additions, any(times < 0 for times in additions.values())

    def _sum_old(self) -> None:
        buckets = sorted({bucket for bucket, _ in self._rows})
        if len(buckets) > 2 * RECENT_BUCKETS:
            self._summed_bucket = buckets[-RECENT_BUCKETS - 1]
            self._rows = {k: row for k, row in self._rows.items() if k[0] > self._summed_bucket}
