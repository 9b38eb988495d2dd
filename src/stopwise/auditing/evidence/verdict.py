"""What a log says without labels: the stage that is sound under weak dominance, and how surely."""

from __future__ import annotations

import math
from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import Enum

from stopwise.auditing.evidence.missing import Pair, path_pairs
from stopwise.auditing.evidence.prefixes import interval_at_random
from stopwise.auditing.evidence.sequences import NEVER, BettingSequence
from stopwise.auditing.interval import Interval
from stopwise.cascade import TOLERANCE, Cascade, FloatArray
from stopwise.disagreement import (
    dominance_ratio,
    dominated_pairs,
    price_covers,
    price_ratio,
    sound_stage,
)
from stopwise.patterns import PatternTable


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
    the log, with as many gaps. Where ``is_biased``, some outputs are missing and the interval
    allows them to be anything, however many cases there are. Where ``is_adjusted``, it assumes that
    gaps depend on nothing but the outputs before them.
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
    is_adjusted: bool = False

    @property
    def ratio(self) -> float:
        """The price over the disagreement: >= 1 where going on cannot pay."""
        return price_ratio(self.price, self.disagreement)


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


def judge(
    table: PatternTable,
    disagreement: FloatArray,
    *,
    alpha: float,
    adjustable: Container[Pair] = (),
) -> Verdict:
    """Return which stage is sound under weak dominance at the prices of the table's cascade.

    The intervals of all pairs hold together and at all times with chance 1 - alpha.
    ``disagreement`` is the share to show for each pair, (K, K). The gaps of the pairs in
    ``adjustable`` depend on nothing but the outputs before them; other gaps may hide anything.
    """
    cascade = table.cascade
    path = path_pairs(cascade)
    sequence = BettingSequence(alpha / len(path))
    pairs = {
        pair: _evidence(table, pair, float(disagreement[pair]), sequence, pair in adjustable)
        for pair in path
    }
    stage, finding = _finding(pairs, cascade)
    looks = sound_stage(disagreement, cascade)
    n_more = 0.0 if finding is not Finding.UNDECIDED else _n_more(pairs, cascade, looks)
    stage = stage if finding is Finding.SOUND else looks
    ratio = math.nan if stage is None else dominance_ratio(disagreement, cascade, stage)
    return Verdict(finding, stage, n_more, tuple(pairs.values()), ratio)


def _evidence(
    table: PatternTable, pair: Pair, share: float, sequence: BettingSequence, is_adjusted: bool
) -> PairEvidence:
    """Bound the disagreement of a pair and compare it with the price of going on.

    Of all n cases at least those disagree that are seen to, and at most these and all that do not
    show both outputs. Both are means over all cases, so each has its own bound. If gaps are at
    random, this interval and the one that follows from that are intersected, each at half the
    level.
    """
    C, n = table.cascade.cumulative_costs, table.n_cases
    price = float(C[pair[1]] - C[pair[0]])
    n_seen, least = int(table.n_seen[pair]), int(table.n_disagreed[pair])
    most = least + n - n_seen
    if is_adjusted:
        sequence = BettingSequence(sequence.alpha / 2)
    low, high = sequence.interval(least, n).low, sequence.interval(most, n).high
    if is_adjusted:
        at_random = interval_at_random(table, *pair, alpha=sequence.alpha)
        low, high = max(low, at_random.low), min(high, at_random.high)
    settled = 1 if price_covers(price, high) else 0 if price_covers(price, low) else -1
    n_more: float = 0
    if not settled and is_adjusted:
        n_more = _n_more_by_width(Interval(low, high), share, price, n)
    elif not settled and least <= price * n <= most:  # the gaps alone leave it open
        n_more = NEVER
    elif not settled:
        n_more = sequence.n_more(price, most if price * n > most else least, n)
    return PairEvidence(
        *pair,
        n_seen=n_seen,
        n_disagreed=least,
        disagreement=share,
        interval=Interval(low, high),
        price=price,
        settled=settled,
        n_more=n_more,
        is_biased=n_seen < n and not is_adjusted,
        is_adjusted=is_adjusted,
    )


def _n_more_by_width(interval: Interval, share: float, price: float, n_cases: int) -> float:
    """Forecast when the interval excludes the price, if its end nears the share as 1/√n."""
    if math.isnan(share) or abs(price - share) <= TOLERANCE:
        return NEVER
    end = interval.high if price > share else interval.low
    return math.ceil(n_cases * (((end - share) / (price - share)) ** 2 - 1))


def _conditions(cascade: Cascade, stage: int) -> Iterable[tuple[Pair, int]]:
    """Yield the pairs that decide whether ``stage`` is sound, with the sign that each must have."""
    for pair in dominated_pairs(cascade, stage):
        yield pair, 1
    for ancestor in cascade.paths[stage][:-1]:
        yield (ancestor, stage), -1


def _finding(pairs: dict[Pair, PairEvidence], cascade: Cascade) -> tuple[int | None, Finding]:
    ruled_out = 0
    for stage in range(cascade.n_stages):
        signs = [pairs[pair].settled * sign for pair, sign in _conditions(cascade, stage)]
        if all(sign > 0 for sign in signs):
            return stage, Finding.SOUND
        ruled_out += any(sign < 0 for sign in signs)
    return None, Finding.NONE if ruled_out == cascade.n_stages else Finding.UNDECIDED


def _looks(pair: PairEvidence) -> int:
    if math.isnan(pair.disagreement):
        return 0
    return 1 if price_covers(pair.price, pair.disagreement) else -1


def _n_more(pairs: dict[Pair, PairEvidence], cascade: Cascade, looks: int | None) -> float:
    if looks is not None:
        return max(pairs[pair].n_more for pair, _ in _conditions(cascade, looks))
    # No stage looks sound: for each, one condition that fails has to be settled.
    waits = []
    for stage in range(cascade.n_stages):
        counts = [
            pairs[pair].n_more
            for pair, sign in _conditions(cascade, stage)
            if _looks(pairs[pair]) == -sign
        ]
        waits.append(min(counts, default=NEVER))
    return max(waits)
