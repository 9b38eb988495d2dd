"""The stages of a runtime: their callers, names and present prices."""

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
    """The callers of all stages. A change of stages makes a new list: a running case keeps its own.

    ``stages`` are `Stage` objects, plain functions, or callers of another list. ``normalise``,
    ``clock`` and ``on_new_mean`` are as for `Caller`.
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
        self._caller_settings = (normalise, clock, on_new_mean)
        self.callers: list[Caller] = []
        names = {caller.stage.name for caller in stages if isinstance(caller, Caller)}
        for number, stage in enumerate(stages, start=1):
            if isinstance(stage, Caller):
                self.callers.append(stage)
                continue
            new = stage if isinstance(stage, Stage) else Stage(stage)
            if new.name in names:
                new = replace(new, name=f"{new.name} {number}")
            if new.name in names:
                raise SettingError(f"stages must have different names, got {new.name!r} twice")
            names.add(new.name)
            self.callers.append(Caller(new, *self._caller_settings))

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

    def splice(self, start: int, stop: int, *new: Any) -> StageList:
        """Return a list with new stages in place of those from ``start`` to before ``stop``."""
        stages = [*self.callers[:start], *new, *self.callers[stop:]]
        return StageList(stages, *self._caller_settings)

    def reprice(self, costs: Sequence[float]) -> None:
        """Give every stage a fixed price; circuit breakers and limits stay as they are."""
        for caller, cost in zip(self.callers, costs, strict=True):
            caller.stage = replace(caller.stage, cost=cost)

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
