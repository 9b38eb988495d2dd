"""Simulated play of a policy that draws and may answer otherwise than the last test."""

from __future__ import annotations

import numpy as np
import pytest

import stopwise as sw
from stopwise.problem.families import relaxed_errors
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.simulation.stopping import StoppingPlay, StoppingWorld, rule_of

WORLD = relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25]))


def taught(**settings):
    policy = sw.BeliefStopping(WORLD.cascade, **settings)
    policy.tell_many(map(tuple, WORLD.sample(400, seed=0)[1].tolist()))
    return policy


def test_between_fits_cases_stop_as_often_as_the_policy_says():
    policy = taught(exploration=2.0)
    world = StoppingWorld(WORLD)
    rule, prefixes = rule_of(policy, world), StoppingProblem(WORLD).prefixes
    assert any(0 < step.chance < 1 for step in rule.values())
    n = 100_000
    counts = StoppingPlay(policy, np.random.default_rng(1))._draw(world, rule, n)
    assert sum(counts.values()) == n
    for prefix, times in counts.items():
        expected = prefixes[prefix].chance * (1 - rule[prefix].chance)
        for k in range(1, len(prefix)):
            expected *= rule[prefix[:k]].chance
        # Five standard deviations each.
        assert abs(times / n - expected) < 5 * np.sqrt(expected / n)


def test_the_error_of_an_answer_is_that_of_the_last_output_where_this_is_the_answer():
    world, problem = StoppingWorld(WORLD), StoppingProblem(WORLD)
    todo = world.after((), 0)
    while todo:
        prefix = todo.pop()
        node = problem.prefixes[prefix]
        assert world.error_of(prefix, prefix[-1]) == pytest.approx(node.error)
        assert world.error_of(prefix, 1 - prefix[-1]) == pytest.approx(1 - node.error)
        todo += world.after(prefix, len(prefix)) if node.children else []


@pytest.mark.parametrize("answer", ["last", "believed"])
@pytest.mark.parametrize("exploration", [0, 2.0])
def test_regret_is_that_of_the_rule_and_of_its_own_answers(answer, exploration):
    policy = taught(answer=answer, exploration=exploration)
    trace = sw.simulate(WORLD, policy, horizon=1, replications=1)
    problem, C = StoppingProblem(WORLD), WORLD.cascade.cumulative_costs
    world = StoppingWorld(WORLD)
    rule_of(policy, world)  # the world knows the states that the rule can reach
    cost, todo = 0.0, [(prefix, 1.0) for prefix in problem.first]
    while todo:
        prefix, share = todo.pop()
        node = problem.prefixes[prefix]
        going_on = share * policy.chance_to_go_on(prefix) if node.children else 0.0
        error = world.error_of(prefix, policy.conclude(prefix)[0])
        cost += node.chance * (share - going_on) * (C[len(prefix) - 1] + error)
        todo += [(child, going_on) for child in node.children if going_on]
    assert trace.regret[0, -1] == pytest.approx(cost - problem.best_cost)
