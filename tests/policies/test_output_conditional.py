"""Stopping after seeing outputs: the contract of the one that counts prefixes."""

import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from stopwise.errors import StateError
from tests.policies.helpers import CHAIN, LONG, draw_cases, play, twin

FACTORIES = {
    "outputs": sw.OutputConditional,
    "agreement": lambda c: sw.OutputConditional(c, max_prefixes=0),
    "few": lambda c: sw.OutputConditional(c, max_prefixes=3),
    "indifferent": lambda c: sw.OutputConditional(c, indifference=0.05 * c.mistake_cost),
}
every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
several = st.lists(
    st.lists(st.sampled_from([0, 1, "a", None]), min_size=1, max_size=3).map(tuple), max_size=30
)


def learner(make, cases, cascade=CHAIN):
    policy = make(cascade)
    for case, times in Counter(cases).items():
        for _ in range(times):
            policy.tell(case, stage=len(case) - 1)
    return policy


# The contract


@every
@pytest.mark.parametrize("cascade", [CHAIN, LONG], ids=["K=3", "K=5"])
def test_cases_are_followed_and_stopped(make, cascade):
    policy = make(cascade)
    stages = play(policy, draw_cases(cascade.n_stages, 400, 0, missing=0.1))
    assert policy.n_rounds == 400
    assert list(policy.n_stopped) == [stages.count(k) for k in range(cascade.n_stages)]
    assert policy.next([0] * cascade.n_stages) is sw.Decision.STOP
    assert policy.ask([1] * cascade.n_stages) == cascade.n_stages - 1


@every
@given(cases=several, prefix=st.lists(st.sampled_from([0, 1, "b", None]), max_size=2).map(tuple))
@settings(max_examples=60)
def test_ask_says_how_far_next_is_certain_to_go_on(make, cases, prefix):
    policy = learner(make, cases)
    stage = policy.ask(prefix)
    reached = len(prefix) - 1
    if prefix:
        assert (policy.next(prefix) is sw.Decision.STOP) == (stage == reached)
    for length in range(len(prefix) + 1, stage + 1):
        for rest in product([0, 1, "a", "b", "new", None], repeat=length - len(prefix)):
            assert policy.next(prefix + rest) is sw.Decision.CONTINUE


def test_ask_looks_beyond_what_must_go_on():
    policy = sw.OutputConditional(CHAIN)
    assert policy.ask() == 2  # nothing is known
    policy.tell_many({(0, 0, 0): 200, (1, 0, 0): 200, (1, 1, 0): 200, (0, 1, 1): 200})
    # (0, 0) and (0, 1) rest, (1, 0) rests, (1, 1) goes on; both first outputs go on.
    assert policy.ask() == 1
    assert [policy.ask(s) for s in ([0], [0, 0], [1, 1])] == [1, 1, 2]
    assert policy.ask([1]) == 1


def test_ask_looks_at_pooled_prefixes_too():
    policy = sw.OutputConditional(CHAIN, max_prefixes=2)
    policy.tell_many([(0, 1), (1, 0)])
    policy.tell_many({(0, 1, 1): 300, (1, 0, 0): 300})
    # (0,) and (1,) have counts of their own and go on; what comes after is pooled, and rests.
    assert [policy.next(s) for s in ([0], [0, 1])] == [sw.Decision.CONTINUE, sw.Decision.STOP]
    assert [policy.ask(), policy.ask([0]), policy.ask([1])] == [1, 1, 1]


@every
@given(cases=several)
@settings(max_examples=40)
def test_what_was_worked_out_before_is_forgotten_in_time(make, cases):
    """Verdicts are kept between tells: a learner rebuilt from its state has none."""
    policy = make(CHAIN)
    for case in cases:
        policy.tell(case, stage=len(case) - 1)
        fresh = twin(policy)
        for prefix in ((), case[:1], case[:2], (0,), (1, 0), ("new",)):
            assert policy.ask(prefix) == fresh.ask(prefix)


