import numpy as np
import pytest
from scipy import stats

import stopwise as sw
from paper.random_instances import random_instance
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.simulation.events import Cases, EventPlay
from stopwise.simulation.world import World
from tests.policies.helpers import FACTORIES

INSTANCE = relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25]))


def instance_of_three_classes(seed=0):
    cascade = sw.Cascade(costs=[0.1, 0.1, 0.1, 0.1])
    return random_instance(np.random.default_rng(seed), cascade, n_classes=3)


class TestView:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("name", ["WeakDominance", "Supervised", "ExploreThenCommit"])
    def test_tells_the_same_by_cases_and_by_counts(self, name, n_classes):
        rng = np.random.default_rng(5)
        cascade = sw.Cascade(costs=[0.1, 0.1, 0.1])
        world = World(random_instance(rng, cascade, n_classes=n_classes), labelled=True)
        view = world.view(2)
        cases = rng.integers(len(view.outputs), size=50)
        one, other = FACTORIES[name](cascade), FACTORIES[name](cascade)
        view.tell_cases(one, cases)
        view.tell_counts(other, np.bincount(cases, minlength=len(view.outputs)), 50)
        assert one.counts == other.counts
        assert one.to_state()["statistics"] == other.to_state()["statistics"]

    def test_tells_what_the_outputs_themselves_would(self):
        instance = instance_of_three_classes(3)
        world, rng = World(instance, labelled=True), np.random.default_rng(1)
        rows = rng.choice(len(instance.labels), size=200, p=instance.probabilities)
        for policy in (sw.FixedStage(instance.cascade, stage=2), sw.Supervised(instance.cascade)):
            other = sw.policy_from_state(policy.to_state())
            view = world.view(2)
            view.tell_cases(policy, view.of_pattern[rows])
            for row in rows:
                told = instance.outputs[row, :3]
                label = int(instance.labels[row])
                other.tell(told, label=label if other.needs_label else None)
            assert policy.counts == other.counts
            assert policy.to_state()["statistics"] == other.to_state()["statistics"]


class TestCases:
    def test_few_and_counts_have_the_chances_of_the_view(self):
        """False-alarm rate 1e-6 each."""
        world = World(INSTANCE, labelled=True)
        view = world.view(1)
        cases = Cases(world, np.random.default_rng(0))
        few = np.concatenate([cases.few(view, 5) for _ in range(4000)])
        counted = sum(cases.counts(view, 5) for _ in range(4000))
        for drawn in (np.bincount(few, minlength=len(view.outputs)), counted):
            assert stats.chisquare(drawn, view.probabilities * 20_000).pvalue > 1e-6

    def test_no_case_is_drawn_twice(self):
        world = World(INSTANCE)
        view = world.view(2)
        one, other = (Cases(world, np.random.default_rng(0)) for _ in range(2))
        together = np.concatenate([one.few(view, 8) for _ in range(512)])
        apart = np.concatenate([other.few(view, 1) for _ in range(4096)])
        np.testing.assert_array_equal(together, apart)


class TestPlay:
    @pytest.mark.parametrize("name", sorted(FACTORIES))
    def test_every_round_is_played_once(self, name):
        policy, ends = FACTORIES[name](INSTANCE.cascade), [1, 2, 50, 700]
        world = World(INSTANCE, labelled=name.startswith("Supervised"))
        played = EventPlay(policy, np.random.default_rng(0)).play(world, np.array(ends))
        np.testing.assert_array_equal(played.stops.sum(axis=1), ends)
        assert np.all(np.diff(played.stops, axis=0) >= 0)
        np.testing.assert_array_equal(policy.counts.n_stopped, played.stops[-1])
        assert np.all(played.wrong <= ends)

    def test_wrong_answers_have_the_error_rate(self):
        """Hoeffding, false-alarm rate 1e-6."""
        policy = sw.FixedStage(INSTANCE.cascade, stage=1)
        played = EventPlay(policy, np.random.default_rng(0)).play(
            World(INSTANCE, labelled=True), np.array([10**6])
        )
        tolerance = np.sqrt(np.log(2 / 1e-6) / 2 / 10**6)
        assert abs(played.wrong[-1] / 10**6 - INSTANCE.error_rates[1]) < tolerance

    def test_a_billion_rounds(self):
        instance = nested_errors(sw.Cascade(costs=[0, 0.1, 0.1]))
        policy = sw.Resolve(instance.cascade)
        played = EventPlay(policy, np.random.default_rng(0)).play(
            World(instance), np.array([10**9])
        )
        assert played.stops[-1].argmax() == instance.best_stage


def test_a_stretch_longer_than_a_block_is_told_in_full():
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 20_000)
    flipped = rng.random((20_000, 30)) < 0.3
    outputs = np.where(flipped, 1 - labels[:, None], labels[:, None])
    recording = sw.Recording(outputs, labels, sw.Cascade(costs=[0] + [0.5] * 29))
    trace = sw.simulate(
        recording,
        lambda cascade: sw.ExploreThenCommit(cascade, rounds=6000),
        horizon=8000,
        replications=1,
        checkpoints=1,
        count_errors=True,
    )
    assert trace.stops[0, -1, -1] == 6000
    assert abs(int(trace.errors[0, -1]) - 2400) < 300  # 7 standard deviations


@pytest.mark.parametrize(
    "name", ["Resolve", "StrongDominance", "StrongDominance-literal", "Supervised", "FixedStage"]
)
def test_on_a_tree_each_round_shows_its_path(name):
    tree = sw.Cascade([0, 0.1, 0.05, 0.2], parents=[None, 0, 0, 2])
    world = World(relaxed_errors(tree, [0.4, 0.1, 0.3, 0.05]), labelled=True)
    policy = FACTORIES[name](tree)
    played = EventPlay(policy, np.random.default_rng(0)).play(world, np.array([10, 500]))
    assert played.stops.sum(axis=1).tolist() == [10, 500]
    counts = policy.counts
    assert counts.n_stopped.tolist() == played.stops[-1].tolist()
    # Test 3 is shown with the root by its own rounds and by those of test 4, and no others.
    assert counts.n_seen[0, 2] == played.stops[-1][2:].sum()
    assert counts.n_seen[1, 2] == 0
