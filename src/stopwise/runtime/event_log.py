"""Events of a cascade in its store: versions, changes by the owner, alarms; and its state."""

from __future__ import annotations

from itertools import count
from typing import Any

from stopwise.cascade import Cascade
from stopwise.store import Record, Worker

MAX_EVENTS = 1000


class EventLog:
    """Writes the newest events of one cascade, and its current state, to a worker's store."""

    def __init__(self, worker: Worker, name: str) -> None:
        self._worker = worker
        self._name = name
        self._number = count()

    def record(self, kind: str, body: dict[str, Any]) -> None:
        """Write an event or an alarm."""
        now = self._worker.clock()
        key = f"{now:017.6f}-{next(self._number):06d}-{self._worker.name}"
        self._worker.store.put(Record(kind, self._name, key, now, body), keep=MAX_EVENTS)

    def put_state(self, kind: str, body: dict[str, Any]) -> None:
        """Write the current state of a kind, replacing the one before."""
        self._worker.store.put(Record(kind, self._name, "now", self._worker.clock(), body))

    def state(self, kind: str) -> dict[str, Any]:
        """Return what was last written with `put_state`; empty if nothing was."""
        record = self._worker.store.get(kind, self._name, "now")
        return {} if record is None else record.body

    def put_own_state(self, kind: str, body: dict[str, Any], *, keep: int) -> None:
        """Write the state of this worker, beside the newest ones of others, ``keep`` in all."""
        now = self._worker.clock()
        record = Record(kind, self._name, self._worker.name, now, body)
        self._worker.store.put(record, keep=keep)

    def states(self, kind: str) -> list[dict[str, Any]]:
        """Return the states that workers wrote with `put_own_state`, oldest first."""
        return [record.body for record in self._worker.store.records(kind, self._name)]

    def version(self, what: str, cascade: Cascade) -> None:
        """Write a version of the cascade, and an event that says why."""
        state = cascade.to_state()
        record = self._worker.store.put_cascade(self._name, state)
        self.record("event", {"what": what, "version": record.version, "cascade": state})
