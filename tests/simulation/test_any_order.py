"""Simulated play of a policy that chooses which test to run next."""

from __future__ import annotations

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import InstanceError, PolicyError
from stopwise.problem.families import relaxed_errors
from stopwise.simulation.stopping import StoppingPlay, StoppingWorld, ran, rule_of, run_in

CASCADE = sw.Cascade(costs=[0.05, 0.1, 0.12])
WORLD = relaxed_errors(CASCADE)


def taught(**settings):
    policy = sw.BeliefStopping(CASCADE, skip=True, **settings)
    policy.tell_many(map(tuple, WORLD.sample(400, seed=0)[1].tolist()))
    return policy


def cost_one_by_one(policy, row, label):
    """Play a case by `choose` and `tell`; return its price and mistake."""
    state = ()
    while (test := policy.choose(state) if state or policy.skip else 0) is not None:
        state = ran(state, test, row[test])
    answer, _ = policy.conclude(state)
    policy.tell(state)
    return CASCADE.costs[run_in(state)].sum() + (answer != label)


@pytest.mark.parametrize("skip", [False, True], ids=["in order", "any order"])
@pytest.mark.parametrize("answer", ["last", "believed"])
def test_simulated_costs_are_those_of_cases_played_one_by_one(answer, skip):
    horizon, runs, settings = 300, 12, {"answer": answer, "skip": skip}
    policy = sw.BeliefStopping(CASCADE, **settings)
    trace = sw.simulate(
        WORLD, policy, horizon=horizon, replications=runs, seed=3, count_errors=True
    )
    best = horizon * StoppingWorld(WORLD, skips=skip).best_cost
    totals = []
    for run in range(runs):
        policy = sw.BeliefStopping(CASCADE, seed=run, **settings)
        labels, outputs = WORLD.sample(horizon, seed=100 + run)
        cases = zip(outputs.tolist(), labels.tolist(), strict=True)
        totals.append(sum(cost_one_by_one(policy, row, label) for row, label in cases))
    for costs in (trace.regret[:, -1] + best, trace.realised_costs[:, -1]):
        spread = np.hypot(np.std(costs), np.std(totals)) / np.sqrt(runs)
        assert abs(costs.mean() - np.mean(totals)) < 4 * spread  # one in 10,000


def test_the_trace_says_how_often_each_test_was_run_and_what_that_cost():
    policy = taught(exploration=0)
    assert policy.test_if_going_on() == 2  # the dear test is called at once
    trace = sw.simulate(WORLD, policy, horizon=100, replications=2, checkpoints=[10, 100])
    np.testing.assert_array_equal(trace.runs[:, :, 2], [[10, 100]] * 2)
    np.testing.assert_array_equal(trace.runs.sum(axis=2), [[10, 100]] * 2)
    np.testing.assert_array_equal(trace.stops, trace.runs)
    np.testing.assert_allclose(trace.prices, [[1.2, 12]] * 2)
    cost = 0.12 + WORLD.error_rates[2]
    best = StoppingWorld(WORLD, skips=True).best_cost
    np.testing.assert_allclose(trace.regret[:, 1], 100 * (cost - best), atol=1e-9)


def test_between_fits_cases_stop_as_often_as_the_policy_says():
    policy = taught(exploration=2.0)
    world = StoppingWorld(WORLD, skips=True)
    rule = rule_of(policy, world)
    random_states = [state for state, step in rule.items() if 0 < step.chance < 1]
    assert random_states
    n = 50_000
    counts = StoppingPlay(policy, np.random.default_rng(1))._draw(world, rule, n)
    assert sum(counts.values()) == n
    for state in random_states:
        stops = counts[state]
        later = sum(
            times
            for other, times in counts.items()
            if other != state
            and all(y is None or y == z for y, z in zip(state, other, strict=False))
            and len(other) >= len(state)
        )
        chance = rule[state].chance
        # Five standard deviations.
        assert abs(later - (stops + later) * chance) < 5 * np.sqrt((stops + later) * chance)


def test_errors_are_those_among_the_cases_that_show_a_state():
    world = StoppingWorld(WORLD, skips=True)
    for state in world.after((), 2):
        assert state[:2] == (None, None)
        for further in world.after(state, 0):
            shows = (WORLD.outputs[:, 0] == further[0]) & (WORLD.outputs[:, 2] == further[2])
            wrong = WORLD.probabilities @ (shows & (WORLD.labels != 1))
            expected = wrong / WORLD.probabilities[shows].sum()
            assert world.error_of(further, 1) == pytest.approx(expected)


def test_recordings_have_their_labels_for_the_truth():
    labels, outputs = WORLD.sample(800, seed=5)
    recording = sw.Recording(outputs, labels, CASCADE)
    trace = sw.simulate(recording, taught(), horizon=500, replications=2, count_errors=True)
    assert np.all(trace.realised_costs[:, -1] == trace.prices[:, -1] + trace.errors[:, -1])
    assert trace.mean_regret()[-1] > 0


def test_choosing_is_not_worse_than_the_order_of_the_cascade():
    settings = {"horizon": 3_000, "replications": 4, "count_errors": True, "checkpoints": 1}
    in_order = sw.simulate(WORLD, sw.BeliefStopping, **settings)
    any_order = sw.simulate(WORLD, lambda c: sw.BeliefStopping(c, skip=True), **settings)
    assert any_order.realised_costs[:, -1].mean() < in_order.realised_costs[:, -1].mean()


def test_runs_follow_from_stops_where_tests_are_run_in_order():
    trace = sw.simulate(WORLD, sw.Resolve, horizon=50, replications=2, checkpoints=[50])
    assert trace.given_runs is None
    reached = trace.stops[:, :, ::-1].cumsum(axis=2)[:, :, ::-1]
    np.testing.assert_array_equal(trace.runs, reached)
    np.testing.assert_allclose(trace.prices, trace.stops @ CASCADE.cumulative_costs)


def test_worlds_may_change_under_it():
    trace = sw.simulate(
        [WORLD, relaxed_errors(CASCADE)],
        taught(),
        horizon=80,
        change_points=[30],
        replications=2,
        checkpoints=[10, 40, 80],
    )
    assert np.all(np.diff(trace.runs.sum(axis=2), axis=1) >= 30)


def test_too_many_sets_of_tests_are_refused_before_anything_is_played():
    rows = np.random.default_rng(0).integers(0, 9, (500, 14))
    cascade = sw.Cascade(costs=[0.1] * 13)
    wide = sw.Recording(rows[:, 1:], rows[:, 0], cascade)
    with pytest.raises(InstanceError, match="patterns x sets of tests"):
        sw.simulate(wide, sw.BeliefStopping(cascade, skip=True), horizon=10)


def test_a_policy_that_never_stops_is_refused():
    class Endless(sw.BeliefStopping):
        def chance_to_go_on(self, outputs_so_far):
            return 1.0

    with pytest.raises(PolicyError, match="must stop at the last stage"):
        sw.simulate(WORLD, Endless(CASCADE, skip=True), horizon=10, replications=1)
