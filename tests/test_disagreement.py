import math
from itertools import combinations

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
from stopwise.errors import InputError
from tests.strategies import cascades, disagreements

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
    stages = tree_selectors(p, cascade)
    assert len(stages) <= 1
    assert sound_stage(p, cascade) == (stages[0] if stages else None)


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
    assert definition_3(p, CHAIN.cumulative_costs) == stage
    assert sound_stage(p, CHAIN) == stage


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
        (matrix(0.1, 0.2, 0.3) + np.diag([math.nan] * 2, 1), "disagreement must be symmetric"),
        ([[0, "x", 0]] * 3, "disagreement must be an array of numbers"),
        ([[0, 1], [0]], "disagreement must be an array of numbers"),
    ],
)
def test_what_is_no_table_of_shares_is_refused(p, message):
    with pytest.raises(InputError, match=message):
        sound_stage(p, CHAIN)


# Dominated pairs and the ratio


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
