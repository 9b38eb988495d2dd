"""When a belief says clearly that a stage is cheapest, over all prices of a mistake."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from stopwise.auditing.bounds.regrets import TINY, may_be_best
from stopwise.auditing.caveats import FEW, may_err_less, outliers
from stopwise.auditing.facts import Facts
from stopwise.auditing.interval import Interval
from stopwise.cascade import Cascade, FloatArray
from stopwise.disagreement import sound_stage
from stopwise.patterns import PatternTable

# How much more every other stage must cost for a belief to be clear.
GAP = 0.1  # of what the stage costs
SURE_ERRORS = 3.0  # standard errors
MODEL_DOUBT = 0.25  # of the cases in which the two disagree, if only the model favours the stage
SUPPORTED_DOUBT = 0.1  # if disagreement or labels favour it too


@dataclass(frozen=True, eq=False)
class Lead:
    """By how much each other stage costs more: a line in 1 / price, in error units; shape (K,)."""

    errors: FloatArray
    fees: FloatArray

    def at(self, price: float) -> FloatArray:
        """Return the lead at a price of a mistake."""
        return self.errors + self.fees / price

    @property
    def turns(self) -> FloatArray:
        """The prices at which it changes its sign."""
        is_some = np.abs(self.errors) > TINY
        return np.asarray(-self.fees[is_some] / self.errors[is_some])


class ClearRule:
    """Whether the belief says clearly that ``stage`` is cheapest, at any price of a mistake.

    The model must not be refuted, no estimate may be outside its bounds, and missing outputs must
    not decide unless they are assumed to be random. Every other stage that may be best must cost
    clearly more, by the rates of the model and by the hedged ones: by a share, by three standard
    errors, and even if the model is wrong in a share of the cases in which the two disagree. That
    share is larger if only the model favours ``stage``; then the log must also have been able to
    refute the model. Unless labels alone favour ``stage``, outputs must identify the error rates,
    no test in question may disagree with all others, and with four tests or more no stage may be
    cheaper if a single test is left out. See docs/decisions.md.
    """

    def __init__(self, facts: Facts, stage: int) -> None:
        self._facts, self._stage = facts, stage
        self._total_prices = facts.cascade.cumulative_costs * facts.cascade.mistake_cost

    def holds(self, price: float) -> bool:
        """Whether it is clear at a price of a mistake."""
        facts, stage = self._facts, self._stage
        possible = may_be_best(facts.largest_differences, self._total_prices / price)
        others = [k for k in np.flatnonzero(possible).tolist() if k != stage]
        if not others or not self._can_hold:
            return False
        is_random = any(a.gaps_are_random for a in facts.assumptions)
        if not is_random and gaps_decide(facts, stage, others):
            return False
        if not _all_hold(self._margins, price, others):
            return False
        vote = self._vote_of_labels(price, others)
        if vote < 0 or not (vote or self._is_told_by_outputs):
            return False
        rivals = may_err_less(facts, stage, others)
        if rivals and not vote and {stage, *rivals} & self._outliers:
            return False
        cascade = Cascade(facts.cascade.prices, price, parents=facts.cascade.parents)
        is_supported = vote > 0 or sound_stage(shown_disagreement(facts), cascade) == stage
        if not is_supported and not (facts.belief.is_testable and facts.belief.left_out):
            return False
        return _all_hold(self._doubts[is_supported], price, others)

    @cached_property
    def turns(self) -> FloatArray:
        """The prices at which it may change, if the same stages may be best or are sound."""
        leads = [*self._margins, *chain(*self._doubts.values()), *self._votes]
        return np.concatenate([lead.turns for lead in leads])

    def _lead(self, errors: FloatArray) -> Lead:
        return Lead(errors, self._total_prices - self._total_prices[self._stage])

    @cached_property
    def _can_hold(self) -> bool:
        """Whether what does not depend on the price allows it."""
        facts, rates = self._facts, self._facts.belief.error_rates
        if facts.belief.is_refuted or facts.table.n_cases < FEW:
            return False
        low, high = np.array([(bound.low, bound.high) for bound in facts.error_bounds]).T
        return not ((rates < low - TINY) | (rates > high + TINY)).any()

    @cached_property
    def _margins(self) -> list[Lead]:
        """The leads that have to be there at any price."""
        belief, stage, fees = self._facts.belief, self._stage, self._total_prices
        margins = [
            self._lead(np.nan_to_num(rates - rates[stage], nan=np.inf)) for rates in belief.left_out
        ]
        for rates in (belief.error_rates, belief.hedged_rates):
            own, own_fees = (1 + GAP) * rates[stage], (1 + GAP) * fees[stage]
            margins.append(Lead(rates - own, fees - own_fees))
            errors = rates - rates[stage] - SURE_ERRORS * belief.spreads[stage]
            margins.append(self._lead(errors))
        return margins

    @cached_property
    def _doubts(self) -> dict[bool, list[Lead]]:
        """The leads that have to be there if the stage has support, or has none."""
        belief, stage = self._facts.belief, self._stage
        p = np.nan_to_num(self._facts.estimated_disagreement[stage], nan=1.0)
        both = (belief.error_rates, belief.hedged_rates)
        return {
            is_supported: [self._lead(rates - rates[stage] - doubt * p) for rates in both]
            for is_supported, doubt in ((True, SUPPORTED_DOUBT), (False, MODEL_DOUBT))
        }

    @cached_property
    def _votes(self) -> list[Lead]:
        """By labels alone: halfway from the estimate to either limit of its interval."""
        labels, stage = self._facts.labels, self._stage
        if labels is None:
            return []
        middle = labels.estimates[:, stage]
        return [self._lead((middle + limit[:, stage]) / 2) for limit in (labels.low, labels.high)]

    def _vote_of_labels(self, price: float, others: list[int]) -> int:
        """Return whether labels alone favour the stage (1), another stage (-1) or neither (0)."""
        if not self._votes:
            return 0
        least, most = (lead.at(price)[others] for lead in self._votes)
        return 1 if (least > 0).all() else -1 if (most < 0).any() else 0

    @cached_property
    def _is_told_by_outputs(self) -> bool:
        return self._facts.belief.is_identified and _is_related(self._facts.table, self._stage)

    @cached_property
    def _outliers(self) -> set[int]:
        return set(outliers(self._facts, self._stage))


def shown_disagreement(facts: Facts) -> FloatArray:
    """Return the shares of changed answers that the report shows, (K, K); NaN off all paths."""
    shares = np.full((facts.cascade.n_stages,) * 2, math.nan)
    for pair in facts.verdict.pairs:
        shares[pair.shallow, pair.deep] = shares[pair.deep, pair.shallow] = pair.disagreement
    return shares


def _all_hold(leads: Sequence[Lead], price: float, others: Sequence[int]) -> bool:
    return all((lead.at(price)[others] >= 0).all() for lead in leads)


def gaps_decide(facts: Facts, stage: int, others: Sequence[int]) -> bool:
    """Whether missing outputs leave more open about ``others`` than labels could settle.

    Labels settle where they are seen to differ from ``stage``. If gaps are random, cases that show
    the same fill them, and only those that nothing fills are open.
    """
    if facts.missing is None or not others:
        return False
    n, ranges = facts.table.n_cases, {}
    adjusted = {(p.shallow, p.deep) for p in facts.verdict.pairs if p.is_adjusted}
    for pair in facts.missing.pairs:
        if (pair.shallow, pair.deep) in adjusted:
            ranges[frozenset((pair.shallow, pair.deep))] = pair.adjusted_range
    settled, left_open = [], []
    for k in others:
        differ, seen = facts.table.n_disagreed[stage, k] / n, facts.table.n_seen[stage, k] / n
        shares = ranges.get(frozenset((stage, k)), Interval(differ, differ + 1 - seen))
        settled.append(shares.low)
        left_open.append(shares.width)
    return max(left_open) > max(settled)


def _is_related(table: PatternTable, stage: int) -> bool:
    """Whether a test agrees with some other test clearly more often than by chance."""
    for other in range(table.n_stages):
        both = table.shown[:, stage] & table.shown[:, other]
        n = float(table.weights[both].sum())
        if other == stage or not n:
            continue
        shares = [
            np.bincount(table.codes[both, k], table.weights[both], table.n_classes) / n
            for k in (stage, other)
        ]
        chance = float(1 - shares[0] @ shares[1])
        spread = math.sqrt(chance * (1 - chance) / n)
        if table.disagreement[stage, other] < chance - SURE_ERRORS * spread:
            return True
    return False
