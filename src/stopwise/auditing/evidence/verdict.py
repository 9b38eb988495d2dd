"""What a log says without labels: the stage that is sound under weak dominance, and how surely."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from stopwise.auditing.evidence.pair_bounds import DisagreementBounds, Pair, path_pairs
from stopwise.auditing.evidence.sequences import NEVER
from stopwise.auditing.interval import Interval
from stopwise.cascade import Cascade
from stopwise.disagreement import (
    dominance_ratio,
    dominated_pairs,
    price_covers,
    price_ratio,
    sound_stage,
)


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


def judge(bounds: DisagreementBounds, cascade: Cascade) -> Verdict:
    """Return which stage is sound under weak dominance at the prices of ``cascade``."""
    C = cascade.cumulative_costs
    pairs = {(i, j): _evidence(bounds, i, j, float(C[j] - C[i])) for i, j in path_pairs(cascade)}
    stage, finding = _finding(pairs, cascade)
    looks = sound_stage(bounds.middle, cascade)
    n_more = 0.0 if finding is not Finding.UNDECIDED else _n_more(pairs, cascade, looks)
    stage = stage if finding is Finding.SOUND else looks
    ratio = math.nan if stage is None else dominance_ratio(bounds.middle, cascade, stage)
    return Verdict(finding, stage, n_more, tuple(pairs.values()), ratio)


def _evidence(bounds: DisagreementBounds, i: int, j: int, price: float) -> PairEvidence:
    low, high = float(bounds.low[i, j]), float(bounds.high[i, j])
    settled = 1 if price_covers(price, high) else 0 if price_covers(price, low) else -1
    return PairEvidence(
        shallow=i,
        deep=j,
        n_seen=int(bounds.seen[i, j]),
        n_disagreed=int(bounds.disagreed[i, j]),
        disagreement=float(bounds.middle[i, j]),
        interval=Interval(low, high),
        price=price,
        settled=settled,
        n_more=0 if settled else bounds.n_more(i, j, price),
        is_biased=(i, j) in bounds.biased,
        is_adjusted=(i, j) in bounds.adjusted,
    )


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
