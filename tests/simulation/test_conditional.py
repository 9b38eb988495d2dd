"""Simulated stopping after seeing outputs: what is counted, and that regret flattens."""

import math

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import SettingError
from stopwise.problem.conditional import StoppingProblem
from stopwise.problem.families import nested_errors
from stopwise.simulation.conditional import simulate_stopping
from stopwise.theory.divergence import bernoulli_kl
from tests.strategies import hoeffding

WORLD = nested_errors(sw.Cascade([0, 0.35, 0.1]))


def by_hand(world, horizon, seed):
    """One run, case by case."""
    policy, problem = sw.OutputConditional(world.cascade), StoppingProblem(world)
    law, rng = world.output_law, np.random.default_rng([seed, 0])
    chances = law.probabilities / law.probabilities.sum()
    paid = 0.0
    for _ in range(horizon):
        paid += problem.cost(lambda prefix: policy.next(prefix) is sw.Decision.STOP)
        row = tuple(law.codes[rng.multinomial(1, chances).argmax()].tolist())
        shown = 1
        while policy.next(row[:shown]) is sw.Decision.CONTINUE:
            shown += 1
        policy.tell(row[:shown])
    return policy, paid


def test_case_by_case_it_is_the_policy_itself():
    trace = simulate_stopping(
        WORLD, sw.OutputConditional, horizon=300, replications=1, seed=4, growth=0, checkpoints=[7]
    )
    policy, paid = by_hand(WORLD, 300, 4)
    assert trace.stops[0, -1].tolist() == list(policy.n_stopped)
    assert trace.costs[0, -1] == pytest.approx(paid)
    assert trace.stops.sum(axis=2).tolist() == [[7, 300]]
    assert trace.interval()[1][-1] == np.inf


def test_costs_are_those_of_the_cases():
    """In a run of one rule, expected cost + error is what stopped cases and their prices say."""
    world = nested_errors(sw.Cascade([0, 0.0, 0.9]), [0.4, 0.1, 0.0])
    trace = simulate_stopping(world, sw.OutputConditional, horizon=20_000, replications=1, seed=0)
    prices = trace.stops[0, -1] @ world.cascade.cumulative_costs
    # Nearly all cases stop at stage 2, free, where .1 are wrong, or go to the end for .9.
    errors = trace.costs[0, -1] - prices
    share = trace.stops[0, -1] / 20_000
    assert errors / 20_000 == pytest.approx(
        0.1 * share[1], abs=0.1 * (share[2] + hoeffding(20_000))
    )
    assert trace.best_fixed_cost == pytest.approx(0.1)


def test_regret_against_the_best_stopping_rule_flattens():
    """Conditional weak dominance holds, so the regret is O(ln T), and below that of one stage."""
    trace = simulate_stopping(WORLD, sw.OutputConditional, horizon=100_000, replications=20, seed=1)
    problem = StoppingProblem(WORLD)
    assert problem.is_weakly_dominant()
    assert trace.best_cost == pytest.approx(0.341)
    assert np.all(np.diff(trace.regret, axis=1) >= -1e-6)
    # The prefixes at which to stop are bought until n · kl reaches ln T: what that costs at most if
    # they are bought twice over. It is far below what a constant share of the cases would cost.
    plan = 0.0
    for prefix in ((1,), (0, 1), (1, 0), (1, 1)):
        node, price = problem.prefixes[prefix], float(WORLD.cascade.costs[len(prefix)])
        demand = math.log(100_000) / bernoulli_kl(node.change, price)
        plan += demand * (node.going_on - node.error)
    assert 2 * plan < 0.003 * 100_000
    assert trace.mean_regret()[-1] < 2 * plan
    then = np.interp(10_000, trace.rounds, trace.mean_regret())
    assert trace.mean_regret()[-1] < 2 * then
    # One stage for all, known in advance, pays .059 a case more.
    fixed = (trace.best_fixed_cost - trace.best_cost) * 100_000
    assert trace.mean_regret()[-1] < 0.05 * fixed
    assert trace.final_costs == pytest.approx(trace.best_cost)


def test_the_same_seed_gives_the_same_trace_and_runs_do_not_depend_on_each_other():
    few, more = (
        simulate_stopping(WORLD, sw.OutputConditional, horizon=500, replications=r, seed=2)
        for r in (1, 3)
    )
    assert np.array_equal(few.stops[0], more.stops[0])
    assert not np.array_equal(more.stops[0], more.stops[1])


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"horizon": 0}, "horizon must be a whole number >= 1"),
        ({"replications": 0}, "replications must be a whole number >= 1"),
        ({"growth": -1}, "growth must be >= 0"),
        ({"seed": -1}, "seed must be a whole number >= 0"),
    ],
)
def test_bad_settings_are_refused(kwargs, message):
    with pytest.raises(SettingError, match=message):
        simulate_stopping(WORLD, sw.OutputConditional, **{"horizon": 10, **kwargs})


def test_only_policies_that_look_at_outputs():
    with pytest.raises(SettingError, match="policy must make an OutputConditional, it made"):
        simulate_stopping(WORLD, sw.Resolve, horizon=10)
    for bad, match in (
        (sw.OutputConditional(WORLD.cascade), "must make an OutputConditional from a cascade, got"),
        (lambda cascade, more: None, "from a cascade alone"),
        (lambda _: sw.OutputConditional(WORLD.cascade.cut(1)), "for the cascade of the environm"),
    ):
        with pytest.raises(SettingError, match=match):
            simulate_stopping(WORLD, bad, horizon=10)


@pytest.mark.parametrize("policy", [sw.OutputConditional, sw.OutputConditional(WORLD.cascade)])
def test_who_asks_simulate_is_told_where_to_go(policy):
    assert sw.simulate_stopping is simulate_stopping
    with pytest.raises(SettingError, match=r"OutputConditional, .* is for simulate_stopping"):
        sw.simulate(WORLD, policy, horizon=10)
