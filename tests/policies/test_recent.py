"""Counts that fade: their weights, how changes are noticed, workers, states."""

from functools import partial

import numpy as np
import pytest

import stopwise as sw
from stopwise.counts import PairCounts
from stopwise.errors import InputError, StateError
from stopwise.policies.recent import Recent
from stopwise.problem.families import nested_errors
from tests.policies.helpers import CHAIN, TREE, draw_cases, tell, twin

PAIR = sw.Cascade([0.0, 0.3])
CALM = nested_errors(PAIR, [0.2, 0.1])  # the tests disagree in .1 of all cases: stop at the first
ROUGH = nested_errors(PAIR, [0.6, 0.1])  # in .5: go on to the second


def recent(outcomes, memory=64, start=None):
    """Recent counts that were told whether two tests disagreed, case after case."""
    counts = start or Recent(PairCounts(PAIR), memory)
    for disagreed in outcomes:
        counts.count(lambda table, y=int(disagreed): table.add_checked(1, (0, y), 1))
    return counts


def test_a_block_counts_fifteen_sixteenths_of_the_next():
    counts = recent([1, 0, 0, 0] * 3 + [1, 0])  # blocks of 4 cases, the last one open
    weights = [round(1024 * (15 / 16) ** age) / 1024 for age in (3, 2, 1, 0)]
    assert counts.faded.disagreed[1][0] == sum(weights)
    assert counts.faded.seen[1][0] == 4 * sum(weights[:3]) + 2
    assert counts.n_rounds == counts.span == 14
    assert recent([0] * 64 * 20).span == 64
    assert recent([0] * 64 * 20).faded.n_rounds <= 64


@pytest.mark.parametrize("memory", [160, 1_600])
def test_a_change_is_noticed_soon_and_nothing_else_is(memory):
    """Six runs with at most 250 blocks: 10⁻⁵ a cut is a chance of .015 for a false alarm."""
    rng = np.random.default_rng(memory)
    for p, q in [(0.1, 0.6), (0.5, 0.02)] * 3:
        counts = recent(rng.random(2_500) < p, memory)
        assert counts.since == 0
        told = 0
        while not counts.since:
            recent(rng.random(10) < q, start=counts)
            told += 10
        assert told <= 150 + memory // 16
        assert counts.n_rounds <= told + memory // 16


def test_what_is_taken_away_was_added():
    rng = np.random.default_rng(2)
    for n in (3, 30, 300):
        start = recent(rng.random(n) < 0.3)
        worker = recent(rng.random(4 * n) < 0.3, start=start.copy())
        new = worker - start
        assert new.n_rounds == 4 * n
        assert start + new == worker
        with pytest.raises(InputError, match="contain those to subtract"):
            _ = start - worker


def test_a_change_that_one_noticed_is_one_for_both():
    start = recent([0] * 200)
    worker = recent([1] * 100, start=start.copy())
    other = recent([0] * 4, start=start.copy())
    assert worker.since > other.since == 0
    both = other + (worker - start)
    assert both.since == worker.since
    assert both.faded.disagreed[1][0] == worker.faded.disagreed[1][0] > 0
    assert both.faded.seen[1][0] < 100


@pytest.mark.parametrize("cascade", [CHAIN, TREE], ids=["chain", "tree"])
def test_decisions_depend_on_what_was_told_alone(cascade):
    """Through many blocks: a policy rebuilt from its state decides the same."""
    policy = sw.Resolve(cascade, memory=64)
    for k, case in enumerate(draw_cases(cascade.n_stages, 600, 5, missing=0.05)):
        stage = policy.ask()
        if k % 20 == 0:
            assert twin(policy).ask() == stage
            # As text: a NaN is not equal to itself.
            assert repr(twin(policy).certificate()) == repr(policy.certificate())
        tell(policy, case.told(policy, stage))
    assert policy.n_rounds == policy.counts.n_rounds == 600
    assert policy.certificate().comparisons[0].n_seen <= 64


