"""What was seen when: counts of patterns in buckets of time, few and bounded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.patterns import Pattern, agreement, standing_answer

# Buckets that are kept apart; beyond, two old neighbours become one and a cut is forgotten.
MAX_BUCKETS = 48
# Prefixes of outputs that are watched one by one: the first so many that occur.
MAX_PREFIXES = 64
# Distinct patterns of a bucket; beyond, only who agrees with whom is counted.
MAX_PATTERNS = 500


@dataclass
class Bucket:
    """The cases of a stretch of time: how often each pattern of outputs was seen.

    A pattern is as long as the case went; ``None`` is an output that was asked for and missing.
    ``log_weight`` is the logarithm of the share of the budget of false alarms that the cut just
    before the bucket has. ``hits`` and ``seen`` are what `Streams.counts` says, once it is full.
    """

    start: float
    log_weight: float
    patterns: Counter[Pattern] = field(default_factory=Counter)
    hits: FloatArray = field(default_factory=lambda: np.zeros(0))
    seen: FloatArray = field(default_factory=lambda: np.zeros(0))
    step_hits: FloatArray = field(default_factory=lambda: np.zeros(MAX_PREFIXES))
    step_seen: FloatArray = field(default_factory=lambda: np.zeros(MAX_PREFIXES))

    def add(self, pattern: Pattern, times: int) -> None:
        """Count cases."""
        if pattern not in self.patterns and len(self.patterns) >= MAX_PATTERNS:
            pattern = agreement(pattern)
        self.patterns[pattern] += times

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return sum(self.patterns.values())

    def joined(self, later: Bucket) -> Bucket:
        """Return the two as one, from the start of this one."""
        hits, seen = self.hits + later.hits, self.seen + later.seen
        steps = self.step_hits + later.step_hits, self.step_seen + later.step_seen
        both = Bucket(self.start, self.log_weight, Counter(self.patterns), hits, seen, *steps)
        for pattern, times in later.patterns.items():
            both.add(pattern, times)
        return both


class Streams:
    """Which shares are watched in a cascade of K stages, and how a bucket is counted for them.

    First the disagreement of each pair (i, j), i < j; then for each stage how often it gave
    nothing; then how often it gave its most common answer.
    """

    def __init__(self, n_stages: int) -> None:
        self.n_stages = n_stages
        self.pairs = [(i, j) for j in range(n_stages) for i in range(j)]

    @cached_property
    def n_streams(self) -> int:
        """The number of shares, and of stages whose answers given the ones before are watched."""
        return len(self.pairs) + 3 * self.n_stages - 1

    def counts(
        self, patterns: Mapping[Pattern, int], common: Mapping[int, object]
    ) -> tuple[FloatArray, FloatArray]:
        """Return hits and cases seen for each share; shape (S,) each.

        ``common`` is the most common answer of a stage, where it is known.
        """
        n_shares = len(self.pairs) + 2 * self.n_stages
        hits, seen = np.zeros(n_shares), np.zeros(n_shares)
        missing, same = len(self.pairs), len(self.pairs) + self.n_stages
        for pattern, times in patterns.items():
            for s, (i, j) in enumerate(self.pairs):
                if j < len(pattern) and pattern[i] is not None and pattern[j] is not None:
                    seen[s] += times
                    hits[s] += times * (pattern[i] != pattern[j])
            for k, output in enumerate(pattern):
                seen[missing + k] += times
                hits[missing + k] += times * (output is None)
                if k in common and output is not None:
                    seen[same + k] += times
                    hits[same + k] += times * (output == common[k])
        return hits, seen


class Steps:
    """How often a stage changed the standing answer, for each sequence of outputs before it.

    Where a case is stopped by what its stages said, this share does not depend on the rule: all
    cases with the same prefix that went on are alike. So it may be watched on any case.
    """

    def __init__(self) -> None:
        self.place: dict[Pattern, int] = {}

    @property
    def stages(self) -> list[int]:
        """For each prefix the stage that comes after it."""
        return [len(prefix) for prefix in self.place]

    def count(self, outputs: Pattern, times: int, hits: FloatArray, seen: FloatArray) -> None:
        """Add a case to ``hits`` and ``seen``, which have room for `MAX_PREFIXES`."""
        for k in range(1, len(outputs)):
            if outputs[k] is None:
                continue
            prefix = outputs[:k]
            s = self.place.get(prefix)
            if s is None:
                if len(self.place) >= MAX_PREFIXES:
                    continue
                s = self.place[prefix] = len(self.place)
            seen[s] += times
            hits[s] += times * (outputs[k] != standing_answer(prefix))


def merge_old(buckets: list[Bucket]) -> list[Bucket]:
    """Return at most `MAX_BUCKETS` buckets: of the older half the smallest neighbours are joined.

    The cut between them is given up, which can only lower the number of false alarms.
    """
    while len(buckets) > MAX_BUCKETS:
        older = range(len(buckets) // 2)
        b = min(older, key=lambda b: buckets[b].n_cases + buckets[b + 1].n_cases)
        buckets = [*buckets[:b], buckets[b].joined(buckets[b + 1]), *buckets[b + 2 :]]
    return buckets
