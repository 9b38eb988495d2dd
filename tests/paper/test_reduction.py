import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.monitoring import (
    SideObservationBandit,
    gaps_of,
)
from paper.random_instances import random_costs, random_strong_tree, random_tree
from paper.reduction import (
    SensorSelection,
    bandit_feedback,
    sensor_feedback,
    to_bandit,
    to_instance,
)
from stopwise.cascade import Cascade
from stopwise.errors import InstanceError, OutputsError
from stopwise.problem import Instance
from stopwise.problem.families import nested_errors
from stopwise.theory.plan import expected_regret
from tests.strategies import hoeffding, seeds

CHAIN = Cascade(costs=[0, 0.25, 0.125])


def random_cascade(rng):
    K = int(rng.integers(1, 6))
    return random_tree(rng, K) if rng.random() < 0.5 else random_costs(rng, K)


def random_monotone(rng):
    """A bandit in f(Θ_SD): p is 0 at the root and never falls along a path."""
    cascade = random_cascade(rng)
    p = [0.0]
    for parent in cascade.parents[1:]:
        p.append(p[parent] + (1 - p[parent]) * rng.random() * rng.choice([0, 0.5, 1]))
    C = tuple(cascade.cumulative_costs)
    return SideObservationBandit(tuple(p), C, cascade.paths), cascade


# Propositions 9 and 10


@given(seeds)
def test_the_same_plays_cost_the_same_regret_on_an_instance_and_its_bandit(seed):
    rng = np.random.default_rng(seed)
    instance = random_strong_tree(rng, random_cascade(rng))
    assert instance.is_strongly_dominant()
    bandit = to_bandit(instance)
    plays = rng.integers(0, 1000, size=bandit.n_actions)
    # The left side by definition: Σ plays (γ_k + C_k) less the best of as many plays.
    total = instance.error_rates + instance.cascade.cumulative_costs
    regret = plays @ total - plays.sum() * total.min()
    assert expected_regret(bandit.gaps, plays) == pytest.approx(regret, abs=1e-8)
    np.testing.assert_allclose(bandit.gaps, instance.gaps, atol=1e-12)
    assert bandit.best_action == instance.best_stage


@given(seeds)
def test_the_same_plays_cost_the_same_regret_on_a_bandit_and_its_instance(seed):
    rng = np.random.default_rng(seed)
    bandit, cascade = random_monotone(rng)
    instance = to_instance(bandit, cascade)
    assert instance.is_strongly_dominant()
    plays = rng.integers(0, 1000, size=bandit.n_actions)
    rewards = np.array(bandit.probabilities) - np.array(bandit.offsets)
    regret = plays.sum() * rewards.max() - plays @ rewards
    assert expected_regret(instance.gaps, plays) == pytest.approx(regret, abs=1e-8)
    assert instance.best_stage == bandit.best_action


def test_the_arm_to_play_earns_most():
    # Section 5 calls 1{Y^1 ≠ Y^k} - C_k a cost: the arm that minimises it would be a wrong one.
    instance = nested_errors(Cascade(costs=[0, 0.1, 0.1]))
    bandit = to_bandit(instance)
    assert int(np.argmax(bandit.means)) == bandit.best_action == instance.best_stage == 1
    assert int(np.argmin(bandit.means)) != instance.best_stage
    np.testing.assert_allclose(instance.total_costs + bandit.means, instance.error_rates[0])


def test_without_strong_dominance_the_gaps_differ():
    # Stage 2 spoils right answers as often as it mends wrong ones: the bandit takes both for gain.
    rows = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]
    instance = Instance.from_patterns(rows, [1, 1, 1, 1], Cascade(costs=[0, 0.25]))
    assert instance.best_stage == 0
    assert to_bandit(instance).best_action == 1


def test_with_three_classes_strong_dominance_is_not_enough():
    # Two wrong answers may differ, which counts as disagreement but mends nothing.
    rows = [(0, 1, 2), (0, 0, 0)]
    instance = Instance.from_patterns(rows, [1, 1], Cascade(costs=[0, 0.25]))
    assert instance.is_strongly_dominant()
    assert instance.best_stage == 0
    assert to_bandit(instance).best_action == 1


# f and g


def test_a_disagreement_rounded_above_1_is_1():
    rows = [(0, 1, 0, 0), (1, 0, 1, 1), (0, 1, 0, 1), (1, 0, 1, 0)]
    rng = np.random.default_rng(0)
    for _ in range(200):
        instance = Instance.from_patterns(rows, rng.random(4), CHAIN)
        assert to_bandit(instance).probabilities[1] == pytest.approx(1)


def test_to_bandit_by_hand():
    tree = Cascade(costs=[0.1, 0.2, 0.3], parents=[None, 0, 0])
    bandit = to_bandit(nested_errors(tree, [0.4, 0.3, 0.1]))
    assert bandit.probabilities == pytest.approx((0, 0.1, 0.3))
    assert bandit.offsets == pytest.approx((0.1, 0.3, 0.4))
    assert bandit.graph == ((0,), (0, 1), (0, 2))


@given(seeds, st.floats(0, 1))
def test_f_undoes_g(seed, prevalence):
    bandit, cascade = random_monotone(np.random.default_rng(seed))
    again = to_bandit(to_instance(bandit, cascade, prevalence=prevalence))
    assert again.probabilities == pytest.approx(bandit.probabilities, abs=1e-12)
    assert again.offsets == pytest.approx(bandit.offsets, abs=1e-12)
    assert again.graph == bandit.graph


