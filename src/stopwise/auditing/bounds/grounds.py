"""On what it rests that one stage is best for sure: the log alone, assumptions, labels, or both."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.bounds.regrets import TINY
from stopwise.cascade import FloatArray


class Ground(Enum):
    """The least from which it follows that a stage is best."""

    LOG = "the log"
    ASSUMED = "assumptions"
    LABELS = "labels"
    BOTH = "assumptions and labels"


def first_ground(
    stage: int, costs: FloatArray, grounds: Iterable[tuple[Ground, IdentifiedSet]]
) -> Ground:
    """Return the first ground on which ``stage`` is best whatever the labels are, else all."""
    for ground, identified in grounds:
        if identified.worst_regret(stage, costs) <= TINY:
            return ground
    return Ground.BOTH
