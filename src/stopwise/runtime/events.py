"""What happened to a cascade, kept in its store: versions, changes by the owner, alarms."""

from __future__ import annotations

from itertools import count
from typing import Any

from stopwise.cascade import Cascade
from stopwise.store import Record, Worker

KEPT = 1000


class Events:
    """Writes the events of one cascade; the newest are kept.

    Parameters
    ----------
    worker
        Whose store they go to.
    name
        The name of the cascade.
    """

    def __init__(self, worker: Worker, name: str) -> None:
        self._worker = worker
        self._name = name
        self._number = count()

    def record(self, kind: str, body: dict[str, Any]) -> None:
        """Write an event or an alarm."""
        now = self._worker.clock()
        key = f"{now:017.6f}-{next(self._number):06d}-{self._worker.name}"
        self._worker.store.put(Record(kind, self._name, key, now, body), keep=KEPT)

    def keep(self, kind: str, body: dict[str, Any]) -> None:
        """Write what holds from now on, in the place of what did before."""
        self._worker.store.put(Record(kind, self._name, "now", self._worker.clock(), body))

    def kept(self, kind: str) -> dict[str, Any]:
        """Return what was last written with `keep`; empty if nothing was."""
        record = self._worker.store.get(kind, self._name, "now")
        return {} if record is None else record.body

    def version(self, what: str, cascade: Cascade) -> None:
        """Note that a cascade is now as it is, and why."""
        state = cascade.to_state()
        record = self._worker.store.put_cascade(self._name, state)
        self.record("event", {"what": what, "version": record.version, "cascade": state})