def test_beliefs_that_fade_are_those_of_what_was_told_alone():
    """Through fits, blocks and a change: a policy rebuilt from its state decides the same."""
    policy = sw.BeliefStopping(CHAIN, memory=320, seed=3)
    rows = [case.outputs for case in draw_cases(3, 900, 5, missing=0.05)]
    rows[500:] = [(0, 1, 1)] * 400
    for k, row in enumerate(rows):
        if k % 50 == 0:
            again = twin(policy)
            assert again.to_state() == policy.to_state()
            assert again.hold() == policy.hold()
            for n in (1, 2, 3):
                assert again.recommend(row[:n]) is policy.recommend(row[:n])
                answer, error = policy.conclude(row[:n])
                assert again.conclude(row[:n]) == (answer, pytest.approx(error, nan_ok=True))
        policy.tell(row, stage=2, label=row[2] if k % 7 == 0 else None)
    assert policy.n_rounds == sum(policy.n_stopped) == 900
    assert policy._stored["recent"].since
    assert policy.conclude((0,))[1] > 0.5  # the first answer is changed in every case
    worker = policy.fork()
    worker.tell_many([(0, 1, 1)] * 30)
    policy.tell((0, 1, 1))
    merged = policy.merge(twin(worker))
    assert merged.n_rounds == 931
    assert merged._stored["recent"].n_rounds == policy._stored["recent"].n_rounds + 30


def test_it_follows_a_world_that_changes():
    """Runs of 20,000 rounds; half of the regret without memory is far from what it has."""

    def regret(policy, environments, changes, replications):
        trace = sw.simulate(
            environments,
            policy,
            horizon=20_000,
            replications=replications,
            seed=1,
            change_points=changes,
            progress=False,
        )
        return trace.regret[:, -1].mean()

    for make, most, n in ((sw.Resolve, 200, 4), (partial(sw.BeliefStopping, seed=0), 400, 2)):
        for worlds in ([CALM, ROUGH], [ROUGH, CALM]):
            remembers = regret(make(PAIR), worlds, [10_000], n)
            forgets = regret(make(PAIR, memory=4_000), worlds, [10_000], n)
            assert forgets < min(remembers / 2, most)
        assert regret(make(PAIR, memory=4_000), [CALM], [], n) < 150


def test_rules_that_look_at_outputs_forget_too():
    calm, rough = (instance.sample(6_000, seed=3)[1].tolist() for instance in (CALM, ROUGH))
    verdicts = {}
    for memory in (None, 800):
        policy = sw.OutputConditional(PAIR, memory=memory)
        policy.tell_many(map(tuple, calm))
        assert policy.next([0]) is sw.Decision.STOP
        for row in rough[:400]:
            policy.tell(tuple(row))
        assert twin(policy).next([0]) is policy.next([0])
        assert twin(policy).to_state() == policy.to_state()
        verdicts[memory] = policy.next([0])
        assert policy.n_rounds == sum(policy.n_stopped) == 6_400
    assert verdicts == {None: sw.Decision.STOP, 800: sw.Decision.CONTINUE}
    trace = sw.simulate(
        [CALM, ROUGH],
        sw.OutputConditional(PAIR, memory=800),
        horizon=4_000,
        replications=2,
        change_points=[2_000],
        progress=False,
    )
    assert trace.regret[:, -1].max() < 100  # 400 if the change went unnoticed


def test_damaged_states_are_refused():
    policy = sw.Resolve(PAIR, memory=16)
    policy.tell_many([(0, 0)] * 90)
    state = policy.to_state()
    for damage in (
        {"since": -1},
        {"since": 10**6},
        {"first": 1.5},
        {"blocks": []},
        {"blocks": state["statistics"]["recent"]["blocks"] * 2},
        {"older": {}},
        {"more": 1},
    ):
        damaged = {**state["statistics"], "recent": {**state["statistics"]["recent"], **damage}}
        with pytest.raises(StateError):
            sw.policy_from_state({**state, "statistics": damaged})


