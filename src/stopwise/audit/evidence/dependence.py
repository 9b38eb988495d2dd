"""Whether a test was run or not by what other tests said."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from stopwise.audit.histogram import Histogram
from stopwise.cascade import FloatArray

ENOUGH = 5.0  # cases expected in each cell, so that their squares follow the chi-square law


def dependence(
    histogram: Histogram, test: int, on: Sequence[int], *, given: Sequence[int] = ()
) -> float:
    """Return how likely gaps as uneven as these are if they ignore the outputs of tests ``on``.

    Cases are compared that are alike in the outputs of ``given`` and in which of all these tests
    gave nothing: whether ``test`` ran against what ``on`` said, a chi-square test over all such
    groups. What is rare within a group is taken together. NaN where there is nothing to compare.
    """
    columns = [*given, *on]
    groups: dict[tuple[object, ...], dict[tuple[int, ...], list[int]]] = defaultdict(
        lambda: defaultdict(lambda: [0, 0])
    )
    for row, ran, n in zip(
        histogram.patterns[:, columns].tolist(),
        histogram.shown[:, test].tolist(),
        histogram.counts.tolist(),
        strict=True,
    ):
        alike = (*row[: len(given)], *(y < 0 for y in row))
        groups[alike][tuple(row[len(given) :])][ran] += n
    square, freedom = 0.0, 0
    for cells in groups.values():
        table = _pooled(np.array(list(cells.values()), dtype=np.float64))
        expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
        if len(table) > 1:
            square += float(((table - expected) ** 2 / expected).sum())
            freedom += len(table) - 1
    if not freedom:
        return math.nan
    from scipy.stats import chi2

    return float(chi2.sf(square, freedom))


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
