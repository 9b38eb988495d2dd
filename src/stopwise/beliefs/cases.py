"""A table of patterns in the form that the model is fitted to: counts of cases, by value."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.beliefs.em import Design
from stopwise.cascade import BoolArray, FloatArray, IntArray
from stopwise.errors import LogError
from stopwise.patterns import MISSING, PatternTable

LAW_CASES = 1e6  # that a law counts for: so many that no prior matters
MOST_CASES = 5e8  # more add nothing, and NumPy samples from fewer than 1e9 only
LEAST_TESTS = 3  # that vary and were seen together; two tests fit many error rates
NEVER_FOLLOWED = 100  # cases with the same outputs and no third test: it never follows these
MOST_STOPPED = 0.1  # share of such cases; with more, outputs do not determine error rates


@dataclass(frozen=True, eq=False)
class Cases:
    """What is fitted."""

    design: Design  # the patterns
    counts: FloatArray  # how many cases show each; shape (R,)
    is_law: bool  # whether the table was a law, known exactly, and the counts are made up
    agreement_only: bool  # whether the table only said which tests agree, and values are made up

    @classmethod
    def of(cls, table: Any) -> Cases:
        """Return the cases of a table; whole numbers are counts, anything else is a law.

        A table that only says which tests agree is spread evenly over as many values as it has
        classes, so that no value stands for the first test.
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
        codes, M = table.codes, len(table.classes)
        if table.agreement_only:
            codes, counts = _spread(codes, counts, M)
        return cls(Design(codes, M), counts, is_law, table.agreement_only)

    @property
    def codes(self) -> IntArray:
        """One row per pattern, -1 where there is no output; shape (R, K)."""
        return self.design.codes

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
        """Whether the outputs after which cases stopped were mostly also followed by a third test.

        Otherwise its outputs after them are unknown, and many error rates fit the table. With more
        than two values, the wrong answers of the tests tell enough.
        """
        if self.codes.max() > 1:
            return True
        was_run, never = self.codes != MISSING, 0.0
        rest = ~self._shows_three
        for tests in np.unique(was_run[rest], axis=0):
            is_end = rest & (was_run == tests).all(axis=1)
            complete = self._shows_three & was_run[:, tests].all(axis=1)
            rows, place = np.unique(self.codes[:, tests], axis=0, return_inverse=True)
            total = np.bincount(place.reshape(-1), self.counts * is_end, len(rows))
            has_third = np.bincount(place.reshape(-1), complete, len(rows)) > 0
            never += total[~has_third & (total >= NEVER_FOLLOWED)].sum()
        return bool(never <= MOST_STOPPED * self.counts.sum())

    @cached_property
    def _shows_three(self) -> BoolArray:
        """Whether a pattern shows three tests that vary and are not copies; shape (R,)."""
        codes, was_run = self.codes, self.codes != MISSING
        tests: list[int] = []
        for k, column in enumerate(codes.T):
            outputs = column[was_run[:, k]]
            both = [was_run[:, k] & was_run[:, i] for i in tests]
            differs = (column[:, None] != codes[:, tests]).T
            is_copy = any(b.any() and not d[b].any() for b, d in zip(both, differs, strict=True))
            if len(outputs) and (outputs != outputs[0]).any() and not is_copy:
                tests.append(k)
        return np.asarray(was_run[:, tests].sum(axis=1) >= LEAST_TESTS)


def _spread(codes: IntArray, counts: FloatArray, M: int) -> tuple[IntArray, FloatArray]:
    """Return the patterns under every rotation of the values, each with its part of the cases."""
    rng = np.random.default_rng(0)
    parts = rng.multinomial(np.rint(counts).astype(np.int64), np.full(M, 1 / M))
    rotations = [np.where(codes == MISSING, MISSING, (codes + step) % M) for step in range(M)]
    times = parts.T.reshape(-1).astype(np.float64)
    return np.concatenate(rotations)[times > 0], times[times > 0]
