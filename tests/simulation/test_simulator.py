import tracemalloc

import numpy as np
import pytest

import stopwise as sw
from stopwise.policies.compiled_rule import FOREVER
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.simulation.simulator import checkpoint_rounds
from tests.policies.helpers import FACTORIES
from tests.strategies import hoeffding

CASCADE = sw.Cascade(costs=[0, 0.1, 0.1])
WORLD = relaxed_errors(CASCADE)


def run(policy=sw.Resolve, environment=WORLD, **settings):
    defaults = {"horizon": 2_000, "replications": 4, "seed": 3, "checkpoints": 8}
    return sw.simulate(environment, policy, **(defaults | settings))


class Custom(sw.Policy):
    """A policy that the library does not know: stage 2 for ever."""

    def _recommend(self):
        return 1

    def _decide(self):
        return 1, FOREVER


class TestNumbers:
    def test_the_same_seed_gives_the_same_trace_and_another_does_not(self):
        world = nested_errors(CASCADE)
        stops = run(environment=world).stops
        np.testing.assert_array_equal(run(environment=world).stops, stops)
        assert np.any(run(environment=world, seed=4).stops != stops)

    @pytest.mark.parametrize("name", sorted(FACTORIES))
    def test_a_replication_does_not_depend_on_how_many_there_are(self, name):
        few = run(FACTORIES[name], horizon=300, replications=2)
        many = run(FACTORIES[name], horizon=300, replications=5)
        np.testing.assert_array_equal(many.stops[:2], few.stops)

    def test_the_number_of_processes_changes_nothing(self):
        one = run(FACTORIES["Thompson"], horizon=200, replications=5, count_errors=True)
        two = run(FACTORIES["Thompson"], horizon=200, replications=5, count_errors=True, n_jobs=2)
        np.testing.assert_array_equal(two.stops, one.stops)
        np.testing.assert_array_equal(two.errors, one.errors)

    @pytest.mark.parametrize("name", sorted(FACTORIES))
    def test_regret_is_the_gaps_of_the_stages_played(self, name):
        trace = run(FACTORIES[name], horizon=300)
        assert trace.stops.shape == (4, len(trace.rounds), 3)
        np.testing.assert_array_equal(trace.stops.sum(axis=2), [trace.rounds] * 4)
        np.testing.assert_allclose(trace.regret, trace.stops @ WORLD.gaps, rtol=1e-12)
        assert np.all(np.diff(trace.stops, axis=1) >= 0)

    @pytest.mark.parametrize("name", sorted(FACTORIES))
    def test_errors_are_counted_without_bias(self, name):
        # Given the past, a round errs with the error rate of its stage: by Azuma and Hoeffding the
        # mean excess strays less than `hoeffding`, at a false-alarm rate of 1e-6 for all together.
        T, R = 500, 8
        trace = run(FACTORIES[name], horizon=T, replications=R, count_errors=True)
        excess = trace.errors[:, -1] - trace.stops[:, -1] @ WORLD.error_rates
        assert abs(excess.sum()) / (T * R) < hoeffding(T * R, events=len(FACTORIES))
        assert np.all(np.diff(trace.errors, axis=1) >= 0)

    def test_realised_costs_are_prices_and_mistakes(self):
        trace = run(sw.FixedStage(CASCADE, stage=1), count_errors=True)
        np.testing.assert_allclose(trace.realised_costs, 0.1 * trace.rounds + trace.errors)
        with pytest.raises(sw.errors.InputError, match="count_errors=True"):
            run().realised_costs  # noqa: B018

    def test_a_recording_is_its_empirical_law(self):
        labels, outputs = WORLD.sample(50, 1)
        recording = sw.Recording(outputs, labels, CASCADE)
        np.testing.assert_array_equal(
            run(environment=recording).stops, run(environment=recording.instance).stops
        )

    def test_memory_does_not_grow_with_the_horizon(self):
        def peak(horizon):
            run(sw.WeakDominance, horizon=horizon)
            tracemalloc.start()
            trace = run(sw.WeakDominance, horizon=horizon)
            most = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert trace.stops.nbytes == 8 * 4 * len(trace.rounds) * 3
            return most

        assert peak(10**8) < peak(10**4) + 200_000


