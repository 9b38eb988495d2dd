"""Stopping after seeing outputs: the contract, the rule against brute force, and learning."""

import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from stopwise.errors import (
    CascadeError,
    OutputsError,
    OutputsWarning,
    SettingError,
    StateError,
)
from stopwise.policies.prefix_counts import PrefixCounts
from stopwise.policies.resolution import demanded_evidence, epoch_end
from stopwise.problem.conditional import StoppingProblem
from stopwise.problem.families import nested_errors
from stopwise.theory.divergence import bernoulli_kl
from tests.policies.helpers import draw_cases, twin
from tests.strategies import hoeffding, seeds, told_cases

CHAIN = sw.Cascade([0.0, 0.15, 0.1], names=["quick", "slow", "all"])
LONG = sw.Cascade([0.01, 0.1, 0.0, 0.3, 0.05])
TREE = sw.Cascade([0, 0.125, 0.125], parents=[None, 0, 0])
FACTORIES = {
    "outputs": sw.OutputConditional,
    "agreement": lambda c: sw.OutputConditional(c, max_prefixes=0),
    "few": lambda c: sw.OutputConditional(c, max_prefixes=3),
    "indifferent": lambda c: sw.OutputConditional(c, indifference=0.05 * c.mistake_cost),
}
every = pytest.mark.parametrize("make", FACTORIES.values(), ids=FACTORIES)
# A table that is full keeps the prefixes that came first.
unlimited = pytest.mark.parametrize(
    "make", [pytest.param(f, id=n) for n, f in FACTORIES.items() if n != "few"]
)
several = st.lists(
    st.lists(st.sampled_from([0, 1, "a", None]), min_size=1, max_size=3).map(tuple), max_size=30
)


def follow(policy, outputs):
    """The outputs that a case shows until the policy stops it."""
    shown = 1
    while policy.next(outputs[:shown]) is sw.Decision.CONTINUE:
        shown += 1
    return outputs[:shown]


def play(policy, n_stages, n, seed, **kwargs):
    lengths = []
    for case in draw_cases(n_stages, n, seed, **kwargs):
        told = follow(policy, case.outputs)
        policy.tell(told, stage=len(told) - 1)
        lengths.append(len(told))
    return lengths


def told(make, cases, cascade=CHAIN):
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
    lengths = play(policy, cascade.n_stages, 400, 0, missing=0.1)
    assert policy.n_rounds == 400
    assert list(policy.n_stopped) == [lengths.count(k + 1) for k in range(cascade.n_stages)]
    assert policy.next([0] * cascade.n_stages) is sw.Decision.STOP
    assert policy.ask([1] * cascade.n_stages) == cascade.n_stages - 1


@every
@given(cases=several, prefix=st.lists(st.sampled_from([0, 1, "b", None]), max_size=2).map(tuple))
@settings(max_examples=60)
def test_ask_says_how_far_next_is_certain_to_go_on(make, cases, prefix):
    policy = told(make, cases)
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
def test_looking_changes_nothing(make):
    policy = make(CHAIN)
    play(policy, 3, 100, 1, missing=0.1)
    before = json.dumps(policy.to_state())
    for prefix in ([0], [1, 0], [None, 1], ["new"]):
        assert policy.ask(prefix) == policy.ask(prefix)
        assert policy.next(prefix) is policy.next(prefix)
        policy.recommend(prefix), policy.outlook(prefix), repr(policy)
    policy.ask()
    assert json.dumps(policy.to_state()) == before


@every
@pytest.mark.parametrize("seed", range(3))
def test_a_saved_learner_goes_on_as_if_nothing_had_happened(make, seed):
    policy = make(LONG)
    play(policy, 5, 150, seed, missing=0.05)
    other = twin(policy)
    assert other.to_state() == policy.to_state()
    assert repr(other) == repr(policy)
    assert play(other, 5, 150, seed + 10) == play(policy, 5, 150, seed + 10)
    assert other.to_state() == policy.to_state()


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


@unlimited
@given(cases=several, data=st.data())
@settings(max_examples=40)
def test_tells_in_any_order_and_in_batches_give_the_same_state(make, cases, data):
    one, other = told(make, cases), make(CHAIN)
    for case in data.draw(st.permutations(cases)):
        other.ask(case[:1])
        other.tell(case, stage=len(case) - 1)
    assert one.to_state() == other.to_state()


