"""Answers of cases that run on to learn, states without outputs, failed tests, odd labels."""

import numpy as np
import pytest

from stopwise.cascade import Cascade
from stopwise.errors import OutputsError, OutputsWarning
from stopwise.policies.belief_stopping import BeliefStopping
from stopwise.policies.stopping_policy import Decision
from tests.policies.test_belief_stopping import cases


def test_a_case_that_runs_on_to_learn_keeps_its_answer_unless_the_last_is_believed_more():
    """The last test is the worst: what it says is no reason to change an answer."""
    told, _ = cases(5_000, errors=(0.1, 0.08, 0.25))
    policy = BeliefStopping(Cascade(costs=[0.01, 0.01, 0.01]), seed=0)
    policy.tell_many(told)
    assert policy.recommend([0, 0]) is Decision.STOP
    assert policy.conclude([0, 0, 1])[0] == 0
    assert policy.conclude([0, 0, 1])[1] < 0.5
    still = BeliefStopping(Cascade(costs=[0.01, 0.01, 0.01]), exploration=0)
    still.tell_many(told)
    assert (
        still.conclude([0, 0, 1])[0] == 1
    )  # nobody runs on to learn, so this is all that was asked for


def test_no_output_at_all_is_where_a_case_begins():
    told, _ = cases(1_000)
    policy = BeliefStopping(Cascade(costs=[0.01, 0.02, 0.03]), skip=True)
    policy.tell_many(told)
    assert policy.choose([None] * 3) == policy.choose([None]) == policy.choose()


@pytest.mark.parametrize("failed", [0, 1, 2.0, "0"])
def test_failed_tests_are_a_collection_of_indices(failed):
    policy = BeliefStopping(Cascade(costs=[0.1, 0.2]), skip=True)
    with pytest.raises(OutputsError, match="failed must be indices of tests, 0 to 1"):
        policy.choose([], failed=failed)


def test_failed_tests_may_be_an_array():
    policy = BeliefStopping(Cascade(costs=[0.1, 0.2, 0.3]), skip=True)
    assert policy.choose([], failed=np.array([0])) == 1
    assert policy.choose([], failed=np.array([0, 1])) == 2
    assert policy.choose([], failed=np.array([], dtype=int)) == policy.choose([]) == 0


def test_a_label_is_named_in_messages_and_compared_with_outputs():
    policy = BeliefStopping(Cascade(costs=[0.1, 0.2]))
    with pytest.raises(OutputsError, match="label must be text, finite numbers or None"):
        policy.tell([0, 1], label=float("inf"))
    with pytest.warns(OutputsWarning, match="look alike"):
        policy.tell([0, 1], label="1")


@pytest.mark.parametrize("skip", [False, True])
def test_labels_of_cases_that_stopped_early_tend_to_the_truth(skip):
    """Tests 1 and 3 share their errors, and only labels can show it: 30 % of 1,000 are wrong."""
    policy = BeliefStopping(Cascade(costs=[0, 0.01, 0.05]), skip=skip)
    policy.tell_many({(0, 0, 0): 660, (1, 1, 1): 660, (0, 1, 0): 340, (1, 0, 1): 340})
    assert policy.conclude([0])[1] < 0.01
    for i in range(1_000):
        policy.tell((i % 2,), label=(i % 2) ^ ((i // 2) % 10 < 3))
    assert policy.conclude([0])[1] == pytest.approx(0.3, abs=0.03)
    assert policy.recommend([0]) is Decision.CONTINUE
