"""What every contextual policy keeps: each law over each policy."""

import copy
import json
from functools import partial

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import ContextError, OutputsError, SettingError, StateError
from tests.policies.contextual_helpers import FACTORIES, draw_cases, play
from tests.policies.helpers import CHAIN, altered, twin

every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)


# Asking


@every
def test_looking_changes_nothing(make):
    cases, policy = draw_cases(3, 3, 160, 1), make(CHAIN, 3)
    for n in (3, 100):
        play(policy, cases[:n])
        before = json.dumps(policy.to_state())
        for _, context in cases[n : n + 20]:
            _ = policy.n_cut, policy.recommend(context), policy.disagreement(context)
        assert json.dumps(policy.to_state()) == before


@every
def test_ask_many_is_asking_many_times(make):
    policy, cases = make(CHAIN, 3), draw_cases(3, 3, 120, 2)
    play(policy, cases)
    other, contexts = twin(policy), [context for _, context in cases]
    assert policy.ask_many([]) == []
    assert policy.ask_many(np.array(contexts)) == [other.ask(context) for context in contexts]


def test_the_warm_up_goes_to_the_end():
    for make in (sw.ContextualWeakDominance, sw.ContextualResolve):
        policy, cases = make(CHAIN, 3, warm_up=30), draw_cases(3, 3, 400, 3)
        stages = play(policy, cases)
        assert stages[:30] == [2] * 30
        assert set(stages[30:]) != {2}


# Telling


@every
def test_contexts_may_be_arrays_lists_and_flags(make):
    one, other = make(CHAIN, 3), make(CHAIN, 3)
    for outputs, context in draw_cases(3, 3, 60, 5):
        flagged = [context[0], context[1] > 0, context[2]]
        one.tell(outputs, flagged)
        other.tell(np.array(outputs), np.array(flagged, dtype=np.float64))
    assert one.to_state() == other.to_state()


BAD_CONTEXTS = [
    None, 3.0, "123", b"123", [], [1.0, 2.0], [1.0, 2.0, 3.0, 4.0], [1.0, float("nan"), 2.0],
    [1.0, float("inf"), 2.0], [-float("inf"), 0.0, 2.0], [1.0, "2", 3.0], [1.0, None, 3.0],
    [1.0, 1e101, 3.0], [1.0, 10**400, 3.0], [1.0, -(10**5000), 3.0], [1.0, 2j, 3.0],
    [[1.0, 2.0, 3.0]], np.zeros((1, 3)), np.zeros((3, 1)), np.array(["1", "2", "3"]),
    np.array([1.0, np.nan, 3.0]), {0: 1.0, 1: 2.0, 2: 3.0}, object(),
]  # fmt: skip


@every
def test_bad_contexts_are_refused_and_nothing_changes(make):
    policy, other = make(CHAIN, 3), make(CHAIN, 3)
    cases = draw_cases(3, 3, 140, 6)
    good = [1.0, 2.0, 3.0]
    for start, stop in ((0, 3), (3, 60)):  # within the warm-up and after it
        assert play(policy, cases[start:stop]) == play(other, cases[start:stop])
        before = json.dumps(policy.to_state())
        for bad in BAD_CONTEXTS:
            for act in (
                lambda bad=bad: policy.ask(bad),
                lambda bad=bad: policy.recommend(bad),
                lambda bad=bad: policy.disagreement(bad),
                lambda bad=bad: policy.tell((0, 1), bad),
                lambda bad=bad: policy.ask_many([good, bad]),
                lambda bad=bad: policy.tell_many([((0, 1), good), ((0, 1), bad)]),
            ):
                with pytest.raises(ContextError, match="context must"):
                    act()
        for bad in ([((0, 1), good), 5], [((0, 1),)]):
            with pytest.raises(OutputsError):
                policy.tell_many(bad)
        with pytest.raises(ContextError, match="contexts must be a sequence"):
            policy.ask_many(5)
        with pytest.raises(TypeError, match="context"):
            policy.ask()
        with pytest.raises(TypeError, match="context"):
            policy.tell((0, 1))
        assert json.dumps(policy.to_state()) == before
    assert play(policy, cases[60:]) == play(other, cases[60:])


def test_a_message_names_the_place():
    policy = sw.ContextualWeakDominance(CHAIN, 2)
    with pytest.raises(ContextError, match=r"must be finite, .*got nan at feature 2"):
        policy.ask([1.0, float("nan")])
    with pytest.raises(ContextError, match=r"2 features, got 3; it is context 2"):
        policy.ask_many([[1, 2], [1, 2, 3]])


def test_features_without_a_scale_are_told_so():
    policy = sw.ContextualWeakDominance(CHAIN, 2, warm_up=0)
    policy.ask([1000.0, -1000.0])
    with pytest.raises(ContextError, match=r"at most 1000 .*warm_up.*got 1001.0 at feature 1"):
        policy.ask([1001.0, 0.0])


def test_missing_outputs_are_not_seen():
    policy = sw.ContextualWeakDominance(CHAIN, 1, warm_up=0)
    policy.tell((0, None, 1), [0.5])
    pairs = policy.to_state()["statistics"]["model"]["seen"]  # (1, 2), (1, 3), (2, 3)
    assert pairs == [0, 1, 0]
    policy.tell((None,), [0.5])
    policy.tell((1, 0), [0.5])
    assert policy.to_state()["statistics"]["model"]["seen"] == [1, 1, 0]
    assert policy.n_rounds == 3