@unlimited
@given(ours=several, theirs=several)
@settings(max_examples=40)
def test_merging_is_telling_both(make, ours, theirs):
    start, both = told(make, ours), told(make, ours + theirs)
    alone = told(make, theirs)
    assert start.merge(alone).to_state() == both.to_state()
    assert alone.to_state() == told(make, theirs).to_state()


@given(ours=several, theirs=several)
@settings(max_examples=200)
def test_merging_full_tables_keeps_what_was_counted_alike(ours, theirs):
    make = FACTORIES["few"]
    one, other, both = told(make, ours), told(make, theirs), told(make, ours + theirs)
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
    start = told(few, [("a", "a"), ("b", "b"), ("c", "c")])
    one, other = start.fork(), start.fork()
    one.tell_many({("a", "b"): 5, ("d", "a"): 2})
    other.tell_many({("a", "a"): 3, ("e", "e"): 4})
    merged = start.merge(one).merge(other)
    assert merged.outlook(["a"]).n_followed == 9
    assert merged.outlook(["new"]).n_followed == 6
    apart = told(lambda c: sw.OutputConditional(c, max_prefixes=1), {("a", "a"): 5})
    pooled = told(lambda c: sw.OutputConditional(c, max_prefixes=1), {("b", "a"): 5, ("a", "b"): 3})
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


def test_merging_needs_equal_settings():
    policy = sw.OutputConditional(CHAIN)
    for other in (sw.OutputConditional(LONG), sw.OutputConditional(CHAIN, max_prefixes=5)):
        with pytest.raises(SettingError, match="merge needs learners of equal settings"):
            policy.merge(other)


def test_what_cannot_be_saved_is_refused_at_once():
    """An Enum or a tuple would be counted, and the state refused a week later."""
    policy = sw.OutputConditional(CHAIN)
    for output in (sw.Decision.STOP, ("a", 1), frozenset()):
        with pytest.raises(OutputsError, match="to be saved, got"):
            policy.tell([0, output])
    FACTORIES["agreement"](CHAIN).tell([sw.Decision.STOP, ("a", 1)])  # which counts no outputs


@pytest.mark.parametrize("kind", [sw.OutputConditional, sw.BeliefStopping])
def test_whether_a_last_test_was_run_has_to_be_said(kind):
    many = kind(CHAIN)
    many.tell_many({(0, None, None): 2})  # whoever has counted knows what was run
    with pytest.warns(OutputsWarning, match="outputs end with None"):
        many.tell_many(iter([[0], [0, None, None]]))
    many.tell_many([[0, None, None]])  # warned once
    assert many.n_stopped == (1, 0, 4)
    policy = kind(CHAIN)
    with pytest.warns(OutputsWarning, match="outputs end with None"):
        policy.tell([0, None, None])
    policy.tell([0, None, None])  # warned once
    policy.tell([0, None, None], stage=2)
    policy.tell([0])
    assert policy.n_stopped == (1, 0, 3)


BAD = [
    ((), "the first 1 to 3 tests, got 0"),
    ((0, 1, 0, 1), "the first 1 to 3 tests, got 4"),
    ("ab", "must be a sequence"),
    ({0: 1}, "must be a sequence"),
    (7, "must be a sequence"),
    ((0, math.nan), r"must equal themselves, got nan at stage 2 \('slow'\): use None"),
    ((0, [1]), "must be hashable labels"),
]


@every
@pytest.mark.parametrize(("outputs", "message"), BAD)
def test_bad_outputs_are_refused_and_nothing_changes(make, outputs, message):
    policy = told(make, [(0, 1), (1, None, 1)])
    before = policy.to_state()
    for method in (policy.tell, policy.next, policy.recommend, policy.outlook):
        with pytest.raises(OutputsError, match=message):
            method(outputs)
    if outputs != ():
        with pytest.raises(OutputsError, match=message):
            policy.ask(outputs)
    with pytest.raises(OutputsError, match=message + ".*; it is case 2 of the batch"):
        policy.tell_many([(0, 0), outputs])
    with pytest.raises(OutputsError, match="times must be a whole number >= 1, got 0"):
        policy.tell_many({(0, 0): 0})
    with pytest.raises(OutputsError, match="batch must be cases"):
        policy.tell_many(3)
    assert policy.to_state() == before


def test_arrays_are_taken():
    policy = sw.OutputConditional(CHAIN)
    policy.tell_many(np.array([[0, 1, 1], [0, 0, 0]]))
    assert policy.outlook(np.array([0])).n_followed == 2
    assert policy.ask(np.array([])) == 2
    assert json.dumps(policy.to_state())


