"""Logs with holes: what is missing, what that depends on, and how much it could matter."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.evidence.dependence import dependence
from stopwise.auditing.evidence.pair_bounds import path_pairs
from stopwise.auditing.interval import Interval
from stopwise.cascade import Cascade, IntArray, read_only
from stopwise.disagreement import sound_stage
from stopwise.patterns import MISSING, PatternTable, row_numbers

SUSPICIOUS = 0.01  # a p-value below this, split over all tests, counts as "depends on outputs"
NEGLIGIBLE = 0.01  # an adjusted share that is open by no more than this is given as one number


@dataclass(frozen=True)
class PairRange:
    """The disagreement of one pair under three readings of the missing outputs.

    ``plain`` takes the cases where both ran, ``adjusted`` weights them as if an output were missing
    by chance given the outputs shown, ``worst`` allows the missing ones to be anything. Where no
    complete case shows the same as one with a gap, that gap stays open: ``adjusted_range`` is what
    the adjusted share can be, and ``adjusted`` is NaN where that is no longer one number.
    """

    shallow: int
    deep: int
    plain: float
    adjusted: float
    adjusted_range: Interval
    worst: Interval


@dataclass(frozen=True, eq=False)
class MissingOutputs:
    """What is missing in a log, and what that does to the disagreement of each pair.

    Parameters
    ----------
    n_incomplete
        The number of cases in which some test gave nothing.
    n_prefix
        Those of them in which the tests that ran are the first ones: somebody stopped there.
    n_missing
        For each test the number of cases without its output.
    p_values
        For each test the p-value of the hypothesis that its gaps do not depend on the outputs
        before it; NaN where it cannot be tested.
    p_values_of_others
        The same for the outputs of tests that do not come before it.
    pairs
        The disagreement of each pair on a common path, read in three ways.
    plain_stage, adjusted_stage
        The stage that looks sound under the first two readings.
    p_values_of_labels
        The same for which tests before it are right, as far as labels show that; empty where there
        are none.
    """

    n_incomplete: int
    n_prefix: int
    n_missing: tuple[int, ...]
    p_values: tuple[float, ...]
    p_values_of_others: tuple[float, ...]
    pairs: tuple[PairRange, ...]
    plain_stage: int | None
    adjusted_stage: int | None
    p_values_of_labels: tuple[float, ...] = ()

    @property
    def dependent_tests(self) -> tuple[int, ...]:
        """The tests whose gaps depend on other outputs, so that plain estimates are biased."""
        return tuple(sorted({*_suspicious(self.p_values), *_suspicious(self.p_values_of_others)}))

    @property
    def refuted_tests(self) -> tuple[int, ...]:
        """The tests that ran or not by what is right, as labels show: nothing adjusts for that."""
        return _suspicious(self.p_values_of_labels)

    @property
    def pairs_with_gaps(self) -> tuple[tuple[int, int], ...]:
        """The pairs that some case does not show."""
        return tuple((p.shallow, p.deep) for p in self.pairs if p.worst.low < p.worst.high)

    def adjustable_pairs(self, cascade: Cascade) -> frozenset[tuple[int, int]]:
        """Return the pairs whose gaps may depend on nothing but the outputs before them."""
        others = {*_suspicious(self.p_values_of_others), *self.refuted_tests}
        return frozenset(
            (i, j) for i, j in self.pairs_with_gaps if not others & {*cascade.paths[j]}
        )

    def shares(self, *, adjusted: bool) -> dict[tuple[int, int], float]:
        """Return the share of disagreement of each pair with gaps, as it is or adjusted."""
        gaps = set(self.pairs_with_gaps)
        return {
            (p.shallow, p.deep): p.adjusted if adjusted else p.plain
            for p in self.pairs
            if (p.shallow, p.deep) in gaps
        }


def missing_outputs(histogram: PatternTable) -> MissingOutputs | None:
    """Return what is missing in a log, ``None`` where nothing is."""
    if histogram.is_complete:
        return None
    cascade, n = histogram.cascade, histogram.n_cases
    incomplete = ~histogram.shown.all(axis=1)
    prefix = incomplete & _is_prefix(histogram)
    law = completed_law(histogram)
    pairs = []
    adjusted = np.full((cascade.n_stages,) * 2, math.nan)
    np.fill_diagonal(adjusted, 0.0)
    for i, j in path_pairs(cascade):
        d, seen = int(histogram.n_disagreed[i, j]), int(histogram.n_seen[i, j])
        worst = Interval(d / n, (d + n - seen) / n)
        plain = float(histogram.disagreement[i, j])
        share = _disagreement_in(law, i, j)
        adjusted[i, j] = adjusted[j, i] = _one_number(share)
        pairs.append(PairRange(i, j, plain, float(adjusted[i, j]), share, worst))
    before, others = zip(*(_by_outputs(histogram, k) for k in range(cascade.n_stages)), strict=True)
    return MissingOutputs(
        n_incomplete=int(histogram.weights[incomplete].sum()),
        n_prefix=int(histogram.weights[prefix].sum()),
        n_missing=tuple((n - histogram.n_observed).tolist()),
        p_values=before,
        p_values_of_others=others,
        pairs=tuple(pairs),
        plain_stage=sound_stage(histogram.disagreement, cascade),
        adjusted_stage=sound_stage(adjusted, cascade),
    )


def completed_law(histogram: PatternTable) -> PatternTable:
    """Return the law of complete patterns if gaps depend on nothing but the outputs shown.

    The cases of an incomplete pattern are given to the complete patterns that show the same, in
    proportion to what these have by then; the fullest patterns go first. For a log in which only
    the first tests ran this is P(s) = Π_k P(s_k | s_1 … s_k-1), each factor estimated where test k
    ran. A pattern that no complete one continues stays as it is.
    """
    rows, mass = histogram.codes, histogram.probabilities.copy()
    full = np.flatnonzero(histogram.shown.all(axis=1))
    holes = sorted(
        set(range(len(rows))) - set(full.tolist()), key=lambda r: -int(histogram.shown[r].sum())
    )
    heirs_of = _heirs(histogram, full, holes)
    for r in holes:
        heirs = heirs_of[r]
        if len(heirs):
            mass[heirs] *= 1 + mass[r] / mass[heirs].sum()
            mass[r] = 0.0
    kept = np.flatnonzero(mass > 0)
    return PatternTable(
        read_only(rows[kept]), read_only(mass[kept]), histogram.classes, histogram.cascade
    )


def _heirs(histogram: PatternTable, full: IntArray, holes: list[int]) -> dict[int, IntArray]:
    """Return for each row in ``holes`` the rows in ``full`` that show the same where it does."""
    same_gaps: dict[bytes, list[int]] = defaultdict(list)
    for r in holes:
        same_gaps[histogram.shown[r].tobytes()].append(r)
    found = {}
    for rows in same_gaps.values():
        shown = histogram.codes[:, histogram.shown[rows[0]]]
        numbers = row_numbers(shown[np.append(full, rows)])
        known, sought = numbers[: len(full)], numbers[len(full) :]
        order = np.argsort(known, kind="stable")
        first, last = (np.searchsorted(known[order], sought, side) for side in ("left", "right"))
        for r, i, j in zip(rows, first.tolist(), last.tolist(), strict=True):
            found[r] = full[order[i:j]]
    return found


def _disagreement_in(law: PatternTable, i: int, j: int) -> Interval:
    """Return what P(Y^i ≠ Y^j) can be under a law in which some outputs stay open."""
    first, second = law.codes[:, i], law.codes[:, j]
    seen = (first != MISSING) & (second != MISSING)
    low = float(law.probabilities[seen & (first != second)].sum())
    still_open = float(law.probabilities[~seen].sum())
    return Interval(low, min(low + still_open, 1.0))


def _one_number(share: Interval) -> float:
    return (share.low + share.high) / 2 if share.width <= NEGLIGIBLE else math.nan


def _suspicious(p_values: tuple[float, ...]) -> tuple[int, ...]:
    level = SUSPICIOUS / (2 * max(len(p_values), 1))
    return tuple(k for k, p in enumerate(p_values) if p < level)


def _is_prefix(histogram: PatternTable) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """For each pattern whether no test ran after one that did not."""
    fine = np.ones(len(histogram.codes), dtype=bool)
    for k, parent in enumerate(histogram.cascade.parents):
        if parent is not None:
            fine &= histogram.shown[:, parent] | ~histogram.shown[:, k]
    return fine


def _by_outputs(histogram: PatternTable, k: int) -> tuple[float, float]:
    """Return the p-values of test k: for the outputs before it and for the others."""
    *before, _ = histogram.cascade.paths[k]
    others = [j for j in range(histogram.n_stages) if j not in {*before, k}]
    return dependence(histogram, k, before), dependence(histogram, k, others, given=before)
