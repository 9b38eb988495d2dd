"""A test of whether the gaps of one test depend on the outputs of others."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stopwise.cascade import BoolArray, FloatArray, IntArray
from stopwise.patterns import MISSING, PatternTable, agreement_of_rows, row_numbers

ENOUGH = 5.0  # cases expected in each cell, so that their squares follow the chi-square law
LEAST_SUM = 2 * ENOUGH  # cases in each column: with fewer no two rows expect enough


def dependence(
    histogram: PatternTable, test: int, on: Sequence[int], *, given: Sequence[int] = ()
) -> float:
    """Return the p-value of the hypothesis that gaps do not depend on the outputs of ``on``.

    Cases are grouped by the outputs of ``given`` and by which of all these tests gave nothing. A
    chi-square test over all groups compares whether ``test`` ran with the outputs of ``on``; rare
    outputs of a group are pooled. Of many values each may be rare, so the agreement among all these
    tests is tested too. The smaller p-value counts, times the number of tests that could be made
    (Bonferroni). NaN where there is nothing to compare.
    """
    columns = [*given, *on]
    rows = histogram.codes[:, columns]
    groups = row_numbers(np.hstack([rows[:, : len(given)], rows == MISSING]))
    p_values = [
        chi_square_p_value(groups, row_numbers(cells), histogram.shown[:, test], histogram.weights)
        for cells in (rows[:, len(given) :], agreement_of_rows(rows))
    ]
    p_values = [p for p in p_values if not math.isnan(p)]
    return min(1.0, len(p_values) * min(p_values)) if p_values else math.nan


def chi_square_p_value(
    groups: IntArray, cells: IntArray, columns: BoolArray, weights: IntArray | FloatArray
) -> float:
    """Return the p-value of a chi-square test over all groups, NaN where none has two cells.

    The table of a group has a row for each of its cells and two columns. The arrays give the place
    in such a table to which each of the ``weights`` belongs; shape (n,) each.
    """
    _, group = np.unique(groups, return_inverse=True)
    sums = [np.bincount(group, weights * column) for column in (~columns, columns)]
    (rows,) = np.nonzero(np.minimum(*sums)[group] >= LEAST_SUM)
    tables: dict[int, dict[int, list[float]]] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    places = (values[rows].tolist() for values in (group, cells, columns, weights))
    for g, cell, column, n in zip(*places, strict=True):
        tables[g][cell][column] += n
    square, freedom = 0.0, 0
    for counts in tables.values():
        table = _pooled(np.array(list(counts.values()), dtype=np.float64))
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        if len(table) > 1:
            square += float(((table - expected) ** 2 / expected).sum())
            freedom += len(table) - 1
    if not freedom:
        return math.nan
    from scipy.special import chdtrc

    return float(chdtrc(freedom, square))


def _pooled(table: FloatArray) -> FloatArray:
    """Pool rows until each expects enough in both columns; one row where none can."""
    expected = table.sum(axis=1) * table.sum(axis=0).min() / table.sum()
    is_rare = expected < ENOUGH
    common, rare = table[~is_rare], table[is_rare].sum(axis=0)
    if not len(common) or not rare.any():
        return np.asarray(common if len(common) else rare[None, :])
    if expected[is_rare].sum() >= ENOUGH:
        return np.vstack([common, rare])
    common[common.sum(axis=1).argmin()] += rare
    return np.asarray(common)
