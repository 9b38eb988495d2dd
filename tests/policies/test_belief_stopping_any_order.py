"""What `BeliefStopping(skip=True)` learns from cases with gaps that its own rule made."""

from __future__ import annotations

from collections import Counter

import numpy as np

import stopwise as sw
from stopwise.policies.belief_rule import run_to_the_end

CASCADE = sw.Cascade(costs=[0.01, 0.1, 0.2])


def cases_with_shared_errors(n, seed=0):
    """Three tests that err together on hard cases, so that the model is only roughly right."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n) < 0.45).astype(int)
    hard = rng.random(n) < 0.3
    errors = np.where(hard[:, None], [0.5, 0.4, 0.35], [0.12, 0.05, 0.02])
    errors = errors * np.where(labels == 1, 1.4, 0.6)[:, None]
    return labels[:, None] ^ (rng.random((n, 3)) < errors)


def test_the_model_is_that_of_all_cases_though_most_stop_after_one_test():
    outputs = cases_with_shared_errors(30_000)
    rng = np.random.default_rng(1)
    whole, told = Counter(map(tuple, outputs.tolist())), Counter()
    for row, runs_on in zip(outputs.tolist(), rng.random(len(outputs)) < 0.06, strict=True):
        stops = row[0] == 0 and not runs_on
        told[(row[0], None, None) if stops else tuple(row)] += 1
    policies = []
    for seen in (whole, told):
        policy = sw.BeliefStopping(CASCADE, skip=True)
        policy.tell_many(seen)
        policies.append(policy)
    all_, some = (policy.model for policy in policies)
    # About 1,000 cases stand for the others: five standard deviations of a share among them.
    assert np.abs(all_.error_rates - some.error_rates).max() < 5 * np.sqrt(0.1 / 1_000)
    assert some.table.n_cases < 10_000  # and count like no more than they are
    for state in ((), (0,), (1,), (0, 1), (None, 1), (None, None, 0)):
        assert policies[1].test_if_going_on(state) == policies[0].test_if_going_on(state)


def test_what_comes_next_is_said_without_drawing():
    policy = sw.BeliefStopping(CASCADE, skip=True, seed=3)
    assert (policy.test_if_going_on(), policy.chance_to_go_on(())) == (0, 1.0)
    assert policy.test_if_going_on([1, None, 0]) == 1
    assert policy.test_if_going_on([1, 0, 0]) is None
    policy.tell_many(map(tuple, cases_with_shared_errors(2_000).tolist()))
    before = policy.to_state()
    for state in ((), (0,), (None, 1), (0, 1, 1)):
        chance, test = policy.chance_to_go_on(state), policy.test_if_going_on(state)
        named = {policy.fork().choose(state) for _ in range(3)}
        assert named <= {test, None}
        assert named == {test} or chance < 1
    assert policy.to_state() == before


def test_before_the_first_fit_all_tests_are_run_in_order():
    assert run_to_the_end((), 3, skip=True)[:3] == (0, 1.0, 0)
    entry = run_to_the_end((None, "a"), 3, skip=True)
    assert (entry.further, entry.answer, np.isnan(entry.error)) == (0, "a", True)
    assert run_to_the_end((1, 0, 1), 3, skip=True)[:3] == (-1, 0.0, None)
