"""A few labels, sorted by outputs: how often each test was right in each stratum."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.evidence.sequences import kl_ball
from stopwise.auditing.interval import Interval
from stopwise.beliefs.completion import completed_shares
from stopwise.cascade import TOLERANCE, BoolArray, Cascade, FloatArray, IntArray, read_only
from stopwise.errors import LogError
from stopwise.patterns import MISSING, PatternTable, agreement_of_rows, row_numbers

LabelledCase = tuple[Sequence[Hashable], Hashable, int]  # outputs, label, number of cases

UNKNOWN = MISSING - 1  # the code of a value that no test gives
UNEVEN = 1.5  # weights count as even while the largest square is at most this many mean squares
BORROWED = 1.0  # how many labels the average of similar patterns is worth to each of them


@dataclass(frozen=True, eq=False)
class LabelledCases:
    """How often each group of tests was right, in each stratum of the log.

    A stratum is a pattern or, where cases were drawn from all that agree in the same way, an
    agreement. In a stratum, an outcome of a label is which of the tests are right: those that gave
    some value, or none.
    """

    blocks: IntArray  # which tests agree in each stratum, as `agreement` has it; shape (S, K)
    possible: BoolArray  # which outcomes a stratum has; shape (S, O)
    counts: IntArray | FloatArray  # the number of labels of each; shape (S, O)
    sizes: IntArray  # the number of cases in each stratum; shape (S,)
    # The share of each stratum if outputs are missing at random given those shown; shape (S,).
    completed: FloatArray
    cascade: Cascade  # the tests

    @cached_property
    def losses(self) -> FloatArray:
        """Which tests are wrong in each stratum and outcome, NaN for a gap; shape (S, O, K)."""
        blocks, outcomes = self.blocks[:, None, :], np.arange(self.counts.shape[1])[:, None]
        return np.where(blocks == MISSING, math.nan, blocks != outcomes)

    @property
    def shares(self) -> FloatArray:
        """The share of the log's cases in each stratum; shape (S,)."""
        return np.asarray(self.sizes / self.sizes.sum())

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.counts.sum())

    @property
    def n_telling(self) -> int:
        """The number of labelled cases on which tests disagree; only these compare tests."""
        low, high = np.nanmin(self.losses, axis=2), np.nanmax(self.losses, axis=2)
        return int(self.counts[((low < high) & self.possible).any(axis=1)].sum())

    @property
    def is_whole(self) -> BoolArray:
        """For each stratum whether every case has a label; shape (S,)."""
        return np.asarray(np.abs(self.counts.sum(axis=1) - self.sizes) < 0.5)

    @classmethod
    def of(
        cls,
        histogram: PatternTable,
        labels: Sequence[LabelledCase],
        *,
        by_agreement: bool = False,
        space: LabelSpace = LabelSpace(),  # noqa: B008  # frozen
    ) -> LabelledCases:
        """Sort labelled cases, given as (outputs, label, times), into the strata of a log.

        Patterns that agree in the same way are one stratum only if each of their cases stands for
        equally many cases with gaps. Otherwise a label would count for the wrong share.
        """
        rows, n_cases, K = histogram.codes, histogram.weights, histogram.n_stages
        blocks = agreement_of_rows(rows, keep_gaps=True)
        completed = completed_shares(histogram)
        keys = np.arange(len(rows))
        if by_agreement:
            ratios = np.round(completed / n_cases * histogram.n_cases, 9)
            _, ratio = np.unique(ratios, return_inverse=True)
            keys = row_numbers(np.column_stack([blocks, ratio]))
        _, first, stratum = np.unique(keys, return_index=True, return_inverse=True)
        sizes = np.bincount(stratum, n_cases).astype(np.int64)
        # Outcomes are numbered by the first test whose answer is right, K for nobody's.
        possible = np.zeros((len(sizes), K + 1), dtype=bool)
        may_be_right = space.possible(histogram.classes)
        is_outcome = np.isin(rows, may_be_right) & (blocks == np.arange(K))
        nobody = (is_outcome.sum(axis=1) < len(may_be_right)) | (rows == MISSING).any(axis=1)
        np.logical_or.at(possible, stratum, np.column_stack([is_outcome, nobody | space.unseen]))
        counts = np.zeros(possible.shape, dtype=np.int64)
        for r, outcome, times in _outcomes(histogram, labels):
            counts[stratum[r], outcome] += times
            possible[stratum[r], outcome] = True
        return cls(
            blocks=read_only(blocks[first]),
            possible=read_only(possible),
            counts=read_only(counts),
            sizes=read_only(sizes),
            completed=read_only(np.bincount(stratum, completed).astype(np.float64)),
            cascade=histogram.cascade,
        )

    def estimate(self, i: int, j: int) -> float:
        """Estimate γ_i - γ_j, the mean of 1{i wrong} - 1{j wrong}; cases that agree add nothing.

        The mean of a stratum's own labels is shrunk, by the weight of one label, to the mean of all
        strata that agree in the same way. That mean is shrunk to the mean of all strata in which i
        and j differ, and this one to an even split. Where all cases have labels, nothing is
        borrowed. Where an output is missing, cases that show it and the same others stand in.
        """
        gain = self.losses[:, :, i] - self.losses[:, :, j]
        has_both = ~np.isnan(gain).any(axis=1)
        gain = np.where(self.possible, np.nan_to_num(gain), 0.0)
        differ = has_both & (gain != 0).any(axis=1)
        sums, n = (self.counts * gain).sum(axis=1), self.counts.sum(axis=1)
        even = gain.sum(axis=1) / self.possible.sum(axis=1)
        pooled = (sums[differ].sum() + even) / (n[differ].sum() + 1)
        pooled = np.where(differ, np.clip(pooled, gain.min(axis=1), gain.max(axis=1)), 0.0)
        _, types = np.unique(row_numbers(self.blocks), return_inverse=True)
        by_type = np.zeros((int(types.max()) + 1, self.counts.shape[1]))
        np.add.at(by_type, types, self.counts)
        similar = by_type[types] * self.possible  # what is right there may never be right here
        prior = ((similar * gain).sum(axis=1) + pooled) / (similar.sum(axis=1) + 1)
        mean = (sums + BORROWED * prior) / (n + BORROWED)
        mean[self.is_whole] = sums[self.is_whole] / n[self.is_whole]
        total = float(self.completed[has_both].sum())
        return float(self.completed[has_both] @ mean[has_both]) / total if total else math.nan

    def difference(self, i: int, j: int, *, alpha: float) -> Interval:
        """Return bounds on γ_i - γ_j that hold with chance 1 - alpha."""
        unit = np.eye(self.cascade.n_stages)
        return self.interval(unit[i] - unit[j], alpha=alpha)

    def error_rate(self, k: int, *, alpha: float) -> Interval:
        """Return bounds on γ_k that hold with chance 1 - alpha."""
        return self.interval(np.eye(self.cascade.n_stages)[k], alpha=alpha)

    def interval(self, direction: FloatArray, *, alpha: float) -> Interval:
        """Return bounds on direction · γ that hold with chance 1 - alpha.

        A stratum whose cases all have labels is known, one without labels may be anything. The
        others have the share P of all cases and N labels, stratum s of them p_s and m_s. Each
        label's direction · ℓ, scaled to [-1, 1], gets the weight (p_s / P) / (m_s / N). The
        expectation of their mean is the mean over those cases; see `_mean_within`. The numbers of
        labels must not depend on what the labels say.
        """
        tests = np.flatnonzero(direction)
        gain = self.losses[:, :, tests] @ direction[tests]
        unknown = np.isnan(gain).any(axis=1)
        gain = np.nan_to_num(gain)
        least = np.where(self.possible, gain, math.inf).min(axis=1)
        most = np.where(self.possible, gain, -math.inf).max(axis=1)
        least[unknown] = np.minimum(direction, 0).sum()
        most[unknown] = np.maximum(direction, 0).sum()
        n = self.counts.sum(axis=1)
        whole = self.is_whole & ~unknown
        least[whole] = most[whole] = (self.counts * gain).sum(axis=1)[whole] / n[whole]
        sampled = (n > 0) & (most > least) & ~unknown
        low = float(self.shares[~sampled] @ least[~sampled])
        high = float(self.shares[~sampled] @ most[~sampled])
        if sampled.any():
            bottom, top = float(least[sampled].min()), float(most[sampled].max())
            P, N = float(self.shares[sampled].sum()), float(n[sampled].sum())
            weights = (self.shares[sampled] / P) / (n[sampled] / N)
            values = (2 * gain[sampled] - bottom - top) / (top - bottom)
            mean = float(weights @ (self.counts[sampled] * values).sum(axis=1)) / N
            ends = _mean_within(mean, weights, n[sampled], alpha=alpha)
            low += P * (bottom + top + (top - bottom) * ends.low) / 2
            high += P * (bottom + top + (top - bottom) * ends.high) / 2
        return Interval(low - TOLERANCE, high + TOLERANCE)  # even exact values are rounded


