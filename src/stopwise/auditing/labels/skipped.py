"""How labelled cases were chosen, and whether labels show that gaps depend on the right answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from stopwise.auditing.evidence.dependence import Cells, chi_square_p_value
from stopwise.auditing.labels.labelled_cases import LabelledCases
from stopwise.cascade import BoolArray, IntArray
from stopwise.patterns import PatternTable, agreement_of_rows

CHOSEN = 0.01  # a p-value below this says that outputs decided which cases got a label


def skipped_by_truth(histogram: PatternTable, cases: LabelledCases) -> tuple[float, ...]:
    """Return for each test the p-value of the hypothesis that its gaps do not depend on labels.

    Among labelled cases with the same outputs before the test, whether it ran is compared with
    which of the tests before it are right. NaN where there is nothing to compare, and for all tests
    where outputs decided which cases got a label: that alone can make the two kinds differ.
    """
    K = histogram.n_stages
    for cells in (histogram.codes, _agreements(histogram)):
        if _were_chosen(histogram, cases, histogram.shown, cells):
            return (math.nan,) * K
    return tuple(_by_truth(histogram, cases, k) for k in range(K))


def is_drawn_by_agreement(histogram: PatternTable, cases: LabelledCases) -> bool:
    """Whether labels look random among cases that agree in the same way, and can be pooled.

    That is so for a random sample and for any part of a shuffled plan. Otherwise a label counts for
    cases with the same outputs only. ``cases`` has one stratum per pattern.
    """
    return not _were_chosen(histogram, cases, _agreements(histogram), histogram.codes)


def _by_truth(histogram: PatternTable, cases: LabelledCases, k: int) -> float:
    *before, _ = histogram.cascade.paths[k]
    if not before:
        return math.nan
    right = cases.losses[:, :, before] == 0
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for s, outcome in zip(*np.nonzero(cases.counts), strict=True):
        outputs = tuple(histogram.codes[s, before].tolist())
        ran = bool(histogram.shown[s, k])
        groups[outputs][tuple(right[s, outcome].tolist())][ran] += int(cases.counts[s, outcome])
    return chi_square_p_value(groups.values())


def _agreements(histogram: PatternTable) -> IntArray:
    return agreement_of_rows(histogram.codes, keep_gaps=True)


def _were_chosen(
    histogram: PatternTable, cases: LabelledCases, group_rows: IntArray | BoolArray, cells: IntArray
) -> bool:
    """Whether ``cells`` decided which cases got a label, among those with equal ``group_rows``."""
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    n_labels = cases.counts.sum(axis=1).astype(int)
    for group, cell, n, m in zip(group_rows, cells, histogram.weights, n_labels, strict=True):
        counts = groups[group.tobytes()][cell.tobytes()]
        counts[0] += int(n - m)
        counts[1] += int(m)
    return chi_square_p_value(groups.values()) < CHOSEN
