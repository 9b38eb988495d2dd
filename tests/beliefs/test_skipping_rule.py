"""Which test to run next: against plain recursion, and against the rule of the chain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from stopwise.beliefs.look_ahead import look_ahead
from stopwise.beliefs.prediction import pattern_law
from stopwise.beliefs.skipping_rule import STOP, skipping_rule
from stopwise.beliefs.spread_law import spread_law
from stopwise.beliefs.stopping_rule import LAW_STRENGTH
from stopwise.cascade import Cascade
from stopwise.policies.belief_stopping import BeliefStopping
from tests.beliefs.worlds import fitted_world, least

COSTS = np.array([0.02, 0.05, 0.08])


@pytest.mark.parametrize("answer", ["last", "believed"])
@pytest.mark.parametrize("seed", range(4))
def test_it_is_the_best_way_to_choose(seed, answer):
    model, cases = fitted_world(seed, M=2 + seed % 2)
    rule = skipping_rule(model, cases.codes, cases.weights, COSTS, answer=answer)
    strength = LAW_STRENGTH * len(model.classes) ** 2
    law = spread_law(pattern_law(model), cases.codes, cases.weights, strength=strength)
    every = np.indices(law.shape).reshape(3, -1).T
    beliefs = model.posterior(every).reshape(*law.shape, -1)
    for z, (value, error) in least(law, beliefs, COSTS, answer).items():
        assert rule.values[z] == pytest.approx(value, abs=1e-9)
        assert rule.errors[z] == pytest.approx(min(error, 1.0), abs=1e-9)


def test_a_good_test_is_called_at_once():
    """The first test is poor and dear, the last is right: one does not run both."""
    model, cases = fitted_world(1)
    costs = np.array([0.2, 0.2, 0.01])
    rule = skipping_rule(model, cases.codes, cases.weights, costs)
    assert rule.tests[-1, -1, -1] == 2
    assert rule.is_reached[-1, -1, :].all()
    assert not rule.is_reached[0, 0, 0]


@pytest.mark.parametrize("answer", ["last", "believed"])
def test_looking_one_test_ahead_is_exact_before_the_last_test(answer):
    model, _ = fitted_world(2)
    belief_law = pattern_law(model)
    for a, b in product(range(2), repeat=2):
        seen = np.array([a, b, -1])
        choice = look_ahead(model, seen, COSTS, answer=answer)
        joint = belief_law[a, b]
        ahead = COSTS[2]
        for y in range(2):
            belief = model.posterior(np.array([[a, b, y]]))[0]
            right = belief.max() if answer == "believed" else belief[y]
            ahead += joint[y] / joint.sum() * (1 - right)
        assert choice.test == (2 if ahead < choice.error else STOP)


def test_the_chain_is_followed_where_looking_ahead_finds_nothing_better():
    model, _ = fitted_world(2)
    dear = np.ones(3)
    seen = np.array([0, -1, -1])
    assert look_ahead(model, seen, dear).test == STOP
    assert look_ahead(model, seen, dear, chain=(1, 0.0)).test == 1


def test_one_test_is_always_run():
    model, cases = fitted_world(0)
    dear = np.array([3.0, 2.0, 5.0])
    rule = skipping_rule(model, cases.codes, cases.weights, dear, answer="believed")
    assert rule.tests[-1, -1, -1] == 1
    assert look_ahead(model, np.full(3, -1), dear, answer="believed").test == 1


@pytest.mark.parametrize("seed", range(4))
def test_any_order_is_as_good_as_can_be_and_never_worse_than_the_chain(seed):
    """Cost + error over all labels and outputs of a world whose law both policies were told."""
    rng = np.random.default_rng(seed)
    costs, errors = rng.uniform(0.01, 0.15, 3), rng.uniform(0.05, 0.4, 3)
    every = [*product((0, 1), repeat=3)]
    wrong = np.array(every)[:, None, :] != np.array([[0], [1]])  # [pattern, label, test]
    joint = np.where(wrong, errors, 1 - errors).prod(axis=2) / 2
    law, beliefs = joint.sum(axis=1), joint / joint.sum(axis=1, keepdims=True)
    total_costs = []
    for skip in (False, True):
        policy = BeliefStopping(Cascade(costs=costs.tolist()), skip=skip, exploration=0)
        policy.tell_many(dict(zip(every, np.rint(1e6 * law).astype(int), strict=True)))
        total = 0.0
        for outputs, chances in zip(every, joint, strict=True):
            run: dict[int, int] = {}
            seen = [None] * 3 if skip else []
            while (test := policy.choose(seen)) is not None:
                run[test] = outputs[test]
                seen = [run.get(k) for k in range(3 if skip else len(run))]
            answer, _ = policy.conclude(seen)
            total += chances.sum() * costs[[*run]].sum() + chances[1 - answer]
        total_costs.append(total)
    best = least(law.reshape(2, 2, 2), beliefs.reshape(2, 2, 2, 2), costs, "last")
    assert total_costs[1] <= total_costs[0] + 1e-4
    assert total_costs[1] == pytest.approx(best[-1, -1, -1][0], abs=1e-4)
