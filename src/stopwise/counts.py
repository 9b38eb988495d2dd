"""Pair counts: how often two tests were seen together and how often they disagreed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from operator import add, sub
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import Cascade, FloatArray, IntArray, read_only
from stopwise.checks import MOST_CASES, whole_number
from stopwise.errors import CascadeError, InputError, OutputsError, StateError
from stopwise.outputs import Outputs, check_outputs

# The table of pairs grows with the square of this; nobody has so many tests.
MOST_STAGES = 1_000

# For the b-th test on a path the number of disagreements with each of the b tests before it.
Totals = Sequence[Sequence[int]]


class PairCounts:
    """How often two tests on a common path were seen together, and how often they disagreed.

    This is all that the paper's learners use. It does not grow with the number of cases, and the
    counts of two machines add up: ``a + b``.

    ``seen[j][i]`` and ``disagreed[j][i]`` (i <= j, lists of Python integers) are the storage;
    ``seen[j][j]`` is how often test j gave an output. The arrays ``n_seen``, ``n_disagreed``,
    ``n_observed``, ``n_stopped`` and ``disagreement`` are made from them on request.

    >>> counts = PairCounts(Cascade(costs=[1, 2, 3]))
    >>> counts.add([0, 1, 1])
    >>> counts.add([0, 0], times=3)
    >>> counts.disagreement[0]
    array([0.  , 0.25, 1.  ])
    """

    def __init__(self, cascade: Cascade) -> None:
        if not isinstance(cascade, Cascade):
            raise CascadeError(f"cascade must be a Cascade, got {cascade!r}")
        K = cascade.n_stages
        if K > MOST_STAGES:
            raise CascadeError(f"cascade must have at most {MOST_STAGES} stages, got {K}")
        self.cascade = cascade
        self.stopped = [0] * K
        self.seen = [[0] * (j + 1) for j in range(K)]
        self.disagreed = [[0] * (j + 1) for j in range(K)]

    def add(self, outputs: Outputs, *, stage: int | None = None, times: int = 1) -> None:
        """Count ``times`` cases that showed ``outputs``."""
        stage, values = check_outputs(outputs, self.cascade, stage)
        count = whole_number("times", times, OutputsError, least=0)
        if self.n_rounds + count > MOST_CASES:
            raise OutputsError(f"times must add up to at most {MOST_CASES} cases, got {count} more")
        self.add_checked(stage, values, count)

    def add_checked(self, stage: int, outputs: Outputs, times: int) -> None:
        """Count outputs that `check_outputs` has passed already."""
        path = self.cascade.paths[stage]
        self.stopped[stage] += times
        present = [(j, y) for j, y in zip(path, outputs, strict=True) if y is not None]
        for b, (j, y) in enumerate(present):
            seen, disagreed = self.seen[j], self.disagreed[j]
            seen[j] += times
            for i, x in present[:b]:
                seen[i] += times
                if x != y:
                    disagreed[i] += times

    def add_totals(self, stage: int, times: int, disagreed: Totals) -> None:
        """Count ``times`` complete cases at ``stage`` by the number that disagreed, pair by pair.

        ``disagreed[b][a]`` belongs to the a-th and b-th test on the path to ``stage``.
        """
        self.stopped[stage] += times
        path = self.cascade.paths[stage]
        if len(path) <= stage:  # on a tree
            self._add_on_path(path, times, disagreed)
            return
        all_seen, all_disagreed = self.seen, self.disagreed
        for j in range(stage + 1):  # whole rows at once
            row = all_seen[j]
            n = row[j]
            if row.count(n) > j:  # no output was ever missing: one number for all
                all_seen[j] = [n + times] * (j + 1)
            else:
                all_seen[j] = [n + times for n in row]
            all_disagreed[j] = row = list(map(add, all_disagreed[j], disagreed[j]))
            row.append(0)

    def _add_on_path(self, path: Sequence[int], times: int, disagreed: Totals) -> None:
        for b, j in enumerate(path):
            seen_row, disagreed_row, new = self.seen[j], self.disagreed[j], disagreed[b]
            seen_row[j] += times
            for a in range(b):
                i = path[a]
                seen_row[i] += times
                disagreed_row[i] += new[a]

    def copy(self) -> PairCounts:
        """Return the same counts in a table of their own."""
        return self + PairCounts(self.cascade)

    def scaled(self, weight: float) -> PairCounts:
        """Return the counts times ``weight``, which are no longer whole numbers."""
        total = PairCounts(self.cascade)
        total.stopped = [weight * n for n in self.stopped]  # type: ignore[misc]
        for name in ("seen", "disagreed"):
            setattr(total, name, [[weight * n for n in row] for row in getattr(self, name)])
        return total

    def faded(self, blocks: Sequence[PairCounts], weights: Sequence[float]) -> PairCounts:
        """Return the sum of ``blocks``, each times its weight."""
        total = PairCounts(self.cascade)
        for block, weight in zip(blocks, weights, strict=True):
            if block.n_rounds and weight:
                total = total + (block if weight == 1 else block.scaled(weight))
        return total

    def comparisons(self) -> dict[tuple[int, int], tuple[int, int]]:
        """Return for each pair that was seen how often it disagreed and how often it was seen."""
        return {
            (i, j): (self.disagreed[j][i], n)
            for j, row in enumerate(self.seen)
            for i, n in enumerate(row[:j])
            if n
        }

    def __add__(self, other: PairCounts) -> PairCounts:
        if not isinstance(other, PairCounts):
            return NotImplemented
        return self._combined(other, add)

    def __sub__(self, other: PairCounts) -> PairCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        if not isinstance(other, PairCounts):
            return NotImplemented
        rest = self._combined(other, sub)
        if min(rest.stopped) < 0 or any(min(row) < 0 for row in rest.seen + rest.disagreed):
            raise InputError(f"pair counts must contain those to subtract, got {other!r}")
        return rest

    def _combined(self, other: PairCounts, operation: Callable[[int, int], int]) -> PairCounts:
        if self.cascade.parents != other.cascade.parents:
            raise InputError(
                "pair counts must come from cascades of the same shape, "
                f"got parents {self.cascade.parents} and {other.cascade.parents}"
            )
        total = PairCounts(self.cascade)
        total.stopped = list(map(operation, self.stopped, other.stopped))
        for name in ("seen", "disagreed"):
            rows = zip(getattr(self, name), getattr(other, name), strict=True)
            setattr(total, name, [list(map(operation, *pair)) for pair in rows])
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PairCounts) and self.to_state() == other.to_state()

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def __repr__(self) -> str:
        return f"PairCounts(n_rounds={self.n_rounds}, n_stopped={self.stopped})"

    @property
    def n_rounds(self) -> int:
        """The number of cases counted."""
        return sum(self.stopped)

    @property
    def n_stopped(self) -> IntArray:
        """For each stage the number of cases that were stopped there (N_k)."""
        return read_only(np.array(self.stopped, dtype=np.int64))

    @property
    def n_run(self) -> list[int]:
        """For each test the number of cases in which it was run, with or without an output."""
        below = self.cascade.descendants
        return [n + sum(self.stopped[m] for m in below[j]) for j, n in enumerate(self.stopped)]

    @property
    def n_observed(self) -> IntArray:
        """For each test the number of cases in which it gave an output."""
        return read_only(np.array([row[-1] for row in self.seen], dtype=np.int64))

    @property
    def n_seen(self) -> IntArray:
        """For each pair the number of cases that showed both outputs; shape (K, K)."""
        return _symmetric(self.seen)

    @property
    def n_disagreed(self) -> IntArray:
        """For each pair the number of cases in which the two outputs differed; shape (K, K)."""
        return _symmetric(self.disagreed)

    @property
    def disagreement(self) -> FloatArray:
        """The observed share of disagreement for each pair, NaN where it was never seen."""
        return disagreement_shares(self.n_disagreed, self.n_seen)

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; `from_state` reads them back."""
        return {
            "stopped": list(self.stopped),
            "seen": [list(row) for row in self.seen],
            "disagreed": [list(row) for row in self.disagreed],
        }

    @classmethod
    def from_state(
        cls, state: Any, cascade: Cascade, *, counts_disagreement: bool = True
    ) -> PairCounts:
        """Build the counts that `to_state` described, or raise `StateError`.

        Counts that no cases can have left are refused. ``counts_disagreement`` is False for a table
        that counts something else pair by pair, to which the triangle inequality does not apply.
        """
        counts = cls(cascade)
        if not isinstance(state, dict) or set(state) != {"stopped", "seen", "disagreed"}:
            raise StateError("pair counts must have 'stopped', 'seen' and 'disagreed' alone")
        for name in ("stopped", "seen", "disagreed"):
            if not _same_shape(state[name], getattr(counts, name)):
                raise StateError(f"pair counts must have whole numbers >= 0 for {name!r}")
            setattr(counts, name, deepcopy(state[name]))
        if counts.n_rounds > MOST_CASES:
            raise StateError(f"pair counts must be of at most {MOST_CASES} cases")
        for j, row in enumerate(counts.seen):
            if any(n for i, n in enumerate(row) if i not in cascade.paths[j]):
                raise StateError("pair counts must be of tests on a common path")
        counts._check_consistency()
        if counts_disagreement:
            counts._check_triangles()
        return counts

    def _check_consistency(self) -> None:
        run = self.n_run
        for j, (seen, disagreed) in enumerate(zip(self.seen, self.disagreed, strict=True)):
            for i, (n, d) in enumerate(zip(seen, disagreed, strict=True)):
                if d > n:
                    raise StateError("pair counts must have disagreed <= seen for each pair")
                if n > min(self.seen[i][i], seen[j]):
                    raise StateError("pair counts must have seen <= outputs for each pair")
            if seen[j] > run[j]:
                raise StateError("pair counts must have no more outputs than cases for each test")
            if disagreed[j]:
                raise StateError("pair counts must have no test that disagrees with itself")

    def _check_triangles(self) -> None:
        """Check d_ab <= d_ac + d_bc, up to the cases that showed a and b without c."""
        seen, disagreed, observed = self.n_seen, self.n_disagreed, self.n_observed
        for c in range(len(observed)):
            without = observed - seen[c]
            slack = np.minimum(without[:, None], without[None, :])
            if (disagreed > disagreed[c][:, None] + disagreed[c][None, :] + slack).any():
                raise StateError(
                    "pair counts must satisfy the triangle inequality: two tests cannot disagree "
                    f"more often than each with test {c + 1}, where all three were seen"
                )


def disagreement_shares(n_disagreed: NDArray[Any], n_seen: NDArray[Any]) -> FloatArray:
    """Return the share of disagreement of each pair, NaN where it was never seen."""
    shares = np.full(n_seen.shape, math.nan)
    np.divide(n_disagreed, n_seen, out=shares, where=n_seen > 0)
    np.fill_diagonal(shares, 0.0)
    return read_only(shares)


def _symmetric(rows: list[list[int]]) -> IntArray:
    full = np.zeros((len(rows), len(rows)), dtype=np.int64)
    for j, row in enumerate(rows):
        full[j, : j + 1] = row
        full[: j + 1, j] = row
    return read_only(full)


def _same_shape(value: Any, like: Any) -> bool:
    if not isinstance(like, list):
        return isinstance(value, int) and not isinstance(value, bool) and value >= 0
    return (
        isinstance(value, list) and len(value) == len(like) and all(map(_same_shape, value, like))
    )
