"""Changes that the owner of a cascade makes while it runs: each is an event with a version."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.errors import SettingError
from stopwise.patterns import Pattern
from stopwise.runtime.engine import Engine
from stopwise.runtime.events import Events
from stopwise.runtime.learning import Learning
from stopwise.runtime.stages import with_stage, without_stage
from stopwise.runtime.watching import Watching


class Changes:
    """The part of a `Runtime` that its owner changes; nothing changes while the store is away."""

    mistake_cost: float
    engine: Engine
    learning: Learning
    events: Events
    watching: Watching

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
            self.events.version("costs changed", stages.cascade(self.mistake_cost))
        except BaseException:
            for caller, stage in zip(stages.callers, before, strict=True):
                caller.stage = stage
            raise
        self._price_again()

    def set_mistake_cost(self, mistake_cost: float) -> None:
        """Change what a wrong answer costs; what was seen stays."""
        finite_number("mistake_cost", mistake_cost, SettingError, zero=False)
        self.events.version("mistake cost changed", self.engine.stages.cascade(mistake_cost))
        self.mistake_cost = float(mistake_cost)
        self._price_again()

    def replace_stage(self, stage: int | str, new: Any) -> None:
        """Put another stage in the place of one; what the others said of each other stays."""
        stages = self.engine.stages
        index = stages.index(stage)
        self._restart(
            lambda: stages.replace(index, new),
            lambda seen: without_stage(seen, index, keep=True),
            "stage replaced",
        )

    def add_stage(self, new: Any, *, before: int | str | None = None) -> None:
        """Add a stage at the end or before another one; what the others said stays."""
        stages = self.engine.stages
        index = len(stages) if before is None else stages.index(before)
        self._restart(
            lambda: stages.insert(index, new), lambda seen: with_stage(seen, index), "stage added"
        )

    def remove_stage(self, stage: int | str) -> None:
        """Take a stage out; what the others said of each other stays."""
        stages = self.engine.stages
        index = stages.index(stage)
        self._restart(
            lambda: stages.remove(index),
            lambda seen: without_stage(seen, index, keep=False),
            "stage removed",
        )

    def trust(self, stage: int | str) -> None:
        """Use a stage again that an alarm has taken out of service; other workers follow."""
        index = self.engine.stages.index(stage)
        self.events.version("stage trusted again", self.cascade)
        self.watching.set_distrusted(self.engine.distrusted - {index})

    def freeze(self, *, frozen: bool = True) -> None:
        """Stop learning and exploring: decide by what is known, until it is thawed."""
        self.events.version("frozen" if frozen else "thawed", self.cascade)
        self.learning.is_frozen = frozen

    def _price_again(self) -> None:
        self.learning.rebuild(self.engine.stages.cascade(self.mistake_cost))

    def _restart(
        self,
        change_stages: Callable[[], None],
        change_seen: Callable[[dict[Pattern, int]], dict[Pattern, int]],
        why: str,
    ) -> None:
        """Change the stages and what was seen of them together, or neither."""
        stages = self.engine.stages
        with self.learning.lock:
            before = stages.callers
            change_stages()
            try:
                cascade = stages.cascade(self.mistake_cost)
                self.learning.restart(cascade, change_seen, reason=why)
            except BaseException:
                stages.callers = before
                raise
            self.learning.layout += 1
            self.watching.restart()
            self.events.version(why, self.cascade)
