"""Strong dominance without labels: the share of cases that no label could explain under it."""

from __future__ import annotations

from dataclasses import dataclass

from stopwise.audit.bounds.corners import LabelSpace
from stopwise.audit.evidence.sequences import BettingSequence
from stopwise.audit.histogram import Histogram
from stopwise.audit.interval import Interval
from stopwise.cascade import Cascade


@dataclass(frozen=True)
class StrongDominanceEvidence:
    """How many cases contradict "a right answer stays right", whatever the label.

    For two classes these are the flip-flops, cases in which the output changes more than once.
    """

    n_cases: int
    n_contradicting: int
    interval: Interval

    @property
    def rate(self) -> float:
        """The share of cases that contradict it."""
        return self.n_contradicting / self.n_cases

    @property
    def is_refuted(self) -> bool:
        """Whether some case contradicts it; under strong dominance none ever does."""
        return self.n_contradicting > 0


def contradicts(pattern: list[int], cascade: Cascade, possible: set[int], unseen: bool) -> bool:
    """Whether no label makes every right answer in ``pattern`` stay right along each path.

    ``pattern`` holds codes, -1 for a missing output; ``possible`` are the codes that may be right;
    ``unseen`` says whether the label may be a value that no test gives.

    >>> contradicts([0, 1, 0], Cascade(costs=[1, 1, 1]), {0, 1}, False)
    True
    >>> contradicts([0, 1, 0], Cascade(costs=[1, 1, 1]), {0, 1, 2}, False)
    False
    """
    if unseen:
        return False
    return not any(_stays_right(pattern, cascade, y) for y in possible)


def strong_dominance(
    histogram: Histogram, space: LabelSpace, *, alpha: float
) -> StrongDominanceEvidence:
    """Count the cases that contradict strong dominance."""
    possible = set(space.possible(histogram.classes))
    total = 0
    for row, n in zip(histogram.patterns.tolist(), histogram.counts.tolist(), strict=True):
        total += n * contradicts(row, histogram.cascade, possible, space.unseen)
    n_cases = histogram.n_cases
    return StrongDominanceEvidence(n_cases, total, BettingSequence(alpha).interval(total, n_cases))


def _stays_right(pattern: list[int], cascade: Cascade, label: int) -> bool:
    """Whether no shown output after a right one is wrong."""
    was_right = [False] * len(pattern)
    for k, parent in enumerate(cascade.parents):
        before = parent is not None and was_right[parent]
        if pattern[k] < 0:
            was_right[k] = before
        elif before and pattern[k] != label:
            return False
        else:
            was_right[k] = pattern[k] == label
    return True
