"""The rules that turn facts into advice: first proof, then belief, then disagreement alone."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

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
from stopwise.auditing.bounds.identify import Ground
from stopwise.auditing.bounds.regrets import TINY, possible_stages
from stopwise.auditing.caveats import FEW, may_err_less, outliers, warnings_of
from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.facts import Facts, guessed_errors
from stopwise.auditing.interval import Interval
from stopwise.auditing.label_value import label_value
from stopwise.auditing.price_map import PriceBand
from stopwise.cascade import Cascade, FloatArray
from stopwise.disagreement import sound_stage
from stopwise.patterns import PatternTable

FIRST_LABELS = 20
FAIR_CHANCE = 0.25  # ask for a number of labels that settle it with at least this chance
LABELS_GROWTH = 4  # if labels do not settle it, ask for this many times as many
# How much more every other stage must cost for a belief to be clear.
GAP = 0.1  # of what the stage costs
SURE_ERRORS = 3.0  # standard errors
MODEL_DOUBT = 0.25  # of the cases in which the two disagree, if only the model favours the stage
SUPPORTED_DOUBT = 0.1  # if disagreement or labels favour it too


def advise(facts: Facts, *, n_drawn: int = 0) -> Advice:
    """Decide what to advise; ``n_drawn`` cases of a plan are ready to be labelled."""
    stage, certainty, basis = _choice(facts)
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
        price_certainties=tuple(_certainty(facts, band, certainty) for band in facts.prices),
        stake=min(stake, at_risk),
        outlooks=outlooks,
    )


def _choice(facts: Facts) -> tuple[int, Certainty, Basis]:
    """Decide by what is proven, then by labels or the belief, then by disagreement alone."""
    if facts.ground is not None:
        is_proven = facts.ground in {Ground.LOG, Ground.ASSUMED}
        certainty = Certainty.PROVEN if is_proven else Certainty.LIKELY
        return facts.minimax_stage, certainty, Basis(facts.ground.value)
    possible = facts.possible_stages
    guess = guessed_errors(facts.cascade, facts.belief, facts.estimated_disagreement)
    total = guess + facts.cascade.cumulative_costs
    if not np.isnan(total).any():
        stage = min(possible, key=lambda k: float(total[k]))
        if not facts.belief.has_rates:
            return stage, Certainty.GUESS, Basis.LAST_IS_BETTER
        certainty = Certainty.LIKELY if is_clear(facts, stage) else Certainty.GUESS
        basis = Basis.BELIEF_AND_LABELS if facts.has_telling_labels else Basis.BELIEF
        return stage, certainty, basis
    sound = facts.verdict.stage
    if facts.verdict.finding is Finding.SOUND and sound is not None and sound in possible:
        return sound, Certainty.GUESS, Basis.DISAGREEMENT
    return facts.minimax_stage, Certainty.GUESS, Basis.WORST_CASE


def is_clear(facts: Facts, stage: int, *, price: float | None = None) -> bool:
    """Whether the belief says clearly that ``stage`` is cheapest, at a price of a mistake.

    The model must not be refuted, no estimate may be outside its bounds, and missing outputs must
    not decide unless they are assumed to be random. Every other stage that may be best must cost
    clearly more: by a share, by three standard errors, and even if the model is wrong in a share of
    the cases in which the two disagree. That share is larger if only the model favours ``stage``;
    then the log must also have been able to refute the model. Unless labels alone favour
    ``stage``, outputs must identify the error rates, no test in question may disagree with all
    others, and with four tests or more no stage may be cheaper if a single test is left out. See
    docs/decisions.md.
    """
    belief, cascade = facts.belief, facts.cascade
    if price is not None:
        cascade = Cascade(cascade.prices, price, cascade.names, cascade.parents)
    C = cascade.cumulative_costs
    total = belief.error_rates + C
    others = [k for k in possible_stages(facts.largest_differences, C) if k != stage]
    if belief.is_refuted or facts.table.n_cases < FEW or not others:
        return False
    if _gaps_decide(facts, stage) and not any(a.gaps_are_random for a in facts.assumptions):
        return False
    vote = _vote_of_labels(facts, stage, others, C)
    if vote < 0 or not (vote or (belief.is_identified and _is_related(facts.table, stage))):
        return False
    rivals = may_err_less(facts, stage, others)
    in_question = {stage, *rivals} if rivals and not vote else set()
    if in_question & outliers(facts, stage).keys():
        return False
    low, high = np.array([(bound.low, bound.high) for bound in facts.error_bounds]).T
    if ((belief.error_rates < low - TINY) | (belief.error_rates > high + TINY)).any():
        return False
    p = facts.estimated_disagreement
    sound = facts.verdict.stage if price is None else sound_stage(p, cascade)
    is_supported = sound == stage or vote > 0
    doubt = SUPPORTED_DOUBT if is_supported else MODEL_DOUBT
    margin = np.maximum(doubt * np.nan_to_num(p[stage], nan=1.0), GAP * total[stage])
    margin = np.maximum(margin, SURE_ERRORS * belief.spreads[stage])
    if not (total - total[stage] >= margin)[others].all():
        return False
    if any((rates + C < rates[stage] + C[stage])[others].any() for rates in belief.left_out):
        return False
    return is_supported or (belief.is_testable and bool(belief.left_out))


def _vote_of_labels(facts: Facts, stage: int, others: Sequence[int], C: FloatArray) -> int:
    """Return whether labels alone favour ``stage`` (1), another stage (-1) or neither (0).

    What counts is the point halfway from the estimate to the limit of its interval.
    """
    if facts.labels is None:
        return 0
    extra_cost, labels = C[others] - C[stage], facts.labels
    middle, low, high = (x[others, stage] for x in (labels.estimates, labels.low, labels.high))
    if ((middle + low) / 2 + extra_cost > 0).all():
        return 1
    return -1 if ((middle + high) / 2 + extra_cost < 0).any() else 0


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


def _certainty(facts: Facts, band: PriceBand, of_advice: Certainty) -> Certainty:
    """Return how sure a band is: as the advice at the user's price, else judged in its middle."""
    if band.low <= facts.cascade.mistake_cost < band.high:
        return of_advice
    if band.is_sure:
        return Certainty.PROVEN if band.is_proven else Certainty.LIKELY
    stage, middle = band.stage, math.sqrt(band.low * band.high)
    if facts.belief.has_rates and stage is not None and is_clear(facts, stage, price=middle):
        return Certainty.LIKELY
    return Certainty.GUESS


