"""Stopping by belief, online: what it decides, learns, explores, saves and refuses."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest

from stopwise.beliefs.stopping_rule import stopping_rule
from stopwise.cascade import Cascade
from stopwise.errors import OutputsError, OutputsWarning, StateError
from stopwise.policies.belief_stopping import FIRST_FIT, BeliefStopping
from stopwise.policies.state import policy_from_state
from stopwise.policies.stopping_policy import Decision
from tests.policies.helpers import twin

CASCADE = Cascade(costs=[0.0, 0.05, 0.1])
STOP, CONTINUE, UNDECIDED = Decision.STOP, Decision.CONTINUE, Decision.UNDECIDED


def cases(n, seed=0, *, errors=(0.3, 0.15, 0.05), n_values=2):
    """Return outputs of tests that err independently, and the right answers."""
    rng = np.random.default_rng(seed)
    right = rng.integers(n_values, size=n)
    wrong = (right[:, None] + rng.integers(1, n_values, size=(n, len(errors)))) % n_values
    outputs = np.where(rng.random((n, len(errors))) < errors, wrong, right[:, None])
    return [tuple(row) for row in outputs.tolist()], right.tolist()


def learner(n=400, seed=0, **settings):
    policy = BeliefStopping(CASCADE, **settings)
    policy.tell_many(cases(n, seed)[0])
    return policy


def play(policy, rows):
    """Run cases one by one and return how many tests each took."""
    lengths = []
    for row in rows:
        k = 1
        while policy.next(row[:k]) is CONTINUE:
            k += 1
        policy.tell(row[:k])
        lengths.append(k)
    return lengths


# Deciding


def test_before_the_first_fit_everything_is_run():
    policy = BeliefStopping(CASCADE)
    rows, _ = cases(FIRST_FIT)
    for row in rows[:-1]:
        policy.tell(row)
    assert policy.model is None
    assert policy.next(rows[0][:1]) is policy.next(rows[0][:2]) is CONTINUE
    assert policy.next(rows[0]) is STOP
    assert policy.ask() == policy.ask([0]) == 2
    assert policy.recommend([0]) is UNDECIDED
    answer, error = policy.conclude([0, 1])
    assert answer == 1
    assert math.isnan(error)
    policy.tell(rows[-1])
    assert policy.model is not None


def test_counted_cases_are_remembered_like_cases_in_any_order():
    """The share of errors of test 1 is 0.3; five standard errors of 500 cases are 0.1."""
    policy = BeliefStopping(CASCADE, memory=1_024)
    policy.tell_many(Counter(sorted(cases(2_000)[0])))
    assert policy._counts.n_rounds > 500
    assert policy.model.error_rates[0] == pytest.approx(0.3, abs=0.1)


def test_it_follows_the_rule_of_its_model():
    policy = learner(exploration=0)
    rule = policy._rule
    decided = stopping_rule(policy.model, rule._cases, CASCADE.costs)
    for level in decided:
        for codes, stops, error in zip(
            level.level.codes.tolist(), level.stops, level.errors, strict=True
        ):
            assert policy.recommend(codes) is (STOP if stops else CONTINUE)
            assert policy.next(codes) is (STOP if stops else CONTINUE) or len(codes) > 1
            assert policy.conclude(codes) == (codes[-1], pytest.approx(error))


def test_it_comes_near_the_best_rule_that_knows_the_truth():
    """Cost + error of 20,000 cases against the best single stage, which has .2 at these prices."""
    policy = BeliefStopping(CASCADE, seed=1)
    rows, right = cases(20_000, 5)
    paid = [
        CASCADE.cumulative_costs[k - 1] + (row[k - 1] != y)
        for row, y, k in zip(rows, right, play(policy, rows), strict=True)
    ]
    stages = [
        CASCADE.cumulative_costs[k]
        + np.mean([row[k] != y for row, y in zip(rows, right, strict=True)])
        for k in range(3)
    ]
    assert np.mean(paid) < min(stages)


def test_lists_tuples_and_arrays_are_the_same_outputs_each_time():
    policy = learner(exploration=0)
    for outputs in ((0,), (0, 1), (1, 1)):
        forms = [outputs, [*outputs], np.array(outputs)]
        assert len({policy.next(form) for form in forms * 20}) == 1


def test_ask_says_how_far_to_run():
    policy = learner(exploration=0)
    assert policy.ask() == 0
    for first in (0, 1):
        stage = policy.ask([first])
        assert (stage == 0) == (policy.next([first]) is STOP)
    assert policy.ask([0, 1, 1]) == 2


def test_a_value_never_seen_is_decided_by_what_its_test_does_on_the_whole():
    policy = learner(exploration=0)
    errors = policy.model.error_rates
    answer, error = policy.conclude(["new"])
    assert (answer, error) == ("new", pytest.approx(errors[0]))
    totals = CASCADE.cumulative_costs + errors
    assert policy.recommend(["new"]) is (CONTINUE if totals[1:].min() < totals[0] else STOP)


def test_two_tests_go_by_what_disagreement_proves():
    """Without a third test the later is taken to be right: stop where a change is rarer than c."""
    for price, decision in ((0.5, STOP), (0.02, CONTINUE)):
        policy = BeliefStopping(Cascade(costs=[0.0, price]), exploration=0)
        policy.tell_many({(0, 0): 80, (0, 1): 20, (1, 1): 70, (1, 0): 30})
        assert not policy.model.is_identified
        assert policy.recommend([0]) is decision


def test_outputs_of_very_many_values_are_pooled_by_agreement():
    rng = np.random.default_rng(0)
    policy = BeliefStopping(CASCADE, exploration=0, answer="believed")
    for _ in range(400):
        right = f"answer {rng.integers(10**9)}"
        policy.tell([right if rng.random() < p else str(rng.random()) for p in (0.6, 0.8, 0.9)])
    assert len(policy.model.classes) == 16
    assert policy.recommend(["x", "x"]) is STOP
    assert policy.recommend(["x", "y"]) is CONTINUE
    assert policy.conclude(["x", "y", "y"])[0] == "y"
    assert policy.conclude(["x", "x", "y"])[1] > policy.conclude(["x", "y", "y"])[1]


@pytest.mark.filterwarnings("ignore:outputs end with None")
def test_degenerate_cases_have_an_answer():
    for rows in (
        [(0, 0, 0)] * 40,
        [(0, 0, 0), (1, 1, 1)] * 30,
        [(None, None, None)] * 40,
        [(None,)] * 2 * FIRST_FIT,
        [(0, None, None)] * 40,
        [(0,), (1,), *[(None,)] * 2000, (None, None)],
        [(0, 1, 0), (1, 1, 1)] * 30,
        [("a",)] * 50,
    ):
        policy = BeliefStopping(CASCADE)
        policy.tell_many(rows)
        assert (policy.recommend([0]) is UNDECIDED) == (policy.model is None)
        assert policy.conclude([None]) == (None, 1.0)
        for outputs in ([0], [None], [0, None], [0, 1], ["a", "b", "c"]):
            assert policy.next(outputs) in (STOP, CONTINUE)
            assert not math.isnan(policy.conclude(outputs)[1]) or policy.model is None


def test_before_the_first_output_the_first_test_is_run():
    policy = BeliefStopping(CASCADE, seed=0)
    policy.tell_many([(0, 0, 0), (1, 1, 1), (0, 1, 1), (1, 1, 0)] * 30)
    assert policy.model is not None
    assert (policy.choose(), policy.next([]), policy.ask()) == (0, CONTINUE, 0)
    assert policy.recommend([]) == CONTINUE
    assert policy.conclude([]) == (None, 1.0)
    assert policy.chance_to_go_on([]) == 1


# Learning


def test_the_model_is_fitted_again_as_cases_grow_by_half():
    policy = BeliefStopping(CASCADE)
    fits, holds = [], []
    for row in cases(200)[0]:
        before = policy.model
        holds.append(policy.hold())
        policy.tell(row)
        if policy.model is not before:
            fits.append(policy.n_rounds)
    assert fits == [16, 24, 36, 54, 81, 122, 183]
    assert holds[:3] == [16, 15, 14]


def test_labels_bring_the_next_fit_forward():
    policy = learner(400)
    before = policy.model
    policy.tell([0, 1, 1], label=0)
    assert policy.model is not before
    assert policy.n_labels == policy.model.n_labels == 1


def test_labels_turn_the_rule():
    """The last test is wrong wherever it differs from the second: labels find out."""
    policy = learner(400, exploration=0)
    assert policy.conclude([0, 0, 1])[1] < 0.6
    for outputs, label in (((0, 0, 1), 0), ((1, 1, 0), 1)):
        for _ in range(40):
            policy.tell(outputs, label=label)
    assert policy.conclude([0, 0, 1])[1] > 0.8


def test_exploration_costs_what_it_says_and_never_ends():
    """At a prefix where the rule stops, go on with chance ε / (√t price), then to the end."""
    cascade = Cascade(costs=[0.0, 0.4, 0.4])
    policy = BeliefStopping(cascade, exploration=0.5, seed=3)
    policy.tell_many(cases(400)[0])
    assert policy.recommend([0]) is STOP
    chance = 0.5 / math.sqrt(400) / 0.8
    assert policy.exploration_cost == pytest.approx(0.025)
    n = 20_000
    went_on = sum(policy.next((0,)) is CONTINUE for _ in range(n))
    assert abs(went_on / n - chance) < 5 * math.sqrt(chance / n)  # five standard deviations
    assert {policy.next((0, y)) for y in (0, 1) for _ in range(50)} == {CONTINUE}
    assert policy.next((0, 0, 0)) is STOP


def test_a_case_that_runs_on_to_learn_keeps_its_answer_unless_the_last_is_believed_more():
    """The last test is the worst: what it says is no reason to change an answer."""
    told, _ = cases(5_000, errors=(0.1, 0.08, 0.25))
    policy = BeliefStopping(Cascade(costs=[0.01, 0.01, 0.01]), seed=0)
    policy.tell_many(told)
    assert policy.recommend([0, 0]) is STOP
    assert policy.conclude([0, 0, 1])[0] == 0
    assert policy.conclude([0, 0, 1])[1] < 0.5
    still = BeliefStopping(Cascade(costs=[0.01, 0.01, 0.01]), exploration=0)
    still.tell_many(told)
    # Nobody runs on to learn, so this is all that was asked for.
    assert still.conclude([0, 0, 1])[0] == 1


@pytest.mark.parametrize("skip", [False, True])
def test_a_restored_policy_goes_on_as_if_nothing_had_happened(skip):
    policy = BeliefStopping(CASCADE, skip=skip, seed=4)
    rows, _ = cases(150)
    policy.tell_many(rows[:90]) if skip else play(policy, rows[:90])
    policy.tell(rows[90], label=rows[90][2])
    policy.tell(rows[91])
    again = twin(policy)
    assert again.to_state() == policy.to_state()
    for row in rows[92:]:
        for k in (1, 2, 3):
            assert again.choose(row[:k]) == policy.choose(row[:k])
            assert again.conclude(row[:k]) == policy.conclude(row[:k])
        again.tell(row)
        policy.tell(row)
    assert again.to_state() == policy.to_state()


def test_what_was_told_since_the_fit_must_be_part_of_the_counts():
    policy = learner(20)
    state = policy.to_state()
    state["since_fit"]["cases"] = [[["other"], None, 1]]
    with pytest.raises(StateError, match="cannot be read"):
        policy_from_state(state)


@pytest.mark.parametrize("label", [math.inf, (0, 1), math.nan, [1]])
def test_bad_labels_are_refused(label):
    policy = BeliefStopping(CASCADE)
    with pytest.raises(
        OutputsError, match=r"label must be (text, finite numbers|hashable and equal)"
    ):
        policy.tell([0, 1], label=label)
    assert policy.n_rounds == 0


def test_a_label_is_compared_with_outputs():
    with pytest.warns(OutputsWarning, match="look alike"):
        BeliefStopping(CASCADE).tell([0, 1], label="1")
