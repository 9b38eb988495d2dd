"""What alarms do to a running cascade: a new epoch, and a stage that is explored only."""

from __future__ import annotations

import logging
from collections.abc import Callable

from stopwise.monitor import Alarm, Monitor, MonitorSettings
from stopwise.patterns import Pattern
from stopwise.runtime.engine import Engine
from stopwise.runtime.events import Events
from stopwise.runtime.learning import Learning

logger = logging.getLogger("stopwise.runtime")

KEPT = 100
# Complete cases after which a stage that was taken out of service is looked at again.
REVIEWED = 30
# The share of cases that are run to the end while a stage is out of service.
PROBING = 0.1


class Watching:
    """Shows cases to the monitor and carries out what its alarms ask for.

    Parameters
    ----------
    engine, learning, events
        The parts of the runtime that an alarm concerns.
    settings
        How watchful to be.
    on_alarm
        Called with every alarm, after it was logged.
    clock
        Wall time in seconds.
    """

    def __init__(
        self,
        engine: Engine,
        learning: Learning,
        events: Events,
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
        self.restart()

    def restart(self) -> None:
        """Watch from now on, with all stages in service; the stages may be others."""
        n_stages = len(self._engine.stages)
        self._engine.distrusted = frozenset()
        self._n_complete = 0
        self.monitor = Monitor(n_stages, now=self._clock(), settings=self._settings)

    def see(self, outputs: Pattern, cost: float, *, is_random: bool) -> None:
        """Take in a case that was counted.

        ``is_random`` says that how far it went did not depend on what its stages said.
        """
        now = self._clock()
        alarms = self.monitor.spend(cost, now)
        if outputs:
            alarms += self.monitor.observe(outputs, now, is_random=is_random)
        alarms += self.monitor.tick(now)
        for alarm in alarms:
            self._react(alarm)
        if self._engine.distrusted and is_random and len(outputs) == self.monitor.n_stages:
            self._n_complete += 1
            if self._n_complete % REVIEWED == 0:
                self._review()

    @property
    def probing(self) -> float:
        """The share of cases to run to the end so as to judge stages that are out of service."""
        return PROBING if self._engine.distrusted else 0.0

    def _review(self) -> None:
        """Take stages back into service that no longer look broken."""
        for stage in self._engine.distrusted:
            if not self.monitor.is_odd(stage):
                self._engine.distrusted -= {stage}
                name = self._engine.stages.names[stage]
                self._events.record("event", {"what": "stage back in service", "stage": name})
                logger.info("%s: %r is back in service", self._learning.counts.cascade, name)

    def _react(self, alarm: Alarm) -> None:
        engine, learning = self._engine, self._learning
        text = alarm.describe(engine.stages.names)
        logger.warning("%s: %s", learning.counts.cascade, text)
        self.alarms = [*self.alarms, alarm][-KEPT:]
        if alarm.opens_epoch:
            recent = dict(self.monitor.recent())
            learning.restart(learning.cascade, lambda _: recent, reason=text)
        if alarm.opens_epoch and len(engine.stages) - len(engine.distrusted) > 1:
            engine.distrusted |= {alarm.stage}
            self._n_complete = 0
        self._events.record("alarm", {**alarm.to_state(), "text": text})
        if self._on_alarm is not None:
            self._on_alarm(alarm)
