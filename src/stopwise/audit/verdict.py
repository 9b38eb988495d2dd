"""What a log says without labels: the stage that is sound under weak dominance, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

import numpy as np

from stopwise.audit.histogram import Histogram
from stopwise.audit.sequences import NEVER, BettingSequence, Interval
from stopwise.cascade import TOLERANCE, Cascade, FloatArray, IntArray, read_only
from stopwise.disagreement import dominance_ratio, dominated_pairs, price_covers

Pair = tuple[int, int]


class Finding(Enum):
    """What the confidence sequences allow to say about a sound stage."""

    SOUND = "sound"
    UNDECIDED = "undecided"
    NONE = "none"


@dataclass(frozen=True)
class PairEvidence:
    """What is known of one pair of stages: whether the price of going on covers what it can change.

    ``settled`` is +1 where the price covers the disagreement for sure, -1 where it does not, 0
    where that is open; ``n_more`` is how many more cases would settle it if they are like those of
    the log, with as many gaps. Where ``is_biased``, which cases show both was decided by earlier
    outputs: the interval then allows the missing outputs to be anything, and that room stays
    however many cases of that kind there are.
    """

    shallow: int
    deep: int
    n_seen: int
    n_disagreed: int
    disagreement: float
    interval: Interval
    price: float
    settled: int
    n_more: float
    is_biased: bool = False

    @property
    def margin(self) -> float:
        """The price less the disagreement: >= 0 where going on cannot pay."""
        return self.price - self.disagreement

    @property
    def margin_interval(self) -> Interval:
        """The margins that the interval of the disagreement allows."""
        return Interval(self.price - self.interval.high, self.price - self.interval.low)

    @property
    def ratio(self) -> float:
        """The price over the disagreement: >= 1 where going on cannot pay."""
        return _ratio(self.price, self.disagreement)

    @property
    def ratio_interval(self) -> Interval:
        """The ratios that the interval of the disagreement allows."""
        return Interval(
            _ratio(self.price, self.interval.high), _ratio(self.price, self.interval.low)
        )


@dataclass(frozen=True)
class Verdict:
    """The finding at one cascade's prices, and the pairs it rests on.

    ``stage`` is the sound stage, or where that is undecided the one that looks sound, or ``None``.
    ``n_more`` is how many more cases would settle it if disagreement stays as it is.
    """

    finding: Finding
    stage: int | None
    n_more: float
    pairs: tuple[PairEvidence, ...]
    ratio: float

    def pair(self, shallow: int, deep: int) -> PairEvidence:
        """Return what is known of one pair."""
        return next(p for p in self.pairs if (p.shallow, p.deep) == (shallow, deep))

    @property
    def is_unconditional(self) -> bool:
        """Whether the sound stage is best whatever the labels are, weakly dominant or not.

        Beyond the sound stage nothing pays, that is arithmetic; that stopping before it is worse
        rests on weak dominance. Where nothing comes before it there is nothing to assume.
        """
        return self.finding is Finding.SOUND and self.stage == 0


@dataclass(frozen=True, eq=False)
class DisagreementBounds:
    """Intervals for the disagreement of all pairs on a common path that hold together.

    Parameters
    ----------
    seen, disagreed
        Counts for each pair; shape (K, K).
    sequence
        The confidence sequence of a single pair, its level divided among them.
    low, high, middle
        The ends of the intervals and the shares themselves; shape (K, K).
    n_cases
        The number of cases, with gaps or without.
    biased
        The pairs whose intervals allow the missing outputs to be anything.
    """

    seen: IntArray
    disagreed: IntArray
    sequence: BettingSequence
    low: FloatArray
    high: FloatArray
    middle: FloatArray
    n_cases: float
    biased: frozenset[Pair] = frozenset()

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        *,
        alpha: float,
        biased: Mapping[Pair, float] = MappingProxyType({}),
    ) -> DisagreementBounds:
        """Bound the pairs of a log so that all bounds hold at all times with chance 1 - alpha.

        ``biased`` gives the pairs that were seen together in a choice of cases, with the share to
        show for each. Of all n cases at least the d that differ disagree, and at most these and
        the n - m not seen together: both are means over all cases, so each has its own bound.
        """
        K = histogram.n_stages
        pairs = path_pairs(histogram.cascade)
        sequence = BettingSequence(alpha / max(len(pairs), 1))
        low, high, middle = np.zeros((K, K)), np.ones((K, K)), histogram.disagreement.copy()
        np.fill_diagonal(high, 0.0)
        for i, j in pairs:
            d, m, n = histogram.n_disagreed[i, j], histogram.n_seen[i, j], histogram.n_cases
            if (i, j) in biased:
                middle[i, j] = middle[j, i] = biased[i, j]
                bounds = Interval(sequence.interval(d, n).low, sequence.interval(d + n - m, n).high)
            else:
                bounds = sequence.interval(d, m)
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
            frozenset(biased),
        )

    def n_more(self, i: int, j: int, price: float) -> float:
        """Return how many more cases like these would tell ``price`` from the disagreement."""
        d, m, n = float(self.disagreed[i, j]), float(self.seen[i, j]), self.n_cases
        if (i, j) not in self.biased:
            more = self.sequence.n_more(price, d, m)  # only some of the cases to come show both
            return math.ceil(more * n / m) if math.isfinite(more) else NEVER
        most = d + n - m
        if d <= price * n <= most:  # gaps alone leave that open
            return NEVER
        return self.sequence.n_more(price, most if price * n > most else d, n)


def path_pairs(cascade: Cascade) -> tuple[Pair, ...]:
    """Return the pairs (i, j) with i on the path to j: in a chain all with i < j."""
    return tuple((i, j) for j, path in enumerate(cascade.paths) for i in path[:-1])


def judge(bounds: DisagreementBounds, cascade: Cascade) -> Verdict:
    """Return which stage is sound under weak dominance at the prices of ``cascade``."""
    C = cascade.cumulative_costs
    pairs = {(i, j): _evidence(bounds, i, j, float(C[j] - C[i])) for i, j in path_pairs(cascade)}
    stage, finding = _finding(pairs, cascade)
    looks = _looks_sound(pairs, cascade)
    n_more = 0.0 if finding is not Finding.UNDECIDED else _n_more(pairs, cascade, looks)
    chosen = stage if finding is Finding.SOUND else looks
    ratio = math.nan if chosen is None else dominance_ratio(bounds.middle, cascade, chosen)
    return Verdict(finding, chosen, n_more, tuple(pairs.values()), ratio)


def _evidence(bounds: DisagreementBounds, i: int, j: int, price: float) -> PairEvidence:
    n, d = int(bounds.seen[i, j]), int(bounds.disagreed[i, j])
    low, high = float(bounds.low[i, j]), float(bounds.high[i, j])
    biased = (i, j) in bounds.biased
    settled = 1 if price_covers(price, high) else 0 if price_covers(price, low) else -1
    return PairEvidence(
        shallow=i,
        deep=j,
        n_seen=n,
        n_disagreed=d,
        disagreement=float(bounds.middle[i, j]),
        interval=Interval(low, high),
        price=price,
        settled=settled,
        n_more=0 if settled else bounds.n_more(i, j, price),
        is_biased=biased,
    )


def _conditions(cascade: Cascade, stage: int) -> Iterable[tuple[Pair, int]]:
    """Yield the pairs that decide whether ``stage`` is sound, with what each has to be."""
    for pair in dominated_pairs(cascade, stage):
        yield pair, 1
    for ancestor in cascade.paths[stage][:-1]:
        yield (ancestor, stage), -1


def _finding(pairs: dict[Pair, PairEvidence], cascade: Cascade) -> tuple[int | None, Finding]:
    ruled_out = 0
    for stage in range(cascade.n_stages):
        signs = [pairs[pair].settled * wanted for pair, wanted in _conditions(cascade, stage)]
        if all(sign > 0 for sign in signs):
            return stage, Finding.SOUND
        ruled_out += any(sign < 0 for sign in signs)
    return None, Finding.NONE if ruled_out == cascade.n_stages else Finding.UNDECIDED


def _looks(pair: PairEvidence) -> int:
    return 0 if math.isnan(pair.disagreement) else 1 if pair.margin >= -TOLERANCE else -1


def _looks_sound(pairs: dict[Pair, PairEvidence], cascade: Cascade) -> int | None:
    for stage in range(cascade.n_stages):
        if all(_looks(pairs[pair]) == wanted for pair, wanted in _conditions(cascade, stage)):
            return stage
    return None


def _n_more(pairs: dict[Pair, PairEvidence], cascade: Cascade, looks: int | None) -> float:
    if looks is not None:
        return max(pairs[pair].n_more for pair, _ in _conditions(cascade, looks))
    # No stage looks sound: for each, one condition that fails has to be settled.
    waits = []
    for stage in range(cascade.n_stages):
        failing = [
            pairs[pair].n_more
            for pair, wanted in _conditions(cascade, stage)
            if _looks(pairs[pair]) == -wanted
        ]
        waits.append(min(failing, default=NEVER))
    return max(waits)


def _ratio(price: float, disagreement: float) -> float:
    return math.inf if disagreement <= TOLERANCE else price / disagreement