def _step(facts: Facts, start: int, end: int) -> Step:
    table, C = facts.table, facts.cascade.cumulative_costs
    price = float(C[end] - C[start])
    n, n_changed = table.n_cases, int(table.n_disagreed[start, end])
    n_hidden = n - int(table.n_seen[start, end])
    payoff = _payoff(facts.largest_differences, start, end, price)
    needs_labels = payoff is not _payoff(facts.proven_differences, start, end, price)
    rates = facts.belief.error_rates
    gain = float(rates[start] - rates[end])
    even = right = None
    has_two = table.n_classes == 2 and not table.agreement_only
    if has_two and not n_hidden and n_changed:
        even = break_even(price, n_changed / n)
        right = None if math.isnan(gain) else corrected(gain, n_changed / n)
    changed = Interval(n_changed / n, (n_changed + n_hidden) / n)
    return Step(start, end, price, changed, payoff, needs_labels, even, gain, right)


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
    is_shown_by_labels = facts.ground is not None
    if _gaps_decide(facts, stage) and not is_shown_by_labels:
        return NextStep.RUN_ALL_TESTS, 0
    if n_drawn:
        return NextStep.LABEL_PLAN, n_drawn
    if is_shown_by_labels:
        return NextStep.NOTHING, 0
    if facts.n_disputed <= facts.n_disputed_labelled:
        return NextStep.NO_HELP, 0
    if facts.labels is not None:
        n = max(FIRST_LABELS, LABELS_GROWTH * facts.labels.n_labels)
    else:  # the fewest that may well settle it
        fair = (o.n_labels for o in outlooks if o.chance >= FAIR_CHANCE)
        n = next(fair, outlooks[-1].n_labels if outlooks else FIRST_LABELS)
    return NextStep.LABEL, min(n, facts.n_disputed)


def _gaps_decide(facts: Facts, stage: int) -> bool:
    """Whether missing outputs leave more open than labels of the others could settle."""
    table = facts.table
    return bool((table.n_cases - table.n_seen[stage]).max() > table.n_disagreed[stage].max())
