"""The rule of the chain: backward induction against all rules, and what it never does."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from stopwise.beliefs.prediction import pattern_law
from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
from stopwise.beliefs.stopping_rule import LAW_STRENGTH, Decisions, stopping_rule
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable
from tests.beliefs.worlds import distinct_cases

COSTS = np.array([0.01, 0.04, 0.06])


def world(seed: int, *, n: int = 400, K: int = 3, M: int = 2) -> tuple[LatentClasses, ToldCases]:
    """A model fitted to random cases, some of them stopped early by what they showed."""
    rng = np.random.default_rng(seed)
    right = rng.integers(M, size=n)
    accuracy = np.sort(rng.uniform(0.55, 0.95, K))
    wrong = (right[:, None] + rng.integers(1, M, size=(n, K))) % M
    outputs = np.where(rng.random((n, K)) < accuracy, right[:, None], wrong)
    lengths = np.where((outputs[:, 0] == 0) & (rng.random(n) < 0.5), 1, K)
    codes = np.where(np.arange(K) < lengths[:, None], outputs, -1)
    cases = distinct_cases(codes)
    cascade = Cascade(costs=[1] * K)
    table = PatternTable(cases.codes, cases.weights.astype(int), tuple(range(M)), cascade)
    return LatentClasses.fit(table), cases


def law_and_beliefs(
    model: LatentClasses, cases: ToldCases, K: int, M: int
) -> tuple[dict[tuple[int, ...], float], dict[tuple[int, ...], np.ndarray]]:
    """The law of complete patterns and the belief at each, written out prefix by prefix."""

    def n(prefix: tuple[int, ...]) -> float:
        return sum(
            w
            for row, length, w in zip(
                cases.codes.tolist(), cases.lengths, cases.weights, strict=True
            )
            if length >= len(prefix) and tuple(row[: len(prefix)]) == prefix
        )

    def posterior(prefix: tuple[int, ...]) -> np.ndarray:
        return model.posterior(np.array([[*prefix, *[-1] * (K - len(prefix))]]))[0]

    model_law = pattern_law(model)
    law = {}
    for pattern in product(range(M), repeat=K):
        chance = n(pattern[:1]) / n(())
        for k in range(1, K):
            s = pattern[:k]
            went_on = sum(n((*s, y)) for y in range(M))
            prior = model_law[pattern[: k + 1]].sum() / model_law[s].sum()
            chance *= (n(pattern[: k + 1]) + LAW_STRENGTH * prior) / (went_on + LAW_STRENGTH)
        law[pattern] = float(chance)
    return law, {pattern: posterior(pattern) for pattern in law}


def expected_cost(
    stops: set[tuple[int, ...]],
    law: dict[tuple[int, ...], float],
    beliefs: dict[tuple[int, ...], np.ndarray],
    costs: np.ndarray,
) -> float:
    total = 0.0
    for pattern, chance in law.items():
        k = next(k for k in range(len(costs)) if k == len(costs) - 1 or pattern[: k + 1] in stops)
        total += chance * (costs[: k + 1].sum() + 1 - beliefs[pattern][pattern[k]])
    return total


def stops_of(rule: list[Decisions]) -> set[tuple[int, ...]]:
    return {
        tuple(codes)
        for level in rule
        for codes, stops in zip(level.level.codes.tolist(), level.stops, strict=True)
        if stops
    }


@pytest.mark.parametrize("seed", range(6))
def test_no_rule_of_all_is_believed_to_cost_less(seed):
    model, cases = world(seed)
    rule = stopping_rule(model, cases, COSTS)
    law, beliefs = law_and_beliefs(model, cases, 3, 2)
    prefixes = [p for length in (1, 2) for p in product(range(2), repeat=length)]
    every = [
        {p for p, stop in zip(prefixes, flags, strict=True) if stop}
        for flags in product((False, True), repeat=len(prefixes))
    ]
    least = min(expected_cost(stops, law, beliefs, COSTS) for stops in every)
    assert expected_cost(stops_of(rule), law, beliefs, COSTS) == pytest.approx(least, abs=1e-9)
    first = rule[0]
    value = COSTS[0] + first.level.weights @ first.values / first.level.weights.sum()
    assert value == pytest.approx(least, abs=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_it_is_never_believed_to_cost_more_than_one_stage_for_all(seed):
    model, cases = world(seed, K=4, M=3)
    costs = np.array([0.0, 0.03, 0.03, 0.1])
    rule = stopping_rule(model, cases, costs)
    law, beliefs = law_and_beliefs(model, cases, 4, 3)
    value = costs[0] + rule[0].level.weights @ rule[0].values / rule[0].level.weights.sum()
    for k in range(4):
        error = sum(p * (1 - beliefs[s][s[k]]) for s, p in law.items())
        assert value <= costs[: k + 1].sum() + error + 1e-9


def test_the_believed_answer_never_errs_more_than_the_last():
    model, cases = world(3, K=4, M=3)
    costs = np.full(4, 0.03)
    last = stopping_rule(model, cases, costs, answer="last")
    most_likely = stopping_rule(model, cases, costs, answer="believed")
    for one, other in zip(most_likely, last, strict=True):
        assert (one.errors <= other.errors + 1e-9).all()
        assert (one.values <= other.values + 1e-9).all()


def test_dear_tests_are_never_run_and_the_last_one_ends_a_case():
    model, cases = world(0)
    dear = stopping_rule(model, cases, np.array([0.0, 1.0, 1.0]))
    assert dear[0].stops.all()
    assert dear[-1].stops.all()


def test_what_was_not_seen_is_decided_too_where_values_are_few():
    model, cases = world(1)
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
    model, cases = world(2)
    rows = [([0, None, None], 1, 500)]
    labelled = LatentClasses.fit(model.table, labels=rows)
    n_labels = np.where((cases.codes == [0, -1, -1]).all(axis=1), 500.0, 0.0)
    before = stopping_rule(model, cases, COSTS)[0]
    after = stopping_rule(labelled, replace(cases, n_labels=n_labels), COSTS)[0]
    assert before.errors[0] < 0.6
    assert after.errors[0] > 0.95


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
