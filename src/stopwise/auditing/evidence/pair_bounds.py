"""How often each pair of stages disagrees, with bounds that hold together and at all times."""

from __future__ import annotations

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from stopwise.auditing.evidence.prefixes import interval_at_random
from stopwise.auditing.evidence.sequences import NEVER, BettingSequence
from stopwise.auditing.interval import Interval
from stopwise.cascade import TOLERANCE, Cascade, FloatArray, IntArray, read_only
from stopwise.patterns import PatternTable

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class DisagreementBounds:
    """Intervals for the disagreement of all pairs on a common path that hold together."""

    # Counts for each pair; shape (K, K).
    seen: IntArray
    disagreed: IntArray
    # The confidence sequence of a single pair, its level divided among them.
    sequence: BettingSequence
    # The ends of the intervals and the shares themselves; shape (K, K).
    low: FloatArray
    high: FloatArray
    middle: FloatArray
    n_cases: float  # the number of cases, with gaps or without
    # The pairs whose intervals allow the missing outputs to be anything.
    biased: frozenset[Pair] = frozenset()
    # The pairs whose intervals assume that gaps depend on nothing but the outputs before them.
    adjusted: frozenset[Pair] = frozenset()

    @classmethod
    def of(
        cls,
        histogram: PatternTable,
        *,
        alpha: float,
        biased: Mapping[Pair, float] = MappingProxyType({}),
        at_random: Container[Pair] = (),
    ) -> DisagreementBounds:
        """Bound the pairs of a log so that all bounds hold at all times with chance 1 - alpha.

        ``biased`` gives the pairs with missing outputs and the share to show for each;
        ``at_random`` those of them whose gaps depend on nothing but the outputs before them.
        """
        K = histogram.n_stages
        pairs = path_pairs(histogram.cascade)
        sequence = BettingSequence(alpha / max(len(pairs), 1))
        low, high, middle = np.zeros((K, K)), np.ones((K, K)), histogram.disagreement.copy()
        np.fill_diagonal(high, 0.0)
        for i, j in pairs:
            if (i, j) in biased:
                middle[i, j] = middle[j, i] = biased[i, j]
                bounds = _bounds_with_gaps(histogram, i, j, sequence, (i, j) in at_random)
            else:
                bounds = sequence.interval(histogram.n_disagreed[i, j], histogram.n_seen[i, j])
            low[i, j] = low[j, i] = bounds.low
            high[i, j] = high[j, i] = bounds.high
        return cls(
            histogram.n_seen,
            histogram.n_disagreed,
            sequence,
            read_only(low),
            read_only(high),
            read_only(middle),
            histogram.n_cases,
            frozenset(pair for pair in biased if pair not in at_random),
            frozenset(pair for pair in biased if pair in at_random),
        )

    def n_more(self, i: int, j: int, price: float) -> float:
        """Return how many more cases like these would tell ``price`` from the disagreement."""
        d, m, n = float(self.disagreed[i, j]), float(self.seen[i, j]), self.n_cases
        if (i, j) in self.adjusted:
            return self._n_more_by_width(i, j, price)
        if (i, j) not in self.biased:
            more = self.sequence.n_more(price, d, m)  # only some of the cases to come show both
            return math.ceil(more * n / m) if math.isfinite(more) else NEVER
        most = d + n - m
        if d <= price * n <= most:  # the gaps alone leave it open
            return NEVER
        return self.sequence.n_more(price, most if price * n > most else d, n)

    def _n_more_by_width(self, i: int, j: int, price: float) -> float:
        """Forecast when the interval excludes the price, if its end nears the share as 1/√n."""
        share = float(self.middle[i, j])
        if math.isnan(share) or abs(price - share) <= TOLERANCE:
            return NEVER
        end = float(self.high[i, j] if price > share else self.low[i, j])
        return math.ceil(self.n_cases * (((end - share) / (price - share)) ** 2 - 1))


def _bounds_with_gaps(
    histogram: PatternTable, i: int, j: int, sequence: BettingSequence, at_random: bool
) -> Interval:
    """Bound the disagreement of a pair that only some cases show.

    Of all n cases at least the d that differ disagree, and at most these and the n - m not seen
    together: both are means over all cases, so each has its own bound. If gaps are at random, this
    interval and the one that follows from that are intersected, each at half the level.
    """
    d, m, n = histogram.n_disagreed[i, j], histogram.n_seen[i, j], histogram.n_cases
    if at_random:
        sequence = BettingSequence(sequence.alpha / 2)
    low, high = sequence.interval(d, n).low, sequence.interval(d + n - m, n).high
    if not at_random:
        return Interval(low, high)
    bounds = interval_at_random(histogram, i, j, alpha=sequence.alpha)
    return Interval(max(low, bounds.low), min(high, bounds.high))


def path_pairs(cascade: Cascade) -> tuple[Pair, ...]:
    """Return the pairs (i, j) with i on the path to j: in a chain all with i < j."""
    return tuple((i, j) for j, path in enumerate(cascade.paths) for i in path[:-1])
