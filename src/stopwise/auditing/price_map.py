"""What would be advised at every price of a mistake, and how surely."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from stopwise.auditing.advice import Certainty, PriceBand
from stopwise.auditing.bounds.regrets import (
    TINY,
    minimax_stage,
    possible_stages,
    worst_regrets,
)
from stopwise.auditing.clear import ClearRule, shown_disagreement
from stopwise.auditing.facts import Facts, guessed_errors
from stopwise.cascade import FloatArray

MARGIN = 3.0  # how far the map goes beyond the last change
SAME = 1e-12  # prices closer than this are one
NEAR = 1e-6  # an edge that is closer than this to the user's price may be at that price


class PriceMap:
    """The stage to stop at and how sure that is, as a function of the price of a mistake.

    A stage is sure if no other can be cheaper given the log, the assumptions and the labels, and
    proven if that needs no intervals, from labels or from gaps at random. Elsewhere it is the one
    of least expected cost among those that may be best, likely if that is clear. Everything that
    decides is a line in 1 / price, so the prices at which something changes are known, and it is
    the same between two of them.
    """

    def __init__(self, facts: Facts) -> None:
        self._facts, self._own = facts, facts.cascade.mistake_cost
        self._total_prices = facts.cascade.cumulative_costs * self._own
        self._estimates = guessed_errors(facts.cascade, facts.belief, facts.estimated_disagreement)
        self._rules: dict[int, ClearRule] = {}

    def at(self, price: float) -> tuple[int | None, Certainty]:
        """Return the stage and how sure it is; no stage where nothing estimates error rates."""
        facts, costs = self._facts, self._total_prices / price
        regrets = worst_regrets(facts.largest_differences, costs)
        if regrets.min() <= TINY:
            stage = minimax_stage(regrets)
            is_proven = worst_regrets(facts.proven_differences, costs)[stage] <= TINY
            return stage, Certainty.PROVEN if is_proven else Certainty.LIKELY
        if np.isnan(self._estimates).any():
            return None, Certainty.GUESS
        expected = self._estimates + costs
        possible = possible_stages(facts.largest_differences, costs)
        stage = min(possible, key=lambda k: float(expected[k]))
        is_clear = facts.belief.has_rates and self._rule(stage).holds(price)
        return stage, Certainty.LIKELY if is_clear else Certainty.GUESS

    def bands(self) -> tuple[PriceBand, ...]:
        """Return ranges of prices with the same advice, in order; the user's price is in one."""
        edges = self._edges()
        values = [self.at(middle) for middle in _middles(edges)]
        changes = [k for k, (left, right) in enumerate(pairwise(values)) if left != right]
        inner = edges[changes].tolist()
        low, high = min([*inner, self._own]) / MARGIN, max([*inner, self._own]) * MARGIN
        firsts = [values[0], *(values[k + 1] for k in changes)]
        return tuple(
            PriceBand(*ends, *value)
            for ends, value in zip(pairwise([low, *inner, high]), firsts, strict=True)
        )

    def _edges(self) -> FloatArray:
        """Return the prices at which something that decides may change, and the user's price.

        That one lies alone between two edges: what holds at an edge itself is decided there.
        """
        facts, gains = self._facts, self._estimates[:, None] - self._estimates[None, :]
        pairs = (facts.largest_differences, facts.proven_differences, gains)
        turns = [self._pair_turns(d) for d in (*pairs, shown_disagreement(facts))]
        edges = self._around_own(turns)
        stages = [self.at(middle)[0] for middle in _middles(edges)]
        for (low, high), stage in zip(pairwise([0.0, *edges, np.inf]), stages, strict=True):
            more = np.empty(0) if stage is None else self._rule(stage).turns
            turns.append(more[(more > low) & (more < high)])
        return self._around_own(turns)

    def _around_own(self, turns: list[FloatArray]) -> FloatArray:
        """Return prices in order, without those that differ by rounding only."""
        near = self._own * np.array([1 - NEAR, 1 + NEAR])
        prices = np.unique(np.concatenate([*turns, near]))
        prices = prices[np.isfinite(prices) & (prices > 0)]
        prices = prices[(prices <= near[0]) | (prices >= near[1])]
        is_new = np.append(True, prices[1:] > prices[:-1] * (1 + SAME))
        return np.asarray(prices[is_new])

    def _pair_turns(self, differences: FloatArray) -> FloatArray:
        """Return the prices at which D_ij + (c_i - c_j) / price changes its sign."""
        savings = self._total_prices[None, :] - self._total_prices[:, None]
        is_some = np.abs(differences) > TINY  # what is left by rounding turns nothing
        return np.asarray(savings[is_some] / differences[is_some])

    def _rule(self, stage: int) -> ClearRule:
        return self._rules.setdefault(stage, ClearRule(self._facts, stage))


def _middles(edges: FloatArray) -> list[float]:
    """Return a price before, between and beyond all edges."""
    middles = np.sqrt(edges[:-1] * edges[1:]).tolist()
    return [float(edges[0]) / MARGIN, *middles, float(edges[-1]) * MARGIN]
