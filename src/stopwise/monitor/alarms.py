"""Alarms: an enumerated kind with its numbers, and one table of words."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any


class AlarmKind(Enum):
    """What has happened."""

    ODD_ONE_OUT = "odd one out"
    ONE_ANSWER = "one answer"
    ANSWERS = "other answers"
    MISSING = "missing outputs"
    CHANGED = "changed"
    STALE = "stale evidence"
    BUDGET = "budget"


_WORDS = {
    AlarmKind.ODD_ONE_OUT: "{stage} now disagrees with every other stage more than they do with "
    "each other: {before} before, {after} since ({n} cases)",
    AlarmKind.ONE_ANSWER: "{stage} gives the same answer to nearly every case: {before} before, "
    "{after} since ({n} cases)",
    AlarmKind.ANSWERS: "how often {stage} gives its most common answer has changed: {before} "
    "before, {after} since ({n} cases)",
    AlarmKind.MISSING: "how often {stage} gives no answer has changed: {before} before, {after} "
    "since ({n} cases)",
    AlarmKind.CHANGED: "how often {stage} and {other} disagree has changed: {before} before, "
    "{after} since ({n} cases)",
    AlarmKind.STALE: "{stage} was last compared with an earlier stage {hours:.3g} hours ago",
    AlarmKind.BUDGET: "this process alone spent {after} in the last day, its budget is {before}",
}


@dataclass(frozen=True)
class Alarm:
    """One alarm: its kind, the stages, when it was raised, and the shares before and after.

    Parameters
    ----------
    kind
        What has happened.
    at, since
        Seconds on the wall clock: when it was noticed, and when it probably began.
    stage, other
        Indices of stages; -1 where none is meant.
    before, after
        Shares, for ``BUDGET`` amounts, for ``STALE`` seconds.
    n_after
        The number of cases behind ``after``.
    """

    kind: AlarmKind
    at: float
    since: float
    stage: int = -1
    other: int = -1
    before: float = math.nan
    after: float = math.nan
    n_after: int = 0

    @property
    def opens_epoch(self) -> bool:
        """Whether earlier counts are no longer used, and the stage must be judged anew."""
        return self.kind not in (AlarmKind.STALE, AlarmKind.BUDGET)

    def describe(self, names: tuple[str, ...]) -> str:
        """Return the alarm in one sentence.

        >>> Alarm(AlarmKind.MISSING, 60.0, 0.0, 1, -1, 0.01, 0.5, 40).describe(("small", "large"))
        "how often 'large' gives no answer has changed: 1 % before, 50 % since (40 cases)"
        """
        is_share = self.opens_epoch
        return _WORDS[self.kind].format(
            stage=repr(names[self.stage]) if self.stage >= 0 else "",
            other=repr(names[self.other]) if self.other >= 0 else "",
            before=_share(self.before) if is_share else f"{self.before:g}",
            after=_share(self.after) if is_share else f"{self.after:.6g}",
            hours=self.after / 3600,
            n=self.n_after,
        )

    def to_state(self) -> dict[str, Any]:
        """Return the alarm as plain data for JSON."""
        state = {**asdict(self), "kind": self.kind.value}
        return {k: None if isinstance(v, float) and math.isnan(v) else v for k, v in state.items()}


def _share(value: float) -> str:
    return "unknown" if math.isnan(value) else f"{100 * value:.3g} %"
