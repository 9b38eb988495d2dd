import copy
import json
import math
from collections import Counter
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stopwise.cascade import TOLERANCE, Cascade
from stopwise.disagreement import (
    dominance_ratio,
    dominated_pairs,
    is_dominant_at,
    price_covers,
    sound_stage,
)
from stopwise.errors import InputError, OutputsError, StateError
from stopwise.outputs import check_outputs
from stopwise.pair_counts import PairCounts
from stopwise.problem.random_instances import random_costs, random_instance, random_tree
from tests.strategies import cascades, disagreements, hoeffding, told_cases

CHAIN = Cascade([0, 0.125, 0.125], names=["a", "b", "c"])
TREE = Cascade([0, 0.125, 0.125, 0.25], parents=[None, 0, 0, 1])


def matrix(p12, p13, p23):
    return np.array([[0, p12, p13], [p12, 0, p23], [p13, p23, 0]], dtype=float)


# The sound stage


def definition_3(p, C):
    """a_wd as it is printed: the smallest i with (a) for all j < i and (b) for all j > i."""
    for i in range(len(C)):
        earlier = all(C[i] - C[j] < p[i, j] for j in range(i))
        later = all(C[j] - C[i] >= p[i, j] for j in range(i + 1, len(C)))
        if earlier and later:
            return i
    return None


def tree_selectors(p, cascade):
    """All nodes that meet the conditions on a tree, found by climbing from parent to parent."""
    C = cascade.cumulative_costs

    def climb(k):
        return [] if k is None else [k, *climb(cascade.parents[k])]

    def meets(i):
        on_path = climb(i)
        pays = all(C[i] - C[a] < p[a, i] for a in on_path[1:])
        # Every other node leaves the path to i at one test: i itself or one above it.
        leaves_at = {j: next(a for a in climb(j) if a in on_path) for j in range(len(C))}
        return pays and all(
            C[j] - C[a] >= p[a, j] for j, a in leaves_at.items() if j not in on_path
        )

    return [i for i in range(len(C)) if meets(i)]


# Costs and disagreements are eighths: sums are exact and ties are common.
@settings(max_examples=300)
@given(st.data())
def test_sound_stage_is_definition_3_on_chains(data):
    cascade = data.draw(cascades(stages=(1, 5), tree=False))
    p = data.draw(disagreements(cascade.n_stages, missing=data.draw(st.booleans())))
    assert sound_stage(p, cascade) == definition_3(p, cascade.cumulative_costs)


@settings(max_examples=300)
@given(st.data())
def test_sound_stage_is_the_one_selector_on_trees(data):
    cascade = data.draw(cascades(stages=(1, 6), tree=True))
    p = data.draw(disagreements(cascade.n_stages, missing=data.draw(st.booleans())))
    found = tree_selectors(p, cascade)
    assert len(found) <= 1
    assert sound_stage(p, cascade) == (found[0] if found else None)


def test_both_transcriptions_agree_and_every_answer_occurs():
    rng = np.random.default_rng(0)
    answers = Counter()
    for _ in range(2000):
        cascade = random_costs(rng, 3)
        p = np.triu(rng.random((3, 3)) * rng.choice([0.1, 1.0]), 1)
        p = p + p.T
        found = definition_3(p, cascade.cumulative_costs)
        assert tree_selectors(p, cascade) == ([] if found is None else [found])
        assert sound_stage(p, cascade) == found
        answers[found] += 1
    assert min(answers[k] for k in (0, 1, 2, None)) > 20


@given(st.data())
def test_pairs_off_a_common_path_do_not_matter(data):
    cascade = data.draw(cascades(stages=(2, 6), tree=True))
    p = data.draw(disagreements(cascade.n_stages))
    unseen = p.copy()
    for i, j in combinations(range(cascade.n_stages), 2):
        if i not in cascade.path(j):
            unseen[i, j] = unseen[j, i] = math.nan
    assert sound_stage(unseen, cascade) == sound_stage(p, cascade)


