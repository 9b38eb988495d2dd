"""A few labels: what they say about differences of error rates, and about weak dominance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np

from stopwise.audit.assumptions import DifferenceWithin
from stopwise.audit.corners import LabelSpace
from stopwise.audit.histogram import MISSING, Histogram
from stopwise.audit.prices import possible_stages
from stopwise.audit.sequences import Interval, kl_ball
from stopwise.audit.verdict import Verdict
from stopwise.cascade import Cascade, FloatArray, IntArray, read_only
from stopwise.disagreement import dominated_pairs
from stopwise.errors import LogError

BORROWED = 1.0  # how many labels the average of similar patterns is worth to each of them

Blocks = tuple[int, ...]


def agreement(pattern: Sequence[int]) -> Blocks:
    """Return who agrees with whom: for each test the first test with the same output.

    A missing output is -1.

    >>> agreement([7, 3, 7, 3])
    (0, 1, 0, 1)
    """
    first: dict[int, int] = {MISSING: MISSING}
    return tuple(first.setdefault(y, k) for k, y in enumerate(pattern))


@dataclass(frozen=True, eq=False)
class LabelledCases:
    """How often each group of tests was right, in each stratum of the log.

    A stratum is a pattern or, where cases were drawn from all that agree in the same way, an
    agreement. Given the stratum, what a label says is which of the tests are right: those that
    gave some value, or none.

    Parameters
    ----------
    losses
        For each stratum and outcome which tests are wrong; NaN where a test gave nothing; shape
        (S, O, K).
    possible
        Which outcomes a stratum has; shape (S, O).
    counts
        How often each was found; shape (S, O).
    shares
        The share of the log's cases in each stratum; shape (S,).
    types
        Strata with the same number here agree in the same way; shape (S,).
    cascade
        The tests.
    """

    losses: FloatArray
    possible: np.ndarray[tuple[int, int], np.dtype[np.bool_]]
    counts: IntArray
    shares: FloatArray
    types: IntArray
    cascade: Cascade

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.counts.sum())

    @classmethod
    def of(
        cls,
        histogram: Histogram,
        labelled: Sequence[tuple[Sequence[Hashable], Hashable, int]],
        *,
        by_agreement: bool = False,
        labels: LabelSpace = LabelSpace(),  # noqa: B008  # frozen
    ) -> LabelledCases:
        """Sort labelled cases, given as (outputs, label, times), into the strata of a log."""
        code = {value: c for c, value in enumerate(histogram.classes)}
        shares: dict[tuple[int, ...], float] = {}
        opens: dict[
            tuple[int, ...], set[int]
        ] = {}  # outcomes: whose answer is right, K for nobody's
        never = {code[v] for v in labels.never_right if v in code}
        for row, p in zip(
            histogram.patterns.tolist(), histogram.probabilities.tolist(), strict=True
        ):
            key = agreement(row) if by_agreement else tuple(row)
            shares[key] = shares.get(key, 0.0) + p
            may_be = opens.setdefault(key, set())
            may_be |= {b for b, y in zip(agreement(row), row, strict=True) if y not in never}
            rest = set(range(histogram.n_classes)) - set(row) - never
            if labels.unseen or rest or MISSING in row:
                may_be.add(len(row))
            may_be.discard(MISSING)
        keys = list(shares)
        place = {key: s for s, key in enumerate(keys)}
        found: dict[tuple[int, int], int] = {}
        for outputs, label, times in labelled:
            row = [MISSING if y is None else code.get(y, MISSING - 1) for y in outputs]
            if all(y == MISSING for y in row):
                continue  # such cases are not in the histogram either
            key = agreement(row) if by_agreement else tuple(row)
            if key not in place:
                raise LogError(
                    f"a labelled case must be one of the log, got outputs {list(outputs)!r}"
                )
            right = code.get(label)
            outcome = row.index(right) if right is not None and right in row else len(row)
            found[place[key], outcome] = found.get((place[key], outcome), 0) + times
            opens[key].add(outcome)
        return cls._arrays(keys, shares, opens, found, histogram.cascade)

    @classmethod
    def _arrays(
        cls,
        keys: list[tuple[int, ...]],
        shares: dict[tuple[int, ...], float],
        opens: dict[tuple[int, ...], set[int]],
        found: dict[tuple[int, int], int],
        cascade: Cascade,
    ) -> LabelledCases:
        K = cascade.n_stages
        blocks = np.array([agreement(key) for key in keys])  # (S, K)
        outcomes = np.arange(K + 1)
        losses = (blocks[:, None, :] != outcomes[None, :, None]).astype(np.float64)
        losses[np.broadcast_to((blocks == MISSING)[:, None, :], losses.shape)] = math.nan
        possible = np.zeros((len(keys), K + 1), dtype=bool)
        for s, key in enumerate(keys):
            possible[s, list(opens[key])] = True
        counts = np.zeros((len(keys), K + 1), dtype=np.int64)
        for (s, outcome), times in found.items():
            counts[s, outcome] += times
        number: dict[Blocks, int] = {}
        types = [number.setdefault(tuple(row), len(number)) for row in blocks.tolist()]
        return cls(
            read_only(losses),
            possible,
            read_only(counts),
            read_only(np.array([shares[key] for key in keys])),
            read_only(np.array(types, dtype=np.int64)),
            cascade,
        )

    def outcome_rates(self) -> FloatArray:
        """Estimate how likely each outcome is in each stratum, few labels leaning on like strata.

        A stratum's own shares count as many labels as it has, those of all strata that agree in the
        same way count as one more, and an even split counts as one label there.
        """
        n_types = int(self.types.max()) + 1
        by_type = np.zeros((n_types, self.counts.shape[1]))
        np.add.at(by_type, self.types, self.counts)
        even = self.possible / self.possible.sum(axis=1, keepdims=True)
        alike = by_type[self.types] * self.possible  # what was right there may be never right here
        alike = (alike + even) / (alike.sum(axis=1, keepdims=True) + 1)
        own = self.counts.sum(axis=1, keepdims=True)
        return np.asarray((self.counts + BORROWED * alike) / (own + BORROWED))

    def estimate(self, i: int, j: int) -> float:
        """Estimate γ_i - γ_j, the mean of 1{i wrong} - 1{j wrong}; cases that agree add nothing."""
        gain = np.nan_to_num(self.losses[:, :, i] - self.losses[:, :, j])
        return float(self.shares @ (self.outcome_rates() * gain).sum(axis=1))

    def interval(self, i: int, j: int, *, alpha: float) -> Interval:
        """Return bounds on γ_i - γ_j that hold with chance 1 - alpha.

        With m_s labels in stratum s, N in all, and p_s its share of the P cases on which i and j
        disagree, each label's 1{i wrong} - 1{j wrong} gets the weight (p_s / P) / (m_s / N). Their
        mean has the expectation (γ_i - γ_j) / P, and for independent values in [0, 1] the
        divergence kl(mean, expectation) exceeds log(2 / α) / N with chance at most α, whether or
        not they have one law (Hoeffding, Theorem 1). The numbers of labels must not depend on what
        the labels said. A stratum without labels may be anything.
        """
        gain = self.losses[:, :, i] - self.losses[:, :, j]
        unknown = np.isnan(gain).any(axis=1)
        gain = np.where(self.possible, np.nan_to_num(gain), 0.0)
        apart = (gain != 0).any(axis=1) & ~unknown
        n = self.counts.sum(axis=1)
        blind = apart & (n == 0)
        slack = float(self.shares[unknown].sum())
        low = float(self.shares[blind] @ gain[blind].min(axis=1)) - slack
        high = float(self.shares[blind] @ gain[blind].max(axis=1)) + slack
        told = apart & (n > 0)
        if told.any():
            P, N = float(self.shares[told].sum()), float(n[told].sum())
            weights = (self.shares[told] / P) / (n[told] / N)
            mean = float(weights @ (self.counts[told] * gain[told]).sum(axis=1)) / N
            scale = float(weights.max())
            ball = kl_ball((mean / scale + 1) / 2, math.log(2 / alpha) / N)
            low += P * scale * max(2 * ball.low - 1, -1 / scale)
            high += P * scale * min(2 * ball.high - 1, 1 / scale)
        return Interval(max(low, -1.0), min(high, 1.0))


class Holds(Enum):
    """Whether labels show that weak dominance holds."""

    YES = "holds"
    NO = "fails"
    OPEN = "open"


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """What the labels say: differences of error rates, the stage they favour, weak dominance.

    ``estimates`` and the two bounds are for γ_i - γ_j, shape (K, K); all bounds hold together.
    ``possible_stages`` are those that may be best by them.
    """

    n_labels: int
    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    stage: int
    possible_stages: tuple[int, ...]
    weak_dominance: Holds

    def interval(self, i: int, j: int) -> Interval:
        """Return the bounds on γ_i - γ_j."""
        return Interval(float(self.low[i, j]), float(self.high[i, j]))

    def as_assumptions(self) -> tuple[DifferenceWithin, ...]:
        """Return the bounds in the form in which they sharpen the identified set."""
        K = len(self.estimates)
        return tuple(
            DifferenceWithin(i, j, float(self.low[i, j]), float(self.high[i, j]))
            for i in range(K)
            for j in range(i + 1, K)
        )


def alpha_of_a_pair(alpha: float, n_stages: int) -> float:
    """Return the part of ``alpha`` for each pair of stages, so that all intervals hold together."""
    return alpha / max(n_stages * (n_stages - 1) // 2, 1)


def label_evidence(
    cases: LabelledCases, verdict: Verdict, cascade: Cascade, *, alpha: float
) -> LabelEvidence:
    """Return what labels say at the prices of ``cascade``."""
    K, C = cascade.n_stages, cascade.cumulative_costs
    share = alpha_of_a_pair(alpha, K)
    estimates, low, high = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for i in range(K):
        for j in range(i + 1, K):
            bounds = cases.interval(i, j, alpha=share)
            estimates[i, j] = cases.estimate(i, j)
            low[i, j], high[i, j] = bounds.low, bounds.high
            estimates[j, i], low[j, i], high[j, i] = -estimates[i, j], -bounds.high, -bounds.low
    possible = possible_stages(high, C)
    return LabelEvidence(
        n_labels=cases.n_labels,
        estimates=read_only(estimates),
        low=read_only(low),
        high=read_only(high),
        stage=int(np.argmin(estimates[:, 0] + C)),
        possible_stages=possible,
        weak_dominance=_weak_dominance(possible, verdict, cascade),
    )


def _weak_dominance(possible: tuple[int, ...], verdict: Verdict, cascade: Cascade) -> Holds:
    """Weak dominance holds if, at each stage that may be best, prices cover what follows."""
    holds = []
    for stage in possible:
        signs = [verdict.pair(i, j).settled for i, j in dominated_pairs(cascade, stage)]
        holds.append(
            Holds.YES if all(s > 0 for s in signs) else Holds.NO if min(signs) < 0 else Holds.OPEN
        )
    kinds = set(holds)
    return kinds.pop() if len(kinds) == 1 else Holds.OPEN
