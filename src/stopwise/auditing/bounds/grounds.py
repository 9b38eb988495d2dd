"""On what it rests that one stage is best for sure: the log alone, assumptions, labels, or both."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from enum import Enum

from stopwise.auditing.assumptions import Assumption
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.bounds.regrets import TINY
from stopwise.patterns import PatternTable


class Ground(Enum):
    """The least from which it follows that a stage is best."""

    LOG = "log"
    ASSUMED = "assumptions"
    LABELS = "labels"
    BOTH = "labels and assumptions"


def ground_of(
    stage: int,
    law: PatternTable,
    taken: Sequence[Assumption],
    drawn: Sequence[Assumption],
    unshared: Sequence[Hashable] = (),
) -> Ground:
    """Return the least that makes ``stage`` best for sure; what is not needed is not named.

    ``taken`` is what is assumed, ``drawn`` what labels say; ``unshared`` values are no answers.
    """
    wider = [a for a in taken if a.allows_unseen]  # no help, so never left out
    trials = {Ground.LOG: wider, Ground.ASSUMED: [*taken]}
    if not any(a.never_right for a in taken):  # else the intervals from labels rest on that too
        trials[Ground.LABELS] = [*wider, *drawn]
    for ground, given in trials.items():
        if IdentifiedSet(law, given, unshared).worst_regret(stage) <= TINY:
            return ground
    return Ground.BOTH
