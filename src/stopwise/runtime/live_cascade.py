"""A cascade in production, apart from running its stages: decisions, counts, owner's changes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.errors import LogError, OutputsError, SettingError, StoreUnavailableError
from stopwise.monitor import Alarm, MonitorSettings
from stopwise.outputs import check_outputs
from stopwise.patterns import Pattern
from stopwise.runtime.alarm_handler import AlarmHandler
from stopwise.runtime.case_patterns import to_table
from stopwise.runtime.engine import Engine
from stopwise.runtime.event_log import EventLog
from stopwise.runtime.learning import Learning
from stopwise.store import KeyedTell, Outcome, case_text

if TYPE_CHECKING:
    from stopwise.auditing.report import AuditReport

OWNER = "owner"  # the kind under which the owner's changes are in the store


class LiveCascade:
    """The part of a `Runtime` that also serves cases whose stages run in other programs.

    Changes that the owner makes are in the store, beside the stages and prices that the program
    gave. They apply in every process with these stages, and after a restart until the program
    gives others. Each is an event with a version. Nothing changes while the store is unavailable.
    """

    def __init__(
        self,
        engine: Engine,
        learning: Learning,
        *,
        mistake_cost: float,
        monitor: MonitorSettings | None,
        on_alarm: Callable[[Alarm], None] | None,
        clock: Callable[[], float],
        follows_store: bool = False,
    ) -> None:
        self.engine = engine
        self.learning = learning
        self.name = learning.name
        self.worker = learning.counts.worker
        self.mistake_cost = mistake_cost
        self.clock = clock
        self.recent: deque[tuple[float, Pattern]] = deque(maxlen=20)
        self.events = EventLog(self.worker, self.name)
        self.alarm_handler = AlarmHandler(
            engine,
            learning,
            self.events,
            settings=monitor or MonitorSettings(),
            on_alarm=on_alarm,
            clock=clock,
        )
        self._follows_store = follows_store
        self._owner_changes: dict[str, Any]  # what the owner has changed, as last applied
        self._resume()

    @property
    def cascade(self) -> Cascade:
        """The stages with their present prices."""
        return self.learning.cascade

    @property
    def alarms(self) -> list[Alarm]:
        """The latest alarms, oldest first."""
        return self.alarm_handler.alarms

    def report(self, **settings: Any) -> AuditReport:
        """Return the audit of the current epoch; settings are those of `audit`."""
        from stopwise.auditing.pipeline import audit

        patterns = self.learning.patterns()
        for k, name in enumerate(self.cascade.names):
            if all(outputs[k : k + 1] in ((), (None,)) for outputs in patterns):
                raise LogError(f"a report needs outputs of every stage, {name!r} gave none so far")
        return audit(to_table(patterns, self.cascade), self.cascade, **settings)

    def ask(self, outputs_so_far: Sequence[Hashable] = ()) -> int:
        """Return the stage up to which to run a case whose stages run elsewhere.

        The stage already reached means: stop. Stages out of service are left out at the end.
        """
        learning, outputs = self.learning, list(outputs_so_far)
        with learning.lock:
            rule = learning.stopping_rule()
        last, stage = len(outputs) - 1, rule.stage
        if stage is None:
            stage = last + 1 if not outputs or rule.continues(outputs) else last
        while stage in self.engine.distrusted and stage > max(last, 0):
            stage -= 1
        return min(max(stage, last), learning.cascade.n_stages - 1)

    def tell(
        self,
        outputs: Sequence[Hashable],
        *,
        key: str | None = None,
        amend: bool = False,
        is_random: bool = False,
    ) -> bool:
        """Count a case whose stages ran elsewhere, ``None`` where one gave nothing.

        With a ``key`` it is counted once, however often it is told; the return value says whether
        anything was counted now. Other outputs under the same key are refused; with ``amend`` they
        replace those told before in the same epoch. ``is_random`` says that how far the case went
        did not depend on its outputs, as for a stage that `ask` chose before it. While learning is
        frozen nothing is counted, and a key may be told again later.
        """
        _, pattern = check_outputs(outputs, self.learning.cascade)
        self.learning.check_current()
        if self.learning.is_frozen:
            self.observe(pattern, is_random=is_random)
            return False
        if key is not None:
            tell = KeyedTell(self.name, key, case_text(pattern), amends=amend)
            (outcome,) = self.worker.tell_keyed([tell])
            if outcome is Outcome.CONFLICT:
                late = ", in an earlier epoch, and can no longer be amended" if amend else ""
                raise OutputsError(
                    f"case {key!r} was told before with other outputs{late}, got {pattern!r}"
                )
            if outcome is Outcome.REPEATED:
                return False
            self.learning.sync()
            self.alarm_handler.after_sync()
            if outcome is Outcome.AMENDED:  # the monitor has seen the case
                return True
        with self.learning.lock:
            if key is None:
                self.learning.tell(pattern)
            self.observe(pattern, is_random=is_random)
        return True

    def observe(self, pattern: Pattern, *, is_random: bool) -> None:
        """Show a case to the monitor, and add it to the recent cases."""
        with self.learning.lock:
            self.recent.append((self.clock(), pattern))
            cost = float(sum(self.learning.cascade.prices[: len(pattern)]))
            self.alarm_handler.observe(pattern, cost, is_random=is_random)

    def set_costs(self, costs: Sequence[float]) -> None:
        """Change what the stages cost; counts stay."""
        if len(costs) != len(self.engine.stages):
            raise SettingError(f"costs must have one price per stage, got {len(costs)}")
        cascade = Cascade(costs, self.mistake_cost, self.cascade.names)
        self._change("costs changed", costs=list(cascade.prices))

    def set_mistake_cost(self, mistake_cost: float) -> None:
        """Change what a wrong answer costs; counts stay."""
        price = finite_number("mistake_cost", mistake_cost, SettingError, zero=False)
        self._change("mistake cost changed", mistake_cost=price)

    def replace_stage(self, stage: int | str, new: Any) -> None:
        """Replace a stage by another; counts of the other stages stay."""
        index = self.engine.stages.index(stage)
        self._change_stages("stage replaced", index, index + 1, new)

    def add_stage(self, new: Any, *, before: int | str | None = None) -> None:
        """Add a stage at the end or before another one; counts of the others stay."""
        stages = self.engine.stages
        index = len(stages) if before is None else stages.index(before)
        self._change_stages("stage added", index, index, new)

    def remove_stage(self, stage: int | str) -> None:
        """Remove a stage; counts of the other stages stay."""
        index = self.engine.stages.index(stage)
        self._change_stages("stage removed", index, index + 1)

    def trust(self, stage: int | str) -> None:
        """Use a stage again that an alarm took out of service; other workers follow."""
        index = self.engine.stages.index(stage)
        self._change("stage trusted again")
        self.alarm_handler.set_distrusted(self.engine.distrusted - {index})

    def freeze(self, *, frozen: bool = True) -> None:
        """Stop learning and exploring, and decide by what is known; or start again.

        Cases that are run or told meanwhile are shown to the monitor and never counted. Labels are
        kept, and learned from when learning starts again.
        """
        self._change("frozen" if frozen else "thawed", is_frozen=frozen)

    def sync(self) -> None:
        """Exchange counts and changes with other workers now; otherwise this happens regularly."""
        self.learning.sync()
        self.alarm_handler.after_sync()
        with suppress(StoreUnavailableError):
            self.follow_owner()

    def follow_owner(self) -> None:
        """Apply what the owner has changed in another process or an earlier one."""
        if self._owner_state().get("changed", self._owner_changes) != self._owner_changes:
            with self.learning.lock:  # no other change comes in between from here on
                self._apply(self._owner_state().get("changed", self._owner_changes))

    def _resume(self) -> None:
        """Apply what the owner has changed, unless the program now gives other stages or prices.

        A frozen cascade stays frozen in any case. What only follows the store gives no prices.
        """
        given, self._owner_changes = self.engine.stages.description(self.mistake_cost), {}
        state = self._owner_state()
        if state and (self._follows_store or state["given"] == given):
            self.follow_owner()
            return
        is_frozen = self.events.state(OWNER).get("changed", {}).get("is_frozen", False)
        self._save({"given": given, "changed": {"is_frozen": is_frozen}})
        self.learning.is_frozen = is_frozen

    def _owner_state(self) -> dict[str, Any]:
        """Return what a program gave and the owner changed; empty if it is for other stages."""
        state = self.events.state(OWNER)
        is_ours = bool(state) and state["given"]["names"] == list(self.engine.stages.names)
        return state if is_ours else {}

    def _change(self, what: str, **changes: Any) -> None:
        """Record a change beside those of other processes, and apply them all."""
        self.learning.check_current()
        with self.learning.lock:
            given = self.engine.stages.description(self.mistake_cost)
            state = {"given": given, "changed": {}, **self._owner_state()}
            changes = {**state["changed"], **changes}
            mistake_cost = changes.get("mistake_cost", self.mistake_cost)
            cascade = self.engine.stages.cascade(mistake_cost)
            if "costs" in changes:
                cascade = Cascade(changes["costs"], mistake_cost, cascade.names)
            self.events.version(what, cascade)
            self._save({**state, "changed": changes})
            self._apply(changes)

    def _save(self, state: dict[str, Any]) -> None:
        self.events.put_state(OWNER, state)
        self._owner_changes = state["changed"]

    def _apply(self, changes: dict[str, Any]) -> None:
        is_frozen = changes.get("is_frozen", False)
        with self.learning.lock:
            if "costs" in changes:
                self.engine.stages.reprice(changes["costs"])
            self.mistake_cost = changes.get("mistake_cost", self.mistake_cost)
            was_frozen, self.learning.is_frozen = self.learning.is_frozen, is_frozen
            self._owner_changes = changes
            is_thawed = was_frozen and not is_frozen  # labels may have come meanwhile
            if is_thawed or self.engine.stages.cascade(self.mistake_cost) != self.cascade:
                self._update_prices()

    def _update_prices(self) -> None:
        with self.learning.lock:  # else the stages might change in between
            self.learning.rebuild(self.engine.stages.cascade(self.mistake_cost))

    def _change_stages(self, what: str, start: int, stop: int, *new: Any) -> None:
        """Put new stages in place of some, and change the counts with them, or change neither."""
        with self.learning.lock:
            self.learning.check_current()
            before = self.engine.stages
            stages = before.splice(start, stop, *new)
            names = [None if start <= k < stop else name for k, name in enumerate(before.names)]
            cascade = stages.cascade(self.mistake_cost)
            self.learning.change_stages(cascade, names, reason=what)
            self.engine.stages = stages
            self.learning.stages_version += 1
            self.alarm_handler.restart()
            self.events.version(what, self.cascade)
            self._resume()
