"""Over all prices of a mistake: where a stage is best for sure, and which one looks best."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.auditing.bounds.regrets import TINY, may_be_best, worst_regrets
from stopwise.cascade import BoolArray, Cascade, FloatArray, IntArray

MARGIN = 3.0  # how far the map goes beyond the last change
REACH = 1e4  # and how far at most beyond the user's price
SAME = 1e-12  # prices closer than this are one


@dataclass(frozen=True)
class PriceBand:
    """A range of prices of a mistake over which the same stage is, or looks, cheapest.

    ``is_sure`` says that no other stage can be cheaper given the log, the assumptions and the
    labels, ``is_proven`` that this needs no intervals, from labels or from gaps at random.
    Elsewhere ``stage`` is the one of least expected cost among those that may be best, ``None``
    where there is no estimate.
    """

    low: float
    high: float
    stage: int | None
    is_sure: bool
    is_proven: bool


def price_map(
    differences: FloatArray, proven: FloatArray, estimates: FloatArray, cascade: Cascade
) -> tuple[PriceBand, ...]:
    """Return the bands of prices in order; the price of ``cascade`` is always among them.

    ``differences`` are the largest γ_i - γ_j, (K, K), ``proven`` the same with certainty,
    ``estimates`` error rates up to a common constant, or NaN, (K,).
    """
    total_prices, own = cascade.cumulative_costs * cascade.mistake_cost, cascade.mistake_cost
    turns = _turns([differences, proven, estimates[:, None] - estimates[None, :]], total_prices)
    turns = turns[(turns > own / REACH) & (turns < own * REACH)]
    low, high = min([*turns, own]) / MARGIN, max([*turns, own]) * MARGIN
    edges = np.concatenate([[low], turns, [high]])
    middles = np.sqrt(edges[:-1] * edges[1:])
    stages, sure = _at(middles, differences, estimates, total_prices)
    _, is_proven = _at(middles, proven, estimates, total_prices)
    values = np.stack([stages, sure, is_proven])
    changes = np.flatnonzero((values[:, 1:] != values[:, :-1]).any(axis=0)) + 1
    starts = [0, *changes.tolist()]
    return tuple(
        PriceBand(
            float(edges[start]),
            float(edges[end]),
            None if stages[start] < 0 else int(stages[start]),
            bool(sure[start]),
            bool(is_proven[start]),
        )
        for start, end in zip(starts, [*starts[1:], len(stages)], strict=True)
    )


def _turns(differences: list[FloatArray], total_prices: FloatArray) -> FloatArray:
    """Return the prices at which D_ij + (c_i - c_j) / price changes its sign for some D."""
    savings = total_prices[None, :] - total_prices[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        turns = savings / np.stack(differences)
    turns = np.unique(turns[np.isfinite(turns) & (turns > 0)])
    is_new = np.ones(len(turns), dtype=bool)
    is_new[1:] = turns[1:] > turns[:-1] * (1 + SAME)
    return np.asarray(turns[is_new])


def _at(
    prices: FloatArray, differences: FloatArray, estimates: FloatArray, total_prices: FloatArray
) -> tuple[IntArray, BoolArray]:
    """Return for each price the stage, -1 for none, and whether it is surely cheapest."""
    C = total_prices / prices[:, None]
    is_best = worst_regrets(differences, C) <= TINY
    expected = np.where(
        may_be_best(differences, C), np.nan_to_num(estimates, nan=np.inf) + C, np.inf
    )
    guess = np.where(np.isfinite(expected).any(axis=1), expected.argmin(axis=1), -1)
    sure = np.asarray(is_best.any(axis=1))
    return np.where(sure, is_best.argmax(axis=1), guess), sure
