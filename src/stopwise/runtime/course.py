"""How far a case goes."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from stopwise.policies.stopping_policy import Decision


class Course:
    """How far one case goes: a stage that was chosen before it, or a look after each output."""

    __slots__ = ("_decide", "_policy", "layout", "stage")

    def __init__(self, policy: Any, stage: int | None, layout: int, *, explores: bool) -> None:
        self._policy = policy
        self._decide = None if stage is not None else policy.next if explores else policy.recommend
        self.stage = stage
        self.layout = layout

    def goes_on(self, outputs: list[Hashable]) -> bool:
        """Whether to run one more stage after these outputs."""
        if self.stage is not None:
            return len(outputs) <= self.stage
        return self._decide(outputs) is not Decision.STOP  # type: ignore[misc]

    def certain(self, outputs: list[Hashable]) -> int:
        """Return the last stage that is run whatever the next outputs say."""
        if self.stage is not None:
            return self.stage
        return self._policy.ask(outputs) if outputs else 0
