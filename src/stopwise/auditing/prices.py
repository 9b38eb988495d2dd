"""The price map: over all prices of a mistake, which stage is sound, minimax, or beyond knowing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Generic, TypeVar

import numpy as np

from stopwise.auditing.bounds.regrets import TINY, minimax_stage, worst_regrets
from stopwise.auditing.evidence.pair_bounds import DisagreementBounds, path_pairs
from stopwise.auditing.evidence.verdict import Finding, judge
from stopwise.cascade import Cascade, FloatArray, read_only

MARGIN = 3.0  # how far the map goes beyond the last change

Value = TypeVar("Value")


@dataclass(frozen=True)
class Band(Generic[Value]):
    """A range of prices of a mistake over which something stays the same."""

    low: float
    high: float
    value: Value


@dataclass(frozen=True, eq=False)
class PriceMap:
    """What an audit says at every price of a mistake from ``low`` to ``high``.

    ``sound`` gives the finding and its stage, ``minimax`` the stage with the smallest worst-case
    regret, ``known`` the stage that is best whatever the labels are (``None``: no method without
    labels can know). ``prices`` and ``guarantees`` trace the smallest worst-case regret.
    """

    low: float
    high: float
    sound: tuple[Band[tuple[Finding, int | None]], ...]
    minimax: tuple[Band[int], ...]
    known: tuple[Band[int | None], ...]
    prices: FloatArray
    guarantees: FloatArray


def price_map(bounds: DisagreementBounds, differences: FloatArray, cascade: Cascade) -> PriceMap:
    """Return the price map of a log.

    Parameters
    ----------
    bounds
        Intervals for the disagreement of each pair.
    differences
        The largest γ_i - γ_j for each pair; shape (K, K).
    cascade
        The tests; its own price of a mistake is always on the map.
    """
    paid = cascade.cumulative_costs * cascade.mistake_cost
    turns = _sound_turns(bounds, cascade, paid)
    own = cascade.mistake_cost
    ends = [*turns, own]
    low, high = min(ends) / MARGIN, max(ends) * MARGIN

    def verdict_at(price: float) -> tuple[Finding, int | None]:
        verdict = judge(bounds, _priced(cascade, price))
        return verdict.finding, verdict.stage

    switches = _regret_turns(differences, paid, low, high)
    prices = np.geomspace(low, high, 241)
    guarantees = worst_regrets(differences, paid / prices[:, None]).min(axis=1)
    return PriceMap(
        low=low,
        high=high,
        sound=_bands(turns, low, high, verdict_at),
        minimax=_bands(
            switches,
            low,
            high,
            lambda price: minimax_stage(worst_regrets(differences, paid / price)),
        ),
        known=_bands(switches, low, high, lambda price: _known(differences, paid / price)),
        prices=read_only(prices),
        guarantees=read_only(guarantees),
    )


def _known(differences: FloatArray, costs: FloatArray) -> int | None:
    regrets = worst_regrets(differences, costs)
    return minimax_stage(regrets) if regrets.min() <= TINY else None


def _priced(cascade: Cascade, mistake_cost: float) -> Cascade:
    return Cascade(cascade.prices, mistake_cost, cascade.names, cascade.parents)


def _sound_turns(bounds: DisagreementBounds, cascade: Cascade, paid: FloatArray) -> list[float]:
    """Return the prices at which a pair's price meets its disagreement or an end of its bounds."""
    turns = set()
    for i, j in path_pairs(cascade):
        for p in (bounds.low[i, j], bounds.middle[i, j], bounds.high[i, j]):
            if p > 0 and paid[j] > paid[i]:
                turns.add(float((paid[j] - paid[i]) / p))
    return sorted(turns)


def _regret_turns(
    differences: FloatArray, paid: FloatArray, low: float, high: float
) -> list[float]:
    """Return the prices at which two of the lines D_kj + (c_k - c_j) / price cross, or one is 0."""
    slopes = (paid[:, None] - paid[None, :]).ravel()
    heights = differences.ravel()
    lines = np.unique(np.column_stack([slopes, heights]), axis=0)
    a, b = lines[:, 0], lines[:, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = (a[:, None] - a[None, :]) / (b[None, :] - b[:, None])
        rooted = -a / b
    prices = np.concatenate([crossing[np.triu_indices(len(a), 1)], rooted])
    prices = prices[np.isfinite(prices) & (prices > low) & (prices < high)]
    return sorted(set(prices.tolist()))


def _bands(
    turns: Sequence[float], low: float, high: float, value_at: Callable[[float], Value]
) -> tuple[Band[Value], ...]:
    """Return the ranges between turns over which the value stays the same, joined where equal."""
    edges = [low, *(t for t in turns if low < t < high), high]
    bands: list[Band[Value]] = []
    for left, right in pairwise(edges):
        if right <= left * (1 + 1e-12):
            continue
        value = value_at(float(np.sqrt(left * right)))
        if bands and bands[-1].value == value:
            bands[-1] = Band(bands[-1].low, right, value)
        else:
            bands.append(Band(left, right, value))
    return tuple(bands)
