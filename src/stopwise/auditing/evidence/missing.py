"""Missing outputs: how many, what their absence depends on, and how much it could matter."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.evidence.dependence import dependence
from stopwise.auditing.interval import Interval
from stopwise.beliefs.completion import completed_range, completed_shares, nearest
from stopwise.cascade import BoolArray, Cascade, FloatArray, read_only
from stopwise.disagreement import sound_stage
from stopwise.patterns import PatternTable

SUSPICIOUS = 0.01  # a p-value below this, split over all tests, counts as "depends on outputs"
NEGLIGIBLE = 0.01  # a range of adjusted shares no wider than this is given as one number

Pair = tuple[int, int]


@dataclass(frozen=True)
class PairRange:
    """The disagreement of one pair under three readings of the missing outputs.

    ``plain`` is the share where both ran. ``adjusted`` weights these cases as if outputs were
    missing at random given the outputs shown. ``worst`` allows the missing ones to be anything.
    Where no complete case shows the same as one with a gap, that gap stays open: ``adjusted_range``
    is what the adjusted share can be, and ``adjusted`` is NaN where that is not about one number.
    """

    shallow: int
    deep: int
    plain: float
    adjusted: float
    adjusted_range: Interval
    worst: Interval

    @property
    def has_gaps(self) -> bool:
        """Whether some case does not show both outputs."""
        return self.worst.low < self.worst.high


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
        """The tests whose gaps depend on the right answer, as labels show; nothing adjusts that."""
        return _suspicious(self.p_values_of_labels)

    def adjustable_pairs(self, cascade: Cascade) -> frozenset[Pair]:
        """Return the pairs whose gaps may depend on nothing but the outputs before them."""
        others = {*_suspicious(self.p_values_of_others), *self.refuted_tests}
        return frozenset(
            (pair.shallow, pair.deep)
            for pair in self.pairs
            if pair.has_gaps and not others & {*cascade.paths[pair.deep]}
        )

    def adjusted(self, disagreement: FloatArray) -> FloatArray:
        """Return the disagreement with the adjusted share of each pair with gaps; (K, K)."""
        shares = disagreement.copy()
        for pair in self.pairs:
            if pair.has_gaps:
                i, j = pair.shallow, pair.deep
                shares[i, j] = shares[j, i] = pair.adjusted
        return shares

    def estimated(self, disagreement: FloatArray) -> FloatArray:
        """Return the same for estimates, which need a number also where gaps stay open; (K, K)."""
        shares = disagreement.copy()
        for pair in self.pairs:
            i, j, range_ = pair.shallow, pair.deep, pair.adjusted_range
            shares[i, j] = shares[j, i] = nearest(pair.plain, range_.low, range_.high)
        return read_only(shares)


def missing_outputs(histogram: PatternTable) -> MissingOutputs | None:
    """Return what is missing in a log, ``None`` where nothing is."""
    if histogram.is_complete:
        return None
    cascade, n = histogram.cascade, histogram.n_cases
    incomplete = ~histogram.shown.all(axis=1)
    prefix = incomplete & _is_prefix(histogram)
    shares = completed_shares(histogram)
    pairs = []
    adjusted = np.full((cascade.n_stages,) * 2, math.nan)
    np.fill_diagonal(adjusted, 0.0)
    for i, j in path_pairs(cascade):
        d, seen = int(histogram.n_disagreed[i, j]), int(histogram.n_seen[i, j])
        worst = Interval(d / n, (d + n - seen) / n)
        plain = float(histogram.disagreement[i, j])
        range_ = Interval(*completed_range(histogram, shares, i, j))
        is_narrow = range_.width <= NEGLIGIBLE
        middle = (range_.low + range_.high) / 2 if is_narrow else math.nan
        adjusted[i, j] = adjusted[j, i] = middle
        pairs.append(PairRange(i, j, plain, middle, range_, worst))
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


def _suspicious(p_values: tuple[float, ...]) -> tuple[int, ...]:
    level = SUSPICIOUS / (2 * max(len(p_values), 1))
    return tuple(k for k, p in enumerate(p_values) if p < level)


def _is_prefix(histogram: PatternTable) -> BoolArray:
    """For each pattern whether no test ran after one that did not."""
    is_prefix = np.ones(len(histogram.codes), dtype=bool)
    for k, parent in enumerate(histogram.cascade.parents):
        if parent is not None:
            is_prefix &= histogram.shown[:, parent] | ~histogram.shown[:, k]
    return is_prefix


def _by_outputs(histogram: PatternTable, k: int) -> tuple[float, float]:
    """Return the p-values of test k: for the outputs before it and for the others."""
    *before, _ = histogram.cascade.paths[k]
    others = [j for j in range(histogram.n_stages) if j not in {*before, k}]
    return dependence(histogram, k, before), dependence(histogram, k, others, given=before)


def path_pairs(cascade: Cascade) -> tuple[Pair, ...]:
    """Return the pairs (i, j) with i on the path to j: in a chain all with i < j."""
    return tuple((i, j) for j, path in enumerate(cascade.paths) for i in path[:-1])
