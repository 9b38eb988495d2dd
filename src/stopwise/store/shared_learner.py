"""A learner that many workers share, and that explores only on fresh counts.

The observations of a hundred workers add up, but so does their exploration: each pays for the
observations that one learner would have paid for once, until it reads those of the others. So a
worker that is about to explore reads the store first, and shares the result at once. Exploration is
rare, so that is cheap. All other cases wait for the usual sync.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence

from stopwise.errors import StoreUnavailableError
from stopwise.policies.base import Policy
from stopwise.store.case_encoding import tellable
from stopwise.store.shared_counts import SharedCounts


class SharedLearner:
    """A learner over the counts of all workers; threads may share it.

    For policies that stop exploring, such as `Resolve`. One that draws at random explores at any
    time, so give its worker a longer ``fresh_seconds``.

    Parameters
    ----------
    shared
        The counts, from `Worker.open`.
    make
        Makes a policy that knows nothing; called again when an epoch begins.

    >>> import stopwise as sw
    >>> from stopwise.store import Worker
    >>> with Worker("memory://") as worker:
    ...     cascade = sw.Cascade(costs=[0, 0.5])
    ...     learner = SharedLearner(worker.open("triage"), lambda: sw.Resolve(cascade))
    ...     for _ in range(50):
    ...         stage = learner.ask()
    ...         learner.tell([1, 1][: stage + 1])
    ...     sum(learner.shared.totals().values()), learner.ask()
    (50, 0)
    """

    def __init__(self, shared: SharedCounts, make: Callable[[], Policy]) -> None:
        self.shared = shared
        self._make = make
        self._lock = threading.Lock()
        self._sync_lock = threading.Lock()
        self._learner = self._new_learner()

    def ask(self, *, wait: bool = True) -> int:
        """Return the stage at which to stop the next case.

        A stage that only serves exploration needs fresh counts: if they are older than
        ``fresh_seconds``, they are read first. Without ``wait``, or without the store, the stage
        that looks best is returned. No other ask waits for anything.
        """
        with self._lock:
            stage, best = self._learner.ask(), self._learner.recommend()
        if stage == best or self.shared.is_fresh:
            return stage
        self.shared.hasten()
        if not wait or not self.sync():
            return best
        with self._lock:
            return self._learner.ask()

    def tell(self, outputs: Sequence[Hashable], *, stage: int | None = None) -> None:
        """Take in one case, safe when this returns; syncs if that is due."""
        last_stage = len(outputs) - 1 if stage is None else stage
        with self._lock:
            is_exploration = last_stage != self._learner.recommend()
            self.shared.tell(tuple(outputs), stage=stage)
            self._learner.tell(outputs, stage=stage)
        if is_exploration:
            self.shared.hasten()
        if self.shared.is_due:
            self.sync()

    def sync(self) -> bool:
        """Exchange counts with other workers; return whether the store could be reached."""
        with self._sync_lock:
            try:
                update = self.shared.sync()
            except StoreUnavailableError:
                return False
            with self._lock:
                if update.is_rebuild:
                    self._learner = self._new_learner()
                elif update.added:
                    self._learner.tell_many(tellable(update.added))
            return True

    def _new_learner(self) -> Policy:
        learner = self._make()
        counts = tellable(self.shared.totals())
        if counts:
            learner.tell_many(counts)
        return learner