class TestPolicies:
    @pytest.mark.parametrize("name", sorted(FACTORIES))
    def test_the_policy_is_not_changed(self, name):
        policy = FACTORIES[name](CASCADE)
        before = policy.to_state()
        run(policy, horizon=100)
        assert policy.to_state() == before

    def test_a_policy_goes_on_from_what_it_knows(self):
        policy = sw.ExploreThenCommit(CASCADE, rounds=3)
        policy.tell_many({(0, 0, 0): 3})
        assert run(policy).stops[:, -1].tolist() == [[2000, 0, 0]] * 4

    def test_a_factory_is_called_once_and_may_return_what_it_likes(self):
        policy, calls = sw.Resolve(CASCADE), []
        trace = run(lambda cascade: calls.append(cascade) or policy)
        assert calls == [CASCADE]
        np.testing.assert_array_equal(trace.stops, run(sw.Resolve).stops)

    def test_a_policy_of_ones_own(self):
        trace = run(Custom)
        assert trace.policy == "Custom"
        assert trace.stops[:, -1].tolist() == [[0, 2000, 0]] * 4

    def test_names_do_not_matter_and_money_is_compared_in_error_units(self):
        other = sw.Cascade(costs=[0, 10, 10], mistake_cost=100, names=["a", "b", "c"])
        assert run(sw.Resolve(other)).n_replications == 4


class TestCheckpoints:
    def test_a_number_is_spread_over_the_orders_of_magnitude(self):
        assert checkpoint_rounds(4, 1000).tolist() == [1, 10, 100, 1000]
        assert checkpoint_rounds(1, 1000).tolist() == [1000]
        assert checkpoint_rounds(100, 5).tolist() == [1, 2, 3, 4, 5]
        assert checkpoint_rounds(7, 2**53 - 1)[-1] == 2**53 - 1

    def test_given_rounds_end_at_the_horizon(self):
        assert checkpoint_rounds([3, 9], 9).tolist() == [3, 9]
        assert checkpoint_rounds(np.array([3]), 9).tolist() == [3, 9]

    @pytest.mark.parametrize("given", [0, -1, 2.5, True, [], [0], [2, 2], [3, 2], [11], [1.5], "3"])
    def test_others_are_refused(self, given):
        with pytest.raises(sw.errors.SettingError, match="checkpoints must"):
            checkpoint_rounds(given, 10)


@pytest.mark.parametrize("costs", [[0, 1e-308, 1e-308], [0, 4e99, 4e99], [1e99, 0.1, 5e-324]])
@pytest.mark.parametrize("name", sorted(FACTORIES))
def test_costs_may_be_tiny_or_huge(name, costs):
    world = nested_errors(sw.Cascade(costs=costs))
    trace = run(FACTORIES[name], environment=world, horizon=300, count_errors=True)
    assert np.all(np.isfinite(trace.regret))
    assert np.all(np.isfinite(trace.half_width()))


class TestBadInput:
    @pytest.mark.parametrize("name", ["horizon", "replications"])
    @pytest.mark.parametrize("value", [0, -3, 1.5, "10", True, None])
    def test_counts(self, name, value):
        with pytest.raises(sw.errors.SettingError, match=f"{name} must be a whole number >= 1"):
            run(**{name: value})

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"seed": -1}, "seed must be a whole number >= 0"),
            ({"horizon": 2**53 + 1}, r"horizon must be <= 2\*\*53"),
            ({"n_jobs": 0}, "n_jobs must be a whole number other than 0"),
            ({"n_jobs": 1.5}, "n_jobs must be a whole number other than 0"),
            ({"n_jobs": 10**6}, "n_jobs must be at most 1024"),
            ({"checkpoints": 10**9}, "checkpoints must be at most 1000000"),
            (
                {"checkpoints": 10**6, "horizon": 2**53, "replications": 10**4},
                r"replications times checkpoints times stages must be at most 2\*\*27",
            ),
            ({"policy": "resolve"}, "policy must be a policy or make one"),
            ({"policy": lambda cascade: 3}, "policy must make a policy from a cascade, it made 3"),
            ({"policy": sw.Thompson}, "Thompson does not: missing a required.*'seed'"),
            ({"policy": sw.Resolve(sw.Cascade([0, 0.1]))}, "for the cascade of the environment"),
            ({"policy": sw.Resolve(sw.Cascade([0, 0.1, 0.2]))}, "for the cascade of the environ"),
            ({"environment": WORLD.joint}, "environment must be an Instance or a Recording"),
        ],
    )
    def test_settings(self, settings, message):
        with pytest.raises(sw.errors.SettingError, match=message):
            run(**settings)

    def test_a_number_of_checkpoints_may_be_an_array(self):
        assert run(checkpoints=np.array(7)).rounds.tolist() == run(checkpoints=7).rounds.tolist()
        assert len(run(n_jobs=np.int64(1)).rounds) == 8

    def test_a_tree_is_refused_where_no_case_is_complete(self):
        tree = sw.Cascade(costs=[0, 0.1, 0.1], parents=[None, 0, 0])
        with pytest.raises(sw.errors.CascadeError, match="needs a chain"):
            run(environment=nested_errors(tree), policy=lambda c: sw.ExploreThenCommit(c, rounds=9))
