"""What labels would be worth: the cost of not knowing, and how likely labels are to settle it."""

from __future__ import annotations

import math

import numpy as np

from stopwise.auditing.advice import Certainty, LabelOutlook, Payoff, Step, break_even, corrected
from stopwise.auditing.evidence.belief import Belief
from stopwise.auditing.facts import Facts, alpha_of_each
from stopwise.auditing.labels.labelled_cases import level_of_each
from stopwise.theory.beta_law import beta_cdf

OUTLOOKS = (20, 50, 200)  # numbers of labels whose effect the report forecasts
CLEAR = 1.5  # standard deviations from the break-even share that settle it with a model
# How many labels an estimate of the model is worth, from how far off such estimates were; see
# docs/decisions.md.
BELIEVED = 10.0
UNTESTED = 2.0  # where no log could have refuted it and the advice is not clear


def label_value(
    facts: Facts, certainty: Certainty, skipped_step: Step | None, last_step: Step | None
) -> tuple[float, tuple[LabelOutlook, ...]]:
    """Return what not knowing costs on average, and how likely labels are to settle it.

    A step changes a share p of the answers, estimated where outputs are missing, and avoids p x
    mistakes, x in (-1, 1); it pays if x exceeds its price over p. Let y = (1 + x) / 2: with two
    values the share of changes that are corrections. Its prior is Beta(1 + v ŷ, 1 + v (1 - ŷ)) with
    ŷ as estimated. Here v is the number of labels of such changes, plus what the model is worth:
    nothing where the log refutes it or there is none, so that every y is equally likely. Labels to
    come follow from that law. They settle it if y is then clearly on one side: by `CLEAR`
    deviations or, where the log refutes the model, by the √(2 log(2 / α)) of an interval from
    labels.

    Of the two steps, the one with the larger stake is reported.
    """
    n_unlabelled = facts.n_disputed - facts.n_disputed_labelled
    steps = [
        (step, is_taken)
        for step, is_taken in ((skipped_step, False), (last_step, True))
        if step is not None and step.payoff is Payoff.OPEN and _n_seen_to_change(facts, step)
    ]
    if certainty is Certainty.PROVEN or not steps or n_unlabelled <= 0:
        return 0.0, ()
    worth = _worth(facts.belief, certainty)
    candidates = []
    for step, is_taken in steps:
        share = float(facts.estimated_disagreement[step.start, step.end])
        law = _law(step, share, worth + _n_labelled(facts, step))
        candidates.append((_stake(law, step, share, is_taken), law, step, share))
    stake, law, step, share = max(candidates, key=lambda candidate: candidate[0])
    sizes = sorted({min(n, n_unlabelled) for n in OUTLOOKS})
    chances = [_chance(facts, law, step, share, n) for n in sizes]
    best = np.maximum.accumulate(chances).tolist()  # what is clear already may become less so
    return stake, tuple(map(LabelOutlook, sizes, best))


def _worth(belief: Belief, certainty: Certainty) -> float:
    """Return how many labels the estimate of the model is worth."""
    if belief.is_refuted:
        return 0.0
    is_believed = belief.is_testable or certainty is Certainty.LIKELY
    return BELIEVED if is_believed else UNTESTED


def _law(step: Step, share: float, worth: float) -> tuple[float, float]:
    if math.isnan(step.avoided):
        return 1.0, 1.0
    right = corrected(step.avoided, share)
    return 1 + worth * right, 1 + worth * (1 - right)


def _stake(law: tuple[float, float], step: Step, share: float, is_taken: bool) -> float:
    """Return p E[(x - b)⁺], or p E[(b - x)⁺] for the step that is taken; a step pays if x > b."""
    a, b = law
    even = _break_even(step, share)
    below, mean = beta_cdf(even, a, b), a / (a + b)
    mean_below = mean * beta_cdf(even, a + 1, b)
    loss = even * below - mean_below
    if not is_taken:
        loss += mean - even
    return 2 * share * max(loss, 0.0)


def _chance(
    facts: Facts, law: tuple[float, float], step: Step, share: float, n_labels: int
) -> float:
    """Return the chance that ``n_labels`` more labels tell y from the break-even share."""
    a, b = law
    n_labelled = _n_labelled(facts, step)
    n_cases = share * facts.table.n_cases - n_labelled  # of which only those seen can be labelled
    m = round(min(n_labels * _part(facts, step), _n_seen_to_change(facts, step) - n_labelled))
    k = np.arange(m)  # each chance of the beta-binomial law as a multiple of the one before
    logs = np.append(0.0, np.log((m - k) / (k + 1) * (a + k) / (b + m - 1 - k)).cumsum())
    chances = np.exp(logs - logs.max())
    mean = (a + np.arange(m + 1)) / (a + b + m)
    unlabelled = max(1 - m / n_cases, 0.0) if n_cases > 0 else 0.0  # share of the changes
    spread = np.sqrt(mean * (1 - mean) / (a + b + m + 1) * unlabelled)
    is_clear = np.abs(mean - _break_even(step, share)) > _clear(facts) * spread
    return float(chances[is_clear].sum() / chances.sum())


def _clear(facts: Facts) -> float:
    """Return how many standard deviations settle it."""
    if not facts.belief.is_refuted:
        return CLEAR
    level = level_of_each(alpha_of_each(facts.confidence), facts.cascade.n_stages)
    return math.sqrt(2 * math.log(2 / level))


def _break_even(step: Step, share: float) -> float:
    return min(max(break_even(step.price, share), 0.0), 1.0)


def _n_seen_to_change(facts: Facts, step: Step) -> int:
    return int(facts.table.n_disagreed[step.start, step.end])


def _part(facts: Facts, step: Step) -> float:
    """Return the share of a plan's labels that are of answers that the step changes."""
    return min(_n_seen_to_change(facts, step) / facts.n_disputed, 1.0)


def _n_labelled(facts: Facts, step: Step) -> float:
    return facts.n_disputed_labelled * _part(facts, step)
