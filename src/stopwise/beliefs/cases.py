"""A table of patterns as the model takes it: counts of cases, by value."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import LogError
from stopwise.patterns import MISSING, PatternTable

LAW_CASES = 1e6  # what a law counts for: so many cases that no prior matters
MOST_CASES = 5e8  # more say no more, and NumPy draws samples from fewer than 1e9 only
LEAST_TESTS = 3  # that vary and were seen together; two tests fit many error rates


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
    def has_three_tests(self) -> bool:
        """Whether three tests that do not always say the same were seen together."""
        shown = self.codes != MISSING
        least = np.where(shown, self.codes, self.codes.max()).min(axis=0)
        together = shown[:, least < self.codes.max(axis=0)].sum(axis=1)
        return bool((together >= LEAST_TESTS).any())


def _spread(codes: IntArray, counts: FloatArray, M: int) -> tuple[IntArray, FloatArray]:
    """Return the patterns under every turn of the values, each with its part of the cases."""
    rng = np.random.default_rng(0)
    parts = rng.multinomial(np.rint(counts).astype(np.int64), np.full(M, 1 / M))
    turned = [np.where(codes == MISSING, MISSING, (codes + turn) % M) for turn in range(M)]
    times = parts.T.reshape(-1).astype(np.float64)
    return np.concatenate(turned)[times > 0], times[times > 0]
