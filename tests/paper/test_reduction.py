import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paper.monitoring import (
    FeedbackGraph,
    SideObservationBandit,
    gaps_of,
)
from paper.random_instances import random_costs, random_tree
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

SEEDS = st.integers(0, 2**32 - 1)
CHAIN = Cascade(costs=[0, 0.25, 0.125])


def random_strong(rng):
    """A strongly dominant binary instance on a random chain or tree, errors not merely nested.

    Along each edge a wrong answer is mended at random, independently between branches.
    """
    K = int(rng.integers(1, 6))
    cascade = random_tree(rng, K) if rng.random() < 0.5 else random_costs(rng, K)
    n = 40
    label = rng.integers(2, size=n)
    wrong = np.zeros((n, K), dtype=bool)
    for k, parent in enumerate(cascade.parents):
        before = np.ones(n, dtype=bool) if parent is None else wrong[:, parent]
        wrong[:, k] = before & (rng.random(n) < rng.random())
    rows = np.column_stack([label, label[:, None] ^ wrong])
    return Instance.from_patterns(rows.tolist(), rng.random(n), cascade)


def random_monotone(rng):
    """A bandit in f(Θ_SD): p is 0 at the root and never falls along a path."""
    K = int(rng.integers(1, 6))
    cascade = random_tree(rng, K) if rng.random() < 0.5 else random_costs(rng, K)
    p = [0.0]
    for parent in cascade.parents[1:]:
        p.append(p[parent] + (1 - p[parent]) * rng.random() * rng.choice([0, 0.5, 1]))
    C = tuple(cascade.cumulative_costs)
    return SideObservationBandit(tuple(p), C, FeedbackGraph.of(cascade)), cascade


# Propositions 9 and 10


@given(SEEDS)
def test_the_same_plays_cost_the_same_regret_on_an_instance_and_its_bandit(seed):
    rng = np.random.default_rng(seed)
    instance = random_strong(rng)
    assert instance.is_strongly_dominant()
    bandit = to_bandit(instance)
    plays = rng.integers(0, 1000, size=bandit.n_actions)
    # The left side by definition: Σ plays (γ_k + C_k) less the best of as many plays.
    total = instance.error_rates + instance.cascade.cumulative_costs
    regret = plays @ total - plays.sum() * total.min()
    assert expected_regret(bandit.gaps, plays) == pytest.approx(regret, abs=1e-8)
    np.testing.assert_allclose(bandit.gaps, instance.gaps, atol=1e-12)
    assert bandit.best_action == instance.best_stage


@given(SEEDS)
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
    assert bandit.graph.neighbours == ((0,), (0, 1), (0, 2))


@given(SEEDS, st.floats(0, 1))
def test_f_undoes_g(seed, prevalence):
    bandit, cascade = random_monotone(np.random.default_rng(seed))
    again = to_bandit(to_instance(bandit, cascade, prevalence=prevalence))
    assert again.probabilities == pytest.approx(bandit.probabilities, abs=1e-12)
    assert again.offsets == pytest.approx(bandit.offsets, abs=1e-12)
    assert again.graph == bandit.graph


@given(SEEDS)
def test_g_of_f_keeps_gaps_and_differences_of_errors_though_not_the_law(seed):
    instance = random_strong(np.random.default_rng(seed))
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
        to_instance(SideObservationBandit(p, (0,) * 4, FeedbackGraph.of(TREE)), TREE)


def test_branches_need_no_order_among_each_other():
    bandit = SideObservationBandit((0, 0.3, 0.2, 0.3), (0,) * 4, FeedbackGraph.of(TREE))
    np.testing.assert_allclose(to_instance(bandit, TREE).error_rates, [0.3, 0, 0.1, 0])


def test_a_fall_by_rounding_is_none():
    p = (0, 0.1 + 0.2, 0.3)
    assert p[2] < p[1]
    bandit = SideObservationBandit(p, tuple(CHAIN.cumulative_costs), FeedbackGraph.of(CHAIN))
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


@given(SEEDS)
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
    # Hoeffding: each of three means is off by more than this with probability below 1e-6 / 3.
    margin = math.sqrt(math.log(2 * 3 / 1e-6) / (2 * n))
    np.testing.assert_allclose(rewards.mean(axis=0), to_bandit(instance).means, atol=margin)


# Policies carried over


