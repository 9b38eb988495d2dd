"""Laws, patterns and outcomes that make no instance."""

import math

import numpy as np
import pytest

from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance
from tests.problem.laws import JOINT, TWO


@pytest.mark.parametrize(
    ("joint", "message"),
    [
        (np.full((2, 2), 0.25), r"joint must have shape \(M,\)\*3: .* got \(2, 2\)"),
        (np.full((2, 2, 3), 1 / 12), r"joint must have shape \(M,\)\*3: .* got \(2, 2, 3\)"),
        (np.zeros((0, 0, 0)), "joint must sum to 1, got 0.0"),
        ([[1, 2], [3]], "joint must be an array of probabilities"),
        ("law", "joint must be an array of probabilities"),
        (np.where(JOINT == 0.5, np.nan, JOINT), r"finite and >= 0, got nan at \(1, 1, 1\)"),
        (np.where(JOINT == 0.5, np.inf, JOINT), r"finite and >= 0, got inf at \(1, 1, 1\)"),
        (np.where(JOINT == 0.1, -0.1, JOINT), r"finite and >= 0, got -0.1 at \(0, 1, 0\)"),
        (JOINT * 0.9, r"joint must sum to 1, got 0\.9"),
        (JOINT * 1.001, r"joint must sum to 1, got 1\.00"),
    ],
)
def test_a_joint_that_is_no_law_is_refused(joint, message):
    with pytest.raises(InstanceError, match=message):
        Instance(joint, TWO)


@pytest.mark.parametrize(
    ("patterns", "weights", "message"),
    [
        ([], [], "patterns must not be empty"),
        ([(0, 0)], [1], "a label and 2 outputs, got 2 entries at row 1"),
        ([(0, 0, 0), (0, 0, 0, 0)], [1, 1], "a label and 2 outputs, got 4 entries at row 2"),
        ([(0, 0, 0)], [1, 2], "weights must have one entry per pattern, got 2 for 1"),
        ([(0, 0, 0), (1, 1, 1)], [1, -2], "weights must be finite and >= 0, got -2.0 at row 2"),
        ([(0, 0, 0)], [math.nan], "weights must be finite and >= 0, got nan at row 1"),
        ([(0, 0, 0)], [math.inf], "weights must be finite and >= 0, got inf at row 1"),
        ([(0, 0, 0)], [0], "weights must not all be zero"),
        ([(0, 0, 0)], ["x"], "weights must be numbers"),
        ([(None, 0, 0)], [1], "must not be missing, got None at row 1, the label"),
        ([(0, 0, 0), (0, 0, None)], [1, 1], "must not be missing, got None at row 2, stage 2"),
        ([(0, math.nan, 0)], [1], "must not be missing, got nan at row 1, stage 1"),
        ([(0, [1], 0)], [1], r"must be hashable labels, got \[1\] at row 1, stage 1"),
    ],
)
def test_patterns_that_are_none_are_refused(patterns, weights, message):
    with pytest.raises(InstanceError, match=message):
        Instance.from_patterns(patterns, weights, TWO)


@pytest.mark.parametrize(
    ("labels", "outputs", "message"),
    [
        ([], np.zeros((0, 2)), r"labels must be a non-empty vector, got shape \(0,\)"),
        ([[0], [1]], [[0, 0], [1, 1]], r"labels must be a non-empty vector, got shape \(2, 1\)"),
        (0, [[0, 0]], r"labels must be a non-empty vector, got shape \(\)"),
        ([0, 1], [[0, 0]], r"outputs must have shape \(2, 2\), got \(1, 2\)"),
        ([0, 1], [[0], [1]], r"outputs must have shape \(2, 2\), got \(2, 1\)"),
        ([0, 1], [0, 1], r"outputs must have shape \(2, 2\), got \(2,\)"),
        ([0, None], [[0, 0], [1, 1]], "must not be missing, got None at row 2, the label"),
        (["a", math.nan], [["a"] * 2] * 2, "must not be missing, got nan at row 2, the label"),
        ([0, 1], [[0, 0], [math.nan, 1]], "must not be missing, got nan at row 2, stage 1"),
    ],
)
def test_outcomes_that_do_not_fit_are_refused(labels, outputs, message):
    with pytest.raises(InstanceError, match=message):
        Instance.from_outcomes(labels, outputs, TWO)
