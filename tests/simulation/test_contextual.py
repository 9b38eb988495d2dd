"""Simulation with contexts: compiled play equals asking and telling, and traces are right."""

import copy

import numpy as np
import pytest

import stopwise as sw
from paper.contexts_data import learn
from stopwise.errors import ContextError, SettingError
from stopwise.policies.compiled_rule import declared_rule
from stopwise.policies.pair_models import MEMORY
from stopwise.problem.contextual_instance import ContextualCases
from stopwise.simulation import compiled
from stopwise.simulation import contextual_play as contextual
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.contextual_play import asked_stages, compiled_stages
from tests.policies.contextual_helpers import FACTORIES, nested_world, pairs_world
from tests.policies.helpers import FACTORIES as PLAIN

WORLDS = {
    "pairs": pairs_world(3),
    "nested": nested_world(3, 2, seed=1),
    "five": nested_world(5, 2, seed=2),
    "two": nested_world(2, 1, seed=3),
}
every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
pytestmark = pytest.mark.usefixtures("compiled_at_once")


@every
@pytest.mark.parametrize("world", WORLDS.values(), ids=WORLDS)
def test_compiled_play_is_asking_and_telling_stage_by_stage(make, world):
    policy = make(world.cascade, world.n_features)
    other = copy.deepcopy(policy)
    rng = np.random.default_rng(0)
    stages = []
    for n in (3, 400, 900):  # in parts, the first within the warm-up
        cases = world.draw(n, rng)
        fast = compiled_stages(other, declared_rule(other), cases)
        stages += fast.tolist()
        np.testing.assert_array_equal(fast, asked_stages(policy, cases))
    assert len(set(stages[50:])) > 1 or "Weak" in type(policy).__name__ or not policy.intercept
    agree(other._model, policy._model)


def agree(one, other):
    """Assert that two models know the same: all pairs at once are added up in another order."""
    ours, theirs = one.to_state(), other.to_state()
    for name in MEMORY:
        np.testing.assert_allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-8)


@every
def test_compiled_play_goes_on_from_what_the_policy_knows(make):
    world = WORLDS["pairs"]
    policy = make(world.cascade, 3)
    cases = world.draw(700, np.random.default_rng(1))
    asked_stages(policy, ContextualCases(*(p[:300] for p in cases)))
    rest = ContextualCases(*(p[300:] for p in cases))
    other = copy.deepcopy(policy)  # with a generator of its own
    stages = compiled_stages(other, declared_rule(other), rest)
    np.testing.assert_array_equal(stages, asked_stages(policy, rest))
    agree(other._model, policy._model)


@pytest.mark.parametrize("name", [n for n in PLAIN if n != "Thompson"])
def test_policies_that_do_not_look_at_contexts_play_as_asked(name):
    world = WORLDS["nested"]
    cases = world.draw(900, np.random.default_rng(4))
    policy = PLAIN[name](world.cascade)
    rule = declared_rule(policy)
    if rule is None:
        assert len(simulated(world, policy).stops) == 3
        return
    stages = CompiledPlay(rule, np.random.default_rng(0)).stages(cases)
    np.testing.assert_array_equal(stages, asked_stages(policy, cases))


@every
def test_a_learned_policy_is_one_that_was_asked_and_told(make, monkeypatch):
    world = WORLDS["nested"]
    policy = make(world.cascade, 2)
    known = learn(world, policy, rounds=600, seed=3)
    assert policy.n_rounds == 0
    monkeypatch.setattr(compiled, "can_compile", lambda: False)
    with pytest.warns(UserWarning, match="numba"):
        slow = learn(world, policy, rounds=600, seed=3)
    assert slow.n_rounds == known.n_rounds == 600
    agree(known._model, slow._model)


def simulated(world, make, **settings):
    defaults = {"horizon": 800, "replications": 3, "seed": 4, "checkpoints": [1, 70, 800]}
    return sw.simulate(world, make, **(defaults | settings))


@every
def test_a_trace_adds_up_what_was_played(make):
    world = WORLDS["pairs"]
    trace = simulated(world, lambda c: make(c, 3), count_errors=True)
    for r in range(3):
        rng = np.random.default_rng([4, r])
        policy = make(world.cascade, 3)
        policy.reseed(rng.spawn(1)[0])
        cases = world.draw(contextual.BLOCK, rng)
        cases = ContextualCases(*(part[:800] for part in cases))
        stages, rows = asked_stages(policy, cases), np.arange(800)
        for c, t in enumerate(trace.rounds):
            assert trace.stops[r, c].tolist() == np.bincount(stages[:t], minlength=3).tolist()
            paid = world.gaps(cases.contexts)[rows, stages][:t]
            assert trace.regret[r, c] == pytest.approx(paid.sum())
            wrong = (cases.outputs[rows, stages] != cases.labels)[:t]
            assert trace.errors[r, c] == wrong.sum()
    np.testing.assert_array_equal(trace.gaps, world.average_gaps)


