"""What labels say at given prices: differences of error rates, the best stage, weak dominance."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import combinations

import numpy as np

from stopwise.auditing.assumptions import Assumption, RateBounds
from stopwise.auditing.bounds.regrets import possible_stages
from stopwise.auditing.evidence.verdict import Verdict
from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.labelled_cases import LabelledCases, level_of_each
from stopwise.cascade import Cascade, FloatArray, read_only
from stopwise.disagreement import dominated_pairs


class Holds(Enum):
    """Whether labels show that weak dominance holds."""

    YES = "holds"
    NO = "fails"
    OPEN = "open"


@dataclass(frozen=True, eq=False)
class LabelEvidence:
    """What the labels say: differences of error rates, the stage they favour, weak dominance.

    ``estimates`` and the two bounds are for γ_i - γ_j, shape (K, K), ``error_rates`` bounds for
    each γ_k; all bounds hold together. ``possible_stages`` are those that may be best by them;
    ``n_telling`` of the labels are of cases on which tests disagree: only these compare tests.
    """

    n_labels: int
    n_telling: int
    estimates: FloatArray
    low: FloatArray
    high: FloatArray
    error_rates: tuple[Interval, ...]
    stage: int
    possible_stages: tuple[int, ...]
    weak_dominance: Holds

    def interval(self, i: int, j: int) -> Interval:
        """Return the bounds on γ_i - γ_j."""
        return Interval(float(self.low[i, j]), float(self.high[i, j]))

    def as_assumptions(self) -> tuple[Assumption, ...]:
        """Return the bounds in the form in which they sharpen the identified set."""
        bounds: dict[tuple[int, int | None], Interval] = {
            (i, j): self.interval(i, j) for i, j in combinations(range(len(self.low)), 2)
        }
        bounds |= {(k, None): rate for k, rate in enumerate(self.error_rates)}
        return tuple(RateBounds("by the labels", *ij, x.low, x.high) for ij, x in bounds.items())


def label_evidence(
    cases: LabelledCases, verdict: Verdict, cascade: Cascade, *, alpha: float
) -> LabelEvidence:
    """Return what labels say at the prices of ``cascade``."""
    K, C = cascade.n_stages, cascade.cumulative_costs
    share = level_of_each(alpha, K)
    estimates, low, high = np.zeros((K, K)), np.zeros((K, K)), np.zeros((K, K))
    for i, j in combinations(range(K), 2):
        bounds = cases.difference(i, j, alpha=share)
        estimates[i, j] = cases.estimate(i, j)
        low[i, j], high[i, j] = bounds.low, bounds.high
        estimates[j, i], low[j, i], high[j, i] = -estimates[i, j], -bounds.high, -bounds.low
    possible = possible_stages(high, C)
    return LabelEvidence(
        n_labels=cases.n_labels,
        n_telling=cases.n_telling,
        estimates=read_only(estimates),
        low=read_only(low),
        high=read_only(high),
        error_rates=tuple(cases.error_rate(k, alpha=share) for k in range(K)),
        stage=int(np.argmin(np.nan_to_num(estimates[:, 0], nan=np.inf) + C)),
        possible_stages=possible,
        weak_dominance=_weak_dominance(possible, verdict, cascade),
    )


def _weak_dominance(possible: tuple[int, ...], verdict: Verdict, cascade: Cascade) -> Holds:
    """Weak dominance holds if, at each stage that may be best, prices cover what follows."""
    kinds = set()
    for stage in possible:
        signs = [verdict.pair(i, j).settled for i, j in dominated_pairs(cascade, stage)]
        kinds.add(
            Holds.YES if all(s > 0 for s in signs) else Holds.NO if min(signs) < 0 else Holds.OPEN
        )
    return kinds.pop() if len(kinds) == 1 else Holds.OPEN
