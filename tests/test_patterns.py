import json
import math
from collections import Counter
from itertools import groupby, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.errors import InputError, LogError, OutputsError, StateError
from stopwise.pattern_counts import PatternCounts
from stopwise.patterns import PatternTable, agreement_of_rows, flip_flops
from tests.strategies import cascades, counts_of, told_cases

CHAIN = Cascade([1, 2, 3])
TREE = Cascade([1, 1, 1, 1], parents=[None, 0, 0, 1])


@given(st.lists(st.sampled_from([0, 1, "a", None])))
def test_outputs_flip_flop_in_three_runs_or_more_without_gaps(outputs):
    runs = list(groupby(y for y in outputs if y is not None))
    assert flip_flops(outputs) == (len(runs) > 2)


def test_pairwise_disagreement_by_hand():
    p = PatternTable(
        np.array([[0, 1, 1], [2, 2, 0]]), np.array([0.25, 0.75]), (0, 1, 2), CHAIN
    ).disagreement
    assert p.tolist() == [[0, 0.25, 1], [0.25, 0, 0.75], [1, 0.75, 0]]
    with pytest.raises(ValueError, match="read-only"):
        p[0, 1] = 0


@pytest.mark.parametrize(
    ("rows", "counts", "words"),
    [
        (["aab"], [-1], "whole numbers from 0 to 2\\*\\*53, got -1 at 1"),
        (["aab", "abb"], [1, 0.5], "got 0.5 at 2"),
        (["aab"], [math.nan], "got nan"),
        (["aab"], [math.inf], "got inf"),
        (["aab"], ["x"], "got 'x'"),
        (["aab"], [2**60], "got 1152921504606846976"),
        (["aab"], [1, 2], "one per pattern, got 2"),
        (["aab", "ab"], [1, 2], "3 outputs each"),
        ([1, 2], [1, 2], "3 outputs each"),
    ],
)
def test_tables_that_cannot_be_counted_are_refused(rows, counts, words):
    with pytest.raises(LogError, match=words):
        PatternTable.from_rows(rows, counts, CHAIN)


def test_flip_flop_rate_of_a_law_on_a_chain():
    patterns = np.array(list(product((0, 1), repeat=3)))
    probabilities = np.arange(1, 9) / 36
    law = PatternTable(patterns, probabilities, (0, 1, 2), CHAIN)
    assert law.flip_flop_rate() == pytest.approx((3 + 6) / 36)  # 010 and 101


def test_flip_flop_rate_of_a_law_on_a_tree_looks_along_paths():
    # 0 1 0 1: read as a chain it changes three times, but no path changes twice.
    calm = PatternTable(np.array([[0, 1, 0, 1]]), np.array([1.0]), (0, 1, 2), TREE)
    assert calm.flip_flop_rate() == 0
    restless = PatternTable(
        np.array([[0, 1, 0, 1], [0, 1, 0, 0]]), np.array([0.75, 0.25]), (0, 1, 2), TREE
    )
    assert restless.flip_flop_rate() == 0.25


# Pattern counts


def naive_table(cascade, cases):
    table = Counter()
    for stage, outputs, times in cases:
        by_node = dict(zip(cascade.path(stage), outputs, strict=True))
        table[tuple(by_node.get(k) for k in range(cascade.n_stages))] += times
    return +table  # zero counts left out


def naive_rate(cascade, cases):
    leaves = [k for k in range(cascade.n_stages) if k not in cascade.parents]
    complete = [(y, t) for stage, y, t in cases if stage in leaves and None not in y]
    total = sum(t for _, t in complete)
    restless = sum(t for y, t in complete if len(list(groupby(y))) > 2)
    return restless / total if total else math.nan


