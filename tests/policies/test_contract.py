"""What every policy keeps: each law over each policy."""

import gc
import json
import types

import numpy as np
import pytest

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.errors import SettingError
from stopwise.policies.registry import POLICIES, policy_class
from tests.policies.helpers import (
    CHAIN,
    FACTORIES,
    LONG,
    TREE,
    Case,
    draw_cases,
    play,
    tell,
    told_as,
    twin,
)

every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
# On chains and, where a policy makes sense there, on a tree.
shaped = pytest.mark.parametrize(
    ("make", "cascade"),
    [
        pytest.param(make, cascade, id=f"{name}-{shape}")
        for name, make in FACTORIES.items()
        for shape, cascade in (("chain", CHAIN), ("long", LONG), ("tree", TREE))
        if cascade.is_chain or not policy_class(name.split("-")[0]).needs_chain
    ],
)


# Asking


@shaped
def test_looking_changes_nothing(make, cascade):
    watched, other, stages = make(cascade), make(cascade), []
    for case in draw_cases(cascade.n_stages, 300, 0, missing=0.1):
        if not watched.draws:
            watched.ask_many(2)
        assert watched.hold() >= 1
        assert watched.recommend() in range(cascade.n_stages)
        _ = watched.counts, watched.n_rounds, repr(watched), json.dumps(watched.to_state())
        stages.append(other.ask())
        assert watched.ask() == stages[-1]
        tell(watched, case.told(watched, stages[-1]))
        tell(other, case.told(other, stages[-1]))
    assert watched.to_state() == other.to_state()
    assert watched.counts.stopped == np.bincount(stages, minlength=cascade.n_stages).tolist()


@every
def test_ask_many_is_asking_many_times(make):
    policy = make(CHAIN)
    play(policy, draw_cases(3, 60, 2))
    other = twin(policy)
    assert policy.ask_many(0) == []
    assert policy.ask_many(np.int64(9)) == [other.ask() for _ in range(9)]
    for bad in (-1, 1.5, True, None, "3"):
        with pytest.raises(SettingError, match="n must be a whole number >= 0"):
            policy.ask_many(bad)


@every
def test_counts_are_a_copy(make):
    policy = make(CHAIN)
    play(policy, draw_cases(3, 30, 3))
    before = policy.to_state()
    counts = policy.counts
    assert isinstance(counts, PairCounts)
    assert counts.n_rounds == policy.n_rounds == 30
    counts.add([0, 1, 1], times=100)
    assert policy.to_state() == before


# Telling


@shaped
@pytest.mark.parametrize("missing", [0.0, 0.15])
def test_decisions_depend_on_what_was_told_alone(make, cascade, missing):
    """Late, repeated and out-of-order tells: at any time a rebuilt policy would decide the same."""
    policy, late = make(cascade), []
    rng = np.random.default_rng(1)
    for case in draw_cases(cascade.n_stages, 400, 1, missing=missing):
        stage = twin(policy).ask()
        assert policy.ask() == stage
        if rng.random() < 0.2:
            late.append(case.told(policy, stage))
            continue
        tell(policy, case.told(policy, stage))
        if rng.random() < 0.05:
            tell(policy, case.told(policy, stage))  # once more
        if rng.random() < 0.05:
            tell(policy, case.told(policy, int(rng.integers(cascade.n_stages))))
        if rng.random() < 0.02:
            policy.tell_many({case.told(policy, stage): 37})  # which may be more than it holds
        if late and rng.random() < 0.05:
            policy.tell_many(late[::-1])
            late = []


NAMINGS = {
    "strings": {0: "no", 1: "yes"},
    "tuples": {0: (), 1: (1, ("b", None))},
    "booleans": {0: False, 1: True},
    "floats": {0: 0.0, 1: 1.0},
    "NumPy scalars": {0: np.int64(0), 1: np.float64(1.0)},
    "NumPy strings": {0: np.str_("no"), 1: np.str_("yes")},
    "mixed": {0: frozenset({3}), 1: "one"},
    "classes": {0: int, 1: Ellipsis},
}


