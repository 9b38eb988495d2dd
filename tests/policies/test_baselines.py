"""What a practitioner would do without a library."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.cascade import Cascade
from tests.policies.helpers import draw_cases, play

CHAIN = Cascade([0, 0.25, 0.25])


@pytest.mark.parametrize("stage", [0, 1, 2, np.int64(1)])
def test_a_fixed_stage_is_fixed(stage):
    policy = sw.FixedStage(CHAIN, stage=stage)
    assert set(play(policy, draw_cases(3, 200, 0))) == {stage}
    assert policy.recommend() == stage
    assert policy.hold() > 10**15
    assert policy.counts.n_stopped.tolist() == [200 * (k == stage) for k in range(3)]


def test_it_explores_for_the_rounds_given_then_commits():
    cases = draw_cases(3, 300, 1)
    for rounds in (1, 2, 50):
        policy = sw.ExploreThenCommit(Cascade([0, 0.3, 0.3]), rounds=rounds)
        assert policy.hold() == rounds
        stages = play(policy, cases)
        assert stages[:rounds] == [2] * rounds
        outputs = np.array([case.outputs for case in cases[:rounds]])
        p = (outputs[:, :, None] != outputs[:, None, :]).mean(axis=0)
        C = [0, 0.3, 0.6]
        first = next(i for i in range(3) if all(C[j] - C[i] >= p[i, j] for j in range(i + 1, 3)))
        assert stages[rounds] == first


def test_once_committed_it_is_not_swayed_by_the_cases_it_plays():
    policy = sw.ExploreThenCommit(CHAIN, rounds=10)
    policy.tell_many({(0, 0, 0): 5, (0, 1, 1): 5})
    assert policy.ask() == 1
    assert policy.hold() > 10**15
    for _ in range(1_000):  # stage 1 would do, as it turns out
        policy.tell([0, 0])
        assert policy.ask() == 1
    policy.tell_many({(0, 0): 10**6, (0,): 10**6})
    assert policy.ask() == policy.recommend() == 1


def test_the_last_stage_may_still_be_left():
    """Playing it brings complete cases, so there is no commitment to it."""
    policy = sw.ExploreThenCommit(CHAIN, rounds=1)
    policy.tell([0, 0, 1])
    assert (policy.ask(), policy.hold()) == (2, 1)
    policy.tell_many([[0, 0, 0]] * 3)
    assert policy.ask() == 0


def test_it_runs_every_test_until_it_has_seen_enough_complete_cases():
    policy = sw.ExploreThenCommit(CHAIN, rounds=3)
    policy.tell_many([[0], [0, 0], [0, 0]] * 10)
    assert (policy.ask(), policy.hold()) == (2, 3)
    policy.tell_many([[0, 0, 0]] * 2)
    assert (policy.ask(), policy.hold()) == (2, 1)
    policy.tell([0, 0, 0])
    assert policy.ask() == 0


def test_a_complete_case_with_a_missing_output_is_a_round():
    policy = sw.ExploreThenCommit(CHAIN, rounds=2)
    policy.tell_many([[0, 0, None]] * 2)
    assert policy.ask() == 2  # the last test was never seen: nothing can be said of it
    policy.tell([0, 0, 0])
    assert policy.ask() == 0


def test_a_share_at_its_price_does_not_pay():
    policy = sw.ExploreThenCommit(CHAIN, rounds=4)
    policy.tell_many({(0, 0, 0): 3, (0, 1, 1): 1})
    assert policy.ask() == 0
