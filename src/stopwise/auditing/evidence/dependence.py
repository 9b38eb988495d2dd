"""Whether a test was run or not by what other tests said."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from stopwise.cascade import BoolArray, FloatArray, IntArray
from stopwise.patterns import MISSING, PatternTable, agreement_of_rows, row_numbers

ENOUGH = 5.0  # cases expected in each cell, so that their squares follow the chi-square law
LEAST_SUM = 2 * ENOUGH  # cases with and without an output: with fewer no two rows expect enough

Cells = dict[Hashable, list[int]]  # in how many cases a test did not run, and in how many it did


def dependence(
    histogram: PatternTable, test: int, on: Sequence[int], *, given: Sequence[int] = ()
) -> float:
    """Return the p-value of the hypothesis that gaps do not depend on the outputs of ``on``.

    Cases are compared that are alike in the outputs of ``given`` and in which of all these tests
    gave nothing: whether ``test`` ran against what ``on`` said, a chi-square test over all such
    groups. What is rare within a group is taken together. Of many values each may be rare, so who
    agrees with whom among all these tests is tested too, and the smaller p-value counts, times the
    number of tests that could be made (Bonferroni). NaN where there is nothing to compare.
    """
    columns = [*given, *on]
    rows = histogram.codes[:, columns]
    alike = row_numbers(np.hstack([rows[:, : len(given)], rows == MISSING]))
    tried = [
        chance(_groups(alike, row_numbers(cells), histogram.shown[:, test], histogram.weights))
        for cells in (rows[:, len(given) :], agreement_of_rows(rows))
    ]
    found = [p for p in tried if not math.isnan(p)]
    return min(1.0, len(found) * min(found)) if found else math.nan


def _groups(alike: IntArray, cells: IntArray, ran: BoolArray, weights: IntArray) -> Iterable[Cells]:
    """Return the groups of cases that are alike, if large enough, by what is to be compared."""
    _, group = np.unique(alike, return_inverse=True)
    sums = [np.bincount(group, weights * there) for there in (~ran, ran)]
    (kept,) = np.nonzero(np.minimum(*sums)[group] >= LEAST_SUM)
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    found = (values[kept].tolist() for values in (group, cells, ran, weights))
    for g, cell, there, n in zip(*found, strict=True):
        groups[g][cell][there] += n
    return groups.values()


def chance(groups: Iterable[Cells]) -> float:
    """Return the p-value of a chi-square test over all groups, NaN where none has two cells."""
    square, freedom = 0.0, 0
    for cells in groups:
        sums = [sum(column) for column in zip(*cells.values(), strict=True)]
        if min(sums) < LEAST_SUM:
            continue
        table = _pooled(np.array(list(cells.values()), dtype=np.float64))
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        if len(table) > 1:
            square += float(((table - expected) ** 2 / expected).sum())
            freedom += len(table) - 1
    if not freedom:
        return math.nan
    from scipy.special import chdtrc

    return float(chdtrc(freedom, square))


def _pooled(table: FloatArray) -> FloatArray:
    """Take rows together until each expects enough in both columns; one row where none can."""
    total = table.sum(axis=1)
    least = total * table.sum(axis=0).min() / table.sum()
    common, rest = table[least >= ENOUGH], table[least < ENOUGH].sum(axis=0)
    if not len(common) or not rest.any():
        return np.asarray(common if len(common) else rest[None, :])
    if least[least < ENOUGH].sum() >= ENOUGH:
        return np.vstack([common, rest])
    common[common.sum(axis=1).argmin()] += rest
    return np.asarray(common)
