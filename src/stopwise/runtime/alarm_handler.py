"""The response to alarms: a new epoch, and a stage that is taken out of service."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

from stopwise.errors import StoreError
from stopwise.monitor import Alarm, Monitor, MonitorSettings
from stopwise.patterns import Pattern
from stopwise.runtime.case_patterns import case_texts
from stopwise.runtime.engine import Engine
from stopwise.runtime.event_log import EventLog
from stopwise.runtime.learning import Learning
from stopwise.store import tellable

logger = logging.getLogger("stopwise.runtime")

T = TypeVar("T")
OUT_OF_SERVICE = "out of service"
WATCHED = "watched"
SAVE_SECONDS = 3600.0  # how often the monitor's recent cases go into the store
MAX_SAVED = 2000  # different cases among them
MAX_WATCHED = 50  # workers of which they are kept
MAX_ALARMS = 100
REVIEW_CASES = 60  # complete cases after which a stage out of service is judged again
# The share of cases that are run to the end while a stage is out of service.
SHADOW_SHARE = 0.1


class AlarmHandler:
    """Shows cases to the monitor and responds to its alarms."""

    def __init__(
        self,
        engine: Engine,
        learning: Learning,
        events: EventLog,
        *,
        settings: MonitorSettings,
        on_alarm: Callable[[Alarm], None] | None,
        clock: Callable[[], float],
    ) -> None:
        self.alarms: list[Alarm] = []
        self._engine = engine
        self._learning = learning
        self._events = events
        self._settings = settings
        self._on_alarm = on_alarm
        self._clock = clock
        # Why and since when one is wanted that could not begin yet: the store was unavailable.
        self._wanted_epoch: tuple[str, float] | None = None
        # How well each stage that is out of service agreed with the others before.
        self._usual_agreement: dict[int, float] = {}
        self.monitor: Monitor
        self._epoch: int
        # What other processes saw with which the monitor began, and until when.
        self._resumed: Counter[Pattern]
        self._resumed_at: float
        self._new_monitor()
        self._resume()
        self._read_distrusted()
        learning.seen_since = self._seen_since

    def restart(self) -> None:
        """Begin anew, with all stages in service; the stages may have changed."""
        self._new_monitor()
        self.set_distrusted(frozenset())

    def set_distrusted(self, stages: frozenset[int]) -> None:
        """Take stages out of service or back; the store remembers it for other processes."""
        usual, now = self._usual_agreement, self.monitor.agreement
        agreement = {k: usual[k] if k in usual else now(k) for k in sorted(stages)}
        self._engine.distrusted, self._usual_agreement = stages, agreement
        self._n_complete = 0
        by_name = {self._engine.stages.names[k]: share for k, share in agreement.items()}
        self._if_available(lambda: self._events.put_state(OUT_OF_SERVICE, {"stages": by_name}))

    def after_sync(self) -> None:
        """Apply what other workers have decided, after counts were exchanged with them."""
        with self._learning.lock:
            if self._learning.counts.epoch != self._epoch:
                self._new_monitor()  # else this worker would raise the same alarm again
                self._read_distrusted()
            elif self._engine.distrusted:
                self._read_distrusted()
            if self._wanted_epoch is not None:
                self._open_epoch(*self._wanted_epoch)
            if self._clock() - self._saved_at >= SAVE_SECONDS:
                self.save()

    def save(self) -> None:
        """Save what this process saw recently, for comparison in one that starts later."""
        now = self._saved_at = self._clock()
        own = self.monitor.recent() - self._resumed
        if own and self._learning.is_shared:
            cases = case_texts(dict(own.most_common(MAX_SAVED)))
            body = {"epoch": self._epoch, "at": now, "cases": cases}
            put = self._events.put_own_state
            self._if_available(lambda: put(WATCHED, body, keep=MAX_WATCHED))

    def _seen_since(self, since: float) -> Counter[Pattern]:
        """Return what this process saw itself since a time."""
        return self.monitor.recent(max(since, self._resumed_at))

    def _resume(self) -> None:
        """Begin with what other processes saw, those before this one and those beside it."""
        states = self._if_available(lambda: self._events.states(WATCHED)) or []
        for state in states:
            if state["epoch"] == self._epoch:
                self._resumed.update(tellable(state["cases"]))
                self._resumed_at = max(self._resumed_at, state["at"])
        if self._resumed and max(map(len, self._resumed)) <= self.monitor.n_stages:
            self.monitor.resume(self._resumed, since=self._resumed_at, now=self._clock())

    def _new_monitor(self) -> None:
        n_stages = len(self._engine.stages)
        self._n_complete = 0
        self._epoch = self._learning.counts.epoch
        self._wanted_epoch = None
        self._resumed = Counter()
        self._resumed_at = -math.inf
        self._saved_at = self._clock()
        self.monitor = Monitor(n_stages, now=self._clock(), settings=self._settings)

    def _read_distrusted(self) -> None:
        names = self._engine.stages.names
        state = self._if_available(lambda: self._events.state(OUT_OF_SERVICE))
        if state is not None:
            by_name = state.get("stages", {})
            agreement = {names.index(name): by_name[name] for name in by_name if name in names}
            self._usual_agreement = agreement if len(agreement) < len(names) else {}
            self._engine.distrusted = frozenset(self._usual_agreement)

    def _if_available(self, use_store: Callable[[], T]) -> T | None:
        """Use the store for something that may fail without harm to the case."""
        try:
            return use_store()
        except StoreError as error:
            logger.warning("%s: the store is unavailable: %s", self._learning.name, error)
            return None

    def _record(self, kind: str, body: dict[str, Any]) -> None:
        self._if_available(lambda: self._events.record(kind, body))

    def observe(self, outputs: Pattern, cost: float, *, is_random: bool) -> None:
        """Show a case that was counted to the monitor.

        ``is_random`` says that how far it went did not depend on its outputs.
        """
        now = self._clock()
        if self._settings.daily_budget is not None:
            for alarm in self.monitor.spend(cost, now):
                self.handle(alarm)
        for alarm in self.monitor.observe(outputs, now, is_random=is_random) if outputs else ():
            self.handle(alarm)
        if self._engine.distrusted and is_random and len(outputs) == self.monitor.n_stages:
            self._n_complete += 1
            if self._n_complete % REVIEW_CASES == 0:
                self._review()

    @property
    def shadow_share(self) -> float:
        """The share of cases to run to the end, to judge stages that are out of service."""
        return SHADOW_SHARE if self._engine.distrusted else 0.0

    def _review(self) -> None:
        """Return stages to service that no longer look broken."""
        for stage in self._engine.distrusted:
            if not self.monitor.is_odd(stage, self._usual_agreement.get(stage, 0.0)):
                self.set_distrusted(self._engine.distrusted - {stage})
                name = self._engine.stages.names[stage]
                self._record("event", {"what": "stage back in service", "stage": name})
                logger.info("%s: %r is back in service", self._learning.name, name)

    def handle(self, alarm: Alarm) -> None:
        """Record an alarm, and open an epoch without the stage if it asks for that."""
        engine, cascade = self._engine, self._learning.name
        text = alarm.describe(engine.stages.names)
        logger.warning("%s: %s", cascade, text)
        self.alarms = [*self.alarms, alarm][-MAX_ALARMS:]
        if alarm.opens_epoch:  # the monitor has dropped what was before the change
            self._resumed = Counter()
        if alarm.opens_epoch and not self._learning.is_frozen:
            self._open_epoch(text, alarm.since)
            if len(engine.stages) - len(engine.distrusted | {alarm.stage}) > 0:
                self.set_distrusted(engine.distrusted | {alarm.stage})
                name = engine.stages.names[alarm.stage]
                logger.warning("%s: %r is run for shadow cases only from now on", cascade, name)
        self._record("alarm", {**alarm.to_state(), "text": text})
        if self._on_alarm is not None:
            try:
                self._on_alarm(alarm)
            except Exception:
                logger.exception("%s: on_alarm failed", cascade)

    def _open_epoch(self, reason: str, since: float) -> None:
        """Begin an epoch with the cases since the change, once the store is available."""
        learning = self._learning
        try:
            learning.restart(reason=reason, since=since)
        except StoreError as error:
            self._wanted_epoch = (reason, since)
            logger.warning("%s: a new epoch cannot begin yet: %s", learning.name, error)
        else:
            self._wanted_epoch = None
            self._epoch = learning.counts.epoch
