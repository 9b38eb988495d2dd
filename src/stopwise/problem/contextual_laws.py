"""Laws of label and outputs given a context, over a fixed table of patterns.

The label is a fair coin, so outputs alone say nothing about it. A pattern says which tests are
wrong.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from stopwise.cascade import TOLERANCE, FloatArray, IntArray, read_only
from stopwise.checks import LARGEST_FEATURE
from stopwise.errors import InstanceError


class LogisticLaw(ABC):
    """Logistic coefficients and the error rate of the last test, which both laws below have.

    Parameters
    ----------
    theta
        One row for each log odds that is linear in the features, the constant first.
    last_error
        The error rate of the last test, whatever the context; below ``largest_error``.
    """

    largest_error = 1.0

    def __init__(self, theta: Any, *, last_error: float = 0.05) -> None:
        table = checked_table("theta", theta)
        if not len(table) or table.shape[1] < 2:
            raise InstanceError(
                "theta must have rows with a constant and a feature or more, not empty, "
                f"got shape {table.shape}"
            )
        if isinstance(last_error, (bool, str)) or not 0 <= last_error < self.largest_error:
            raise InstanceError(
                f"last_error must lie in [0, {self.largest_error:g}), got {last_error!r}"
            )
        self.theta = read_only(np.array(table))
        self.last_error = float(last_error)

    @property
    def n_features(self) -> int:
        """The length of a context."""
        return int(self.theta.shape[1]) - 1

    @property
    @abstractmethod
    def is_wrong(self) -> IntArray:
        """The patterns, one per row: 1 where the test of the column is wrong; shape (R, K)."""

    @abstractmethod
    def chances(self, contexts: FloatArray) -> FloatArray:
        """Return the probability of each pattern given each context; shape (n, R)."""


class NestedErrors(LogisticLaw):
    """Strong dominance given x: right answers stay right, each step corrects σ(θ_i·x) of the cases.

    Then P(Y^i ≠ Y^j | x) = γ_i(x) - γ_j(x) is the sum of the steps from i to j: exactly logistic
    for neighbours, only approximately for other pairs. ``theta`` has one row for each step from a
    test to the next; shape (K - 1, 1 + d).
    """

    @property
    def is_wrong(self) -> IntArray:
        """Pattern m: the first m tests are wrong, m = 0 … K."""
        K = len(self.theta) + 1
        return np.tri(K + 1, K, -1, dtype=np.int64)

    def chances(self, contexts: FloatArray) -> FloatArray:
        """Return the probability of each pattern given each context; shape (n, K + 1)."""
        corrections = logistic(contexts, self.theta).T
        all_wrong = np.full(len(contexts), self.last_error)
        none = 1 - corrections.sum(axis=0) - all_wrong
        return _checked_chances(np.vstack([none, corrections, all_wrong]).T, contexts)


class LogisticPairs(LogisticLaw):
    """Two or three tests of which every pair disagrees with probability σ(θ_ij·x), exactly.

    Of three answers at most one is odd: test 1 with probability (p_12 + p_13 - p_23) / 2, and so
    on, which must be >= 0 (triangle inequality). The label is the last test's answer, or with
    probability e = ``last_error`` the other, so γ_i(x) = e + (1 - 2 e) p_iK(x): the last test errs
    least, but a right answer may become wrong in between. ``theta`` has one row per pair, ordered
    (1, 2), (1, 3), (2, 3); shape (3, 1 + d), or (1, 1 + d) for two tests.
    """

    largest_error = 0.5

    def __init__(self, theta: Any, *, last_error: float = 0.05) -> None:
        super().__init__(theta, last_error=last_error)
        if len(self.theta) not in (1, 3):
            raise InstanceError(f"theta must have 1 or 3 rows, one per pair, got {len(self.theta)}")

    @property
    def is_wrong(self) -> IntArray:
        """None odd, each test odd in turn; then the same with the opposite label."""
        differs = [[0, 0], [1, 0]] if len(self.theta) == 1 else _ODD
        rows = np.array(differs, dtype=np.int64)
        return np.concatenate([rows, 1 - rows])

    def chances(self, contexts: FloatArray) -> FloatArray:
        """Return the probability of each pattern given each context; shape (n, R)."""
        p = logistic(contexts, self.theta).T
        # Half the sum less the pair without a test: how often that test is the odd one.
        odd = p if len(p) == 1 else p.sum(axis=0) / 2 - p[::-1]
        agreement = np.vstack([1 - odd.sum(axis=0), odd])
        patterns = np.vstack([(1 - self.last_error) * agreement, self.last_error * agreement])
        return _checked_chances(patterns.T, contexts)


# Which tests differ from the last one: none; test 1 odd; test 2 odd; test 3 odd.
_ODD = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]


def logistic(contexts: FloatArray, theta: FloatArray) -> FloatArray:
    """Return σ(θ·(1, x)) for each context and each row of ``theta``; shape (n, rows)."""
    # One row of theta after the other in memory, so that the rest is vectorised over contexts.
    z = theta[:, :1] + theta[:, 1:] @ contexts.T
    small = np.exp(-np.abs(z))  # cannot overflow
    return np.asarray(np.where(z >= 0, 1.0, small) / (1.0 + small)).T


def _checked_chances(chances: FloatArray, contexts: FloatArray) -> FloatArray:
    if len(chances) and chances.min() < -TOLERANCE:
        row, pattern = map(int, np.argwhere(chances < -TOLERANCE)[0])
        raise InstanceError(
            "theta must give probabilities: steps that sum to at most 1, disagreements that meet "
            f"the triangle inequality; got {chances[row, pattern]:.4g} at context "
            f"{contexts[row].tolist()}"
        )
    return np.maximum(chances, 0.0)


def checked_table(name: str, rows: Any) -> FloatArray:
    """Return rows of numbers of a sensible size as an array, or raise `InstanceError`."""
    try:
        table = np.asarray(rows, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InstanceError(f"{name} must be a table of numbers, got {rows!r}") from None
    if table.ndim != 2:
        raise InstanceError(f"{name} must be a finite table, not empty, got shape {table.shape}")
    bad = np.argwhere(~(np.abs(table) <= LARGEST_FEATURE))  # finds NaN as well
    if len(bad):
        row, column = map(int, bad[0])
        raise InstanceError(
            f"{name} must be finite, at most {LARGEST_FEATURE:g} in size, "
            f"got {float(table[row, column])!r} at row {row + 1}, column {column + 1}"
        )
    return table
