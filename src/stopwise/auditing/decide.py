"""The rules that turn facts into advice: first proof, then belief, then disagreement alone."""

from __future__ import annotations

import math

from stopwise.auditing.advice import (
    Advice,
    Basis,
    Certainty,
    LabelOutlook,
    NextStep,
    Payoff,
    Step,
    break_even,
    corrected,
)
from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.caveats import warnings_of
from stopwise.auditing.clear import gaps_decide
from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.facts import Facts
from stopwise.auditing.interval import Interval
from stopwise.auditing.label_value import label_value
from stopwise.auditing.price_map import PriceMap
from stopwise.cascade import FloatArray

FIRST_LABELS = 20
FAIR_CHANCE = 0.25  # ask for the fewest more labels that settle it with at least this chance


def advise(facts: Facts, *, n_drawn: int = 0) -> Advice:
    """Decide what to advise; ``n_drawn`` cases of a plan are ready to be labelled."""
    price_map = PriceMap(facts)
    estimated, certainty = price_map.at(facts.cascade.mistake_cost)
    stage, basis = _choice(facts, estimated)
    parents = facts.cascade.parents
    path = facts.cascade.paths[stage]
    others = [k for k in range(facts.cascade.n_stages) if k not in path]
    ways = [_step(facts, stage, k) for k in others]
    before = [_step(facts, k, stage) for k in path[:-1]]
    # The way on that is worth most among those that can pay; else the one that saves most.
    open_ways = [s for s in ways if s.payoff is not Payoff.NEVER]
    skipped_step = max(open_ways, key=lambda s: s.gain, default=None) or max(
        ways, key=lambda s: s.price, default=None
    )
    last_step = min(before, key=lambda s: (s.payoff is Payoff.ALWAYS, s.gain), default=None)
    stake, outlooks = label_value(facts, certainty, skipped_step, last_step)
    next_step, n_next = _next(facts, stage, certainty, n_drawn, outlooks)
    at_risk = max(float(facts.worst_regrets[stage]), 0.0)
    return Advice(
        stage=stage,
        certainty=certainty,
        basis=basis,
        at_risk=at_risk,
        steps=tuple(_step(facts, i, k) for k, i in enumerate(parents) if i is not None),
        skipped=skipped_step,
        taken=last_step,
        warnings=warnings_of(facts, stage, certainty),
        next_step=next_step,
        n_next=n_next,
        prices=price_map.bands(),
        stake=min(stake, at_risk),
        outlooks=outlooks,
    )


def _choice(facts: Facts, stage: int | None) -> tuple[int, Basis]:
    """Return the stage to advise and what that rests on, by disagreement if there is none yet."""
    if stage is None:
        sound = facts.verdict.stage
        if facts.verdict.finding is Finding.SOUND and sound in facts.possible_stages:
            return sound, Basis.DISAGREEMENT
        return facts.minimax_stage, Basis.WORST_CASE
    if facts.ground is not None:
        return stage, Basis(facts.ground.value)
    if not facts.belief.has_rates:
        return stage, Basis.LAST_IS_BETTER
    believed = facts.belief.error_rates + facts.cascade.cumulative_costs
    if believed[stage] > believed[list(facts.possible_stages)].min() + TINY:
        return stage, Basis.HEDGED_BELIEF
    return stage, Basis.BELIEF_AND_LABELS if facts.has_telling_labels else Basis.BELIEF


def _step(facts: Facts, start: int, end: int) -> Step:
    table, C = facts.table, facts.cascade.cumulative_costs
    price = float(C[end] - C[start])
    n, n_changed = table.n_cases, int(table.n_disagreed[start, end])
    n_hidden = n - int(table.n_seen[start, end])
    payoff = _payoff(facts.largest_differences, start, end, price)
    rests_on_intervals = payoff is not _payoff(facts.proven_differences, start, end, price)
    rates = facts.belief.error_rates
    gain = float(rates[start] - rates[end])
    even = right = None
    has_two = table.n_classes == 2 and not table.agreement_only
    if has_two and not n_hidden and n_changed:
        even = break_even(price, n_changed / n)
        right = None if math.isnan(gain) else corrected(gain, n_changed / n)
    changed = Interval(n_changed / n, (n_changed + n_hidden) / n)
    if payoff is Payoff.OPEN or rests_on_intervals:
        changed = _if_random(facts, start, end, changed)
    return Step(start, end, price, changed, payoff, rests_on_intervals, even, gain, right)


def _if_random(facts: Facts, start: int, end: int, changed: Interval) -> Interval:
    """Return the share that a step changes without what intervals of random gaps exclude."""
    for pair in facts.verdict.pairs:
        if pair.is_adjusted and (pair.shallow, pair.deep) == (start, end):
            limits = (pair.interval.low, pair.interval.high)
            return Interval(*(min(max(x, changed.low), changed.high) for x in limits))
    return changed


def _payoff(most: FloatArray, start: int, end: int, price: float) -> Payoff:
    """Return what follows from the largest differences of error rates."""
    if most[start, end] <= price + TINY:
        return Payoff.NEVER
    return Payoff.ALWAYS if price + most[end, start] <= TINY else Payoff.OPEN


def _next(
    facts: Facts,
    stage: int,
    certainty: Certainty,
    n_drawn: int,
    outlooks: tuple[LabelOutlook, ...],
) -> tuple[NextStep, float]:
    if certainty is Certainty.PROVEN:
        verdict = facts.verdict
        open_pairs = [p for p in verdict.pairs if stage in (p.shallow, p.deep) and not p.settled]
        n_more = verdict.n_more if open_pairs and verdict.stage == stage else 0
        return (NextStep.MORE_CASES, n_more) if 0 < n_more < math.inf else (NextStep.NOTHING, 0)
    is_shown = facts.ground is not None
    others = [k for k in facts.possible_stages if k != stage]
    if gaps_decide(facts, stage, others) and not is_shown:
        return NextStep.RUN_ALL_TESTS, 0
    if n_drawn:
        return NextStep.LABEL_PLAN, n_drawn
    if is_shown:
        return NextStep.NOTHING, 0
    if facts.n_disputed <= facts.n_disputed_labelled:
        return NextStep.NO_HELP, 0
    fair = (o.n_labels for o in outlooks if o.chance >= FAIR_CHANCE)
    n_more = next(fair, outlooks[-1].n_labels if outlooks else FIRST_LABELS)
    return NextStep.LABEL, min(facts.n_disputed_labelled + n_more, facts.n_disputed)
