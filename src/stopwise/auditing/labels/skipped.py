"""How labelled cases were chosen, and whether labels show that gaps depend on the right answer."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable

import numpy as np

from stopwise.auditing.evidence.dependence import Cells, chance
from stopwise.auditing.labels.cases import LabelledCases
from stopwise.patterns import MISSING, PatternTable, agreement

CHOSEN = 0.01  # a p-value below this says that outputs decided over who got a label


def skipped_by_truth(histogram: PatternTable, cases: LabelledCases) -> tuple[float, ...]:
    """Return for each test how likely its gaps are if they ignore the labels.

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
    groups: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    labelled = cases.counts.sum(axis=1).astype(int).tolist()
    for row, n, m in zip(
        histogram.codes.tolist(), histogram.weights.tolist(), labelled, strict=True
    ):
        cell = groups[agreement(row, missing=MISSING)][tuple(row)]
        cell[0] += n - m
        cell[1] += m
    return not chance(groups.values()) < CHOSEN


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
    by_values: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    by_camps: dict[Hashable, Cells] = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    rows = histogram.codes.tolist()
    labelled = cases.counts.sum(axis=1).astype(int).tolist()
    for row, ran, n, m in zip(
        rows, histogram.shown.tolist(), histogram.weights.tolist(), labelled, strict=True
    ):
        for groups, cell in ((by_values, tuple(row)), (by_camps, agreement(row, missing=MISSING))):
            groups[tuple(ran)][cell][0] += n - m
            groups[tuple(ran)][cell][1] += m
    return any(chance(groups.values()) < CHOSEN for groups in (by_values, by_camps))