@given(seeds)
def test_g_of_f_keeps_gaps_and_differences_of_errors_though_not_the_law(seed):
    rng = np.random.default_rng(seed)
    instance = random_strong_tree(rng, random_cascade(rng))
    again = to_instance(to_bandit(instance), instance.cascade)
    np.testing.assert_allclose(again.gaps, instance.gaps, atol=1e-12)
    np.testing.assert_allclose(
        again.error_rates[0] - again.error_rates,
        instance.error_rates[0] - instance.error_rates,
        atol=1e-12,
    )


def test_prevalence_is_passed_on():
    bandit = to_bandit(nested_errors(CHAIN))
    instance = to_instance(bandit, CHAIN, prevalence=0.2)
    assert instance.probabilities[instance.labels == 1].sum() == pytest.approx(0.2)


TREE = Cascade(costs=[0, 0, 0, 0], parents=[None, 0, 0, 1])


@pytest.mark.parametrize(
    ("p", "message"),
    [
        ((0.1, 0.3, 0.2, 0.4), "0 at the root, got 0.1 at stage 1"),
        ((0, 0.3, 0.2, 0.25), "must not fall along a path, got 0.3 at stage 2 and 0.25 at stage 4"),
    ],
)
def test_bandits_outside_the_image_are_refused_with_the_place(p, message):
    with pytest.raises(InstanceError, match=message):
        to_instance(SideObservationBandit(p, (0,) * 4, TREE.paths), TREE)


def test_branches_need_no_order_among_each_other():
    bandit = SideObservationBandit((0, 0.3, 0.2, 0.3), (0,) * 4, TREE.paths)
    np.testing.assert_allclose(to_instance(bandit, TREE).error_rates, [0.3, 0, 0.1, 0])


def test_a_fall_by_rounding_is_none():
    p = (0, 0.1 + 0.2, 0.3)
    assert p[2] < p[1]
    bandit = SideObservationBandit(p, tuple(CHAIN.cumulative_costs), CHAIN.paths)
    assert to_bandit(to_instance(bandit, CHAIN)).probabilities == pytest.approx(p, abs=1e-12)


def test_a_bandit_belongs_to_its_cascade():
    bandit = to_bandit(nested_errors(CHAIN))
    with pytest.raises(InstanceError, match=r"got 0.25 instead of 0.5 at stage 2"):
        to_instance(bandit, Cascade(costs=[0, 0.5, 0]))
    with pytest.raises(InstanceError, match="graph of the bandit"):
        to_instance(bandit, Cascade(costs=[0, 0.25, 0.375], parents=[None, 0, 0]))


# Feedback


def test_feedback_by_hand():
    assert bandit_feedback([1, 0, 1], CHAIN).tolist() == [0, 0.75, -0.375]
    assert sensor_feedback([0, 0.75, -0.375], CHAIN) == (0, 1, 0)
    tree = Cascade(costs=[0.5, 0.25, 0.125, 1], parents=[None, 0, 0, 2])
    assert bandit_feedback(["a", "b", "a"], tree, 3).tolist() == [-0.5, 0.375, -1.625]
    assert sensor_feedback([-0.5, 0.375, -1.625], tree, 3) == (0, 1, 0)


@given(seeds)
def test_the_two_directions_of_feedback_undo_each_other(seed):
    rng = np.random.default_rng(seed)
    cascade = random_tree(rng, int(rng.integers(1, 6)))
    stage = int(rng.integers(cascade.n_stages))
    outputs = rng.integers(2, size=len(cascade.path(stage)))
    rewards = bandit_feedback(outputs, cascade, stage)
    back = sensor_feedback(rewards, cascade, stage)
    assert back == tuple(outputs ^ outputs[0])
    np.testing.assert_allclose(bandit_feedback(back, cascade, stage), rewards, atol=1e-12)


def test_feedback_that_cannot_be_is_refused_with_the_place():
    with pytest.raises(OutputsError, match=r"got None at stage 2 \('test 2'\)"):
        bandit_feedback([1, None, 1], CHAIN)
    with pytest.raises(OutputsError, match=r"0 or 1, got 0\.5 at stage 2 \('test 2'\)"):
        sensor_feedback([0, 0.25], CHAIN)
    with pytest.raises(OutputsError, match=r"0 or 1, got 2\.0 at stage 1"):
        sensor_feedback([2], CHAIN)
    with pytest.raises(OutputsError, match="on the path to stage 3"):
        bandit_feedback([1, 0], CHAIN, 2)


# As a partial monitoring problem


def test_an_instance_earns_minus_its_total_cost_and_shows_a_path():
    tree = Cascade(costs=[0, 0.1, 0.2], parents=[None, 0, 0])
    instance = nested_errors(tree, [0.4, 0.1, 0.4])
    problem = SensorSelection(instance)
    assert problem.n_actions == 3
    np.testing.assert_allclose(gaps_of(problem), instance.gaps)
    rng = np.random.default_rng(0)
    draws = np.array([problem.feedback(2, rng) for _ in range(200)])
    assert draws.shape == (200, 2)
    # Tests 1 and 3 err together; test 2 would not.
    assert (draws[:, 0] == draws[:, 1]).all()


def test_outputs_shown_have_the_law_of_the_instance():
    instance = nested_errors(CHAIN)
    problem = SensorSelection(instance)
    rng = np.random.default_rng(1)
    n = 20_000
    rewards = np.array([bandit_feedback(problem.feedback(2, rng), CHAIN, 2) for _ in range(n)])
    means = to_bandit(instance).means
    np.testing.assert_allclose(rewards.mean(axis=0), means, atol=hoeffding(n, events=3))
