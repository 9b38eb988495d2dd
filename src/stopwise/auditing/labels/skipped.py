"""How labelled cases were chosen, and whether labels show that gaps depend on the right answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from stopwise.auditing.evidence.dependence import Cells, chance
from stopwise.auditing.labels.cases import LabelledCases
from stopwise.cascade import BoolArray, IntArray
from stopwise.patterns import MISSING, PatternTable, agreement_of_rows

CHOSEN = 0.01  # a p-value below this says that outputs decided over who got a label


def skipped_by_truth(histogram: PatternTable, cases: LabelledCases) -> tuple[float, ...]:
    """Return for each test the p-value of the hypothesis that its gaps do not depend on labels.

    Labelled cases are compared that are alike in the outputs before the test: whether it ran
    against which of the tests before it are right. NaN where there is nothing to compare, and for
    all where outputs decided over who got a label: then those in which a test ran differ by that.
    """
    K = histogram.n_stages
    if _were_chosen(histogram, cases):
        return (math.nan,) * K
    return tuple(_by_truth(histogram, cases, k) for k in range(K))


def is_drawn_by_agreement(histogram: PatternTable, cases: LabelledCases) -> bool:
    """Whether labels look random among cases that agree alike, so that they speak for all these.

    That is so for a random sample and for any part of a shuffled plan. Where outputs decided, a
    label speaks for cases with the same outputs alone. ``cases`` has one stratum a pattern.
    """
    return not _was_chosen(histogram, cases, _agreements(histogram), histogram.codes)


def _by_truth(histogram: PatternTable, cases: LabelledCases, k: int) -> float:
    *before, _ = histogram.cascade.paths[k]
    if not before:
        return math.nan
    right = cases.losses[:, :, before] == 0
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for s, outcome in zip(*np.nonzero(cases.counts), strict=True):
        alike = tuple(histogram.codes[s, before].tolist())
        ran = bool(histogram.shown[s, k])
        found = tuple(right[s, outcome].tolist())
        groups[alike][found][ran] += int(cases.counts[s, outcome])
    return chance(groups.values())


def _were_chosen(histogram: PatternTable, cases: LabelledCases) -> bool:
    """Whether, of cases in which the same tests ran, outputs decided over who got a label."""
    return any(
        _was_chosen(histogram, cases, histogram.shown, cells)
        for cells in (histogram.codes, _agreements(histogram))
    )


def _agreements(histogram: PatternTable) -> IntArray:
    return np.where(histogram.shown, agreement_of_rows(histogram.codes), MISSING)


def _was_chosen(
    histogram: PatternTable, cases: LabelledCases, alike: IntArray | BoolArray, cells: IntArray
) -> bool:
    """Whether, of patterns alike in the first rows, those in ``cells`` decided over labels."""
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    n_labels = cases.counts.sum(axis=1).astype(int)
    for group, cell, n, m in zip(alike, cells, histogram.weights, n_labels, strict=True):
        found = groups[group.tobytes()][cell.tobytes()]
        found[0] += int(n - m)
        found[1] += int(m)
    return chance(groups.values()) < CHOSEN
