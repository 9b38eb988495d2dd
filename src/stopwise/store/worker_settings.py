"""The time spans and sizes of a worker."""

from __future__ import annotations

from dataclasses import dataclass

from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError


@dataclass(frozen=True)
class WorkerSettings:
    """Time spans and sizes of a worker.

    Parameters
    ----------
    bucket_seconds
        The width of the time buckets in which cases are counted.
    lease_seconds
        How long a worker may be silent before a worker of another host adopts its journal.
    sync_seconds
        How long a worker uses the counts it has before the next sync is due.
    fresh_seconds
        How old others' counts may be for a worker to explore on them (`SharedLearner`).
    max_journal_bytes
        The size beyond which the journal refuses tells.
    """

    bucket_seconds: int = 3600
    lease_seconds: float = 30.0
    sync_seconds: float = 1.0
    fresh_seconds: float = 0.0001
    max_journal_bytes: int = 64_000_000

    def __post_init__(self) -> None:
        whole_number("bucket_seconds", self.bucket_seconds, SettingError, least=1)
        whole_number("max_journal_bytes", self.max_journal_bytes, SettingError, least=1000)
        for name in ("lease_seconds", "sync_seconds", "fresh_seconds"):
            finite_number(name, getattr(self, name), SettingError, zero=False)
