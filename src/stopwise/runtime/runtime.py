"""A cascade that runs: cases are answered, and what they show is learned."""

from __future__ import annotations

import asyncio
import logging
import random
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self

from stopwise.checks import finite_number, known_name, whole_number
from stopwise.errors import LogError, OutputsError, SettingError, StageError, StoreError
from stopwise.monitor import Alarm, MonitorSettings
from stopwise.patterns import Pattern
from stopwise.reading import open_log
from stopwise.runtime.background import Background
from stopwise.runtime.calling import Caller, Outcome
from stopwise.runtime.changes import Changes
from stopwise.runtime.comparing import Normalise, as_it_is
from stopwise.runtime.course import Course
from stopwise.runtime.elsewhere import Elsewhere
from stopwise.runtime.engine import Engine, told_outputs
from stopwise.runtime.events import Events
from stopwise.runtime.labelling import Labels, LabelSettings
from stopwise.runtime.learning import Learning, policy_maker
from stopwise.runtime.lifetime import Lifetime
from stopwise.runtime.looping import LoopThread
from stopwise.runtime.many import run_many
from stopwise.runtime.result import Result
from stopwise.runtime.stages import Stages
from stopwise.runtime.telling import explain, patterns_of, seen_table
from stopwise.runtime.watching import Watching
from stopwise.store import Store, Worker, WorkerSettings

if TYPE_CHECKING:
    from stopwise.auditing.report import AuditReport

logger = logging.getLogger("stopwise.runtime")


