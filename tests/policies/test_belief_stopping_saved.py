"""Stopping by belief: states and what is refused."""

from __future__ import annotations

import json
import math

import pytest

from stopwise.errors import OutputsError, StateError
from stopwise.policies.belief_stopping import BeliefStopping
from stopwise.policies.state import policy_from_state
from tests.policies.test_belief_stopping import CASCADE, cases, play, taught


@pytest.mark.parametrize("skip", [False, True])
def test_a_restored_policy_goes_on_as_if_nothing_had_happened(skip):
    policy = BeliefStopping(CASCADE, skip=skip, seed=4)
    rows, _ = cases(150)
    play(policy, rows[:90]) if not skip else policy.tell_many(rows[:90])
    policy.tell(rows[90], label=rows[90][2])
    policy.tell(rows[91])
    again = policy_from_state(json.loads(json.dumps(policy.to_state())))
    assert again.to_state() == policy.to_state()
    for row in rows[92:]:
        for k in (1, 2, 3):
            assert again.choose(row[:k]) == policy.choose(row[:k])
            assert again.conclude(row[:k]) == policy.conclude(row[:k])
        again.tell(row)
        policy.tell(row)
    assert again.to_state() == policy.to_state()


def test_what_was_told_since_the_fit_must_be_part_of_the_counts():
    policy = taught(20)
    state = policy.to_state()
    state["since_fit"]["cases"] = [[["other"], None, 1]]
    with pytest.raises(StateError, match="cannot be read"):
        policy_from_state(state)


@pytest.mark.parametrize("outputs", ["01", 7, [0, 1, 1, 1], [[0]], [math.nan], {0: 1}])
def test_bad_outputs_are_refused_and_nothing_changes(outputs):
    policy = taught(30)
    before = policy.to_state()
    for call in (policy.next, policy.choose, policy.recommend, policy.conclude, policy.tell):
        with pytest.raises(OutputsError):
            call(outputs)
    assert policy.to_state() == before


def test_what_cannot_be_saved_is_refused():
    policy = BeliefStopping(CASCADE)
    for outputs, label in (([(0, 1)], None), ([0], (0, 1))):
        with pytest.raises(OutputsError, match="text, finite numbers or None to be saved"):
            policy.tell(outputs, label=label)
    assert policy.n_rounds == 0


@pytest.mark.parametrize("label", [math.nan, [1]])
def test_bad_labels_are_refused(label):
    policy = BeliefStopping(CASCADE)
    with pytest.raises(OutputsError, match="label must be hashable and equal itself"):
        policy.tell([0], label=label)
    assert policy.n_rounds == 0
