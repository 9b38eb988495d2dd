"""How labelled cases were chosen, and whether labels show that gaps depend on the right answer."""

from __future__ import annotations

import math

import numpy as np

from stopwise.auditing.evidence.dependence import chi_square_p_value
from stopwise.auditing.labels.labelled_cases import LabelledCases
from stopwise.cascade import IntArray
from stopwise.patterns import PatternTable, agreement_of_rows, row_numbers

CHOSEN = 0.01  # a p-value below this says that outputs decided which cases got a label


def skipped_by_truth(histogram: PatternTable, cases: LabelledCases) -> tuple[float, ...]:
    """Return for each test the p-value of the hypothesis that its gaps do not depend on labels.

    Among labelled cases with the same outputs before the test, whether it ran is compared with
    which of the tests before it are right. NaN where there is nothing to compare, and for all tests
    where outputs decided which cases got a label: that alone can make the two kinds differ.
    """
    K = histogram.n_stages
    for cells in (histogram.codes, _agreements(histogram)):
        if _were_chosen(histogram, cases, histogram.shown.astype(np.int64), cells):
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
    stratum, outcome = np.nonzero(cases.counts)
    is_right = cases.losses[stratum, outcome][:, before] == 0
    return chi_square_p_value(
        row_numbers(histogram.codes[stratum][:, before]),
        row_numbers(is_right),
        histogram.shown[stratum, k],
        cases.counts[stratum, outcome],
    )


def _agreements(histogram: PatternTable) -> IntArray:
    return agreement_of_rows(histogram.codes, keep_gaps=True)


def _were_chosen(
    histogram: PatternTable, cases: LabelledCases, group_rows: IntArray, cells: IntArray
) -> bool:
    """Whether ``cells`` decided which cases got a label, among those with equal ``group_rows``."""
    n_labels = cases.counts.sum(axis=1)
    p_value = chi_square_p_value(
        np.tile(row_numbers(group_rows), 2),
        np.tile(row_numbers(cells), 2),
        np.repeat([False, True], len(cells)),
        np.concatenate([histogram.weights - n_labels, n_labels]),
    )
    return p_value < CHOSEN
