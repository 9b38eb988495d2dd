"""Counts of patterns in a bounded number of time buckets, and the shares that are monitored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.patterns import Pattern, agreement, standing_answer

MAX_BUCKETS = 48  # if there are more, two old neighbours are joined and their cut is given up
MAX_PREFIXES = 64  # of outputs that are monitored one by one, the first that occur
MAX_PATTERNS = 500  # in a bucket; of further ones only the agreement of stages is kept


@dataclass
class Bucket:
    """The cases of a time bucket: how often each pattern of outputs was seen.

    A pattern is as long as the case went; ``None`` is the output of a stage that ran and gave
    nothing. ``others`` has the `agreement` of cases whose pattern found no room. ``log_weight`` is
    the logarithm of the weight of the cut before the bucket, its share of the budget of false
    alarms. ``hits`` and ``seen`` come from `Streams.counts` at its end.
    """

    start: float
    log_weight: float
    patterns: Counter[Pattern] = field(default_factory=Counter)
    others: Counter[Pattern] = field(default_factory=Counter)
    hits: FloatArray = field(default_factory=lambda: np.zeros(0))
    seen: FloatArray = field(default_factory=lambda: np.zeros(0))
    step_hits: FloatArray = field(default_factory=lambda: np.zeros(MAX_PREFIXES))
    step_seen: FloatArray = field(default_factory=lambda: np.zeros(MAX_PREFIXES))

    def add(self, pattern: Pattern, times: int) -> None:
        """Count cases."""
        if pattern in self.patterns or len(self.patterns) < MAX_PATTERNS:
            self.patterns[pattern] += times
        else:
            self.others[agreement(pattern)] += times

    @property
    def n_cases(self) -> int:
        """The number of cases."""
        return self.patterns.total() + self.others.total()

    def joined(self, later: Bucket) -> Bucket:
        """Return both buckets as one."""
        hits, seen = self.hits + later.hits, self.seen + later.seen
        steps = self.step_hits + later.step_hits, self.step_seen + later.step_seen
        counters = Counter(self.patterns), self.others + later.others
        bucket = Bucket(self.start, self.log_weight, *counters, hits, seen, *steps)
        for pattern, times in later.patterns.items():
            bucket.add(pattern, times)
        return bucket


class Streams:
    """The shares that are monitored in a cascade of K stages, and their counts in a bucket.

    First the disagreement of each pair (i, j), i < j; then for each stage how often it gave
    nothing; then how often it gave its most common answer.
    """

    def __init__(self, n_stages: int) -> None:
        self.n_stages = n_stages
        self.pairs = [(i, j) for j in range(n_stages) for i in range(j)]
        # The number of shares, plus the stages whose steps are monitored (`Steps`).
        self.n_streams = len(self.pairs) + 3 * n_stages - 1

    def counts(self, bucket: Bucket, common: Mapping[int, object]) -> tuple[FloatArray, FloatArray]:
        """Return hits and cases seen for each share; shape (S,) each.

        ``common`` has the most common answer of each stage for which it is known.
        """
        n_shares = len(self.pairs) + 2 * self.n_stages
        hits, seen = np.zeros(n_shares), np.zeros(n_shares)
        self._add(bucket.patterns, common, hits, seen)
        self._add(bucket.others, {}, hits, seen)  # their answers are not known
        return hits, seen

    def _add(
        self,
        patterns: Mapping[Pattern, int],
        common: Mapping[int, object],
        hits: FloatArray,
        seen: FloatArray,
    ) -> None:
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


class Steps:
    """How often a stage changed the standing answer, for each sequence of outputs before it.

    This share does not depend on the stopping rule, since the rule treats all cases with the same
    prefix alike. So it may be monitored on any case.
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

    Their cut is given up, which can only lower the number of false alarms.
    """
    while len(buckets) > MAX_BUCKETS:
        older = range(len(buckets) // 2)
        b = min(older, key=lambda b: buckets[b].n_cases + buckets[b + 1].n_cases)
        buckets = [*buckets[:b], buckets[b].joined(buckets[b + 1]), *buckets[b + 2 :]]
    return buckets