@pytest.mark.parametrize(
    ("p", "stage"),
    [
        (matrix(0.1, 0.1, 0.1), 0),
        (matrix(0.5, 0.5, 0.1), 1),
        (matrix(0.5, 0.5, 0.5), 2),
        (matrix(0.125, 0.25, 0.0), 0),  # a price equal to the disagreement covers it
        (matrix(0.5, 0.5, 0.125), 1),
        (matrix(0.125, 0.5, 0.5), 2),  # stage 2 need not pay for stage 3 to do so
        (matrix(0.1, 0.5, 0.1), None),
        (matrix(math.nan, 0.1, 0.1), None),
        (matrix(0.1, math.nan, 0.1), None),
        (matrix(0.5, math.nan, 0.1), 1),  # this pair is not needed for stage 2
    ],
)
def test_sound_stage_by_hand(p, stage):
    expected = definition_3(p, CHAIN.cumulative_costs)
    assert expected == stage
    assert sound_stage(p, CHAIN) == stage


def test_one_stage_is_always_sound():
    assert sound_stage([[0.0]], Cascade([3])) == 0


def test_rounding_does_not_break_ties():
    # 0.1 + 0.2 > 0.3 in floating point: the price still covers the disagreement.
    cascade = Cascade([0, 0.3])
    p = 0.1 + 0.2
    assert p > cascade.cumulative_costs[1]
    assert sound_stage([[0, p], [p, 0]], cascade) == 0
    assert price_covers(0.3, p)
    assert not price_covers(0.3, 0.3 + 2 * TOLERANCE)
    assert not price_covers(0.3, math.nan)


@pytest.mark.parametrize(
    ("p", "message"),
    [
        (np.zeros((2, 2)), r"disagreement must have shape \(3, 3\), got \(2, 2\)"),
        (np.zeros(3), r"disagreement must have shape \(3, 3\), got \(3,\)"),
        (matrix(0.1, -0.1, 0.1), r"disagreement must lie in \[0, 1\], got -0.1 at stages 1, 3"),
        (matrix(0.1, 0.1, 1.5), r"disagreement must lie in \[0, 1\], got 1.5 at stages 2, 3"),
        (matrix(0.1, 0.1, math.inf), r"disagreement must lie in \[0, 1\], got inf"),
        (np.triu(matrix(0.1, 0.2, 0.3)), "disagreement must be symmetric"),
        ([[0, "x", 0]] * 3, "disagreement must be an array of numbers"),
        ([[0, 1], [0]], "disagreement must be an array of numbers"),
    ],
)
def test_a_matrix_that_is_none_is_refused(p, message):
    with pytest.raises(InputError, match=message):
        sound_stage(p, CHAIN)


def test_a_half_missing_pair_is_not_symmetric():
    p = matrix(0.1, 0.2, 0.3)
    p[0, 1] = math.nan
    with pytest.raises(InputError, match="symmetric"):
        sound_stage(p, CHAIN)


# Dominated pairs and the ratio


def test_dominated_pairs_of_a_chain_are_the_later_stages():
    assert dominated_pairs(CHAIN, 0) == ((0, 1), (0, 2))
    assert dominated_pairs(CHAIN, 1) == ((1, 2),)
    assert dominated_pairs(CHAIN, 2) == ()


def test_dominated_pairs_of_a_tree_hold_the_branches_that_leave_the_path():
    assert set(dominated_pairs(TREE, 0)) == {(0, 1), (0, 2), (0, 3)}
    assert set(dominated_pairs(TREE, 1)) == {(1, 3), (0, 2)}
    assert set(dominated_pairs(TREE, 2)) == {(0, 1), (0, 3)}
    assert set(dominated_pairs(TREE, 3)) == {(0, 2)}


@given(cascades(stages=(1, 7), tree=True))
def test_every_other_stage_is_dominated_once(cascade):
    for stage in range(cascade.n_stages):
        pairs = dominated_pairs(cascade, stage)
        others = sorted(set(range(cascade.n_stages)) - set(cascade.path(stage)))
        assert sorted(j for _, j in pairs) == others
        for i, j in pairs:  # from the last common test of both paths
            common = [a for a in cascade.path(stage) if a in cascade.path(j)]
            assert i == common[-1]


