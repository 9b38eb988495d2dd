"""Stopping after seeing outputs: the rule against brute force, pools of prefixes, and learning."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from stopwise.policies.prefix_counts import PrefixCounts
from stopwise.policies.resolution import demanded_evidence, epoch_end
from stopwise.problem.families import nested_errors
from stopwise.problem.stopping_problem import StoppingProblem
from stopwise.theory.divergence import bernoulli_kl
from tests.policies.helpers import CHAIN, LONG, draw_cases, play, sample_cases
from tests.policies.test_output_conditional import FACTORIES, every, learner, several
from tests.strategies import hoeffding, seeds, told_cases

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
    policy = learner(sw.OutputConditional, cases, sw.Cascade(costs))
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
    policy = learner(make, Counter(cases * scale), cascade)
    for prefix in [(0,), (1,), (None,), (0, 0), (0, 1), (None, 0), ("a", None)]:
        high = policy.outlook(prefix).high
        if abs(high - policy.indifference) > 1e-9:
            goes_on = policy.next(prefix) is sw.Decision.CONTINUE
            assert goes_on == (high > policy.indifference)


few, many = st.integers(1, 20), st.integers(1, 200)


@given(changed=few, unchanged=many, turned=few, confirmed=few, price=st.integers(1, 30), idle=many)
def test_next_goes_by_the_upper_bound_when_there_is_more_to_come(
    changed, unchanged, turned, confirmed, price, idle
):
    """Where going on pays, if at all, because of the test after the next."""
    cases = {
        (0, 1): changed,
        (0, 0): unchanged,
        (0, 0, 1): turned,
        (0, 0, 0): confirmed,
        (1,): idle,
    }
    policy = learner(sw.OutputConditional, cases, sw.Cascade([0, price / 50, 0.3]))
    high = policy.outlook([0]).high
    if abs(high) > 1e-9:
        assert (policy.next([0]) is sw.Decision.CONTINUE) == (high > 0)


def test_the_bound_is_where_the_evidence_is_what_resolve_demands():
    cases = {(0, 0): 45, (0, 1): 5, (1,): 50}
    outlook = learner(sw.OutputConditional, cases, sw.Cascade([0, 0.3])).outlook([0])
    highest, demand = outlook.high + 0.3, demanded_evidence(epoch_end(100), 50)
    for chance in (outlook.low + 0.3, highest):
        assert 50 * bernoulli_kl(0.1, chance) == pytest.approx(demand)
    assert outlook.is_settled == (highest <= 0.3)
    # The price at which it would just stop.
    for price, decision in ((0.01, sw.Decision.STOP), (-0.01, sw.Decision.CONTINUE)):
        policy = learner(sw.OutputConditional, cases, sw.Cascade([0, highest + price]))
        assert policy.next([0]) is decision


def test_a_missing_output_leaves_the_answer_standing():
    cases = {(0, None, 1): 30, (0, None, 0): 10, (0, 0, 0): 40, (0, 1, 1): 20}
    policy = learner(sw.OutputConditional, cases, sw.Cascade([0, 0.1, 0.2]))
    # After a missing test 2 the answer is still that of test 1, and test 3 changes it in 3/4.
    assert policy.outlook([0, None]).estimate == pytest.approx(0.75 - 0.2)
    assert policy.outlook([0, 0]).estimate == pytest.approx(-0.2)
    assert policy.outlook([0]).estimate == pytest.approx(0.2 - 0.1 + 0.8 * 0.5 * 0.55)


def test_with_no_answer_at_all_going_on_is_worth_the_chance_of_one():
    cases = {(None, None, 1): 30, (None, 0, 0): 50, (None, None, None): 20}
    policy = learner(sw.OutputConditional, cases, sw.Cascade([0, 0.1, 0.2]))
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
        followed = counts.of(counts.place(prefix))
        assert followed.times == sum(n for _, n in later)
        after = [(o[len(prefix)], n) for o, n in later]
        assert followed.missing == sum(n for y, n in after if y is None)
        assert followed.changed == sum(n for y, n in after if y is not None and y != answer)


# Learning


def test_all_is_learned_from_many_complete_cases():
    world = nested_errors(sw.Cascade([0, 0.35, 0.1]))
    problem = StoppingProblem(world)
    cases = Counter(map(tuple, world.sample(150_000, seed=0)[1].tolist()))
    policy = sw.OutputConditional(world.cascade)
    policy.tell_many(cases)
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
    play(policy, sample_cases(world, 3000, 1))
    # 3,000 · .46 cases began with 0; a share of .6 in them is far above the price of .2.
    assert policy.next([0]) is sw.Decision.CONTINUE
    assert policy.outlook([0]).low > 0