def test_settings_are_checked():
    with pytest.raises(CascadeError, match="cascade must be a Cascade"):
        sw.OutputConditional([0, 1])
    with pytest.raises(CascadeError, match="OutputConditional needs a chain, got a tree"):
        sw.OutputConditional(TREE)
    with pytest.raises(SettingError, match="max_prefixes must be a whole number >= 0, got -1"):
        sw.OutputConditional(CHAIN, max_prefixes=-1)
    with pytest.raises(SettingError, match="indifference must be >= 0"):
        sw.OutputConditional(CHAIN, indifference=-0.1)


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
    ],
)
def test_damaged_states_are_refused(spoil):
    state = told(sw.OutputConditional, [(0, 1), (1, None, 1)]).to_state()
    spoil(state["statistics"]["prefixes"])
    with pytest.raises(StateError):
        sw.policy_from_state(state)


# The rule


def ran_until_changed(cases, costs, prefix):
    """The most that can be gained by running until the answer changes, or until some stage m."""
    i, answer = len(prefix) - 1, prefix[-1]
    these = [case for case in cases if case[: i + 1] == prefix]
    gains = []
    for m in range(i + 1, len(costs)):
        total = 0.0
        for case in these:
            changed = next((k for k in range(i + 1, m + 1) if case[k] != answer), None)
            total += (changed is not None) - sum(
                costs[i + 1 : (m if changed is None else changed) + 1]
            )
        gains.append(total / len(these))
    return max(gains)


@given(seed=seeds, n=st.integers(1, 60))
def test_the_estimate_is_that_of_the_best_way_to_wait_for_a_change(seed, n):
    cases = [tuple(case.outputs) for case in draw_cases(4, n, seed)]
    costs = np.random.default_rng(seed).choice([0.0, 0.05, 0.2, 0.4], size=4).tolist()
    policy = told(sw.OutputConditional, cases, sw.Cascade(costs))
    for prefix in {case[:k] for case in cases for k in (1, 2, 3)}:
        expected = ran_until_changed(cases, costs, prefix)
        outlook = policy.outlook(prefix)
        assert outlook.estimate == pytest.approx(expected, abs=1e-9)
        assert outlook.low <= outlook.estimate + 1e-9
        assert outlook.estimate <= outlook.high + 1e-9
        looks = sw.Decision.CONTINUE if outlook.estimate > 0 else sw.Decision.STOP
        if abs(expected) > 1e-9:
            assert policy.recommend(prefix) is looks
    assert policy.recommend(cases[0]) is sw.Decision.STOP
    assert policy.recommend(["never seen"]) is sw.Decision.UNDECIDED


@every
@given(cases=several, scale=st.integers(1, 40), price=st.sampled_from([0.0, 0.05, 0.3, 1.0]))
@settings(max_examples=60)
def test_next_goes_by_the_upper_bound(make, cases, scale, price):
    cascade = sw.Cascade([0, price, 0.1])
    policy = told(make, Counter(cases * scale), cascade)
    for prefix in [(0,), (1,), (None,), (0, 0), (0, 1), (None, 0), ("a", None)]:
        high = policy.outlook(prefix).high
        if abs(high - policy.indifference) > 1e-9:
            goes_on = policy.next(prefix) is sw.Decision.CONTINUE
            assert goes_on == (high > policy.indifference)


few, many = st.integers(1, 20), st.integers(1, 200)


@given(changed=few, kept=many, turned=few, confirmed=few, price=st.integers(1, 30), idle=many)
def test_next_goes_by_the_upper_bound_when_there_is_more_to_come(
    changed, kept, turned, confirmed, price, idle
):
    """Where going on pays, if at all, because of the test after the next."""
    cases = {(0, 1): changed, (0, 0): kept, (0, 0, 1): turned, (0, 0, 0): confirmed, (1,): idle}
    policy = told(sw.OutputConditional, cases, sw.Cascade([0, price / 50, 0.3]))
    high = policy.outlook([0]).high
    if abs(high) > 1e-9:
        assert (policy.next([0]) is sw.Decision.CONTINUE) == (high > 0)