def _outcomes(
    histogram: PatternTable, labels: Sequence[LabelledCase]
) -> Iterator[tuple[int, int, int]]:
    """Yield the pattern of labelled cases, their outcome and how many they are, or raise."""
    place = {tuple(row): r for r, row in enumerate(histogram.codes.tolist())}
    code = {None: MISSING, **{value: c for c, value in enumerate(histogram.classes)}}
    n_labels = np.zeros(len(place), dtype=np.int64)
    for outputs, label, times in labels:
        row = tuple(code.get(y, UNKNOWN) for y in outputs)
        if all(y == MISSING for y in row):
            continue  # such cases are not in the histogram either
        if row not in place:
            raise LogError(f"a labelled case must be one of the log, got outputs {[*outputs]!r}")
        right = code.get(label, UNKNOWN)
        n_labels[place[row]] += times
        yield place[row], row.index(right) if right in row else len(row), times
    for r in np.flatnonzero(n_labels > histogram.weights):
        values = [histogram.value(c) for c in histogram.codes[r].tolist()]
        raise LogError(
            f"a case must have one label, got {n_labels[r]:,} labels for outputs {values!r}, "
            f"which the log has {histogram.weights[r]:,} times"
        )


def _mean_within(
    mean: float, weights: FloatArray, n: IntArray | FloatArray, *, alpha: float
) -> Interval:
    """Bound the expectation of a weighted mean of N independent values in [-1, 1].

    With v the largest weight, kl between (mean / v + 1) / 2 and its expectation exceeds
    log(2 / α) / N with chance at most α, whether or not the values have one law (Hoeffding, Theorem
    1). The mean itself is off by more than √(2 log(2 / α) Σ w² / N²) with chance at most α (Theorem
    2). The first is narrower where the mean is near an end, the second where weights are uneven;
    the choice depends on the weights alone. Both also hold for draws without replacement.
    """
    N, largest = float(n.sum()), float(weights.max())
    squares = float(weights**2 @ n) / N
    if largest**2 > UNEVEN * squares:
        off = math.sqrt(2 * math.log(2 / alpha) * squares / N)
        low, high = mean - off, mean + off
    else:
        ball = kl_ball((mean / largest + 1) / 2, math.log(2 / alpha) / N)
        low, high = largest * (2 * ball.low - 1), largest * (2 * ball.high - 1)
    return Interval(max(low, -1.0), min(high, 1.0))


def level_of_each(alpha: float, n_stages: int) -> float:
    """Return the level of one interval where all differences and error rates share ``alpha``."""
    return alpha / (n_stages * (n_stages + 1) // 2)
