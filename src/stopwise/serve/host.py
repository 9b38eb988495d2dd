"""The cascades of a server: described in its configuration, or created over HTTP."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from stopwise.cascade import Cascade
from stopwise.errors import InputError, SettingError, StageError, StoreUnavailableError
from stopwise.outputs import check_outputs
from stopwise.patterns import Pattern
from stopwise.runtime.event_log import EventLog
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage
from stopwise.runtime.stage_list import StageList
from stopwise.serve.batch_writer import BatchWriter
from stopwise.serve.problems import ProblemError
from stopwise.serve.tokens import Tokens
from stopwise.store import KeyedTell, Outcome, Store, Worker, case_text

logger = logging.getLogger("stopwise.serve")
SYNC_SECONDS = 0.5  # between two exchanges with other workers


async def runs_elsewhere(case: Any) -> Any:
    """Stand in for a stage that clients run themselves; calling it is an error."""
    raise StageError("this stage runs elsewhere: ask how far to go, and tell the outputs")


def runs_here(runtime: Runtime) -> bool:
    """Whether the server runs the stages of a cascade itself."""
    return all(c.stage.call is not runs_elsewhere for c in runtime.engine.stages.callers)


def elsewhere(cascade: Cascade) -> dict[str, Any]:
    """Return the arguments of `Runtime` for a cascade whose stages clients run themselves."""
    stages = [
        Stage(runs_elsewhere, cost=cost, name=name)
        for name, cost in zip(cascade.names, cascade.prices, strict=True)
    ]
    return {"stages": stages, "mistake_cost": cascade.mistake_cost}


class ToldCase(NamedTuple):
    """A case that a client tells."""

    runtime: Runtime
    outputs: Pattern
    is_random: bool
    keyed: KeyedTell | None = None


Tells = Sequence[ToldCase]
"""What one client tells of one cascade at once."""


class Host:
    """The cascades that a server answers for, all in one store.

    ``cascades`` has the arguments of `Runtime` for each cascade that is configured, by name.
    """

    def __init__(
        self,
        store: Worker | Store | str,
        cascades: Mapping[str, Mapping[str, Any]] | None = None,
    ) -> None:
        self.worker = store if isinstance(store, Worker) else Worker(store)
        self.store: Store = self.worker.store
        self.tokens = Tokens(self.store)
        self.is_closing = False
        self._runtimes: dict[str, Runtime] = {}
        self._label_revisions: dict[str, int] = {}
        self._failing: set[str] = set()  # cascades that could not be synced
        self._lock, self._change_lock = threading.Lock(), threading.Lock()
        self._keyed_writer = BatchWriter(self._tell_keyed)
        # One for each cascade: what is told of one is counted at once, or refused.
        self._durable_writers: WeakKeyDictionary[Runtime, BatchWriter[Tells, None]]
        self._durable_writers = WeakKeyDictionary()
        for name, settings in (cascades or {}).items():
            self._runtimes[name] = self._from_settings(name, settings)
        for record in self.store.cascades():
            if record.name not in self._runtimes and "/" not in record.name and record.version:
                self._runtimes[record.name] = self._from_state(record.name, record.description)

    @property
    def names(self) -> list[str]:
        """The names of all cascades."""
        return sorted(self._runtimes)

    def find(self, name: str) -> Runtime:
        """Return a cascade, or refuse with 404."""
        runtime = self._runtimes.get(name)
        if runtime is None:
            record = self.store.cascade(name)  # another worker may have created it
            if record is None or not record.version:
                names = ", ".join(self.names) or "none"
                raise ProblemError(404, "There is no such cascade", f"got {name!r}, known: {names}")
            with self._lock:
                if name not in self._runtimes:
                    self._runtimes[name] = self._from_state(name, record.description)
                runtime = self._runtimes[name]
        return runtime

    def create(self, name: str, cascade: Cascade, policy: str = "beliefs") -> Runtime:
        """Add a cascade whose stages run elsewhere."""
        with self._lock:
            record = self.store.cascade(name)
            if name in self._runtimes or (record is not None and record.version):
                raise ProblemError(409, "The cascade exists already", f"got {name!r}")
            runtime = self._runtime(name, cascade, policy)
            runtime.events.version("started", runtime.cascade)
            runtime.events.record("policy", {"policy": policy})
            self._runtimes[name] = runtime
            return runtime

    def change(self, name: str, work: Callable[[Runtime], None]) -> Runtime:
        """Change a cascade, after applying what other workers have changed."""
        with self._change_lock:
            self._catch_up(name)
            runtime = self.find(name)
            work(runtime)
            return runtime

    async def tell(self, cases: Sequence[ToldCase]) -> list[str]:
        """Count the cases of a request; return the `Outcome` of each, or ``frozen``.

        While nothing is learned, cases are shown to the monitor and not counted: ``frozen``.

        Cases with keys are counted in one transaction with their keys, and first: if that fails,
        all may be sent again. Others are in the journal when this returns, and on the disk if the
        worker is durable. Nothing is counted if one of the cases breaks a rule.
        """
        runtime = cases[0].runtime  # a request is about one cascade
        runtime.learning.check_current()
        if runtime.learning.is_frozen:
            for case in cases:
                runtime.observe(case.outputs, is_random=case.is_random)
            return ["frozen"] * len(cases)
        with_key = [case for case in cases if case.keyed is not None]
        others = [case for case in cases if case.keyed is None]
        is_durable = self.worker.durability == "disk"
        if others and (is_durable or len(cases) > 1):
            for outputs in {case.outputs for case in others}:
                case_text(outputs)  # raises if it cannot be counted
        outcomes = iter(await self._keyed_writer.add(with_key) if with_key else [])
        unkeyed = "counted"
        if others and is_durable:
            await self._durable_writers.setdefault(runtime, BatchWriter(_tell_at_once)).add(others)
        elif len(others) == 1:
            if not runtime.tell(others[0].outputs, is_random=others[0].is_random):
                unkeyed = "frozen"  # since a moment ago
        elif others:
            _tell_at_once([others])
        return [next(outcomes) if case.keyed is not None else unkeyed for case in cases]

    def _tell_keyed(self, requests: list[Tells]) -> list[list[str]]:
        cases = [case for request in requests for case in request]
        outcomes = self.worker.tell_keyed([case.keyed for case in cases if case.keyed is not None])
        for case, outcome in zip(cases, outcomes, strict=True):
            if outcome is Outcome.COUNTED:
                case.runtime.observe(case.outputs, is_random=case.is_random)
        values = iter(outcome.value for outcome in outcomes)
        return [list(islice(values, len(request))) for request in requests]

    async def sync_for_ever(self) -> None:
        """Exchange counts and prices with other workers, again and again."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await asyncio.to_thread(self.sync)

    def sync(self) -> None:
        """Exchange counts and prices with other workers; skip this without the store.

        A cascade that cannot do so is logged once, and the others go on.
        """
        for name, runtime in list(self._runtimes.items()):
            try:
                runtime.sync()
                with suppress(StoreUnavailableError), self._change_lock:
                    self._catch_up(name)
                    self._read_labels(runtime)
                self._failing.discard(name)
            except Exception:
                if name not in self._failing:
                    logger.exception("%s: counts are not exchanged with other workers", name)
                self._failing.add(name)

    def _read_labels(self, runtime: Runtime) -> None:
        """Learn from labels that other workers received, or this one before it started."""
        since = self._label_revisions.get(runtime.name, 0)
        records = self.store.records("label", runtime.name, since=since)
        if records:
            self._label_revisions[runtime.name] = records[-1].revision
            labels = {record.key: record.body["label"] for record in records}
            known = runtime.labels.labelled
            if not labels.items() <= known.items():  # new ones, or corrected ones
                known.update(labels)
                runtime.learning.rebuild(runtime.cascade)

    def _catch_up(self, name: str) -> None:
        """Apply what another worker has changed; call this with the change lock held."""
        record, runtime = self.store.cascade(name), self._runtimes.get(name)
        if runtime is None or record is None or not record.description:
            return
        is_same = record.description["names"] == list(runtime.cascade.names)
        if is_same and not runtime.learning.is_outdated:
            runtime.follow_owner()
        elif not runs_here(runtime):
            with self._lock:
                self._runtimes[name] = self._from_state(name, record.description)

    async def wait(self, seconds: float) -> None:
        """Wait for some seconds, or until the server closes."""
        for _ in range(10):
            if not self.is_closing:
                await asyncio.sleep(seconds / 10)

    async def close(self) -> None:
        """Wait for running cases and write all counts to the store."""
        self.is_closing = True
        for runtime in self._runtimes.values():
            await runtime.background.close()
            await asyncio.to_thread(runtime.alarm_handler.save)
        await asyncio.to_thread(self.worker.close)

    def _from_settings(self, name: str, settings: Mapping[str, Any]) -> Runtime:
        """Return a cascade of the configuration, with changes made since the file was changed."""
        if not name or "/" in name or len(name) > 100:
            raise SettingError(f"name must be 1 to 100 characters without '/', got {name!r}")
        stages = StageList(settings["stages"], str, time.monotonic)
        state = stages.cascade(settings.get("mistake_cost", 1.0)).to_state()
        events, record = EventLog(self.worker, name), self.store.cascade(name)
        is_unchanged = record is not None and events.state("configured") == state
        if is_unchanged and record is not None and record.description["names"] != state["names"]:
            return self._from_state(name, record.description)  # changed over HTTP since
        runtime = Runtime(**{**settings, "name": name, "store": self.worker})
        if not is_unchanged:
            events.put_state("configured", state)
        return runtime

    def _from_state(self, name: str, state: Mapping[str, Any]) -> Runtime:
        """Return a cascade that an earlier run or another worker has created."""
        records = self.store.records("policy", name, limit=1)
        policy = records[-1].body["policy"] if records else "beliefs"
        try:
            return self._runtime(name, Cascade.from_state(state), policy)
        except InputError as error:
            raise SettingError(f"cascade {name!r} in the store cannot be used: {error}") from error

    def _runtime(self, name: str, cascade: Cascade, policy: str) -> Runtime:
        settings = elsewhere(cascade)
        return Runtime(name, **settings, policy=policy, store=self.worker, follows_store=True)


def _tell_at_once(requests: list[Tells]) -> list[None]:
    """Count cases of one cascade with one write to the journal, and one wait for the disk."""
    cases = [case for request in requests for case in request]
    runtime, counts = cases[0].runtime, Counter(case.outputs for case in cases)
    with runtime.learning.lock:
        for outputs in counts:  # the stages may have changed meanwhile
            check_outputs(outputs, runtime.cascade)
        runtime.learning.tell_many(counts)
    for case in cases:
        runtime.observe(case.outputs, is_random=case.is_random)
    return [None] * len(requests)