def test_the_bound_is_where_the_evidence_is_what_resolve_demands():
    policy = told(sw.OutputConditional, {(0, 0): 45, (0, 1): 5, (1,): 50}, sw.Cascade([0, 0.3]))
    highest = policy.outlook([0]).high + 0.3
    demand = demanded_evidence(epoch_end(100), 50)
    assert 50 * bernoulli_kl(0.1, highest) == pytest.approx(demand)
    lowest = policy.outlook([0]).low + 0.3
    assert 50 * bernoulli_kl(0.1, lowest) == pytest.approx(demand)
    assert policy.next([0]) is (sw.Decision.STOP if highest <= 0.3 else sw.Decision.CONTINUE)
    # The price at which it would just stop.
    for price, expected in (
        (highest + 0.01, sw.Decision.STOP),
        (highest - 0.01, sw.Decision.CONTINUE),
    ):
        other = told(
            sw.OutputConditional, {(0, 0): 45, (0, 1): 5, (1,): 50}, sw.Cascade([0, price])
        )
        assert other.next([0]) is expected
    assert not policy.outlook([0]).is_settled or highest <= 0.3


def test_a_missing_output_leaves_the_answer_standing():
    cases = {(0, None, 1): 30, (0, None, 0): 10, (0, 0, 0): 40, (0, 1, 1): 20}
    policy = told(sw.OutputConditional, cases, sw.Cascade([0, 0.1, 0.2]))
    # After a missing test 2 the answer is still that of test 1, and test 3 changes it in 3/4.
    assert policy.outlook([0, None]).estimate == pytest.approx(0.75 - 0.2)
    assert policy.outlook([0, 0]).estimate == pytest.approx(-0.2)
    assert policy.outlook([0]).estimate == pytest.approx(0.2 - 0.1 + 0.8 * 0.5 * 0.55)


def test_with_no_answer_at_all_going_on_is_worth_the_chance_of_one():
    cases = {(None, None, 1): 30, (None, 0, 0): 50, (None, None, None): 20}
    policy = told(sw.OutputConditional, cases, sw.Cascade([0, 0.1, 0.2]))
    assert policy.outlook([None, None]).estimate == pytest.approx(0.6 - 0.2)
    assert policy.outlook([None]).estimate == pytest.approx(0.5 - 0.1 + 0.5 * 0.4)


def test_a_test_dearer_than_a_mistake_is_never_run():
    policy = sw.OutputConditional(sw.Cascade([0, 1.0, 0.1]))
    assert policy.next(["anything"]) is sw.Decision.STOP
    assert policy.ask() == 0


# Few places for many outputs


def test_pooled_prefixes_share_what_is_known_of_their_agreement():
    policy = FACTORIES["agreement"](CHAIN)
    policy.tell_many([("cat", "dog", "dog"), ("cow", "pig", "cow"), ("hen", "hen", "hen")])
    assert policy.outlook(["fox"]).n_followed == 3
    assert policy.outlook(["fox", "bee"]).n_followed == 2
    assert policy.outlook(["fox", "bee"]).estimate == pytest.approx(0.5 - 0.1)
    assert policy.outlook(["fox", "fox"]).n_followed == 1


def test_a_prefix_with_its_own_counts_may_lead_to_pooled_ones():
    policy = sw.OutputConditional(sw.Cascade([0, 0.1, 0.1]), max_prefixes=1)
    policy.tell_many([(0, 0, 1), (0, 0, 1), (0, 3, 3), (0, 4, 5), (5, 5, 5), (6, 6, 7)])
    # (0,) leads to a pool of its own, since other first outputs may be stopped and this one not.
    assert policy.outlook([0, 0]).n_followed == 2
    assert policy.outlook([0, 9]).estimate == pytest.approx(0.5 - 0.1)
    assert policy.outlook([8, 8]).estimate == pytest.approx(0.5 - 0.1)
    assert policy.outlook([0]).estimate == pytest.approx(0.5 - 0.1 + 0.5 * (1 - 0.1))


def test_one_pool_leads_to_the_next():
    policy = sw.OutputConditional(sw.Cascade([0, 0.1, 0.1, 0.1]), max_prefixes=1)
    policy.tell_many([(0, 0, 0, 1), (5, 5, 5, 5)])
    assert policy.outlook([0, 0]).estimate == pytest.approx(-0.1 + 0.9)
    assert policy.outlook([0]).estimate == pytest.approx(-0.2 + 0.9)
    assert policy.outlook([7]).estimate == pytest.approx(-0.1)


def test_a_missing_output_agrees_with_nothing():
    policy = FACTORIES["agreement"](CHAIN)
    policy.tell_many({(None, "cat", "dog"): 2, ("cat", None, "cat"): 3, (None, None, "cow"): 4})
    assert [policy.outlook(s).n_followed for s in ([None], ["hen"])] == [6, 3]
    # After a missing output any answer is new, and a standing one is confirmed by its like.
    assert policy.outlook([None, "hen"]).estimate == pytest.approx(1 - 0.1)
    assert policy.outlook(["hen", None]).estimate == pytest.approx(-0.1)
    assert policy.outlook([None, None]).estimate == pytest.approx(1 - 0.1)


