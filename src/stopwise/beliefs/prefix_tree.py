"""The prefixes of outputs that occur, level by level, with how often each was reached."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import MISSING


@dataclass(frozen=True, eq=False)
class ToldCases:
    """Observed patterns: how far each was run, how many cases show it, how many have a label."""

    codes: IntArray  # one row per pattern, one column per test, -1 for no output; shape (R, K)
    lengths: IntArray  # how many tests were run, in the order of the cascade; shape (R,)
    weights: FloatArray  # how many cases; 0 for a pattern that is only possible; shape (R,)
    n_labels: FloatArray  # how many of them have a label; shape (R,)

    @classmethod
    def complete(cls, codes: IntArray, weights: FloatArray) -> ToldCases:
        """Return cases for which every test was run, without labels."""
        R, K = codes.shape
        return cls(codes, np.full(R, K), np.asarray(weights, dtype=np.float64), np.zeros(R))

    def with_all_patterns(self, n_classes: int) -> ToldCases:
        """Return these cases and every possible pattern besides, with weight 0."""
        K = self.codes.shape[1]
        every = ToldCases.complete(
            np.indices((n_classes,) * K).reshape(K, -1).T, np.zeros(n_classes**K)
        )
        return ToldCases(
            np.concatenate([self.codes, every.codes]),
            np.concatenate([self.lengths, every.lengths]),
            np.concatenate([self.weights, every.weights]),
            np.concatenate([self.n_labels, every.n_labels]),
        )


@dataclass(frozen=True, eq=False)
class Level:
    """The distinct prefixes of one length."""

    # One row per prefix, one column for each of its tests, -1 where a test gave nothing.
    codes: IntArray
    # For each the prefix without its last output, as a row of the level before; 0 at the first.
    parent: IntArray
    weights: FloatArray  # how many cases reached it
    stopped: FloatArray  # how many of them stopped there
    # How many that stopped there have a label, and how many that went on.
    n_labels: FloatArray
    n_labels_below: FloatArray


def standing_codes(codes: IntArray) -> IntArray:
    """Return the last output of each row that is not missing, -1 if there is none.

    >>> standing_codes(np.array([[1, 0, -1], [-1, -1, -1]]))
    array([ 0, -1])
    """
    answers = codes[:, 0]
    for column in codes.T[1:]:
        answers = np.where(column == MISSING, answers, column)
    return answers


def prefix_levels(cases: ToldCases, n_classes: int) -> list[Level]:
    """Return the prefixes of all patterns of ``n_classes`` values, one level a test.

    >>> cases = ToldCases.complete(np.array([[0, 0], [0, 1], [1, 1]]), np.array([5, 1, 3]))
    >>> first, second = prefix_levels(cases, 2)
    >>> first.weights, second.parent
    (array([6., 3.]), array([0, 0, 1]))
    """
    levels: list[Level] = []
    place = np.zeros(len(cases.codes), dtype=np.int64)  # of each row in the level before
    for k in range(cases.codes.shape[1]):
        rows = np.flatnonzero(cases.lengths > k)
        keys = place[rows] * (n_classes + 1) + cases.codes[rows, k] + 1
        distinct, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
        ends = cases.lengths[rows] == k + 1

        def total(weights: FloatArray, inverse: IntArray = inverse) -> FloatArray:
            return np.asarray(np.bincount(inverse, weights=weights), dtype=np.float64)

        levels.append(
            Level(
                cases.codes[rows[first], : k + 1],
                np.asarray(distinct // (n_classes + 1)),
                total(cases.weights[rows]),
                total(cases.weights[rows] * ends),
                total(cases.n_labels[rows] * ends),
                total(cases.n_labels[rows] * ~ends),
            )
        )
        place[rows] = inverse
    return levels


def padded(codes: IntArray, n_tests: int) -> IntArray:
    """Return prefixes as patterns of all tests, with -1 for those not run."""
    table = np.full((len(codes), n_tests), MISSING)
    table[:, : codes.shape[1]] = codes
    return table


def per_parent(child: Level, values: FloatArray, n_parents: int) -> FloatArray:
    """Return the sum of ``values``, one for each prefix of ``child``, over each parent."""
    total = np.bincount(child.parent, weights=values, minlength=n_parents)
    return np.asarray(total, dtype=np.float64)
