"""A table of patterns as the model takes it: counts of cases, by value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import BoolArray, FloatArray, IntArray
from stopwise.errors import LogError
from stopwise.patterns import MISSING, PatternTable

LAW_CASES = 1e6  # what a law counts for: so many cases that no prior matters
MOST_CASES = 5e8  # more say no more, and NumPy draws samples from fewer than 1e9 only
LEAST_TESTS = 3  # that vary and were seen together; two tests fit many error rates
NEVER_FOLLOWED = 100  # cases with the same outputs, none with a third test: it never follows them
MOST_STOPPED = 0.1  # share of such cases up to which outputs still tell error rates


@dataclass(frozen=True, eq=False)
class Cases:
    """What is fitted."""

    codes: IntArray  # one row a pattern, -1 where there is no output; shape (R, K)
    counts: FloatArray  # how many cases show it; shape (R,)
    is_law: bool  # whether the table was a law, known exactly, and the counts are made up

    @classmethod
    def of(cls, table: Any) -> Cases:
        """Return the cases of a table; whole numbers are counts, anything else is a law.

        A table that only says which tests agree is spread evenly over values: as many as it has
        places, so that no value stands for the first test.
        """
        if not isinstance(table, PatternTable):
            raise LogError(f"table must be a PatternTable, got {type(table).__name__}")
        if not len(table.codes):
            raise LogError("table must have at least one pattern, got none")
        counts = np.asarray(table.weights, dtype=np.float64)
        if not counts.any():
            raise LogError("table must have at least one case, got patterns of weight 0 alone")
        is_law = not np.array_equal(counts, np.floor(counts))
        if is_law:
            counts = counts * (LAW_CASES / counts.sum())
        counts = counts * min(1.0, MOST_CASES / counts.sum())
        codes = table.codes
        if table.agreement_only:
            codes, counts = _spread(codes, counts, len(table.classes))
        return cls(codes, counts, is_law)

    @property
    def tell_rates(self) -> bool:
        """Whether the tests were seen together in a way that may tell their error rates."""
        return self.has_three_tests and self.third_test_follows

    @property
    def has_three_tests(self) -> bool:
        """Whether three tests that vary, no two of which always agree, were seen together."""
        return bool(self._shows_three.any())

    @cached_property
    def third_test_follows(self) -> bool:
        """Whether, but for few cases, outputs that stopped cases were followed by a third test.

        Else what the third test says after them is not known, and many error rates fit the table.
        Of more than two values, those that tests give where they are wrong tell enough.
        """
        if self.codes.max() > 1:
            return True
        shown, never = self.codes != MISSING, 0.0
        rest = ~self._shows_three
        for seen in np.unique(shown[rest], axis=0):
            stopped = rest & (shown == seen).all(axis=1)
            complete = self._shows_three & shown[:, seen].all(axis=1)
            rows, place = np.unique(self.codes[:, seen], axis=0, return_inverse=True)
            total = np.bincount(place.reshape(-1), self.counts * stopped, len(rows))
            followed = np.bincount(place.reshape(-1), complete, len(rows)) > 0
            never += total[~followed & (total >= NEVER_FOLLOWED)].sum()
        return bool(never <= MOST_STOPPED * self.counts.sum())

    @cached_property
    def _shows_three(self) -> BoolArray:
        """Whether a pattern shows three tests, those left out that tell nothing; shape (R,)."""
        codes, shown = self.codes, self.codes != MISSING
        telling: list[int] = []
        for k, column in enumerate(codes.T):
            said = column[shown[:, k]]
            both = [shown[:, k] & shown[:, i] for i in telling]
            differs = (column[:, None] != codes[:, telling]).T
            is_copy = any(b.any() and not d[b].any() for b, d in zip(both, differs, strict=True))
            if len(said) and (said != said[0]).any() and not is_copy:
                telling.append(k)
        return np.asarray(shown[:, telling].sum(axis=1) >= LEAST_TESTS)


def _spread(codes: IntArray, counts: FloatArray, M: int) -> tuple[IntArray, FloatArray]:
    """Return the patterns under every turn of the values, each with its part of the cases."""
    rng = np.random.default_rng(0)
    parts = rng.multinomial(np.rint(counts).astype(np.int64), np.full(M, 1 / M))
    turned = [np.where(codes == MISSING, MISSING, (codes + turn) % M) for turn in range(M)]
    times = parts.T.reshape(-1).astype(np.float64)
    return np.concatenate(turned)[times > 0], times[times > 0]
