"""Changes that the owner of a cascade makes while it runs: each is an event with a version."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.errors import SettingError, StoreUnavailableError
from stopwise.runtime.engine import Engine
from stopwise.runtime.events import Events
from stopwise.runtime.learning import Learning
from stopwise.runtime.stages import Stages
from stopwise.runtime.watching import Watching

OWNER = "owner"


class Changes:
    """The part of a `Runtime` that its owner changes; nothing changes while the store is away.

    What the owner has changed is in the store, beside the stages and prices as the program gave
    them. It holds in every process with these stages, and after a restart until the program gives
    others.
    """

    mistake_cost: float
    engine: Engine
    learning: Learning
    events: Events
    watching: Watching
    _changing: threading.Lock
    _given: dict[str, Any]
    _changed: dict[str, Any]

    @property
    def cascade(self) -> Cascade:
        """The stages with their present prices."""
        return self.learning.cascade

    def set_costs(self, costs: Sequence[float]) -> None:
        """Change what the stages cost; what was seen stays."""
        stages = self.engine.stages
        before = [caller.stage for caller in stages.callers]
        stages.reprice(costs)
        try:
            cascade = stages.cascade(self.mistake_cost)
            self._version("costs changed", cascade, costs=list(cascade.prices))
        except BaseException:
            for caller, stage in zip(stages.callers, before, strict=True):
                caller.stage = stage
            raise
        self._price_again()

    def set_mistake_cost(self, mistake_cost: float) -> None:
        """Change what a wrong answer costs; what was seen stays."""
        price = finite_number("mistake_cost", mistake_cost, SettingError, zero=False)
        cascade = self.engine.stages.cascade(price)
        self._version("mistake cost changed", cascade, mistake_cost=price)
        self.mistake_cost = price
        self._price_again()

    def replace_stage(self, stage: int | str, new: Any) -> None:
        """Put another stage in the place of one; what the others said of each other stays."""
        index = self.engine.stages.index(stage)
        self._restart(lambda stages: stages.replace(index, new), "stage replaced", gone=index)

    def add_stage(self, new: Any, *, before: int | str | None = None) -> None:
        """Add a stage at the end or before another one; what the others said stays."""
        stages = self.engine.stages
        index = len(stages) if before is None else stages.index(before)
        self._restart(lambda stages: stages.insert(index, new), "stage added")

    def remove_stage(self, stage: int | str) -> None:
        """Take a stage out; what the others said of each other stays."""
        index = self.engine.stages.index(stage)
        self._restart(lambda stages: stages.remove(index), "stage removed", gone=index)

    def trust(self, stage: int | str) -> None:
        """Use a stage again that an alarm has taken out of service; other workers follow."""
        index = self.engine.stages.index(stage)
        self._version("stage trusted again", self.cascade)
        self.watching.set_distrusted(self.engine.distrusted - {index})

    def freeze(self, *, frozen: bool = True) -> None:
        """Stop learning and exploring: decide by what is known, until it is thawed."""
        self._version("frozen" if frozen else "thawed", self.cascade, is_frozen=frozen)
        self.learning.is_frozen = frozen

    def sync(self) -> None:
        """Exchange what was learned with other workers now; otherwise it happens now and then."""
        self.learning.sync()
        self.watching.synced()
        with suppress(StoreUnavailableError):
            self.follow()

    def follow(self) -> None:
        """Take over what the owner has changed in another process or an earlier one."""
        with self._changing:
            kept = self.events.kept(OWNER)
            if not kept or kept["given"]["names"] != list(self.cascade.names):
                return
            if kept["changed"] == self._changed:
                return
            changed = self._changed = kept["changed"]
        with self.learning.lock:
            if "costs" in changed:
                self.engine.stages.reprice(changed["costs"])
            self.mistake_cost = changed.get("mistake_cost", self.mistake_cost)
            self.learning.is_frozen = changed.get("is_frozen", False)
            self._price_again()

    def _resume(self) -> None:
        """Go on with what the owner has changed, unless the program now says otherwise.

        What is frozen stays so in any case.
        """
        self._given, self._changed = self.engine.stages.given(self.mistake_cost), {}
        kept = self.events.kept(OWNER)
        if kept.get("given") == self._given:
            self.follow()
        else:
            self.learning.is_frozen = kept.get("changed", {}).get("is_frozen", False)
            self._keep({"is_frozen": self.learning.is_frozen})

    def _keep(self, changed: dict[str, Any]) -> None:
        self.events.keep(OWNER, {"given": self._given, "changed": changed})
        self._changed = changed

    def _version(self, what: str, cascade: Cascade, **changed: Any) -> None:
        self.learning.check_current()
        with self._changing:
            self.events.version(what, cascade)
            self._keep({**self._changed, **changed})

    def _price_again(self) -> None:
        self.learning.rebuild(self.engine.stages.cascade(self.mistake_cost))

    def _restart(
        self, change: Callable[[Stages], None], why: str, *, gone: int | None = None
    ) -> None:
        """Change the stages and what was seen of them together, or neither.

        ``gone`` is the stage whose outputs no longer count.
        """
        stages = self.engine.stages
        with self.learning.lock:
            self.learning.check_current()
            before = stages.callers
            names = [None if k == gone else name for k, name in enumerate(stages.names)]
            change(stages)
            try:
                cascade = stages.cascade(self.mistake_cost)
                self.learning.change_stages(cascade, names, reason=why)
            except BaseException:
                stages.callers = before
                raise
            self.learning.layout += 1
            self.watching.restart()
            self.events.version(why, self.cascade)
            self._resume()
