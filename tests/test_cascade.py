import copy
import json
import math
import pickle
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from stopwise.cascade import Cascade
from stopwise.errors import CascadeError, StateError
from tests.strategies import cascades

TREE = Cascade(costs=[1, 2, 4, 8, 16], parents=[None, 0, 0, 1, 1])


def test_costs_are_in_error_units():
    cascade = Cascade(costs=[6, 16, 24], mistake_cost=1000)
    np.testing.assert_allclose(cascade.costs, [0.006, 0.016, 0.024])
    np.testing.assert_allclose(cascade.cumulative_costs, [0.006, 0.022, 0.046])
    assert cascade.prices == (6.0, 16.0, 24.0)
    assert cascade.mistake_cost == 1000.0


def test_defaults():
    cascade = Cascade([0.5, 0])
    assert cascade.mistake_cost == 1.0
    assert cascade.names == ("test 1", "test 2")
    assert cascade.parents == (None, 0)
    assert cascade.is_chain
    assert cascade.n_stages == 2


def test_cumulative_costs_do_not_gather_rounding():
    cascade = Cascade([0.1] * 10)
    assert cascade.cumulative_costs[-1] == 1.0


@pytest.mark.parametrize(
    "costs", [np.array([1, 2]), np.array([1.0, 2.0], dtype=np.float32), (1, 2), iter([1, 2])]
)
def test_any_sequence_of_numbers_will_do(costs):
    assert Cascade(costs).prices == (1.0, 2.0)
    assert all(type(price) is float for price in Cascade([np.float32(1), Fraction(1, 2)]).prices)


def test_the_parents_of_a_chain_make_a_chain():
    assert Cascade([1, 2, 3], parents=[None, np.int64(0), 1]) == Cascade([1, 2, 3])


@given(cascades(stages=(1, 8)))
def test_paths_descendants_and_children_agree(cascade):
    K = cascade.n_stages
    assert cascade.is_chain == (list(cascade.parents[1:]) == list(range(K - 1)))
    for node, path in enumerate(cascade.paths):
        assert path == cascade.path(node)
        assert path[0] == 0
        assert path[-1] == node
        assert all(cascade.parents[b] == a for a, b in pairwise(path))
        assert cascade.cumulative_costs[node] == pytest.approx(
            sum(cascade.costs[k] for k in path), abs=1e-12
        )
        below = {k for k in range(K) if node in cascade.path(k)[:-1]}
        assert set(cascade.descendants[node]) == below
        assert set(cascade.children[node]) == {k for k in below if cascade.parents[k] == node}


def test_a_cascade_is_cut_with_all_that_was_given():
    whole = Cascade([1, 2, 4], mistake_cost=20, names=["a", "b", "c"])
    assert whole.cut(1) == Cascade([1, 2], mistake_cost=20, names=["a", "b"])
    assert whole.cut(2) == whole
    for bad in (3, -1, 1.0, True, None):
        with pytest.raises(CascadeError, match="stage must"):
            whole.cut(bad)


@given(cascades(stages=(1, 8)))
def test_a_tree_is_cut_to_the_path_of_a_stage(cascade):
    for stage in range(cascade.n_stages):
        cut = cascade.cut(stage)
        assert cut.is_chain
        assert cut.cumulative_costs[-1] == cascade.cumulative_costs[stage]
        assert cut.names == tuple(cascade.names[node] for node in cascade.path(stage))


def test_equal_where_all_that_was_given_is_equal():
    a = Cascade([1, 2], mistake_cost=10, names=["x", "y"])
    assert a == Cascade((1.0, 2.0), 10.0, ("x", "y"), (None, 0))
    assert hash(a) == hash(Cascade((1.0, 2.0), 10.0, ("x", "y"), (None, 0)))
    assert a != Cascade([1, 2], mistake_cost=10, names=["x", "z"])
    assert Cascade([1, 1, 1]) != Cascade([1, 1, 1], parents=[None, 0, 0])


@pytest.mark.parametrize("name", ["costs", "cumulative_costs"])
def test_arrays_are_read_only(name):
    with pytest.raises(ValueError, match="read-only"):
        getattr(Cascade([1, 2]), name)[0] = 5


def test_attributes_are_read_only():
    with pytest.raises(AttributeError):
        Cascade([1, 2]).mistake_cost = 3


@given(cascades(stages=(1, 6)))
def test_state_survives_json_and_copies(cascade):
    assert Cascade.from_state(json.loads(json.dumps(cascade.to_state()))) == cascade
    assert pickle.loads(pickle.dumps(cascade)) == cascade
    assert copy.deepcopy(cascade) == cascade


@pytest.mark.parametrize("cascade", [Cascade([1, 2], 10, ["a", "b"]), TREE], ids=["chain", "tree"])
def test_repr_builds_the_same_cascade(cascade):
    assert eval(repr(cascade)) == cascade


