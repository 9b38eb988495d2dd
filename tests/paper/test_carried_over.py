"""Policies carried over by the reduction, and Corollary 4."""

import math
from itertools import product

import numpy as np
import pytest

from paper import reduction
from paper.monitoring import SideObservationBandit
from stopwise.cascade import Cascade
from stopwise.problem import Instance
from stopwise.problem.families import nested_errors
from tests.strategies import hoeffding

CHAIN = Cascade(costs=[0, 0.25, 0.125])


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
        on_sensors.tell(
            stages[-1], reduction.bandit_feedback(shown[: stages[-1] + 1], CHAIN, stages[-1])
        )
    assert arms == stages
    assert len(set(arms)) > 1


@pytest.mark.parametrize("seed", range(5))
def test_a_policy_for_sensors_plays_on_rewards_what_it_plays_on_outputs(seed):
    # π' on the bandit's coins, told as outputs, against π' on outputs with the same disagreements
    # whatever the first test said (Proposition 10).
    rng = np.random.default_rng(seed)
    bandit = reduction.to_bandit(nested_errors(CHAIN))
    rewards = np.array([bandit.feedback(2, rng) for _ in range(300)])
    coins = np.rint(rewards + CHAIN.cumulative_costs).astype(int)
    outputs = coins ^ rng.integers(2, size=(300, 1))
    on_bandit, on_sensors = GreedySensors(CHAIN), GreedySensors(CHAIN)
    arms, stages = [], []
    for reward, shown in zip(rewards, outputs, strict=True):
        arms.append(on_bandit.ask())
        on_bandit.tell(arms[-1], reduction.sensor_feedback(reward[: arms[-1] + 1], CHAIN, arms[-1]))
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
    problem, bandit = reduction.SensorSelection(instance), reduction.to_bandit(instance)
    rng = np.random.default_rng(2)
    n = 2000
    on_sensors = [reduction.bandit_feedback(problem.feedback(2, rng), CHAIN, 2) for _ in range(n)]
    on_bandit = [bandit.feedback(2, rng) for _ in range(n)]

    def share(rewards):
        coins = np.array([reduction.sensor_feedback(r, CHAIN, 2) for r in rewards])
        return float(((coins[:, 1] == 1) & (coins[:, 2] == 0)).mean())

    assert share(on_sensors) == 0
    margin = hoeffding(n)
    assert share(on_bandit) == pytest.approx(0.3 * (1 - 0.35), abs=margin)
    assert margin < 0.3 * (1 - 0.35)


# Corollary 4: two rounds with costs (0, 0, 1/2), where stage 2 is never worse than stage 1.
FREE_SECOND = Cascade(costs=[0, 0, 0.5])


def free_second(p_2, p_3):
    C = tuple(FREE_SECOND.cumulative_costs)
    return SideObservationBandit((0, p_2, p_3), C, FREE_SECOND.paths)


def test_corollary_4_fails_in_the_cascade_a_third_is_enough():
    # With probability 2/3 begin with stage 3 and stay there if test 3 differs from test 2, else go
    # to stage 2; otherwise play stage 2 twice. Errors are nested: they differ in p_3 - p_2.
    def regret(p_2, p_3):
        instance = reduction.to_instance(free_second(p_2, p_3), FREE_SECOND)
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
    first = reduction.sensor_feedback(
        reduction.to_bandit(instance).feedback(0, np.random.default_rng(0)), CHAIN, 0
    )
    assert first == (0,)


def test_proposition_10_holds_for_two_stages_if_the_first_test_always_says_0():
    # Some right inverse g is all it needs. Here Y^1 = 0, and Y^2 = 1 in p_12 of the cases, all ill.
    p, rest = 0.3, 0.1
    rows = [(0, 0, 0), (1, 0, 1), (1, 0, 0)]
    instance = Instance.from_patterns(rows, [1 - p - rest, p, rest], Cascade(costs=[0, 0.1]))
    assert instance.is_strongly_dominant()
    bandit = reduction.to_bandit(instance)
    assert bandit.probabilities == pytest.approx((0, p))
    assert bandit.gaps == pytest.approx(instance.gaps)
    # What a policy is shown has the same law on both, whatever it looks at.
    law, cascade = instance.output_law, instance.cascade
    shown = dict(zip(map(tuple, law.codes.tolist()), law.probabilities, strict=True))
    for coin, chance in enumerate((1 - bandit.probabilities[1], bandit.probabilities[1])):
        seen = reduction.sensor_feedback(np.array([0.0, coin]) - cascade.cumulative_costs, cascade)
        assert shown[seen] == pytest.approx(chance)