@given(ours=several, theirs=several)
@settings(max_examples=80)
def test_merging_full_tables_keeps_what_was_counted_alike(ours, theirs):
    make = FACTORIES["few"]
    one, other, both = learner(make, ours), learner(make, theirs), learner(make, ours + theirs)
    own = {p.known for q in (one, other) for p in q._counts.table if not p.is_pooled}
    merged = one.merge(other)
    assert merged.n_rounds == both.n_rounds
    assert merged.n_stopped == both.n_stopped
    assert twin(merged).to_state() == merged.to_state()
    if len(own) <= 3:
        assert merged.to_state() == both.to_state()
    exact = {p.known: n for p, n in merged._counts.table.items() if not p.is_pooled}
    assert len(exact) <= 3
    for prefix, followed in exact.items():  # nothing is counted twice or mixed
        sums = [q._counts.of(q._counts._exact.get(prefix)).times for q in (one, other)]
        assert followed.times == sum(sums)


def test_what_one_learner_pooled_is_not_mixed_with_what_another_told_apart():
    few = FACTORIES["few"]
    start = learner(few, [("a", "a"), ("b", "b"), ("c", "c")])
    one, other = start.fork(), start.fork()
    one.tell_many({("a", "b"): 5, ("d", "a"): 2})
    other.tell_many({("a", "a"): 3, ("e", "e"): 4})
    merged = start.merge(one).merge(other)
    assert merged.outlook(["a"]).n_followed == 9
    assert merged.outlook(["new"]).n_followed == 6
    apart = learner(lambda c: sw.OutputConditional(c, max_prefixes=1), {("a", "a"): 5})
    pooled = learner(
        lambda c: sw.OutputConditional(c, max_prefixes=1), {("b", "a"): 5, ("a", "b"): 3}
    )
    merged = apart.merge(pooled)  # of ("a",) and ("b",) one has room, and both pools hid the other
    assert sorted(merged.outlook([s]).n_followed for s in "abc") == [0, 0, 5]
    assert merged.n_rounds == 13


def test_learners_of_sixty_values_are_merged():
    """After a minute of traffic the tables of two workers are full, and differ."""
    workers = [sw.OutputConditional(CHAIN) for _ in range(2)]
    for worker, seed in zip(workers, (0, 1), strict=True):
        worker.tell_many(np.random.default_rng(seed).integers(60, size=(3_000, 3)))
    merged = workers[0].merge(workers[1])
    assert merged.n_rounds == 6_000
    assert sum(merged.outlook([y]).n_followed for y in range(60)) == 6_000


def test_arrays_are_taken():
    policy = sw.OutputConditional(CHAIN)
    policy.tell_many(np.array([[0, 1, 1], [0, 0, 0]]))
    assert policy.outlook(np.array([0])).n_followed == 2
    assert policy.ask(np.array([])) == 2
    assert json.dumps(policy.to_state())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda c: c.update(stopped=[1, 2]),
        lambda c: c.update(stopped=[0, 0, 0]),
        lambda c: c.update(prefixes=[[[0], [], 1, 2, 0]]),
        lambda c: c.update(prefixes=[[[0], [], 1, 1, 1]]),
        lambda c: c.update(prefixes=[[[0], [], 1, 0, 0]] * 2),
        lambda c: c.update(prefixes=[[[0, 1], [], 1, 0, 0]]),  # without (0,)
        lambda c: c.update(prefixes=[[[0], [0], 1, 0, 0]]),  # without (0,) too
        lambda c: c.update(prefixes=[[[0], [], 1, 0, 0], [[0], [0, 0], 1, 0, 0]]),
        lambda c: c.update(prefixes=[[[0], [], 1, 0, 0], [[0], [2], 1, 0, 0]]),
        lambda c: c.update(prefixes=[[[0], [], 1.0, 0, 0]]),
        lambda c: c.update(prefixes=[[[0], [], 1]]),
        lambda c: c.update(prefixes=[[[], [], 1, 0, 0]]),
        lambda c: c.update(prefixes=[[[math.nan], [], 1, 0, 0]]),
        lambda c: c.update(prefixes=[[[0], [], 1, 0, 0], [[0, math.nan], [], 1, 0, 0]]),
        lambda c: c.pop("prefixes"),
        lambda c: c.update(stopped=[1, 1, 0]),
        lambda c: c["prefixes"][0].__setitem__(2, 2),
    ],
)
def test_damaged_states_are_refused(spoil):
    state = learner(sw.OutputConditional, [(0, 1), (1, None, 1)]).to_state()
    spoil(state["statistics"]["prefixes"])
    with pytest.raises(StateError):
        sw.policy_from_state(state)
