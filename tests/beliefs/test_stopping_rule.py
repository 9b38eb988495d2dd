"""The rule of the chain: backward induction against plain recursion, and what it never does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from stopwise.beliefs.prediction import pattern_law
from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
from stopwise.beliefs.stopping_rule import LAW_STRENGTH, stopping_rule
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable
from tests.beliefs.worlds import fitted_world, least

COSTS = np.array([0.01, 0.04, 0.06])


def chain_law(model, cases):
    """The law of complete patterns that the rule assumes, prefix by prefix."""

    def n(*prefix):
        rows = (cases.codes[:, : len(prefix)] == prefix).all(axis=1)
        return cases.weights[rows & (cases.lengths >= len(prefix))].sum()

    model_law = pattern_law(model)
    law = np.zeros_like(model_law)
    for pattern in np.ndindex(law.shape):
        law[pattern] = n(pattern[0]) / n()
        for k in range(1, law.ndim):
            s = pattern[:k]
            went_on = sum(n(*s, y) for y in range(law.shape[0]))
            prior = model_law[pattern[: k + 1]].sum() / model_law[s].sum()
            law[pattern] *= (n(*pattern[: k + 1]) + LAW_STRENGTH * prior) / (went_on + LAW_STRENGTH)
    return law


@pytest.mark.parametrize("answer", ["last", "believed"])
@pytest.mark.parametrize(("K", "M"), [(3, 2), (3, 3), (4, 2)])
@pytest.mark.parametrize("seed", range(3))
def test_after_every_prefix_it_is_the_best_rule(seed, K, M, answer):
    model, cases = fitted_world(seed, K=K, M=M)
    costs = np.array([0.01, 0.04, 0.06, 0.1][:K])
    rule, law = stopping_rule(model, cases, costs, answer=answer), chain_law(model, cases)
    beliefs = model.posterior(np.indices(law.shape).reshape(K, -1).T).reshape(*law.shape, M)
    states = least(law, beliefs, costs, answer, in_order=True)
    for level in rule:
        for codes, *decision in zip(
            level.level.codes.tolist(), level.values, level.errors, level.stops, strict=True
        ):
            value, error = states[*codes, *[-1] * (K - len(codes))]
            assert decision == pytest.approx([value, error, error <= value], abs=1e-9)
    first = rule[0]
    start = costs[0] + first.level.weights @ first.values / first.level.weights.sum()
    assert start == pytest.approx(states[(-1,) * K][0], abs=1e-9)


def test_dear_tests_are_never_run_and_the_last_one_ends_a_case():
    model, cases = fitted_world(0)
    dear = stopping_rule(model, cases, np.array([0.0, 1.0, 1.0]))
    assert dear[0].stops.all()
    assert dear[-1].stops.all()


def test_what_was_not_seen_is_decided_too_where_values_are_few():
    model, cases = fitted_world(1)
    rule = stopping_rule(model, cases, COSTS)
    assert [len(level.stops) for level in rule] == [2, 4, 8]


def test_a_missing_output_leaves_the_answer_and_its_price_is_paid():
    cascade = Cascade(costs=[1, 1, 1])
    codes = np.array([[0, 0, 0], [0, -1, 0], [1, 1, 1], [1, -1, 1], [0, 1, 1], [1, 0, 0]])
    weights = np.array([40, 40, 40, 40, 9, 9])
    model = LatentClasses.fit(PatternTable(codes, weights, (0, 1), cascade))
    rule = stopping_rule(model, ToldCases.complete(codes, weights), np.array([0, 0.01, 0.01]))
    second = rule[1]
    (row,) = np.flatnonzero((second.level.codes == [0, -1]).all(axis=1))
    assert second.answers[row] == 0
    assert 0 < second.errors[row] < 1


def test_labels_of_stopped_cases_move_the_belief_where_they_stopped():
    model, cases = fitted_world(2)
    rows = [([0, None, None], 1, 500)]
    labelled = LatentClasses.fit(model.table, labels=rows)
    stopped = np.where((cases.codes == [0, -1, -1]).all(axis=1), 500.0, 0.0)
    before = stopping_rule(model, cases, COSTS)[0]
    after, mixed = (
        stopping_rule(labelled, replace(cases, n_labels=n_labels), COSTS)[0]
        for n_labels in (stopped, np.maximum(stopped, 100))
    )
    assert before.errors[0] < 0.6
    assert after.errors[0] > 0.95
    assert mixed.errors[0] < 0.9  # cases that went on have labels, too


def test_levels_count_who_reached_and_who_stopped():
    codes = np.array([[0, -1], [0, 1], [1, 1]])
    cases = ToldCases(
        codes, np.array([1, 2, 2]), np.array([5.0, 2.0, 3.0]), np.array([1.0, 2.0, 0])
    )
    first, second = prefix_levels(cases, 2)
    assert first.weights.tolist() == [7, 3]
    assert first.stopped.tolist() == [5, 0]
    assert first.n_labels.tolist() == [1, 0]
    assert first.n_labels_below.tolist() == [2, 0]
    assert second.parent.tolist() == [0, 1]
