"""Strong dominance without labels: the share of cases that no label could explain under it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.sequences import BettingSequence
from stopwise.auditing.interval import Interval
from stopwise.cascade import Cascade
from stopwise.patterns import MISSING, PatternTable

MAX_TRIALS = 4096  # of outputs in place of missing ones
OTHER = -2  # stands for every output that is not one of the labels in question


@dataclass(frozen=True)
class StrongDominanceEvidence:
    """How many cases contradict "a right answer stays right", whatever the label.

    For two classes these are the flip-flops, cases in which the output changes more than once.
    ``n_open`` more cases may contradict it since outputs are missing; the interval includes them.
    """

    n_cases: int
    n_contradicting: int
    n_open: int
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
    # If no output of the pattern is the label, no answer can turn from right to wrong.
    return (
        not unseen
        and possible.issubset(pattern)
        and not _consistent_labels(pattern, cascade, possible)
    )


def strong_dominance(
    histogram: PatternTable, space: LabelSpace, *, alpha: float
) -> StrongDominanceEvidence:
    """Count the cases that contradict strong dominance."""
    possible = set(space.possible(histogram.classes))
    total = n_open = 0
    for row, n in zip(histogram.codes.tolist(), histogram.weights.tolist(), strict=True):
        if contradicts(row, histogram.cascade, possible, space.unseen):
            total += n
        elif not space.unseen and _may_contradict(row, histogram.cascade, possible):
            n_open += n
    sequence, n = BettingSequence(alpha), histogram.n_cases
    low, high = sequence.interval(total, n).low, sequence.interval(total + n_open, n).high
    return StrongDominanceEvidence(n, total, n_open, Interval(low, high))


def _may_contradict(row: list[int], cascade: Cascade, possible: set[int]) -> bool:
    """Whether some outputs in the gaps would contradict; True if there are too many to try.

    Labels that the shown outputs rule out stay ruled out, so only the others matter.
    """
    gaps = row.count(MISSING)
    if len(possible.difference(row)) > gaps:
        return False
    labels = sorted(_consistent_labels(row, cascade, possible))
    if (len(labels) + 1) ** gaps > MAX_TRIALS:
        return True
    numbers = {MISSING: MISSING, **{y: number for number, y in enumerate(labels)}}
    return _can_contradict(tuple(numbers.get(y, OTHER) for y in row), cascade, len(labels))


@lru_cache(maxsize=1 << 14)
def _can_contradict(row: tuple[int, ...], cascade: Cascade, n_labels: int) -> bool:
    """Try all outputs in the gaps of a row whose labels are 0 … n_labels - 1."""
    labels = set(range(n_labels))
    choices = [[*labels, OTHER] if y == MISSING else [y] for y in row]
    return any(contradicts([*trial], cascade, labels, False) for trial in product(*choices))


def _consistent_labels(pattern: list[int], cascade: Cascade, labels: set[int]) -> set[int]:
    """Return the labels under which every right answer stays right."""
    return {y for y in labels if y not in pattern or _stays_right(pattern, cascade, y)}


def _stays_right(pattern: list[int], cascade: Cascade, label: int) -> bool:
    """Whether no shown output after a right one is wrong."""
    was_right = [False] * len(pattern)
    for k, parent in enumerate(cascade.parents):
        before = parent is not None and was_right[parent]
        if pattern[k] == MISSING:
            was_right[k] = before
        elif before and pattern[k] != label:
            return False
        else:
            was_right[k] = pattern[k] == label
    return True
