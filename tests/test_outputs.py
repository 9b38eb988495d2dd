import copy
import math

import numpy as np
import pytest

from stopwise.cascade import Cascade
from stopwise.counts import PairCounts
from stopwise.errors import OutputsError
from stopwise.outputs import check_outputs, looks_like, matching
from stopwise.pattern_counts import PatternCounts

CHAIN = Cascade([0, 0.125, 0.125], names=["a", "b", "c"])
TREE = Cascade([0, 0.125, 0.125, 0.25], parents=[None, 0, 0, 1])


@pytest.mark.parametrize("outputs", [[0, 1], (0, 1), np.array([0, 1]), iter([0, 1])])
def test_outputs_may_be_any_sequence(outputs):
    assert check_outputs(outputs, CHAIN) == (1, (0, 1))


class NeverEqual:
    __hash__ = object.__hash__

    def __eq__(self, other):
        return False


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
    (CHAIN, {"outputs": [0, NeverEqual()]}, "outputs must equal themselves, got"),
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


@pytest.mark.parametrize("kind", [PairCounts, PatternCounts])
@pytest.mark.parametrize(
    ("cascade", "arguments", "message"), BAD_OUTPUTS, ids=[m[:50] for _, _, m in BAD_OUTPUTS]
)
def test_bad_outputs_are_refused_and_nothing_is_changed(kind, cascade, arguments, message):
    counts = kind(cascade)
    counts.add([0, 1], stage=1, times=5)
    before = copy.deepcopy(counts.to_state())
    with pytest.raises(OutputsError) as caught:
        counts.add(**arguments)
    assert message in str(caught.value)
    assert counts.to_state() == before


def test_values_that_look_alike():
    assert looks_like(" Yes") == looks_like("yes") == looks_like("YES ")
    assert looks_like("1") == looks_like(1) == looks_like(1.0) == looks_like(True)
    assert looks_like("nan") == "nan"
    assert looks_like("a") != looks_like("b")
    assert matching("1", (0, 1)) == 1
    assert matching("x", (0, 1)) == "x"
