"""The stages of a runtime as a cascade: names, prices as they turn out, and changes to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.patterns import Pattern
from stopwise.runtime.calling import Caller
from stopwise.runtime.comparing import Normalise
from stopwise.runtime.stage import Stage


class Stages:
    """The callers of all stages. A change makes a new list, so a case keeps the one it began with.

    Parameters
    ----------
    stages
        The stages in order, with names that differ.
    normalise
        What counts as the same answer.
    clock
        Seconds that never go back.
    on_new_mean
        Called when the mean cost of a stage is worth another look.
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
        """Put a stage before the one at ``index``; a function alone becomes a stage."""
        made = stage if isinstance(stage, Stage) else Stage(stage)
        if made.name in self.names:
            made = replace(made, name=f"{made.name} {index + 1}")
        if made.name in self.names:
            raise SettingError(f"stages must have different names, got {made.name!r} twice")
        made_caller = Caller(made, self.normalise, self._clock, self._on_new_mean)
        self.callers = [*self.callers[:index], made_caller, *self.callers[index:]]

    def replace(self, index: int, stage: Any) -> None:
        """Put a stage in the place of another; its name may be the same."""
        before = self.callers
        try:
            self.callers = [*before[:index], *before[index + 1 :]]
            self.insert(index, stage)
        except SettingError:
            self.callers = before
            raise

    def remove(self, index: int) -> None:
        """Take a stage out."""
        if len(self) == 1:
            raise SettingError("the last stage that is left must not be removed")
        self.callers = [*self.callers[:index], *self.callers[index + 1 :]]

    def reprice(self, costs: Sequence[float]) -> None:
        """Give every stage a fixed price."""
        if len(costs) != len(self):
            raise SettingError(f"costs must have one price a stage, got {len(costs)}")
        made = [
            replace(caller.stage, cost=cost)
            for caller, cost in zip(self.callers, costs, strict=True)
        ]
        for caller, stage in zip(self.callers, made, strict=True):
            caller.stage = stage  # its circuit breaker and its limit stay as they are

    def given(self, mistake_cost: float) -> dict[str, Any]:
        """Return names and prices as plain data, with no price where each call has its own."""
        costs = [caller.stage.cost for caller in self.callers]
        return {
            "names": list(self.names),
            "costs": [None if callable(cost) else cost for cost in costs],
            "mistake_cost": mistake_cost,
        }

    def cascade(self, mistake_cost: float) -> Cascade:
        """Return the stages with their prices: fixed ones, or the mean so far."""
        return Cascade([caller.price for caller in self.callers], mistake_cost, self.names)


def rearranged(
    patterns: Mapping[Pattern, int], before: Sequence[str | None], after: Sequence[str]
) -> dict[Pattern, int]:
    """Return what was seen of stages for others: those of the same name keep what they said.

    A stage before that is no longer the same has the name ``None``.

    >>> rearranged({(0, 1, 1): 3, (0,): 2}, ["a", "b", "c"], ["a", "new", "c"])
    {(0, None, 1): 3, (0,): 2}
    """
    places = [before.index(name) if name in before else len(before) for name in after]
    changed: dict[Pattern, int] = {}
    for outputs, times in patterns.items():
        said = tuple(outputs[place] if place < len(outputs) else None for place in places)
        while said and said[-1] is None:
            said = said[:-1]
        if said:
            changed[said] = changed.get(said, 0) + times
    return changed