@pytest.mark.parametrize("seed", range(3))
def test_beliefs_that_fade_come_back_where_there_are_too_many_patterns(seed):
    """The faded counts follow from the blocks, also if neither can hold all patterns."""
    rng = np.random.default_rng(seed)
    policy = sw.BeliefStopping(CHAIN, memory=320, max_patterns=12, seed=0)
    for k in range(150):
        row = tuple(rng.integers(4, size=3).tolist())
        policy.tell(row)
        if k % 3 == 0:
            again = twin(policy)
            assert again._counts == policy._counts
            assert again._fitted == policy._fitted
            assert again.to_state() == policy.to_state()
            assert again.conclude(row[:2])[0] == policy.conclude(row[:2])[0]
    worker = policy.fork()
    worker.tell_many([(0, 1, 1)] * 30)
    assert policy.merge(worker)._counts == worker._counts
    blocks = policy._stored["recent"].blocks
    assert len(policy._counts.table) == len({case for block in blocks for case in block.table})
    assert len(policy._counts.within(12).table) == 12


def follow(policy, rows):
    """Tell each case as far as the policy lets it go on."""
    for row in rows:
        n = 1
        while policy.next(row[:n]) is sw.Decision.CONTINUE:
            n += 1
        policy.tell(row[:n])


def rows_of(n, seed, values=6):
    """Return cases in which later tests err less."""
    rng = np.random.default_rng(seed)
    right = rng.integers(values, size=(n, 1))
    errs = rng.random((n, 3)) < (0.5, 0.3, 0.05)
    return list(map(tuple, np.where(errs, rng.integers(values, size=(n, 3)), right).tolist()))


@pytest.mark.parametrize("max_prefixes", [0, 2, 9])
def test_prefixes_that_fade_come_back_where_there_are_too_many(max_prefixes):
    """What is known after each prefix is the same in a policy rebuilt from its state."""
    policy = sw.OutputConditional(CHAIN, memory=160, max_prefixes=max_prefixes)
    rows = rows_of(700, seed=max_prefixes)
    rows[500:] = [(row[0], 1 - row[1], 7) for row in rows[500:]]  # a change, and new outputs
    prefixes = sorted({row[:n] for row in rows for n in (1, 2)})
    for k in range(0, len(rows), 35):
        follow(policy, rows[k : k + 35])
        again = twin(policy)
        assert again.to_state() == policy.to_state()
        assert again._counts == policy._counts
        for prefix in prefixes:
            assert repr(again.outlook(prefix)) == repr(policy.outlook(prefix))
            assert again.next(prefix) is policy.next(prefix)
    assert policy._stored["recent"].since
    workers = [policy.fork() for _ in range(2)]
    for worker in workers:
        follow(worker, rows_of(60, seed=1))
    merged = policy.merge(workers[0]).merge(twin(workers[1]))
    assert merged.n_rounds == 820
    assert twin(merged)._counts == merged._counts


def test_no_prefix_is_dropped_when_counts_fade():
    """Every case is complete, so its weight is found at prefixes of each length."""
    policy = sw.OutputConditional(CHAIN, memory=160, max_prefixes=9)
    start = rows_of(400, seed=0)
    policy.tell_many(start)
    worker = policy.fork()
    worker.tell_many(rows_of(400, seed=0))
    for counts in (policy._counts, worker._counts, policy.merge(worker)._counts):
        assert counts.is_full
        for n in (1, 2):
            places = [place for place in counts.table if len(place.pattern) == n]
            assert sum(counts.table[place].times for place in places) == counts.n_rounds


def test_a_change_makes_room_for_other_prefixes():
    policy = sw.OutputConditional(CHAIN, memory=160, max_prefixes=4)
    policy.tell_many([(y, y, y) for y in range(5)] * 60)
    assert policy._counts.place((9,)).is_pooled
    policy.tell_many([(9, 8, 8)] * 100)
    assert policy._stored["recent"].since
    assert not policy._counts.place((9,)).is_pooled


def test_a_state_with_other_cases_that_are_in_a_table_is_read():
    """Such states were written when the faded counts had limits of their own."""
    policy = sw.BeliefStopping(CHAIN, memory=320, max_patterns=12, seed=0)
    policy.tell_many(rows_of(90, seed=3))
    state = policy.to_state()
    again = sw.policy_from_state({**state, "since_fit": {"cases": [], "other": [0, 0, 70]}})
    assert again._counts == policy._counts
    assert twin(again).to_state() == again.to_state()
