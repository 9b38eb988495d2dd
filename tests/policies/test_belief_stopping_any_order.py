"""`BeliefStopping(skip=True)`: which test to run next, and what is learned from cases with gaps."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import OutputsError, SettingError
from stopwise.policies.belief_rule import SkipRule, run_to_the_end
from tests.policies.test_belief_stopping import cases

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
        tests = {policy.fork().choose(state) for _ in range(3)}
        assert tests <= {test, None}
        assert tests == {test} or chance < 1
    assert policy.to_state() == before


def test_before_the_first_fit_all_tests_are_run_in_order():
    assert run_to_the_end((), 3, skip=True)[:3] == (0, 1.0, 0)
    entry = run_to_the_end((None, "a"), 3, skip=True)
    assert (entry.further, entry.answer, np.isnan(entry.error)) == (0, "a", True)
    assert run_to_the_end((1, 0, 1), 3, skip=True)[:3] == (-1, 0.0, None)


def test_with_skip_a_good_test_can_be_called_at_once():
    rows, _ = cases(3_000, errors=(0.4, 0.3, 0.02))
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.1, 0.1, 0.1]), skip=True, exploration=0)
    policy.tell_many(rows)
    assert policy.choose() == policy.choose([None]) == policy.choose([None] * 3) == 2
    assert policy.choose([None, None, 1]) is None
    assert policy.next([None, None, 1]) is sw.Decision.STOP
    assert policy.conclude([None, None, 1])[0] == 1
    chain = sw.BeliefStopping(sw.Cascade(costs=[0.1, 0.1, 0.1]), exploration=0)
    chain.tell_many(rows)
    assert policy.choose([0]) == 2
    assert chain.choose([0]) == 1


def test_with_skip_cases_with_gaps_are_learned_from():
    rows, _ = cases(2_000, errors=(0.4, 0.2, 0.05))
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.1, 0.1, 0.1]), skip=True)
    policy.tell_many(rows[:500])
    policy.tell_many([(None, None, row[2]) for row in rows[500:1_999]])
    policy.tell([0, None, None])  # which warns of no test that gave nothing: it was not run
    assert policy.n_rounds == 2_000
    assert policy.choose() == 2


def test_failed_tests_are_left_out():
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.1, 0.01, 0.01]), skip=True, exploration=0)
    assert policy.choose(failed=[0]) == 1
    rows, _ = cases(500)
    policy.tell_many(rows)
    assert policy.choose() == 2
    assert policy.choose(failed=[2]) == 1
    assert policy.choose([0], failed=[1, 2]) is None


def test_many_tests_are_chosen_by_looking_one_ahead():
    rows, _ = cases(2_000, errors=(0.4, 0.4, 0.3, 0.3, 0.2, 0.1, 0.05), n_values=5)
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.02] * 7), skip=True, exploration=0)
    policy.tell_many(rows)
    assert isinstance(policy._rule, SkipRule)
    assert not policy._rule.is_exact
    assert policy.choose() in (5, 6)
    assert policy.choose([0] * 7) is None


def test_failed_tests_may_be_an_array():
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.1, 0.2, 0.3]), skip=True)
    assert policy.choose([], failed=np.array([0])) == 1
    assert policy.choose([], failed=np.array([0, 1])) == 2
    assert policy.choose([], failed=np.array([], dtype=int)) == policy.choose([]) == 0


@pytest.mark.parametrize("failed", [[3], 0, 1, 2.0, "0", "a", [[1]], [0.5]])
def test_failed_tests_are_a_collection_of_indices(failed):
    with pytest.raises(OutputsError, match="failed must be"):
        sw.BeliefStopping(CASCADE, skip=True).choose(failed=failed)


def test_skip_decides_which_questions_make_sense():
    with pytest.raises(SettingError, match="skip must be true"):
        sw.BeliefStopping(CASCADE).choose([0], failed=[1])
    with pytest.raises(SettingError, match="`choose` says which test"):
        sw.BeliefStopping(CASCADE, skip=True).ask()


@pytest.mark.parametrize("skip", [False, True])
def test_labels_of_cases_that_stopped_early_tend_to_the_truth(skip):
    """Tests 1 and 3 share their errors, and only labels can show it: 30 % of 1,000 are wrong."""
    policy = sw.BeliefStopping(sw.Cascade(costs=[0, 0.01, 0.05]), skip=skip)
    policy.tell_many({(0, 0, 0): 660, (1, 1, 1): 660, (0, 1, 0): 340, (1, 0, 1): 340})
    assert policy.conclude([0])[1] < 0.01
    for i in range(1_000):
        policy.tell((i % 2,), label=(i % 2) ^ ((i // 2) % 10 < 3))
    assert policy.conclude([0])[1] == pytest.approx(0.3, abs=0.03)
    assert policy.recommend([0]) is sw.Decision.CONTINUE
