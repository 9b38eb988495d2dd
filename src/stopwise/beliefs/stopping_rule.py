"""Stop or go on after each output, by backward induction over the prefixes that occur.

After a prefix s one may stop, and err with chance e(s) = 1 - belief in the answer, or pay for the
next test:

    V(s) = min(e(s), c + Σ_y p(y | s) V(s, y)).

The law of the next output is counted where many went on from s and the model's where few did,
p(y | s) = (n(s, y) + α m(y | s)) / (n(s) + α). The belief at s is the mean of the beliefs that
follow it, b(s) = Σ_y p(y | s) b(s, y), and the model's at the end. So looking further does not
change a belief on average, and no gain comes from a model that contradicts itself. If cases that
stopped at s have labels, the model's own belief at s, which these update, counts as well, by their
share among the labels at s and below.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.prediction import next_law
from stopwise.beliefs.prefix_tree import (
    Level,
    ToldCases,
    padded,
    per_parent,
    prefix_levels,
    standing_codes,
)
from stopwise.cascade import TOLERANCE, BoolArray, FloatArray, IntArray
from stopwise.patterns import MISSING

Answer = Literal["last", "believed"]

LAW_STRENGTH = 5.0
"""α: the number of cases that the model's law of the next output is worth."""

MOST_PATTERNS = 4_096
"""Up to so many possible patterns the rule looks at all of them, seen or not."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """What to do after each prefix of one length."""

    level: Level  # the prefixes
    stops: BoolArray  # whether to stop there
    # V, the least cost + error expected from there on, without what has been paid.
    values: FloatArray
    answers: IntArray  # the code of the answer if one stops, -1 if there is none to give
    errors: FloatArray  # the chance, as believed, that this answer is wrong


def stopping_rule(
    model: LatentClasses, cases: ToldCases, costs: FloatArray, *, answer: Answer = "last"
) -> list[Decisions]:
    """Return the best rule under the model's beliefs, one entry per test.

    Parameters
    ----------
    model
        The beliefs.
    cases
        What was seen, in the codes of the model.
    costs
        The price of each test in units of one mistake; shape (K,).
    answer
        ``"last"`` for the last output, ``"believed"`` for the class believed most.
    """
    K, M = cases.codes.shape[1], len(model.classes)
    levels = prefix_levels(cases.with_all_patterns(M) if M**K <= MOST_PATTERNS else cases, M)
    rule: list[Decisions] = []
    beliefs = values = np.empty(0)
    for k in range(K - 1, -1, -1):
        level = levels[k]
        patterns = padded(level.codes, K)
        own = model.posterior(patterns)
        if k == K - 1:
            beliefs, going_on = own, np.full(len(own), np.inf)
        else:
            law, rest = _law_of_next(levels[k + 1], next_law(model, k + 1, patterns))
            beliefs = _belief_ahead(level, levels[k + 1], law, rest, beliefs, own)
            going_on = costs[k + 1] + per_parent(levels[k + 1], law * values, len(own))
            going_on += rest * one_stage_value(model, patterns, costs, k + 1)
        answers = standing_codes(level.codes) if answer == "last" else np.argmax(beliefs, axis=1)
        right = beliefs[np.arange(len(beliefs)), answers]
        errors = np.where(answers == MISSING, 1.0, np.clip(1 - right, 0.0, 1.0))
        values = np.minimum(errors, going_on)
        stops = errors <= going_on + TOLERANCE
        rule.append(Decisions(level, stops, values, answers, errors))
    return rule[::-1]


def _law_of_next(child: Level, prediction: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the chance of each child given its parent, and the rest, for children not seen."""
    n = per_parent(child, child.weights, len(prediction))
    output = child.codes[:, -1]
    # How often a test gives nothing is counted, never predicted.
    prior = np.where(output == MISSING, 0.0, prediction[child.parent, output])
    law = (child.weights + LAW_STRENGTH * prior) / (n + LAW_STRENGTH)[child.parent]
    rest = 1 - per_parent(child, law, len(prediction))
    return law, np.maximum(rest, 0.0)


def _belief_ahead(
    level: Level,
    child: Level,
    law: FloatArray,
    rest: FloatArray,
    beliefs: FloatArray,
    own: FloatArray,
) -> FloatArray:
    """Return the mean of the beliefs that follow, with the labels of cases that stopped here."""
    ahead = rest[:, None] * own
    np.add.at(ahead, child.parent, law[:, None] * beliefs)
    n = np.maximum(level.n_labels + level.n_labels_below, 1.0)
    here = (level.n_labels / n)[:, None]
    return np.asarray(here * own + (1 - here) * ahead)


def one_stage_value(
    model: LatentClasses, codes: IntArray, costs: FloatArray, first: int
) -> FloatArray:
    """Return the least cost + error of running on to one stage from ``first`` on.

    The price of test ``first`` itself is left out: it has been paid.
    """
    cost, belief = 0.0, model.posterior(codes)
    best = 1 - model.hidden.right(first, codes, belief)
    for k in range(first + 1, len(costs)):
        cost += float(costs[k])
        best = np.minimum(best, cost + 1 - model.hidden.right(k, codes, belief))
    return np.asarray(best)
