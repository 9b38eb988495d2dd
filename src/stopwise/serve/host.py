"""The cascades of a server: described in its configuration, or created over HTTP."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from stopwise.cascade import Cascade
from stopwise.errors import InputError, SettingError, StageError, StoreUnavailableError
from stopwise.patterns import Pattern
from stopwise.runtime.event_log import EventLog
from stopwise.runtime.runtime import Runtime
from stopwise.runtime.stage import Stage
from stopwise.runtime.stage_list import StageList
from stopwise.serve.batch_writer import BatchWriter
from stopwise.serve.problems import ProblemError
from stopwise.serve.tokens import Tokens
from stopwise.store import KeyedTell, Outcome, Store, Worker, case_text

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
    key: str | None = None
    amends: bool = False


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
        self._lock, self._change_lock = threading.Lock(), threading.Lock()
        self._keyed_writer: BatchWriter[ToldCase, str] = BatchWriter(self._tell_keyed)
        self._durable_writer: BatchWriter[ToldCase, str] = BatchWriter(self._tell_at_once)
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
        """Count cases; return for each ``counted``, ``repeated``, ``amended``, ``conflict``.

        Cases with keys are counted in one transaction with their keys, and first: if that fails,
        all may be sent again. Others are in the journal when this returns, and on the disk if the
        worker is durable.
        """
        for case in cases:
            case.runtime.learning.check_current()
        with_key = [case for case in cases if case.key is not None]
        others = [case for case in cases if case.key is None]
        outcomes = iter(await self._keyed_writer.add(with_key) if with_key else [])
        if others and self.worker.durability == "disk":
            await self._durable_writer.add(others)
        elif len(others) == 1:
            others[0].runtime.tell(others[0].outputs, is_random=others[0].is_random)
        elif others:
            self._tell_at_once(others)
        return [next(outcomes) if case.key is not None else "counted" for case in cases]

    def _tell_keyed(self, cases: list[ToldCase]) -> list[str]:
        tells = [
            KeyedTell(case.runtime.name, str(case.key), case_text(case.outputs), amends=case.amends)
            for case in cases
        ]
        outcomes = self.worker.tell_keyed(tells)
        for case, outcome in zip(cases, outcomes, strict=True):
            if outcome is Outcome.COUNTED:
                case.runtime.observe(case.outputs, is_random=case.is_random)
        return [outcome.value for outcome in outcomes]

    def _tell_at_once(self, cases: list[ToldCase]) -> list[str]:
        """Count cases with one write to the journal, and one wait for the disk, per cascade."""
        by_name: dict[str, list[ToldCase]] = {}
        for case in cases:
            by_name.setdefault(case.runtime.name, []).append(case)
        for group in by_name.values():
            group[0].runtime.learning.tell_many(Counter(case.outputs for case in group))
            for case in group:
                case.runtime.observe(case.outputs, is_random=case.is_random)
        return ["counted"] * len(cases)

    async def sync_for_ever(self) -> None:
        """Exchange counts and prices with other workers, again and again."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            await asyncio.to_thread(self.sync)

    def sync(self) -> None:
        """Exchange counts and prices with other workers; skip this without the store."""
        for name, runtime in list(self._runtimes.items()):
            runtime.sync()
            with suppress(StoreUnavailableError), self._change_lock:
                self._catch_up(name)
                self._read_labels(runtime)

    def _read_labels(self, runtime: Runtime) -> None:
        """Learn from labels that other workers received, or this one before it started."""
        since = self._label_revisions.get(runtime.name, 0)
        records = self.store.records("label", runtime.name, since=since)
        if records:
            self._label_revisions[runtime.name] = records[-1].revision
            keys = {record.key for record in records}
            if not keys <= runtime.labels.labelled:
                runtime.labels.labelled |= keys
                runtime.learning.rebuild(runtime.cascade)

    def _catch_up(self, name: str) -> None:
        """Apply what another worker has changed; call this with the change lock held."""
        record, runtime = self.store.cascade(name), self._runtimes.get(name)
        if runtime is None or record is None or not record.description:
            return
        if record.description["names"] == list(runtime.cascade.names):
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
        return Runtime(name, **elsewhere(cascade), policy=policy, store=self.worker)