def test_memory_is_bounded_and_what_is_beyond_is_pooled():
    policy = sw.OutputConditional(LONG, max_prefixes=4)
    rng = np.random.default_rng(0)
    for row in rng.integers(1000, size=(500, 5)).tolist():
        policy.tell(row)
    rows = policy.to_state()["statistics"]["prefixes"]["prefixes"]
    own = [row for row in rows if not row[1]]
    assert len(own) == 4
    bell = 1 + 2 + 5 + 15  # patterns of 1 to 4 outputs
    assert len(rows) <= 4 + 5 * bell
    assert sum(row[2] for row in rows) == 4 * 500
    prefixes = [row[0] for row in own]
    assert all(len(prefix) == 1 or prefix[:-1] in prefixes for prefix in prefixes)
    # What is beyond joins the pool of its agreement, after merging too.
    merged = policy.merge(policy).to_state()["statistics"]["prefixes"]["prefixes"]
    assert [row[:3] for row in merged] == [[*row[:2], 2 * row[2]] for row in rows]


def test_patterns_beyond_the_last_limit_go_on(monkeypatch):
    monkeypatch.setattr(PrefixCounts, "max_places", 1)
    policy = FACTORIES["agreement"](CHAIN)
    policy.tell_many({(0, 0, 0): 500})
    assert policy.to_state()["statistics"]["prefixes"]["prefixes"] == [[[], [0], 500, 0, 0]]
    assert policy.next([0, 0]) is sw.Decision.CONTINUE


@given(data=st.data())
def test_counts_are_those_of_the_cases(data):
    cases = data.draw(told_cases(CHAIN))
    counts = PrefixCounts(CHAIN, max_prefixes=1000)
    for _, outputs, times in cases:
        counts.add(outputs, times)
    for prefix in {outputs[:k] for _, outputs, _ in cases for k in range(1, len(outputs))}:
        later = [(o, n) for _, o, n in cases if len(o) > len(prefix) and o[: len(prefix)] == prefix]
        answer = next((y for y in prefix[::-1] if y is not None), None)
        found = counts.of(counts.place(prefix))
        assert found.times == sum(n for _, n in later)
        after = [(o[len(prefix)], n) for o, n in later]
        assert found.missing == sum(n for y, n in after if y is None)
        assert found.changed == sum(n for y, n in after if y is not None and y != answer)


# Learning


def test_all_is_learned_from_many_complete_cases():
    world = nested_errors(sw.Cascade([0, 0.35, 0.1]))
    problem = StoppingProblem(world)
    cases = Counter(map(tuple, world.sample(150_000, seed=0)[1].tolist()))
    policy = told(sw.OutputConditional, cases, world.cascade)
    for prefix, node in problem.prefixes.items():
        if not node.children:
            continue
        outlook = policy.outlook(prefix)
        # The recursion has at most two chances, each with weight 1 at most.
        off = 2 * hoeffding(outlook.n_followed, events=12)
        assert outlook.estimate == pytest.approx(node.gain, abs=off)
        assert abs(node.gain) > off
        stop = policy.recommend(prefix) is sw.Decision.STOP
        assert stop == problem.stops_without_labels(prefix)


def test_bad_luck_is_not_for_ever():
    """However wrong the first cases were, the demand grows until the prefix is looked at again."""
    world = nested_errors(sw.Cascade([0, 0.2]), [0.4, 0.0])
    policy = sw.OutputConditional(world.cascade)
    policy.tell_many({(0, 0): 30, (1, 1): 30})  # test 2 seems to change nothing
    assert policy.next([0]) is policy.next([1]) is sw.Decision.STOP
    # Truth: it changes .28 / .46 of the zeros. At this t the evidence of 30 cases is too little.
    settled = -30 * math.log1p(-0.2)
    t = next(t for t in (2**k for k in range(6, 30)) if demanded_evidence(t, 30) > settled)
    policy.tell_many({(0,): t})
    assert policy.next([0]) is sw.Decision.CONTINUE
    for row in map(tuple, world.sample(3000, seed=1)[1].tolist()):
        policy.tell(follow(policy, row))
    # 3,000 · .46 cases began with 0; a share of .6 in them is far above the price of .2.
    assert policy.next([0]) is sw.Decision.CONTINUE
    assert policy.outlook([0]).low > 0