def test_all_policies_meet_the_same_cases_and_seeds_give_others():
    world = WORLDS["pairs"]
    always = [simulated(world, lambda c, k=k: sw.FixedStage(c, stage=k)) for k in range(3)]
    cases = world.draw(contextual.BLOCK, np.random.default_rng([4, 1]))
    for k, trace in enumerate(always):
        assert trace.regret[1, -1] == pytest.approx(world.gaps(cases.contexts)[:800, k].sum())
    assert len({trace.regret[r, -1] for trace in always for r in range(3)}) == 9


def test_a_shorter_run_is_part_of_a_longer_and_blocks_do_not_show(monkeypatch):
    world = WORLDS["pairs"]
    make = lambda c: sw.ContextualResolve(c, 3)  # noqa: E731
    monkeypatch.setattr(contextual, "BLOCK", 300)
    long = simulated(world, make, horizon=900, checkpoints=[1, 70, 300, 301, 600, 900])
    short = simulated(world, make, horizon=301, checkpoints=[1, 70, 300, 301])
    np.testing.assert_array_equal(long.stops[:, :4], short.stops)
    np.testing.assert_array_equal(long.regret[:, :4], short.regret)
    plain = simulated(world, sw.Resolve, horizon=900, checkpoints=[300, 900])
    assert plain.stops[:, -1].sum() == 2700


def test_workers_make_no_difference():
    world = WORLDS["nested"]
    for make in (
        lambda c: sw.ContextualThompson(c, 2, seed=0),
        lambda c: sw.Thompson(c, seed=0),
        sw.WeakDominance,
    ):
        one, two = (simulated(world, make, n_jobs=n) for n in (1, 2))
        np.testing.assert_array_equal(one.regret, two.regret)
        np.testing.assert_array_equal(one.stops, two.stops)


def test_without_numba_it_works_and_says_so(monkeypatch):
    world = WORLDS["nested"]
    make = lambda c: sw.ContextualWeakDominance(c, 2)  # noqa: E731
    fast = simulated(world, make)
    monkeypatch.setattr(compiled, "can_compile", lambda: False)
    with pytest.warns(UserWarning, match="numba is not installed"):
        slow = simulated(world, make)
    np.testing.assert_array_equal(fast.stops, slow.stops)


def test_a_subclass_may_have_another_rule():
    class Other(sw.ContextualWeakDominance):
        def _choose(self, context):
            return 0

    trace = simulated(WORLDS["nested"], lambda c: Other(c, 2), horizon=200, checkpoints=1)
    assert trace.stops[:, -1, 0].tolist() == [200] * 3


def test_recordings_can_have_negative_regret():
    rng = np.random.default_rng(0)
    hard = rng.integers(2, size=400)
    labels = rng.integers(2, size=400)
    first = labels ^ (rng.random(400) < np.where(hard, 0.5, 0.0))
    world = sw.ContextualRecording(
        np.column_stack([first, labels]), labels, hard[:, None], sw.Cascade([0, 0.2])
    )
    trace = simulated(world, lambda c: sw.ContextualResolve(c, 1), horizon=5000, checkpoints=10)
    assert trace.mean_regret()[-1] < -100
    axis = trace.plot()
    assert axis.get_ylim()[0] < -100
    fixed = simulated(world, lambda c: sw.FixedStage(c, stage=world.best_fixed_stage))
    np.testing.assert_array_equal(fixed.regret, 0.0)


def test_what_does_not_fit_is_refused():
    world = WORLDS["pairs"]
    with pytest.raises(SettingError, match="3 features, got one for 2"):
        simulated(world, lambda c: sw.ContextualResolve(c, 2))
    with pytest.raises(SettingError, match="must have contexts"):
        simulated(
            sw.Instance([[0.5, 0.0], [0.0, 0.5]], sw.Cascade([0.1])),
            lambda c: sw.ContextualResolve(c, 2),
        )
    with pytest.raises(SettingError, match="cascade of the environment"):
        simulated(world, sw.ContextualResolve(sw.Cascade([0, 0.1]), 3))
    recording = sw.ContextualRecording([[0, 0], [1, 1]], [0, 1], [[0], [1]], sw.Cascade([0, 0.1]))
    for each in (world, recording):
        with pytest.raises(SettingError, match=r"no contexts in a sweep.*simulate it"):
            sw.sweep({"a": each}, {"b": sw.Resolve}, horizon=10)


def test_what_a_policy_refuses_when_asked_is_refused_in_a_simulation():
    cascade, rng = sw.Cascade([0, 0.1]), np.random.default_rng(0)
    recording = sw.ContextualRecording(
        rng.integers(2, size=(200, 2)),
        rng.integers(2, size=200),
        np.column_stack([np.zeros(200), rng.normal(size=200) * 1e5]),
        cascade,
    )
    policy = sw.ContextualResolve(cascade, 2, warm_up=0)
    for play in (
        lambda: asked_stages(copy.deepcopy(policy), recording.draw(2000, rng)),
        lambda: sw.simulate(recording, policy, horizon=2000, replications=1),
        lambda: learn(recording, policy, rounds=200),
    ):
        with pytest.raises(ContextError, match="at most 1000 in size if warm_up is 0"):
            play()
    sw.simulate(recording, sw.Resolve, horizon=200, replications=1)  # does not look at them
