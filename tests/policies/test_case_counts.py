"""Counts of cases with labels: they add up, are bounded and can be saved."""

from __future__ import annotations

import json

import pytest

from stopwise.cascade import Cascade
from stopwise.errors import InputError, StateError
from stopwise.policies.belief_stopping import BeliefStopping
from stopwise.policies.case_counts import CaseCounts

CASCADE = Cascade(costs=[0, 0.1, 0.1])


def counts(*cases, most=100):
    table = CaseCounts(CASCADE, max_patterns=most)
    for told, label, times in cases:
        table.add((told, label), times)
    return table


def read(state, most=100):
    check = BeliefStopping(CASCADE)._checked
    return CaseCounts.from_state(state, CASCADE, most, check)


def test_counts_add_up_and_can_be_taken_away():
    one = counts((("a",), None, 3), (("a", "b"), "b", 2))
    other = counts((("a",), None, 1), (("a", "b"), "a", 4))
    both = one + other
    assert both.n_rounds == 10
    assert both.n_labels == 6
    assert both.n_stopped == (4, 6, 0)
    assert both - other == one
    assert both == other + one
    assert one == one.copy() != other


def test_nothing_is_taken_away_that_was_not_counted():
    with pytest.raises(InputError, match="must contain those to subtract"):
        counts((("a",), None, 3)) - counts((("a",), None, 4))


def test_further_patterns_are_counted_together_and_the_rarest_give_way():
    full = counts((("a",), None, 3), (("b",), None, 1), (("c", "c"), "c", 7), most=2)
    assert full.n_rounds == 11
    assert full.n_labels == 0
    assert full.n_stopped == (4, 7, 0)
    total = full + counts((("c", "c"), "c", 7), most=2)
    assert total.table == {(("c", "c"), "c"): 7, (("a",), None): 3}
    assert total.n_rounds == 18


def test_a_state_comes_back_as_it_was():
    saved = counts((("a", None), None, 3), (("a", 1), 1, 2), (("z",), None, 4), most=2)
    assert read(json.loads(json.dumps(saved.to_state())), most=2) == saved


@pytest.mark.parametrize(
    "damage",
    [
        {"cases": [[["a"], None, 0]], "other": [0, 0, 0]},
        {"cases": [[["a"], None, True]], "other": [0, 0, 0]},
        {"cases": [[["a"], None, 1], [["a"], None, 2]], "other": [0, 0, 0]},
        {"cases": [], "other": [0, 0]},
        {"cases": [], "other": [0, 0, -1]},
        {"cases": []},
        {"cases": 3, "other": [0, 0, 0]},
        3,
    ],
)
def test_a_damaged_state_is_refused(damage):
    with pytest.raises(StateError, match="case counts must be"):
        read(damage)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ([["a"] * 4, None, 1], "first 1 to 3 tests"),
        ([["a"], None, 0], "whole number"),
        ([["a"], None], "unpack"),
        (3, "unpack"),
    ],
)
def test_a_damaged_row_is_named(row, reason):
    good = [["a"], None, 1]
    with pytest.raises(StateError, match=f"at 1: .*{reason}"):
        read({"cases": [good, row], "other": [0, 0, 0]})


def test_what_the_table_gave_up_can_be_taken_away():
    start = counts((("a",), None, 1), (("b",), None, 2), most=2)
    later = start + counts((("c",), None, 3), (("b", "b"), None, 4), most=2)
    assert later.table == {(("b", "b"), None): 4, (("c",), None): 3}
    new = later - start
    assert new.n_rounds == 7
    assert start + new == later
    with pytest.raises(InputError, match="must contain those to subtract"):
        _ = later - counts((("a",), None, 4))