@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_pairs_learned_at_once_are_those_learned_one_by_one(missing, monkeypatch):
    """Of cases that show no pair, some pairs and all of them."""
    cascade = sw.Cascade([0.0, *[0.05] * 9])
    at_once = sw.ContextualResolve(cascade, 3, warm_up=5)
    monkeypatch.setattr("stopwise.policies.pair_models.MOST_LISTED", 10**6)
    one_by_one = sw.ContextualResolve(cascade, 3, warm_up=5)
    assert type(at_once._model.x) is not type(one_by_one._model.x)
    cases = draw_cases(10, 3, 150, 9, missing=missing)
    for n, (outputs, context) in enumerate([*cases, ((None,) * 10, [1.0, 2.0, 3.0])]):
        assert at_once.recommend(context) == one_by_one.recommend(context)
        for policy in (at_once, one_by_one):
            policy.tell(outputs[: 1 + n % 10], context)
    for name, values in at_once.to_state()["statistics"]["model"].items():
        expected = one_by_one.to_state()["statistics"]["model"][name]
        np.testing.assert_allclose(np.array(values), np.array(expected), rtol=1e-6, atol=1e-9)


# Saving


@every
def test_damaged_states_are_refused(make):
    policy = make(CHAIN, 2)
    play(policy, draw_cases(3, 2, 80, 8))
    state = policy.to_state()
    D = len(state["statistics"]["model"]["theta"][0])
    negative, large = ([[c * (a == b) for b in range(D)] for a in range(D)] for c in (-1.0, 9.0))
    model = [
        (("theta",), [[0.0]]), (("theta", 0, 0), "x"), (("theta", 0, 0), float("nan")),
        (("theta", 0, 0), 10**400), (("theta", 0, 0), 1e90), (("inverse", 1), [[1.0]]),
        (("inverse", 0, 0, 1), 0.3), (("inverse", 0), negative), (("inverse", 0), large),
        (("inverse", 0), [[0.0] * D for _ in range(D)]), (("inverse", 0, 0, 0), 1e300),
        (("seen", 0), 1.5), (("seen", 0), -1), (("seen", 0), 81), (("seen", 0), 0),
        (("seen", 0), 10**400), (("counts", 0), None), (("counts", 0), -1), (("counts", 1), 81),
        (("counts", 0), 10**30), (("scale", 0), 0.0), (("scale", 0), 1e200),
        (("squares", 0), -4.0), (("centre", 0), 1e200),
    ]  # fmt: skip
    for path, value in [
        *((("statistics", "model", *path), value) for path, value in model),
        (("statistics", "model"), {}),
        (("settings", "n_features"), 3),
        (("settings", "regularisation"), -1),
        (("settings", "unknown"), 1),
        (("version",), 0),
        (("cascade", "costs"), []),
    ]:
        with pytest.raises(StateError):
            sw.policy_from_state(altered(state, path, value))


def test_damaged_held_cases_are_refused():
    state = sw.ContextualResolve(CHAIN, 2, warm_up=3).to_state()
    for path, value, message in [
        (("held_pairs", 0, 0), 2, "held_pairs"),
        (("held_contexts", 0, 0), 1e200, "held_contexts must hold numbers in"),
        (("seen", 0), 1, "must have learned from at most 0 cases"),
    ]:
        with pytest.raises(StateError, match=message):
            sw.policy_from_state(altered(state, ("statistics", "model", *path), value))


@pytest.mark.parametrize(("regularisation", "size"), [(1e-6, 900.0), (1e6, 900.0), (1e-6, 1e-3)])
def test_states_of_long_and_badly_scaled_runs_are_read(regularisation, size):
    rng = np.random.default_rng(0)
    policy = sw.ContextualResolve(CHAIN, 4, regularisation=regularisation, warm_up=0)
    for _ in range(3000):
        x = rng.normal(size=4).clip(-1, 1) * size * [1, 1e-3, 1e-6, 1]
        x[3] = x[0] * (1 + 1e-9)  # nearly the same feature twice
        policy.tell(rng.integers(2, size=3).tolist(), x)
    assert twin(policy).to_state() == policy.to_state()


def test_reseeding_decides_the_draws():
    cases = draw_cases(3, 2, 200, 10)
    one, other = (sw.ContextualThompson(CHAIN, 2, seed=s) for s in (1, 2))
    assert play(copy.deepcopy(one), cases) != play(copy.deepcopy(other), cases)
    other.reseed(1)
    assert play(one, cases) == play(other, cases)
    with pytest.raises(SettingError, match="seed must be"):
        one.reseed("no seed")


# Settings


@pytest.mark.parametrize(
    "make",
    [sw.ContextualWeakDominance, sw.ContextualResolve, partial(sw.ContextualThompson, seed=0)],
)
def test_settings_are_checked(make):
    for name, *values in [
        ("n_features", -1, 2.5),
        ("exploration", 0, float("nan")),
        ("regularisation", 0, "1", 1e-310),
        ("warm_up", 1, -1, 1.5),
        ("intercept", 1),
    ]:
        for bad in values:
            with pytest.raises(SettingError, match=name):
                make(CHAIN, **{"n_features": 2, name: bad})
    with pytest.raises(SettingError, match="n_features must be a whole number >= 1"):
        make(CHAIN, 0, intercept=False)


def test_without_features_it_is_a_plain_rate():
    policy = sw.ContextualResolve(sw.Cascade([0.0, 0.3]), 0, warm_up=0)
    for k in range(2000):
        policy.tell([0, int(k % 10 == 0)], [])
    assert policy.disagreement([])[0, 1] == pytest.approx(0.1, abs=0.005)
    assert policy.ask([]) == 0
