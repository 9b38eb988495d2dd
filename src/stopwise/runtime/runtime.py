"""Run a cascade: call its stages on each case, return the answer, and learn from the outputs."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal, Self

from stopwise.checks import finite_number, known_name, stored_text, whole_number
from stopwise.errors import OutputsError, SettingError, StageError, StoreError
from stopwise.monitor import Alarm, MonitorSettings
from stopwise.reading import open_log
from stopwise.runtime.caller import Caller, Outcome
from stopwise.runtime.case_patterns import from_table
from stopwise.runtime.concurrency import Background, LoopThread, run_many
from stopwise.runtime.engine import Engine, StoppingRule, learnable_outputs
from stopwise.runtime.label_queue import Labels, LabelSettings
from stopwise.runtime.learning import Learning, policy_maker
from stopwise.runtime.live_cascade import LiveCascade
from stopwise.runtime.normalisers import Normalise, plain_value
from stopwise.runtime.result import Result, explain
from stopwise.runtime.stage_list import StageList
from stopwise.store import Store, Worker

logger = logging.getLogger("stopwise.runtime")


class Runtime(LiveCascade):
    """Run the stages of a cascade on each case, stop where going on does not pay, and learn.

    Parameters
    ----------
    name
        The name under which the store keeps what is learned.
    stages
        `Stage` objects or plain functions, cheapest first.
    mistake_cost
        What a wrong answer costs, in the unit of the stages' costs.
    normalise
        What counts as the same answer; see `stopwise.runtime.normalisers`.
    policy
        ``"beliefs"``, ``"resolve"``, a policy, or a function that makes one for a cascade.
    store
        A URL, a `Store`, or a `Worker` of this process, which also says where journals are and
        what a case survives (``directory``, ``durability``); in memory by default.
    shadow
        The share of cases whose later stages are run too, after the answer was given.
    on_failure
        What to do if the stage at which to stop gives nothing: go on to the ``"next"`` stage, or
        answer with the ``"last"`` output before it.
    speculate
        ``None``: one stage after the other. 0: stages that will run anyway run together. A number
        n: n more stages are started ahead; the cost of those that were not needed is in
        ``engine.speculated_cost``.
    monitor
        Which changes raise an alarm, and how many false alarms to accept.
    labels
        Which cases to keep for labelling, and whether to buy labels.
    on_alarm
        Called with every `Alarm`, after it was logged.
    follows_store
        Whether the stages and prices were read from the store, as by a server beside the program
        that runs the cascade: then they are not taken for a change by this program.
    seed
        The seed of the generator that draws the shadow cases.
    clock
        A function that returns the wall time in seconds.
    """

    def __init__(  # noqa: PLR0913  # all but two have defaults and names
        self,
        name: str,
        *,
        stages: Sequence[Any],
        mistake_cost: float = 1.0,
        normalise: Normalise = plain_value,
        policy: Any = "beliefs",
        store: Store | Worker | str = "memory://",
        shadow: float = 0.01,
        on_failure: Literal["next", "last"] = "next",
        speculate: int | None = None,
        monitor: MonitorSettings | None = None,
        labels: LabelSettings | None = None,
        on_alarm: Callable[[Alarm], None] | None = None,
        follows_store: bool = False,
        seed: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for setting, value, is_right, rule in (
            ("name", name, type(name) is str and name, "a non-empty text"),
            ("normalise", normalise, callable(normalise), "a function"),
            ("on_alarm", on_alarm, on_alarm is None or callable(on_alarm), "a function"),
            ("labels", labels, isinstance(labels, LabelSettings | None), "LabelSettings"),
            ("monitor", monitor, isinstance(monitor, MonitorSettings | None), "MonitorSettings"),
        ):
            if not is_right:
                raise SettingError(f"{setting} must be {rule}, got {value!r}")
        stored_text("name", name, SettingError)
        price = finite_number("mistake_cost", mistake_cost, SettingError, zero=False)
        self.shadow = finite_number("shadow", shadow, SettingError, zero=True)
        if self.shadow > 1:
            raise SettingError(f"shadow must lie in [0, 1], got {shadow!r}")
        if speculate is not None:
            whole_number("speculate", speculate, SettingError, least=0)
        known_name("on_failure", on_failure, ["next", "last"], SettingError)
        engine = Engine(
            StageList(stages, normalise, time.monotonic, self._update_prices),
            continues_after_failure=on_failure == "next",
            speculate=speculate,
        )
        make_policy = policy_maker(policy)
        worker = store if isinstance(store, Worker) else Worker(store, clock=clock)
        before = worker.store.cascade(name)
        cascade, is_shared = engine.stages.cascade(price), store != "memory://"
        learning = Learning(worker, name, cascade, make_policy, is_shared=is_shared)
        super().__init__(
            engine,
            learning,
            mistake_cost=price,
            monitor=monitor,
            on_alarm=on_alarm,
            clock=clock,
            follows_store=follows_store,
        )
        self.background = Background(name)
        self.labels = Labels(self, self.background, labels or LabelSettings())
        self.n_not_counted = 0
        self._rng = random.Random(seed)
        self._sync_task: asyncio.Task[Any] | None = None
        self._thread = LoopThread()
        is_recorded = before is not None and before.description == self.cascade.to_state()
        # A worker that was given may serve several runtimes in turn.
        if not follows_store and (worker is not store or not is_recorded):
            self.events.version("started", self.cascade)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @classmethod
    def from_log(
        cls, log: Any, name: str, *, tests: Sequence[str] | None = None, **settings: Any
    ) -> Self:
        """Make a runtime that starts with the counts of a log, one column per stage.

        ``log`` and ``tests`` are as in `stopwise.audit`; the rest is as for the class. The log is
        not counted again if the store already has cases.
        """
        runtime = cls(name, **settings)
        table = open_log(log, runtime.cascade, tests=tests).table()
        if not runtime.learning.patterns():
            runtime.learning.tell_many(from_table(table), is_past=True)
        return runtime

    def explain(self, result: Result) -> str:
        """Explain an answer in a few sentences."""
        return explain(result, self.cascade.names, has_belief=self.learning.has_belief)

    async def run(self, case: Any, *, key: str | None = None) -> Result:
        """Answer a case; ``key`` names it in the result and for labels.

        Raises `StageError` if no stage gave an answer; the outputs are learned all the same.
        """
        if key is not None and self.labels.is_on:
            stored_text("key", str(key), SettingError)
        if self.background.tasks:  # a caller that never waits must not starve shadow cases
            await asyncio.sleep(0)
        learning = self.learning
        with learning.lock:
            rule, callers = learning.stopping_rule(), self.engine.stages.callers
        self.background.enter(rule)
        try:
            start = time.perf_counter()
            outcomes: list[Outcome] = []
            try:
                stop = await self.engine.run(case, rule, callers, outcomes)
                seconds = time.perf_counter() - start
                result = self.engine.result(
                    outcomes, stop, callers, learning.conclude, key=key, seconds=seconds
                )
            except BaseException:
                self._learn(outcomes, rule)
                raise
            share = max(self.shadow, self.alarm_handler.shadow_share)
            if share and self._rng.random() < share and not learning.is_frozen:
                result = result._replace(is_shadow=True)
                self.background.start(self._run_shadow(case, list(outcomes), rule, callers, key))
            else:
                self._learn(outcomes, rule, result)
                if self.labels.is_on:
                    self.labels.offer(key, case, result.outputs)
            if learning.is_shared and learning.counts.is_due:
                self._start_sync()
            return result
        finally:
            self.background.cases.discard(rule)

    def run_sync(self, case: Any, *, key: str | None = None) -> Result:
        """Answer a case from ordinary code, in any thread."""
        result: Result = self._thread.run(self.run(case, key=key))
        return result

    async def run_many(
        self,
        cases: Iterable[Any],
        *,
        keys: Iterable[str] | None = None,
        concurrency: int = 100,
        progress: bool = True,
    ) -> list[Result | StageError]:
        """Answer many cases at once, in their order; a case without an answer has its error."""
        return await run_many(
            self.run, cases, keys=keys, concurrency=concurrency, progress=progress
        )

    async def aclose(self) -> None:
        """Wait for running cases, write all counts to the store and leave it.

        No further case is accepted. Closing again does nothing.
        """
        await self._finish()
        await asyncio.to_thread(self._thread.close)

    def close(self) -> None:
        """Do what `aclose` does, from ordinary code."""
        self._thread.run(self._finish())
        self._thread.close()

    async def _finish(self) -> None:
        await self.background.close()
        if not self.worker.is_closed:
            await asyncio.to_thread(self.alarm_handler.save)
        await asyncio.to_thread(self.worker.close)

    async def _run_shadow(
        self,
        case: Any,
        outcomes: list[Outcome],
        rule: StoppingRule,
        callers: Sequence[Caller],
        key: str | None,
    ) -> None:
        is_shadow = False
        try:
            await self.engine.complete(case, callers, outcomes)
            is_shadow = True
        finally:  # how far a cancelled case went depends on its outputs, like any other
            self._learn(outcomes, rule, is_shadow=is_shadow)
        self.labels.offer(key, case, tuple(outcome.output for outcome in outcomes))

    def _learn(
        self,
        outcomes: list[Outcome],
        rule: StoppingRule,
        result: Result | None = None,
        *,
        is_shadow: bool = False,
    ) -> None:
        """Count the outputs of a case, unless there are none or the stages have changed since."""
        learning = self.learning
        if result is not None and not result.failures:  # nothing was skipped
            outputs, n_in_service, cost = result.outputs, len(result.outputs), result.cost
        else:
            outputs, n_in_service = learnable_outputs(outcomes)
            cost = sum([outcome.cost for outcome in outcomes])
        with learning.lock:
            if rule.stages_version != learning.stages_version or not outputs:
                return
            try:
                if not learning.is_frozen:
                    learning.tell(outputs)
            except (OutputsError, SettingError, StoreError) as error:
                self._log_uncounted(error)
                return
            self.recent.append((self.clock(), outputs))
            is_random = is_shadow or rule.stage is not None
            self.alarm_handler.observe(outputs[:n_in_service], cost, is_random=is_random)

    def _log_uncounted(self, error: Exception) -> None:
        """Note a case that was answered but not counted; the 1st, 2nd, 4th, 8th … is logged."""
        self.n_not_counted += 1
        if self.n_not_counted & (self.n_not_counted - 1) == 0:
            logger.error("%s: cases not counted: %d: %s", self.name, self.n_not_counted, error)

    def _start_sync(self) -> None:
        if self._sync_task is None or self._sync_task.done():
            self._sync_task = self.background.start(asyncio.to_thread(self.sync))