@pytest.mark.parametrize(
    "state",
    [
        None,
        [],
        {},
        {"costs": [1]},
        {**Cascade([1]).to_state(), "colour": "red"},
        {**Cascade([1]).to_state(), "costs": [-1]},
        {**Cascade([1]).to_state(), "costs": "1"},
        {**Cascade([1]).to_state(), "parents": [0]},
    ],
)
def test_a_damaged_state_is_refused(state):
    with pytest.raises(StateError, match="cascade"):
        Cascade.from_state(state)


NO_PRICES = [-0.2, math.nan, math.inf, True, np.True_, "2", None, [2], 1j, np.ones(1), 10**400]


@pytest.mark.parametrize("value", NO_PRICES, ids=lambda value: repr(value)[:20])
def test_prices_are_finite_numbers(value):
    with pytest.raises(CascadeError) as caught:
        Cascade([1, value], names=["age", "insulin"])
    place = "at stage 2 ('insulin')"
    assert str(caught.value) == f"costs must be >= 0 and finite, got {value!r} {place}"
    with pytest.raises(CascadeError) as caught:
        Cascade([1], mistake_cost=value)
    assert str(caught.value) == f"mistake_cost must be > 0 and finite, got {value!r}"


# Each message names the rule, the value and the place.
BAD = [
    ({"costs": []}, "costs must not be empty: a cascade has at least one test"),
    ({"costs": [0], "mistake_cost": 0}, "mistake_cost must be > 0 and finite, got 0"),
    ({"costs": "123"}, "costs must be a sequence, got '123'"),
    ({"costs": b"123"}, "costs must be a sequence, got b'123'"),
    ({"costs": 5}, "costs must be a sequence, got 5"),
    ({"costs": None}, "costs must be a sequence, got None"),
    (
        {"costs": [0, 1e154, 1e154]},
        "must be at most 1e+100, got costs that sum to 2e+154 and mistake_cost 1.0",
    ),
    (
        {"costs": [1e308, 1e308]},
        "must be at most 1e+100, got costs that sum to inf and mistake_cost 1.0",
    ),
    (
        {"costs": [1e300], "mistake_cost": 1e-300},
        "must be at most 1e+100, got costs that sum to 1e+300 and mistake_cost 1e-300",
    ),
    (
        {"costs": [1], "mistake_cost": 1e101},
        "mistake_cost and costs / mistake_cost must be at most 1e+100, got costs that sum to 1.0",
    ),
    (
        {"costs": [1, 2], "names": ["a"]},
        "names must have one entry per test, got 1 for 2 costs",
    ),
    (
        {"costs": [1, 2, 3], "names": ["a", "b", "a"]},
        "names must differ, got 'a' at stage 1 and at stage 3",
    ),
    ({"costs": [1, 2], "names": ["a", ""]}, "names must be non-empty strings, got '' at stage 2"),
    ({"costs": [1, 2], "names": [1, "b"]}, "names must be non-empty strings, got 1 at stage 1"),
    ({"costs": [1, 2], "names": "ab"}, "names must be a sequence, got 'ab'"),
    ({"costs": [1, 2], "names": 3}, "names must be a sequence, got 3"),
    (
        {"costs": [1, 2], "parents": [None]},
        "parents must have one entry per test, got 1 for 2 costs",
    ),
    (
        {"costs": [1, 2], "parents": [0, None]},
        "parents must start with None, the root, got 0 at stage 1 ('test 1')",
    ),
    (
        {"costs": [1, 2, 3], "parents": [None, 0, None]},
        "parents must have one root, the first test, got None at stage 3 ('test 3')",
    ),
    (
        {"costs": [1, 2, 3], "parents": [None, 0, 2]},
        "parents must come earlier (0 to 1), got 2 at stage 3 ('test 3')",
    ),
    (
        {"costs": [1, 2, 3], "parents": [None, 2, 0]},
        "parents must come earlier (0 to 0), got 2 at stage 2 ('test 2')",
    ),
    (
        {"costs": [1, 2], "parents": [None, -1]},
        "parents must come earlier (0 to 0), got -1 at stage 2 ('test 2')",
    ),
    ({"costs": [1, 2], "parents": [None, 0.0]}, "parents must be indices, got 0.0 at stage 2"),
    ({"costs": [1, 2], "parents": [None, False]}, "parents must be indices, got False at stage 2"),
    ({"costs": [1, 2], "parents": [None, "0"]}, "parents must be indices, got '0' at stage 2"),
    ({"costs": [1, 2], "parents": "x0"}, "parents must be a sequence, got 'x0'"),
    ({"costs": [1, 2], "parents": 7}, "parents must be a sequence, got 7"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD, ids=[message[:60] for _, message in BAD])
def test_bad_input_is_refused_by_name_rule_value_and_place(arguments, message):
    with pytest.raises(CascadeError) as caught:
        Cascade(**arguments)
    assert message in str(caught.value)