@every
@pytest.mark.parametrize("naming", NAMINGS.values(), ids=NAMINGS)
def test_outputs_are_any_hashable_labels(make, naming):
    cases = draw_cases(3, 150, 8)
    named = [Case(tuple(naming[y] for y in c.outputs), naming[c.label]) for c in cases]
    plain, policy = make(CHAIN), make(CHAIN)
    assert play(policy, named) == play(plain, cases)
    assert policy.to_state() == plain.to_state()


CONTAINERS = {
    "list": list,
    "array": np.array,
    "array of objects": lambda outputs: np.array(outputs, dtype=object),
    "iterator": iter,
    "list of NumPy scalars": lambda outputs: [np.int64(y) for y in outputs],
}


@every
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_lists_tuples_and_arrays_are_equal(make, container):
    policy, other = make(CHAIN), make(CHAIN)
    for case in draw_cases(3, 150, 9):
        stage = other.ask()
        assert policy.ask() == stage
        tell(other, case.told(other, stage))
        outputs = container(case.outputs[: stage + 1])
        tell(policy, told_as(policy, outputs, case.label))
    assert policy.to_state() == other.to_state()


# Missing outputs


@every
def test_a_missing_output_is_missing_in_mid_decision(make):
    """Between tells of known patterns, which take another road, a None counts for nothing else."""
    policy, expected = make(LONG), PairCounts(LONG)
    for case in draw_cases(5, 300, 10, missing=0.2):
        stage = policy.ask()
        tell(policy, case.told(policy, stage))
        outputs = case.outputs[: stage + 1]
        if policy.needs_label:  # it counts where right and wrong differ
            outputs = tuple(None if y is None else y == case.label for y in outputs)
        expected.add(outputs)
    assert policy.counts == expected


# Counts that someone else has made


@pytest.mark.parametrize(
    "name", ["ExploreThenCommit", "FixedStage", "Resolve", "Thompson", "WeakDominance"]
)
def test_totals_are_the_cases_that_they_count(name):
    told, totalled = FACTORIES[name](LONG), FACTORIES[name](LONG)
    rng = np.random.default_rng(20)
    for size in rng.integers(1, 30, size=40).tolist():
        stage = told.ask()
        assert totalled.ask() == stage
        rows = [case.outputs[: stage + 1] for case in draw_cases(5, size, rng)]
        disagreed = [[sum(r[a] != r[b] for r in rows) for a in range(b)] for b in range(stage + 1)]
        told.tell_many(rows)
        totalled.tell_totals(stage, size, disagreed)
        assert totalled.to_state() == told.to_state()


# Size


def deep_size(root):
    """The bytes of all that an object leads to, but for types, functions and modules."""
    apart = (type, types.FunctionType, types.ModuleType, types.BuiltinFunctionType)
    seen, queue, total = set(), [root], 0
    while queue:
        value = queue.pop()
        if id(value) in seen or isinstance(value, apart):
            continue
        seen.add(id(value))
        total += value.__sizeof__()
        queue += gc.get_referents(value)
    return total


@pytest.mark.parametrize("name", [n for n in FACTORIES if n in POLICIES or n == "Resolve-memory"])
def test_memory_does_not_grow_with_the_number_of_rounds(name):
    """Every case shows a pattern never seen before."""
    policy = FACTORIES[name](CHAIN)
    tallies = not isinstance(policy, (sw.StrongDominance, sw.Supervised, sw.Thompson))
    n, step = (40_000, 8_000) if tallies else (4_000, 1_000)
    sizes, states = [], []
    for k in range(n):
        case = Case((k, k + 1, -k), k)
        tell(policy, case.told(policy, policy.ask()))
        if (k + 1) % step == 0:
            sizes.append(deep_size(policy))
            states.append(len(json.dumps(policy.to_state())))
    assert max(sizes) < 400_000  # ten bytes a round would be too many
    assert max(states) < (8_000 if getattr(policy, "memory", None) else 2_000)  # 49 blocks


@every
def test_the_state_of_fifty_tests_is_small(make):
    policy = make(Cascade([0.01] * 50))
    rng = np.random.default_rng(21)
    times = 3 if isinstance(policy, sw.StrongDominance) else 10**9
    for stage in range(50):
        case = Case(tuple(rng.integers(2, size=50).tolist()), 1).told(policy, stage)
        policy.tell_many({case: times})
    text = json.dumps(policy.to_state())
    assert len(text) < 200_000
    assert sw.policy_from_state(json.loads(text)).counts == policy.counts
