"""The stages of a runtime: their callers, names and present prices, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.runtime.caller import Caller
from stopwise.runtime.normalisers import Normalise
from stopwise.runtime.stage import Stage


class StageList:
    """The callers of all stages. A change makes a new list: a running case keeps its own.

    ``normalise``, ``clock`` and ``on_new_mean`` are as for `Caller`.
    """

    def __init__(
        self,
        stages: Sequence[Any],
        normalise: Normalise,
        clock: Callable[[], float],
        on_new_mean: Callable[[], None] | None = None,
    ) -> None:
        if not stages:
            raise SettingError("stages must be one or more, got none")
        self.normalise = normalise
        self._clock = clock
        self._on_new_mean = on_new_mean
        self.callers: list[Caller] = []
        for stage in stages:
            self.insert(len(self.callers), stage)

    def __len__(self) -> int:
        return len(self.callers)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the stages."""
        return tuple(caller.stage.name for caller in self.callers)

    def index(self, stage: int | str) -> int:
        """Return the index of a stage given by name or index, or raise `SettingError`."""
        if isinstance(stage, str) and stage in self.names:
            return self.names.index(stage)
        if isinstance(stage, int) and not isinstance(stage, bool) and 0 <= stage < len(self):
            return stage
        raise SettingError(f"stage must be one of {', '.join(self.names)}, got {stage!r}")

    def insert(self, index: int, stage: Any) -> None:
        """Insert a stage before the one at ``index``; a plain function becomes a stage."""
        new = stage if isinstance(stage, Stage) else Stage(stage)
        if new.name in self.names:
            new = replace(new, name=f"{new.name} {index + 1}")
        if new.name in self.names:
            raise SettingError(f"stages must have different names, got {new.name!r} twice")
        caller = Caller(new, self.normalise, self._clock, self._on_new_mean)
        self.callers = [*self.callers[:index], caller, *self.callers[index:]]

    def replace(self, index: int, stage: Any) -> None:
        """Replace a stage by another, which may have the same name."""
        before = self.callers
        try:
            self.callers = [*before[:index], *before[index + 1 :]]
            self.insert(index, stage)
        except SettingError:
            self.callers = before
            raise

    def remove(self, index: int) -> None:
        """Remove a stage."""
        if len(self) == 1:
            raise SettingError("the only stage must not be removed")
        self.callers = [*self.callers[:index], *self.callers[index + 1 :]]

    def reprice(self, costs: Sequence[float]) -> None:
        """Give every stage a fixed price."""
        if len(costs) != len(self):
            raise SettingError(f"costs must have one price per stage, got {len(costs)}")
        stages = [
            replace(caller.stage, cost=cost)
            for caller, cost in zip(self.callers, costs, strict=True)
        ]
        for caller, stage in zip(self.callers, stages, strict=True):
            caller.stage = stage  # its circuit breaker and its limit stay as they are

    def description(self, mistake_cost: float) -> dict[str, Any]:
        """Return names and prices as plain data, with no price where it differs by call."""
        costs = [caller.stage.cost for caller in self.callers]
        return {
            "names": list(self.names),
            "costs": [None if callable(cost) else cost for cost in costs],
            "mistake_cost": mistake_cost,
        }

    def cascade(self, mistake_cost: float) -> Cascade:
        """Return the stages with their prices: fixed ones, or the mean so far."""
        return Cascade([caller.price for caller in self.callers], mistake_cost, self.names)
