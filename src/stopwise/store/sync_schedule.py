"""When a worker exchanges its counts of a cascade with the store."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

MAX_PAUSE_SECONDS = 30.0  # between two attempts while the store is unavailable


class SyncSchedule:
    """A sync is due after 1, 2, 4, … cases of an epoch, and at least every ``sync_seconds``.

    So a worker always has at least about half of all counts. If the store is slow, syncs are due
    less often; while it is unavailable, the pause doubles with each failure.

    Parameters
    ----------
    sync_seconds
        The longest time between two syncs.
    timer
        A monotonic time in seconds.
    seed
        The seed of the shares by which intervals are shortened.

    >>> now = 0.0
    >>> schedule = SyncSchedule(1.0, lambda: now, "worker-1")
    >>> schedule.succeeded(n_told=4, seconds=0.0)
    >>> schedule.is_due(7), schedule.is_due(8)
    (False, True)
    """

    def __init__(self, sync_seconds: float, timer: Callable[[], float], seed: str) -> None:
        self.n_failures = 0
        self._sync_seconds = sync_seconds
        self._timer = timer
        self._random = random.Random(seed)
        self._read_at = self._next_at = self._next_told = self._not_before = 0.0
        self._hastened_at = math.inf

    def is_due(self, n_told: int) -> bool:
        """Whether it is time to sync, after ``n_told`` cases of the epoch."""
        now = self._timer()
        return now >= self._next_at or (n_told >= self._next_told and now >= self._not_before)

    @property
    def age(self) -> float:
        """Seconds since the counts of others were read."""
        return self._timer() - self._read_at

    @property
    def has_caught_up(self) -> bool:
        """Whether the counts of others were read since the last call of `hasten`."""
        return self._read_at >= self._hastened_at

    def hasten(self) -> None:
        """Make the next sync due now, unless the last one failed."""
        self._hastened_at = self._timer()
        if not self.n_failures:
            self._next_told, self._not_before = 0, -math.inf

    def note_read(self) -> None:
        """Note that the counts of others were read."""
        self._read_at = self._timer()

    def failed(self) -> None:
        """Note a sync that could not reach the store."""
        self.n_failures += 1
        pause = min(MAX_PAUSE_SECONDS, self._sync_seconds * 2.0**self.n_failures)
        self._next_told, self._next_at = math.inf, self._timer() + pause

    def succeeded(self, *, n_told: int, seconds: float) -> None:
        """Note a sync that took ``seconds``, after ``n_told`` cases of the epoch."""
        self.n_failures = 0
        self._next_told = max(1, 2 * n_told)
        # A random share of the interval, so that workers that started together spread out.
        now, share = self._timer(), 0.7 + 0.3 * self._random.random()
        self._next_at = now + share * self._sync_seconds
        # Syncs by number of cases take at most a tenth of the time: when many workers start at once
        # and the store is slow, they sync less often.
        self._not_before = now + 10.0 * seconds