@given(st.data())
def test_pattern_counts_are_what_one_would_count_by_hand(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    cases = data.draw(told_cases(cascade))
    counts = counts_of(cascade, cases, PatternCounts)
    assert counts.table == naive_table(cascade, cases)
    assert counts.n_other == 0
    assert sum(counts.table.values()) == counts.pairs.n_rounds
    rate = naive_rate(cascade, cases)
    assert counts.flip_flop_rate == rate or (math.isnan(rate) and math.isnan(counts.flip_flop_rate))


@given(st.data())
def test_memory_is_bounded_and_the_rest_stays_exact(data):
    cascade = data.draw(cascades(stages=(1, 4)))
    cases = data.draw(told_cases(cascade, max_size=20))
    limit = data.draw(st.integers(1, 3))
    counts = counts_of(cascade, cases, PatternCounts, max_patterns=limit)
    free = counts_of(cascade, cases, PatternCounts)
    assert len(counts.table) <= limit
    assert len(counts.table) == min(limit, len(free.table))
    assert all(free.table[pattern] == times for pattern, times in counts.table.items())
    assert sum(counts.table.values()) + counts.n_other == free.pairs.n_rounds
    assert counts.pairs == free.pairs
    assert (counts.n_complete, counts.n_flip_flopped) == (free.n_complete, free.n_flip_flopped)
    again = PatternCounts.from_state(json.loads(json.dumps(counts.to_state())), cascade)
    assert again == counts


@given(st.data())
def test_sums_of_bounded_counts_stay_bounded_and_exact(data):
    cascade = data.draw(cascades(stages=(1, 4)))
    first, second = data.draw(told_cases(cascade)), data.draw(told_cases(cascade))
    whole = counts_of(cascade, first, PatternCounts, max_patterns=2)
    whole += counts_of(cascade, second, PatternCounts, max_patterns=3)
    free = counts_of(cascade, first + second, PatternCounts)
    assert whole.max_patterns == 3
    assert len(whole.table) <= 3
    assert sum(whole.table.values()) + whole.n_other == free.pairs.n_rounds
    assert whole.pairs == free.pairs
    assert (whole.n_complete, whole.n_flip_flopped) == (free.n_complete, free.n_flip_flopped)


def test_numpy_integers_are_saved_like_any_other():
    counts = PatternCounts(CHAIN)
    counts.add([np.int64(0), np.bool_(True), np.str_("x")], times=np.int64(3))
    counts.add(np.array([0, 1]), times=np.int64(2))
    state = json.loads(json.dumps(counts.to_state()))
    assert state["table"] == [[[0, True, "x"], 3], [[0, 1, None], 2]]
    assert PatternCounts.from_state(state, CHAIN) == counts


@pytest.mark.parametrize("label", [("a", 1), frozenset("ab"), 1j])
def test_labels_that_json_does_not_know_are_counted_but_not_saved(label):
    counts = PatternCounts(CHAIN)
    counts.add([label, "b", label])
    assert counts.table == {(label, "b", label): 1}
    assert counts.flip_flop_rate == 1
    with pytest.raises(OutputsError, match="must be text, finite numbers or None to be saved, got"):
        counts.to_state()


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_below_one_is_refused(limit):
    with pytest.raises(InputError, match=f"max_patterns must be a whole number >= 1, got {limit}"):
        PatternCounts(CHAIN, max_patterns=limit)


def state_with(**changes):
    counts = PatternCounts(CHAIN)
    counts.add([0, 1, 1], times=2)
    return {**counts.to_state(), **changes}


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        state_with(max_patterns=0),
        state_with(max_patterns="9"),
        state_with(n_other=-1),
        state_with(n_other=0.5),
        state_with(n_complete=True),
        state_with(n_flip_flopped="1"),
        state_with(table=3),
        state_with(table=[[[0, 1, 1], -2]]),
        state_with(table=[[[0, 1], 2]]),
        state_with(table=[[[0, 1, [1]], 2]]),
        state_with(table=[]),
        state_with(table=[[[0, 1, 1], 2], [[1, 1, 1], 0]]),
        state_with(table=[[[0, 1, 1], 1], [[0, 1, 0], 1]]),
        state_with(table=[[[0, 1, math.inf], 2]]),
        state_with(pairs={}),
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(StateError, match=r"pattern counts|pair counts"):
        PatternCounts.from_state(state, CHAIN)


def test_gaps_may_stay_gaps_in_the_agreement_of_rows():
    rows = np.array([[7, 3, -1, 3], [-1, -1, 5, 5]])
    assert agreement_of_rows(rows, keep_gaps=True).tolist() == [[0, 1, -1, 1], [-1, -1, 2, 2]]
    assert agreement_of_rows(rows).tolist() == [[0, 1, 2, 1], [0, 0, 2, 2]]