class Runtime(Changes, Elsewhere, Lifetime):
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
        What counts as the same answer; see `stopwise.runtime.comparing`.
    policy
        ``"beliefs"``, ``"resolve"``, a policy, or what makes one from a cascade.
    store
        A URL, a `Store`, or a `Worker` of this process; in memory by default.
    shadow
        The share of cases whose later stages are run too, after the answer was given.
    on_failure
        Where the stage at which to stop gives nothing: go on to the ``"next"`` one, or answer with
        the ``"last"`` one that did.
    speculate
        ``None``: one stage after the other. 0: stages that will run anyway run together. A number
        n: n more stages are started ahead; what they cost in vain is in
        ``engine.speculated_cost``.
    monitor
        Which changes raise an alarm, and how many false alarms to accept.
    labels
        Which cases to keep for labelling, and whether to buy labels.
    on_alarm
        Called with every `Alarm`, after it was logged.
    sharing
        How often counts are exchanged with the store, and how much is kept in between.
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
        normalise: Normalise = as_it_is,
        policy: Any = "beliefs",
        store: Store | Worker | str = "memory://",
        shadow: float = 0.01,
        on_failure: Literal["next", "last"] = "next",
        speculate: int | None = None,
        monitor: MonitorSettings | None = None,
        labels: LabelSettings | None = None,
        on_alarm: Callable[[Alarm], None] | None = None,
        sharing: WorkerSettings | None = None,
        seed: int | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        for setting, value, is_right, wanted in (
            ("name", name, type(name) is str and name, "a text that is not empty"),
            ("normalise", normalise, callable(normalise), "a function"),
            ("on_alarm", on_alarm, on_alarm is None or callable(on_alarm), "a function"),
            ("labels", labels, isinstance(labels, LabelSettings | None), "LabelSettings"),
            ("monitor", monitor, isinstance(monitor, MonitorSettings | None), "MonitorSettings"),
        ):
            if not is_right:
                raise SettingError(f"{setting} must be {wanted}, got {value!r}")
        self.name = name
        self.mistake_cost = finite_number("mistake_cost", mistake_cost, SettingError, zero=False)
        self.shadow = finite_number("shadow", shadow, SettingError, zero=True)
        if self.shadow > 1:
            raise SettingError(f"shadow must lie in [0, 1], got {shadow!r}")
        if speculate is not None:
            whole_number("speculate", speculate, SettingError, least=0)
        known_name("on_failure", on_failure, ["next", "last"], SettingError)
        self.engine = Engine(
            Stages(stages, normalise, time.monotonic, self._price_again),
            goes_on_after_failure=on_failure == "next",
            speculate=speculate,
        )
        self.n_not_counted = 0
        self.recent: deque[tuple[float, Pattern]] = deque(maxlen=20)
        self.clock = clock
        self._rng = random.Random(seed)
        self.worker = (
            store if isinstance(store, Worker) else Worker(store, clock=clock, settings=sharing)
        )
        self._is_alone = store == "memory://"
        cascade = self.engine.stages.cascade(self.mistake_cost)
        self.learning = Learning(
            self.worker, name, cascade, policy_maker(policy), is_shared=not self._is_alone
        )
        self.events = Events(self.worker, name)
        self.watching = Watching(
            self.engine,
            self.learning,
            self.events,
            settings=monitor or MonitorSettings(),
            on_alarm=on_alarm,
            clock=clock,
        )
        self.labels = Labels(self, labels or LabelSettings())
        self.background = Background(name)
        self._syncing: asyncio.Task[Any] | None = None
        self._thread = LoopThread()
        self._changing = threading.Lock()
        self._resume()
        if self.worker is not store:  # who shares a worker says so where it is so
            self.events.version("started", self.cascade)

    @classmethod
    def from_log(
        cls, log: Any, name: str, *, tests: Sequence[str] | None = None, **settings: Any
    ) -> Self:
        """Make a runtime that knows a log of earlier outputs, one column a stage.

        ``log`` and ``tests`` are as in `stopwise.audit`; the rest is as for the class. A store that
        knows of cases already is not told the log again.
        """
        runtime = cls(name, **settings)
        table = open_log(log, runtime.cascade, tests=tests).table()
        if not runtime.learning.patterns():
            runtime.learning.tell_patterns(patterns_of(table), is_past=True)
        return runtime

    @property
    def alarms(self) -> list[Alarm]:
        """The latest alarms, oldest first."""
        return self.watching.alarms

    def explain(self, result: Result) -> str:
        """Return in a few sentences how an answer came about."""
        return explain(self, result)

    def report(self, **settings: Any) -> AuditReport:
        """Return the audit of what was seen in the current epoch; settings are those of `audit`."""
        from stopwise.auditing.run import audit

        seen = self.learning.patterns()
        for k, name in enumerate(self.cascade.names):
            if all(outputs[k : k + 1] in ((), (None,)) for outputs in seen):
                raise LogError(f"a report needs outputs of every stage, {name!r} gave none so far")
        return audit(seen_table(seen, self.cascade), self.cascade, **settings)

    async def run(self, case: Any, *, key: str | None = None) -> Result:
        """Answer a case; ``key`` names it in the result and for labels.

        Raises `StageError` if no stage gave an answer; what was seen is learned all the same.
        """
        if self.background.tasks:  # a caller that never waits must not starve shadow cases
            await asyncio.sleep(0)
        learning = self.learning
        with learning.lock:
            course, callers = learning.start(), self.engine.stages.callers
        self.background.enter(course)
        try:
            started = time.perf_counter()
            outcomes: list[Outcome] = []
            try:
                stop = await self.engine.run(case, course, callers, outcomes)
                seconds = time.perf_counter() - started
                result = self.engine.result(
                    outcomes, stop, callers, learning.conclude, key=key, seconds=seconds
                )
            except BaseException:
                self._learn(outcomes, course)
                raise
            share = self.shadow
            if self.engine.distrusted:
                share = max(share, self.watching.probing)
            if share and self._rng.random() < share and not learning.is_frozen:
                result = result._replace(is_shadow=True)
                self.background.start(self._run_shadow(case, list(outcomes), course, callers, key))
            else:
                self._learn(outcomes, course, result)
                if self.labels.is_on:
                    self.labels.offer(key, case, result.outputs)
            if not self._is_alone and learning.counts.is_due:
                self._sync_soon()
            return result
        finally:
            self.background.cases.discard(course)

    def run_sync(self, case: Any, *, key: str | None = None) -> Result:
        """Answer a case from ordinary code, in any thread."""
        found: Result = self._thread.run(self.run(case, key=key))
        return found

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

    async def _run_shadow(
        self,
        case: Any,
        outcomes: list[Outcome],
        course: Course,
        callers: Sequence[Caller],
        key: str | None,
    ) -> None:
        is_shadow = False
        try:
            await self.engine.complete(case, callers, outcomes)
            is_shadow = True
        finally:  # a case that was cut short went as far as its outputs said, like any other
            self._learn(outcomes, course, is_shadow=is_shadow)
        self.labels.offer(key, case, tuple(outcome.output for outcome in outcomes))

    def _learn(
        self,
        outcomes: list[Outcome],
        course: Course,
        result: Result | None = None,
        *,
        is_shadow: bool = False,
    ) -> None:
        """Count what a case showed, unless nothing was or its stages exist no more."""
        learning = self.learning
        if result is not None and not result.failures:  # nothing was skipped
            outputs, cost = result.outputs, result.cost
            shown = len(outputs)
        else:
            outputs, shown = told_outputs(outcomes)
            cost = sum([outcome.cost for outcome in outcomes])
        with learning.lock:
            if course.layout != learning.layout or not outputs:
                return
            try:
                if not learning.is_frozen:
                    learning.tell(outputs)
            except (OutputsError, SettingError, StoreError) as error:
                self._not_counted(error)
                return
            self.recent.append((self.clock(), outputs))
            is_random = is_shadow or course.stage is not None
            self.watching.see(outputs[:shown], cost, is_random=is_random)

    def _not_counted(self, error: Exception) -> None:
        """Note a case that was answered but not counted; the first, second, fourth … is logged."""
        self.n_not_counted += 1
        if self.n_not_counted & (self.n_not_counted - 1) == 0:
            logger.error("%s: cases not counted: %d: %s", self.name, self.n_not_counted, error)

    def _sync_soon(self) -> None:
        if self._syncing is None or self._syncing.done():
            self._syncing = self.background.start(asyncio.to_thread(self.sync))