class GreedyBandit:
    """A bandit policy: every tenth play the last arm, else the arm that earned most so far."""

    def __init__(self, n_arms):
        self.earned, self.seen, self.t = np.zeros(n_arms), np.zeros(n_arms), 0

    def ask(self):
        self.t += 1
        if self.t % 10 == 1:
            return len(self.earned) - 1
        return int(np.argmax(self.earned / np.maximum(self.seen, 1)))

    def tell(self, arm, rewards):
        for k, reward in zip(range(arm + 1), rewards, strict=True):
            self.earned[k] += reward
            self.seen[k] += 1


class GreedySensors:
    """The same rule by someone who counts disagreements with the first test."""

    def __init__(self, cascade):
        self.C = cascade.cumulative_costs
        self.differed, self.seen, self.t = np.zeros(len(self.C)), np.zeros(len(self.C)), 0

    def ask(self):
        self.t += 1
        if self.t % 10 == 1:
            return len(self.C) - 1
        estimate = np.where(self.seen > 0, self.differed / np.maximum(self.seen, 1) - self.C, 0)
        return int(np.argmax(np.round(estimate, 9)))

    def tell(self, stage, outputs):
        for k in range(stage + 1):
            self.differed[k] += outputs[k] != outputs[0]
            self.seen[k] += 1


@pytest.mark.parametrize("seed", range(5))
def test_a_bandit_policy_plays_on_outputs_what_it_plays_on_rewards(seed):
    # π on f(θ) with the coins that θ draws, against π' on θ itself (Proposition 9).
    instance = nested_errors(CHAIN)
    _, outputs = instance.sample(300, seed)
    coins = (outputs != outputs[:, :1]).astype(float)
    on_bandit, on_sensors = GreedyBandit(3), GreedyBandit(3)
    arms, stages = [], []
    for shown, coin in zip(outputs, coins, strict=True):
        arms.append(on_bandit.ask())
        on_bandit.tell(arms[-1], (coin - CHAIN.cumulative_costs)[: arms[-1] + 1])
        stages.append(on_sensors.ask())
        on_sensors.tell(stages[-1], bandit_feedback(shown[: stages[-1] + 1], CHAIN, stages[-1]))
    assert arms == stages
    assert len(set(arms)) > 1


@pytest.mark.parametrize("seed", range(5))
def test_a_policy_for_sensors_plays_on_rewards_what_it_plays_on_outputs(seed):
    # π' on the bandit's coins, told as outputs, against π' on outputs with the same disagreements
    # whatever the first test said (Proposition 10).
    rng = np.random.default_rng(seed)
    bandit = to_bandit(nested_errors(CHAIN))
    rewards = np.array([bandit.feedback(2, rng) for _ in range(300)])
    coins = np.rint(rewards + CHAIN.cumulative_costs).astype(int)
    outputs = coins ^ rng.integers(2, size=(300, 1))
    on_bandit, on_sensors = GreedySensors(CHAIN), GreedySensors(CHAIN)
    arms, stages = [], []
    for reward, shown in zip(rewards, outputs, strict=True):
        arms.append(on_bandit.ask())
        on_bandit.tell(arms[-1], sensor_feedback(reward[: arms[-1] + 1], CHAIN, arms[-1]))
        stages.append(on_sensors.ask())
        on_sensors.tell(stages[-1], shown[: stages[-1] + 1])
    assert arms == stages
    assert len(set(arms)) > 1


def test_a_policy_that_looks_at_several_arms_at_once_can_tell_the_two_problems_apart():
    # The propositions say "the same regret" for every policy; that holds for the same plays, not
    # for the same policy: the bandit's arms are independent, nested outputs are not. A policy that
    # reacts to "test 2 differs from test 1 and test 3 does not" never sees that under strong
    # dominance, and does on the bandit, with probability p_2 (1 - p_3).
    instance = nested_errors(CHAIN)
    problem, bandit = SensorSelection(instance), to_bandit(instance)
    rng = np.random.default_rng(2)
    n = 2000
    on_sensors = [bandit_feedback(problem.feedback(2, rng), CHAIN, 2) for _ in range(n)]
    on_bandit = [bandit.feedback(2, rng) for _ in range(n)]

    def share(rewards):
        coins = np.array([sensor_feedback(r, CHAIN, 2) for r in rewards])
        return float(((coins[:, 1] == 1) & (coins[:, 2] == 0)).mean())

    assert share(on_sensors) == 0
    margin = math.sqrt(math.log(2 / 1e-6) / (2 * n))
    assert share(on_bandit) == pytest.approx(0.3 * (1 - 0.35), abs=margin)
    assert margin < 0.3 * (1 - 0.35)


