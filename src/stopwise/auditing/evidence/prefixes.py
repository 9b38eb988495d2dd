"""Bounds on disagreement if gaps depend on nothing but the outputs before them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from stopwise.auditing.evidence.sequences import BettingSequence
from stopwise.auditing.interval import Interval
from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import MISSING, PatternTable

LEAST_ALPHA = 1e-300  # for many values after many tests, where a level would underflow


def interval_at_random(
    histogram: PatternTable, shallow: int, deep: int, *, alpha: float
) -> Interval:
    """Bound P(Y^i ≠ Y^j) if whether a test ran depends on nothing but the outputs before it.

    Then the cases that got test k after the prefix y_1 … y_k-1 are like all with that prefix, and

        P(Y^i ≠ Y^j) = Σ P(y_1) P(y_2 | y_1) … P(y_j-1 | y_1 … y_j-2) P(Y^j ≠ y_i | y_1 … y_j-1)

    has factors that are each observed where their test ran. Each has a confidence sequence at a
    level that is fixed beforehand: the tests share ``alpha``, and the M^(k-1) prefixes that test k
    can have share its part. From the last test back, the sum is made as large and as small as all
    of them allow. A prefix after which no case went on allows anything. A case counts up to its
    first gap.
    """
    path = histogram.cascade.paths[deep]
    outputs, counts = histogram.codes[:, path], histogram.weights
    M, last = histogram.n_classes, len(path) - 1
    node, n_nodes = np.zeros(len(outputs), dtype=np.int64), 1
    steps = []  # for each test: the prefix and the count of each answer, the number of prefixes
    for k in range(last):
        ran = outputs[:, k] != MISSING
        outputs, counts = outputs[ran], counts[ran]
        answers, child = np.unique(node[ran] * M + outputs[:, k], return_inverse=True)
        steps.append((answers // M, _sums(child, counts, len(answers)), n_nodes))
        node, n_nodes = child, len(answers)
    ran = outputs[:, last] != MISSING
    differ = ran & (outputs[:, last] != outputs[:, path.index(shallow)])
    level = alpha / len(path)
    low, high = _intervals(
        _sums(node[differ], counts[differ], n_nodes),
        _sums(node[ran], counts[ran], n_nodes),
        level * float(M) ** -last,
    )
    for k in reversed(range(last)):
        # The shares of two values are one chance; of more values each has its own.
        shares = _Shares.of(*steps[k], M, level * float(M) ** -k / (M if M > 2 else 1))
        low, high = 1 - shares.largest_mean(1 - low), shares.largest_mean(high)
    return Interval(max(float(low[0]), 0.0), min(float(high[0]), 1.0))


@dataclass(frozen=True, eq=False)
class _Shares:
    """Bounds on how likely each answer is after each prefix; answers never given are pooled."""

    parent: IntArray
    low: FloatArray
    high: FloatArray
    n_answers: int

    @classmethod
    def of(
        cls, parent: IntArray, counts: FloatArray, n_parents: int, n_values: int, alpha: float
    ) -> _Shares:
        total = _sums(parent, counts, n_parents)
        low, high = _intervals(counts, total[parent], alpha)
        others = n_values - np.bincount(parent, minlength=n_parents)
        _, each = _intervals(np.zeros(n_parents), total, alpha)
        return cls(
            np.concatenate([parent, np.arange(n_parents)]),
            np.concatenate([low, np.zeros(n_parents)]),
            np.concatenate([high, np.minimum(others * each, 1.0)]),
            len(parent),
        )

    def largest_mean(self, values: FloatArray) -> FloatArray:
        """Return after each prefix the largest mean of values in [0, 1], one for each answer.

        Every answer gets its least share, and the remainder goes to the largest values first.
        Answers that were never given may have the value 1.
        """
        n_parents = len(self.parent) - self.n_answers
        values = np.concatenate([values, np.ones(n_parents)])
        order = np.lexsort((-values, self.parent))
        parent, low, values = self.parent[order], self.low[order], values[order]
        room = self.high[order] - low
        room_before = np.cumsum(room) - room
        first = np.searchsorted(parent, np.arange(n_parents))
        remainder = 1 - _sums(parent, low, n_parents)
        more = np.clip(remainder[parent] - (room_before - room_before[first][parent]), 0.0, room)
        return _sums(parent, (low + more) * values, n_parents)


def _sums(index: IntArray, values: FloatArray | IntArray, n: int) -> FloatArray:
    return np.bincount(index, values, n).astype(np.float64)


def _intervals(totals: FloatArray, n: FloatArray, alpha: float) -> tuple[FloatArray, FloatArray]:
    level = max(alpha, LEAST_ALPHA)
    intervals = [_interval(s, m, level) for s, m in zip(totals.tolist(), n.tolist(), strict=True)]
    return np.array([x.low for x in intervals]), np.array([x.high for x in intervals])


@lru_cache(maxsize=200_000)  # the pairs that end at one test ask for the same ones
def _interval(total: float, n: float, alpha: float) -> Interval:
    return BettingSequence(alpha).interval(total, n)