def test_dominance_ratio_by_hand():
    p = matrix(0.5, 0.5, 0.1)
    assert dominance_ratio(p, CHAIN, 0) == 0.25
    assert dominance_ratio(p, CHAIN, 1) == pytest.approx(1.25)
    assert dominance_ratio(p, CHAIN, 2) == math.inf
    assert dominance_ratio(matrix(0, 0, 0), CHAIN, 0) == math.inf
    assert math.isnan(dominance_ratio(matrix(0.1, math.nan, 0.1), CHAIN, 0))
    assert dominance_ratio(matrix(0.1, math.nan, 0.1), CHAIN, 1) == pytest.approx(1.25)


@given(st.data())
def test_a_ratio_of_at_least_one_is_dominance(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    p = data.draw(disagreements(cascade.n_stages, missing=data.draw(st.booleans())))
    for stage in range(cascade.n_stages):
        dominant = is_dominant_at(p, cascade, stage)
        assert (dominance_ratio(p, cascade, stage) >= 1) == dominant


# Outputs


@pytest.mark.parametrize("outputs", [[0, 1], (0, 1), np.array([0, 1]), iter([0, 1])])
def test_outputs_may_be_any_sequence(outputs):
    assert check_outputs(outputs, CHAIN) == (1, (0, 1))


BAD_OUTPUTS = [
    (CHAIN, {"outputs": []}, "outputs must be those of the first 1 to 3 tests, got 0"),
    (CHAIN, {"outputs": [0, 1, 0, 1]}, "outputs must be those of the first 1 to 3 tests, got 4"),
    (
        CHAIN,
        {"outputs": [0, 1], "stage": 2},
        "outputs must be those on the path to stage 3 ('c'), 3 of them, got 2",
    ),
    (CHAIN, {"outputs": [0, [1]]}, "outputs must be hashable labels, got [1] at stage 2 ('b')"),
    (
        CHAIN,
        {"outputs": [0, math.nan, 1]},
        "outputs must equal themselves, got nan at stage 2 ('b'): use None",
    ),
    (CHAIN, {"outputs": "01"}, "outputs must be a sequence with one output a test, got '01'"),
    (CHAIN, {"outputs": b"01"}, "outputs must be a sequence with one output a test, got b'01'"),
    (CHAIN, {"outputs": 1}, "outputs must be a sequence with one output a test, got 1"),
    (CHAIN, {"outputs": None}, "outputs must be a sequence with one output a test, got None"),
    (CHAIN, {"outputs": np.array(1)}, "outputs must be a sequence with one output a test"),
    (CHAIN, {"outputs": np.zeros((1, 2))}, "outputs must be hashable labels, got [0.0, 0.0]"),
    (CHAIN, {"outputs": [0], "stage": -1}, "stage must lie in 0 to 2, got -1"),
    (CHAIN, {"outputs": [0], "stage": 3}, "stage must lie in 0 to 2, got 3"),
    (CHAIN, {"outputs": [0], "stage": 0.0}, "stage must be an index, got 0.0"),
    (CHAIN, {"outputs": [0], "stage": False}, "stage must be an index, got False"),
    (CHAIN, {"outputs": [0], "times": -1}, "times must be a whole number >= 0, got -1"),
    (CHAIN, {"outputs": [0], "times": 1.5}, "times must be a whole number >= 0, got 1.5"),
    (CHAIN, {"outputs": [0], "times": True}, "times must be a whole number >= 0, got True"),
    (TREE, {"outputs": [0, 1]}, "stage must be given with the outputs on a tree"),
    (TREE, {"outputs": [0, 1, 1], "stage": 2}, "the path to stage 3 ('test 3'), 2 of them, got 3"),
]


@pytest.mark.parametrize(
    ("cascade", "given_", "message"), BAD_OUTPUTS, ids=[m[:50] for _, _, m in BAD_OUTPUTS]
)
def test_bad_outputs_are_refused_and_nothing_is_changed(cascade, given_, message):
    counts = PairCounts(cascade)
    counts.add([0, 1], stage=1, times=5)
    before = copy.deepcopy(counts.to_state())
    with pytest.raises(OutputsError) as caught:
        counts.add(**given_)
    assert message in str(caught.value)
    assert counts.to_state() == before


# Pair counts


def counted(cascade, cases):
    counts = PairCounts(cascade)
    for stage, outputs, times in cases:
        counts.add(outputs, stage=stage, times=times)
    return counts


def naive_pairs(cascade, cases):
    """Seen and disagreed as dictionaries, case by case."""
    seen, disagreed = Counter(), Counter()
    for stage, outputs, times in cases:
        shown = dict(zip(cascade.path(stage), outputs, strict=True))
        for (i, x), (j, y) in product(shown.items(), repeat=2):
            if x is not None and y is not None:
                seen[i, j] += times
                disagreed[i, j] += times * (x != y)
    return seen, disagreed


@given(st.data())
def test_pair_counts_are_what_one_would_count_by_hand(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    cases = data.draw(told_cases(cascade))
    counts = counted(cascade, cases)
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


@given(st.data())
def test_pair_counts_add_up_in_any_order(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    cases = data.draw(told_cases(cascade))
    cut = data.draw(st.integers(0, len(cases)))
    a, b = counted(cascade, cases[:cut]), counted(cascade, cases[cut:])
    before = copy.deepcopy((a.to_state(), b.to_state()))
    whole = counted(cascade, cases)
    assert a + b == whole == b + a
    assert counted(cascade, data.draw(st.permutations(cases))) == whole
    assert (a.to_state(), b.to_state()) == before
    assert whole + PairCounts(cascade) == whole


@given(st.data())
def test_times_is_so_many_single_cases(data):
    cascade = data.draw(cascades(stages=(1, 4)))
    cases = data.draw(told_cases(cascade))
    single = [(stage, outputs, 1) for stage, outputs, times in cases for _ in range(times)]
    assert counted(cascade, single) == counted(cascade, cases)


@given(st.data())
def test_pair_counts_survive_json(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    counts = counted(cascade, data.draw(told_cases(cascade)))
    state = counts.to_state()
    again = PairCounts.from_state(json.loads(json.dumps(state)), cascade)
    assert again == counts
    again.add([0] * len(cascade.path(0)), stage=0)
    assert counts.to_state() == state  # nothing is shared
    assert again != counts


def test_from_state_does_not_share_lists_with_the_state():
    state = PairCounts(CHAIN).to_state()
    counts = PairCounts.from_state(state, CHAIN)
    counts.add([0, 1])
    assert state == PairCounts(CHAIN).to_state()


@given(st.data())
def test_totals_equal_case_by_case(data):
    cascade = data.draw(cascades(stages=(1, 5)))
    stage = data.draw(st.integers(0, cascade.n_stages - 1))
    length = len(cascade.path(stage))
    row = st.tuples(*[st.integers(0, 2)] * length)
    told = data.draw(st.lists(row, max_size=8))
    disagreed = [[sum(y[a] != y[b] for y in told) for a in range(b)] for b in range(length)]
    counts = PairCounts(cascade)
    counts.add_totals(stage, len(told), disagreed)
    assert counts == counted(cascade, [(stage, y, 1) for y in told])


def test_totals_of_a_branch_go_to_the_tests_of_that_branch():
    cascade = Cascade([1] * 4, parents=[None, 0, 0, 2])  # the path to 4 leaves out test 2
    counts = PairCounts(cascade)
    counts.add_totals(3, 5, [[0], [2, 0], [3, 1, 0]])
    np.testing.assert_array_equal(counts.n_disagreed[3], [3, 0, 1, 0])
    np.testing.assert_array_equal(counts.n_disagreed[2], [2, 0, 0, 1])
    np.testing.assert_array_equal(counts.n_seen[1], [0, 0, 0, 0])
    np.testing.assert_array_equal(counts.n_seen[3], [5, 0, 5, 5])


def test_memory_does_not_grow_with_the_cases():
    counts = PairCounts(CHAIN)
    counts.add([0, 1, 1])
    before = counts.to_state()
    for k in range(500):
        counts.add([k, k + 1, f"label {k}"])
    after = counts.to_state()
    assert [len(row) for row in after["seen"]] == [len(row) for row in before["seen"]] == [1, 2, 3]
    assert counts.n_rounds == 501


@pytest.mark.parametrize(
    ("x", "y"),
    [("a", "b"), (True, False), (("a", 1), ("a", 2)), (frozenset("ab"), frozenset("bc")), (1, "1")],
)
def test_outputs_may_be_any_hashable_labels(x, y):
    counts = PairCounts(CHAIN)
    counts.add([x, y, x])
    counts.add([x, x])
    np.testing.assert_array_equal(counts.disagreement, matrix(0.5, 0, 1))


def test_missing_outputs_are_left_out_of_their_pairs_only():
    counts = PairCounts(CHAIN)
    counts.add([0, None, 1])
    counts.add([None, None])
    np.testing.assert_array_equal(counts.n_seen, [[1, 0, 1], [0, 0, 0], [1, 0, 1]])
    np.testing.assert_array_equal(counts.n_disagreed, [[0, 0, 1], [0, 0, 0], [1, 0, 0]])
    assert counts.n_stopped.tolist() == [0, 1, 1]
    assert counts.n_observed.tolist() == [1, 0, 1]


def test_a_tree_counts_only_pairs_on_a_common_path():
    counts = PairCounts(TREE)
    counts.add([0, 1], stage=2)
    counts.add([0, 1, 1], stage=3)
    assert counts.n_seen[0].tolist() == [2, 1, 1, 1]
    assert counts.n_seen[2].tolist() == [1, 0, 1, 0]
    assert math.isnan(counts.disagreement[1, 2])


@pytest.mark.parametrize(
    "name", ["n_stopped", "n_observed", "n_seen", "n_disagreed", "disagreement"]
)
def test_arrays_are_read_only(name):
    array = getattr(PairCounts(CHAIN), name)
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 5


def test_counts_of_other_shapes_do_not_add():
    with pytest.raises(InputError, match="same shape, got parents"):
        PairCounts(CHAIN) + PairCounts(Cascade([1, 1, 1], parents=[None, 0, 0]))
    with pytest.raises(TypeError):
        PairCounts(CHAIN) + 1
    with pytest.raises(TypeError):
        hash(PairCounts(CHAIN))


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
    counts = PairCounts(Cascade([1, 1]))
    counts.add([0, 1], times=2)
    return {**counts.to_state(), **changes}


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        state_with(stopped=None),
        state_with(stopped=[0]),
        state_with(stopped=[0, -1]),
        state_with(stopped=[0, 1.0]),
        state_with(stopped=[0, True]),
        state_with(seen=[[2], [2]]),
        state_with(seen=[[2], "22"]),
        state_with(disagreed=[[0], [-1, 0]]),
        state_with(disagreed=[[0], [3, 0]]),
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(StateError, match="pair counts must have"):
        PairCounts.from_state(state, Cascade([1, 1]))


def test_a_state_of_another_cascade_is_refused():
    with pytest.raises(StateError):
        PairCounts.from_state(PairCounts(CHAIN).to_state(), Cascade([1, 1]))


@pytest.mark.parametrize("tree", [False, True])
def test_estimates_converge_to_the_true_disagreement(tree):
    """Hoeffding over the 10 pairs of 20 000 cases: false-alarm rate 1e-6 for each instance."""
    rng = np.random.default_rng(7)
    n = 20_000
    for _ in range(5):
        cascade = random_tree(rng, 5) if tree else random_costs(rng, 5)
        instance = random_instance(rng, cascade, n_classes=3)
        _, outputs = instance.sample(n, rng)
        rows, times = np.unique(outputs, axis=0, return_counts=True)
        counts = PairCounts(cascade)
        leaves = [k for k, below in enumerate(cascade.children) if not below]
        for row, t in zip(rows, times, strict=True):
            for leaf in leaves:
                counts.add(row[list(cascade.path(leaf))], stage=leaf, times=t)
        common = [(i, j) for j in range(5) for i in cascade.path(j)[:-1]]
        for i, j in common:
            error = counts.disagreement[i, j] - instance.disagreement[i, j]
            assert abs(error) <= hoeffding(n, 10)
        unseen = set(combinations(range(5), 2)) - set(common)
        assert all(math.isnan(counts.disagreement[i, j]) for i, j in unseen)
