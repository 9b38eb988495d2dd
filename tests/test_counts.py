import copy
import json
import math
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.errors import InputError, StateError
from stopwise.pattern_counts import PatternCounts
from tests.strategies import cascades, counts_of, told_cases

CHAIN = Cascade([0, 0.125, 0.125], names=["a", "b", "c"])
TREE = Cascade([0, 0.125, 0.125, 0.25], parents=[None, 0, 0, 1])


def naive_pairs(cascade, cases):
    """Seen and disagreed as dictionaries, case by case."""
    seen, disagreed = Counter(), Counter()
    for stage, outputs, times in cases:
        by_node = dict(zip(cascade.path(stage), outputs, strict=True))
        for (i, x), (j, y) in product(by_node.items(), repeat=2):
            if x is not None and y is not None:
                seen[i, j] += times
                disagreed[i, j] += times * (x != y)
    return seen, disagreed


@given(st.data())
def test_pair_counts_are_what_one_would_count_by_hand(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    cases = data.draw(told_cases(cascade))
    counts = counts_of(cascade, cases, PairCounts)
    seen, disagreed = naive_pairs(cascade, cases)
    K = cascade.n_stages
    for i in range(K):
        for j in range(K):
            assert counts.n_seen[i, j] == seen[i, j]
            assert counts.n_disagreed[i, j] == disagreed[i, j]
            share = counts.disagreement[i, j]
            if i == j:
                assert share == 0
            elif seen[i, j]:
                assert share == disagreed[i, j] / seen[i, j]
            else:
                assert math.isnan(share)
        assert counts.n_observed[i] == seen[i, i]
        assert counts.n_stopped[i] == sum(times for stage, _, times in cases if stage == i)
    assert counts.n_rounds == sum(times for _, _, times in cases)


@pytest.mark.parametrize("kind", [PairCounts, PatternCounts])
@given(data=st.data())
def test_counts_add_up_in_any_order(kind, data):
    cascade = data.draw(cascades(stages=(1, 5)))
    cases = data.draw(told_cases(cascade))
    cut = data.draw(st.integers(0, len(cases)))
    a, b = (counts_of(cascade, part, kind) for part in (cases[:cut], cases[cut:]))
    before = copy.deepcopy((a.to_state(), b.to_state()))
    whole = counts_of(cascade, cases, kind)
    assert a + b == whole == b + a
    assert counts_of(cascade, data.draw(st.permutations(cases)), kind) == whole
    assert (a.to_state(), b.to_state()) == before
    assert whole + kind(cascade) == whole


@pytest.mark.parametrize("kind", [PairCounts, PatternCounts])
@given(data=st.data())
def test_counts_survive_json(kind, data):
    cascade = data.draw(cascades(stages=(1, 5)))
    counts = counts_of(cascade, data.draw(told_cases(cascade)), kind)
    state = counts.to_state()
    loaded = json.loads(json.dumps(state))
    again = kind.from_state(loaded, cascade)
    assert again == counts
    again.add([0] * len(cascade.path(0)), stage=0)
    assert counts.to_state() == loaded == state  # nothing is shared
    assert again != counts


@given(st.data())
def test_totals_equal_case_by_case(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    stage = data.draw(st.integers(0, cascade.n_stages - 1))
    length = len(cascade.path(stage))
    rows = data.draw(st.lists(st.tuples(*[st.integers(0, 2)] * length), max_size=8))
    disagreed = [[sum(y[a] != y[b] for y in rows) for a in range(b)] for b in range(length)]
    counts = PairCounts(cascade)
    counts.add_totals(stage, len(rows), disagreed)
    assert counts == counts_of(cascade, [(stage, y, 1) for y in rows], PairCounts)


def test_totals_of_a_branch_go_to_the_tests_of_that_branch():
    cascade = Cascade([1] * 4, parents=[None, 0, 0, 2])  # the path to 4 leaves out test 2
    counts = PairCounts(cascade)
    counts.add_totals(3, 5, [[0], [2, 0], [3, 1, 0]])
    np.testing.assert_array_equal(counts.n_disagreed[3], [3, 0, 1, 0])
    np.testing.assert_array_equal(counts.n_disagreed[2], [2, 0, 0, 1])
    np.testing.assert_array_equal(counts.n_seen[1], [0, 0, 0, 0])
    np.testing.assert_array_equal(counts.n_seen[3], [5, 0, 5, 5])


@pytest.mark.parametrize(
    "name", ["n_stopped", "n_observed", "n_seen", "n_disagreed", "disagreement"]
)
def test_arrays_are_read_only(name):
    array = getattr(PairCounts(CHAIN), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5


@pytest.mark.parametrize(("kind", "other"), [(PairCounts, 1), (PatternCounts, PairCounts(CHAIN))])
def test_counts_of_other_shapes_or_kinds_do_not_add(kind, other):
    with pytest.raises(InputError, match="same shape, got parents"):
        kind(CHAIN) + kind(Cascade([1, 1, 1], parents=[None, 0, 0]))
    with pytest.raises(TypeError):
        kind(CHAIN) + other
    with pytest.raises(TypeError):
        hash(kind(CHAIN))


def test_counts_of_other_prices_do_add():
    a, b = PairCounts(CHAIN), PairCounts(Cascade([9, 9, 9]))
    a.add([0, 1])
    b.add([0, 0])
    assert (a + b).disagreement[0, 1] == 0.5
    assert (a + b).cascade == CHAIN


def test_repr_says_how_much_was_counted():
    counts = PairCounts(CHAIN)
    counts.add([0, 1], times=4)
    assert repr(counts) == "PairCounts(n_rounds=4, n_stopped=[0, 4, 0])"


def state_with(**changes):
    counts = PairCounts(CHAIN)
    counts.add([0, 1, 1], times=2)
    return {**counts.to_state(), **changes}


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        state_with(colour=1),
        state_with(stopped=None),
        state_with(stopped=[0, 0]),
        state_with(stopped=[0, 0, -1]),
        state_with(stopped=[0, 0, 2.0]),
        state_with(stopped=[0, 0, True]),
        state_with(stopped=[2**60, 0, 2]),
        state_with(seen=[[2], [2], [2, 2, 2]]),
        state_with(seen=[[2], "22", [2, 2, 2]]),
        state_with(disagreed=[[0], [-1, 0], [2, 0, 0]]),
        state_with(disagreed=[[0], [3, 0], [3, 0, 0]]),
        state_with(disagreed=[[0], [2, 1], [2, 0, 0]]),  # with itself
        state_with(stopped=[2, 0, 0]),  # seen though never run
        state_with(seen=[[2], [2, 1], [2, 1, 2]]),  # a pair without its output
        state_with(disagreed=[[0], [0, 0], [2, 0, 0]]),  # the triangle inequality
        PairCounts(Cascade([1, 1])).to_state(),  # of another cascade
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(StateError, match="pair counts must"):
        PairCounts.from_state(state, CHAIN)


def test_counts_of_pairs_that_no_path_shows_are_refused():
    counts = PairCounts(TREE)
    counts.add([0, 1], stage=2)
    state = counts.to_state()
    state["seen"][2][1] = 1
    with pytest.raises(StateError, match="on a common path"):
        PairCounts.from_state(state, TREE)
    chain = PairCounts(Cascade(TREE.prices))
    chain.add([0, 1, 1, 0])
    with pytest.raises(StateError, match="on a common path"):  # told on a chain, read on a tree
        PairCounts.from_state(chain.to_state(), TREE)