# Corollary 4: two rounds with costs (0, 0, 1/2), where stage 2 is never worse than stage 1.
FREE_SECOND = Cascade(costs=[0, 0, 0.5])


def free_second(p_2, p_3):
    C = tuple(FREE_SECOND.cumulative_costs)
    return SideObservationBandit((0, p_2, p_3), C, FeedbackGraph.of(FREE_SECOND))


def test_corollary_4_fails_in_the_cascade_a_third_is_enough():
    # With probability 2/3 begin with stage 3 and stay there if test 3 differs from test 2, else go
    # to stage 2; otherwise play stage 2 twice. Errors are nested: they differ in p_3 - p_2.
    def regret(p_2, p_3):
        instance = to_instance(free_second(p_2, p_3), FREE_SECOND)
        gaps, differ = instance.gaps, instance.disagreement[1, 2]
        looks = gaps[2] + differ * gaps[2] + (1 - differ) * gaps[1]
        return 2 / 3 * looks + 1 / 3 * 2 * gaps[1]

    places = np.linspace(0, 1, 41)
    worst = max(regret(p_2, p_3) for p_2 in places for p_3 in places if p_2 <= p_3)
    assert worst == pytest.approx(1 / 3)


def test_corollary_4_fails_on_the_bandit_more_is_lost_at_the_least():
    # Against a prior on two bandits, by going through all policies of two rounds.
    prior = {0.38: free_second(0, 1), 0.62: free_second(0.4, 0.4)}

    def coins(bandit, arm):
        p = bandit.probabilities
        for shown in product((0, 1), repeat=arm):
            yield (
                shown,
                math.prod(p[k + 1] if coin else 1 - p[k + 1] for k, coin in enumerate(shown)),
            )

    def least_after(arm):
        by_sight = {}
        for weight, bandit in prior.items():
            for shown, chance in coins(bandit, arm):
                by_sight[shown] = by_sight.get(shown, 0) + weight * chance * bandit.gaps
        return sum(w * b.gaps[arm] for w, b in prior.items()) + sum(
            costs.min() for costs in by_sight.values()
        )

    assert min(least_after(arm) for arm in range(3)) > 0.37


def test_proposition_10_fails_for_a_policy_that_looks_at_the_first_output():
    # Second round: the worst stage if the first test said 1. On the bandit it is taken to say 0.
    instance = nested_errors(Cascade(costs=[0, 0.1, 0.1]), prevalence=0.7)
    says_one = float(instance.probabilities @ instance.outputs[:, 0])
    on_instance = says_one * instance.gaps.max()
    assert says_one == pytest.approx(0.7 * 0.6 + 0.3 * 0.4)
    assert on_instance > 0.1  # and none on the bandit, where the same policy plays the best stage
    first = sensor_feedback(to_bandit(instance).feedback(0, np.random.default_rng(0)), CHAIN, 0)
    assert first == (0,)


def test_proposition_10_holds_for_two_stages_if_the_first_test_always_says_0():
    # Some right inverse g is all it needs. Here Y^1 = 0, and Y^2 = 1 in p_12 of the cases, all ill.
    p, rest = 0.3, 0.1
    rows = [(0, 0, 0), (1, 0, 1), (1, 0, 0)]
    instance = Instance.from_patterns(rows, [1 - p - rest, p, rest], Cascade(costs=[0, 0.1]))
    assert instance.is_strongly_dominant()
    bandit = to_bandit(instance)
    assert bandit.probabilities == pytest.approx((0, p))
    assert bandit.gaps == pytest.approx(instance.gaps)
    # What a policy is shown has the same law on both, whatever it looks at.
    law, cascade = instance.output_law, instance.cascade
    shown = dict(zip(map(tuple, law.codes.tolist()), law.probabilities, strict=True))
    for coin, chance in enumerate((1 - bandit.probabilities[1], bandit.probabilities[1])):
        seen = sensor_feedback(np.array([0.0, coin]) - cascade.cumulative_costs, cascade)
        assert shown[seen] == pytest.approx(chance)
