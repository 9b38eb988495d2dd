"""Cases that wait to be counted: none is lost, miscounted or counted for another stage."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

import stopwise as sw
from stopwise.counts import PairCounts
from stopwise.policies.tally import MOST_WAITING, Words, tally_word

CHAIN = sw.Cascade(costs=[0.0, 0.1, 0.3])


def counts_of(cases):
    counts = PairCounts(CHAIN)
    for case, times in cases:
        counts.add(case, times=times)
    return counts


def test_a_case_told_while_the_stage_changes_counts_for_its_own_stage():
    policy = sw.ExploreThenCommit(CHAIN, rounds=2)
    assert policy.ask() == 2
    policy.tell([0, 1, 1])
    inbox = policy._inbox  # what another thread has looked up before it appends
    policy.tell([0, 0, 0])
    assert policy.ask() == 1
    inbox.waiting.append(inbox.known[0, 1, 1])
    policy.tell([0, 1])
    assert policy.counts == counts_of([([0, 1, 1], 2), ([0, 0, 0], 1), ([0, 1], 1)])


def test_more_cases_may_wait_than_a_byte_can_count():
    inbox = Words(3).inboxes[1]
    inbox.waiting += [tally_word([0, 1])] * 300 + [tally_word([0, 0])]
    counts = PairCounts(CHAIN)
    while inbox.waiting:
        counts.add_totals(1, *inbox.take_out())
    assert counts == counts_of([([0, 1], 300), ([0, 0], 1)])


@pytest.mark.parametrize("n", [MOST_WAITING - 1, MOST_WAITING, 3 * MOST_WAITING + 1])
def test_cases_are_counted_however_many_are_told_without_a_question(n):
    policy = sw.FixedStage(CHAIN, stage=1)
    for _ in range(n):
        policy.tell([0, 1])
        policy.tell(["a", "b", "a"])
    assert policy.n_rounds == 2 * n
    assert policy.counts == counts_of([([0, 1], n), ([0, 1, 0], n)])


def test_nobody_waits_for_the_number_of_cases_while_a_model_is_fitted():
    policy = sw.BeliefStopping(CHAIN)
    policy.tell([0, 1, 1])
    with policy._lock, ThreadPoolExecutor() as pool:
        assert pool.submit(lambda: policy.n_rounds).result(timeout=10) == 1


def test_blocks_of_recent_cases_end_where_they_should_without_a_question():
    policy = sw.Resolve(CHAIN, memory=160)
    assert policy.ask() == 2
    for _ in range(100):
        policy.tell([0, 0, 0])
    blocks = policy.to_state()["statistics"]["recent"]["blocks"]
    assert [block["stopped"][2] for block in blocks] == [10] * 10 + [0]
