"""Damaged states, strangers in a merge and bad settings are refused, for every policy."""

from functools import partial

import pytest

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.errors import CascadeError, SettingError, StateError
from tests.policies.helpers import CHAIN, FACTORIES, TREE, altered, draw_cases, play
from tests.policies.test_every_policy import EVERY

merging = pytest.mark.parametrize(
    "make", [pytest.param(f, id=n) for n, f in FACTORIES.items() if "Strong" not in n]
)


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("WeakDominance", ["cascade"], TREE.to_state()),
        ("WeakDominance", ["cascade", "costs"], [0.0, -1.0, 0.1]),
        ("WeakDominance", ["settings", "exploration"], -1),
        ("WeakDominance", ["statistics", "pairs"], ...),
        ("WeakDominance", ["statistics", "complete"], {}),
        ("ExploreThenCommit", ["statistics"], ...),
        ("ExploreThenCommit", ["statistics", "complete"], ...),
        ("ExploreThenCommit", ["statistics", "complete", "stopped"], [0, 0, -1]),
        ("Supervised", ["statistics"], None),
        ("Supervised", ["statistics", "mended"], {}),
        ("StrongDominance", ["n_explored"], ...),
        ("StrongDominance", ["n_explored"], -1),
        ("StrongDominance", ["n_explored"], 0.5),
        ("StrongDominance", ["printed"], ...),
        ("StrongDominance", ["printed"], [0.0]),
        ("StrongDominance", ["printed"], [0.0, 0.0, float("nan")]),
        ("StrongDominance", ["printed"], ["a", "b", "c"]),
        ("StrongDominance", ["settings", "beta", "scale"], 2.0),
        ("Thompson", ["generator"], ...),
        ("Thompson", ["generator"], None),
        ("Thompson", ["generator"], {}),
        ("Thompson", ["generator", "bit_generator"], "MT19937"),
        ("Thompson", ["generator", "state", "state"], -1),
        ("Thompson", ["generator", "state", "state"], 2**200),
        ("Thompson", ["generator", "state", "state"], "many"),
    ],
)
def test_damage_to_what_one_policy_keeps_is_refused(name, path, value):
    policy = FACTORIES[name](CHAIN)
    play(policy, draw_cases(3, 50, 16))
    full = policy.to_state()
    with pytest.raises(StateError):
        sw.policy_from_state(altered(full, path, value))


@pytest.mark.parametrize(
    ("policy", "path", "value", "message"),
    [
        (sw.ExploreThenCommit(CHAIN, rounds=5), ["complete", "stopped"], [0, 0, 2], "went to the"),
        (sw.Supervised(CHAIN), ["mended", "disagreed", 2], [1, 1, 0], "mended must be at most"),
        (sw.Supervised(CHAIN), ["mended", "stopped"], [0, 0, 2], "mended must be of the same"),
    ],
)
def test_further_counts_have_to_fit(policy, path, value, message):
    policy.tell([0, 1, 1], label=1 if policy.needs_label else None)
    with pytest.raises(StateError, match=message):
        sw.policy_from_state(altered(policy.to_state(), ["statistics", *path], value))


@pytest.mark.parametrize("state", [None, [], "state", 3, {}, {"version": 1}])
def test_what_is_not_a_state_is_refused(state):
    with pytest.raises(StateError, match=r"must be a dict that to_state\(\) made"):
        sw.policy_from_state(state)


# Merging


@merging
def test_learners_of_other_settings_are_not_merged(make):
    policy = make(CHAIN)
    others = [
        make(Cascade([0.0, 0.15, 0.2], names=CHAIN.names)),
        make(Cascade([0.0, 0.15, 0.1])),
        make(Cascade([0.0, 0.15])),
        *(f(CHAIN) for n, f in FACTORIES.items() if f is not make),
        PairCounts(CHAIN),
        None,
    ]
    for other in others:
        with pytest.raises(SettingError, match="equal settings"):
            policy.merge(other)


# Construction


@pytest.mark.parametrize("make", EVERY.values(), ids=EVERY)
def test_a_policy_needs_a_cascade_and_some_need_a_chain(make):
    policy = make(CHAIN)
    settings = {name: getattr(policy, name) for name in policy.settings}
    again = partial(type(policy), **settings, **({"seed": 0} if policy.draws else {}))
    with pytest.raises(CascadeError, match="cascade must be a Cascade"):
        again([0, 1])
    if policy.needs_chain:
        with pytest.raises(CascadeError, match="needs a chain, got a tree"):
            again(TREE)


@pytest.mark.parametrize(
    ("policy", "settings", "message"),
    [
        *(
            (sw.WeakDominance, {"exploration": value}, "exploration must be > 0 and finite")
            for value in (0, -1.5, float("inf"), float("nan"))
        ),
        (sw.Supervised, {"exploration": 0}, "exploration must be > 0 and finite"),
        (sw.Resolve, {"indifference": -0.1}, "indifference must be >= 0 and finite"),
        (sw.StrongDominance, {"alpha": 0}, "alpha must be > 0 and finite"),
        (sw.StrongDominance, {"beta": 0.5}, "beta must be a PowerLaw"),
        (sw.StrongDominance, {"literal": 1}, "literal must be True or False"),
        *(
            (sw.ExploreThenCommit, {"rounds": value}, "rounds must be a whole number >= 1")
            for value in (0, -3, 2.0, True, "9", None)
        ),
        (sw.FixedStage, {"stage": -1}, "stage must be a whole number >= 0"),
        (sw.FixedStage, {"stage": 3}, "stage must be < 3, got 3"),
        (sw.OutputConditional, {"max_prefixes": -1}, "max_prefixes must be a whole number >= 0"),
        (sw.OutputConditional, {"indifference": -0.1}, "indifference must be >= 0"),
        (sw.BeliefStopping, {"answer": "first"}, "answer must be one of last, believed, got 'fir"),
        (sw.BeliefStopping, {"answer": None}, "answer must be one of last, believed, got None"),
        (sw.BeliefStopping, {"skip": 1}, "skip must be true or false, got 1"),
        (sw.BeliefStopping, {"exploration": -0.1}, "exploration must be >= 0"),
        (sw.BeliefStopping, {"exploration": float("inf")}, "exploration must be >= 0 and finite"),
        (sw.BeliefStopping, {"max_patterns": 0}, "max_patterns must be a whole number >= 1"),
        (sw.BeliefStopping, {"seed": "x"}, "seed must be"),
        (sw.BeliefStopping, {"memory": 255}, "memory must be a whole number >= 256"),
        (sw.BeliefStopping, {"memory": 999, "skip": True}, "memory must be None with skip, got 99"),
        (sw.Resolve, {"memory": 15}, "memory must be a whole number >= 16"),
    ],
)
def test_bad_settings_are_refused(policy, settings, message):
    with pytest.raises(SettingError, match=message):
        policy(CHAIN, **settings)
