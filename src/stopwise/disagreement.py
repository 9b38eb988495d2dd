"""What a learner may know: how often two tests disagree, and the stage that follows from it."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence, Set
from itertools import pairwise
from operator import add, sub
from typing import Any

import numpy as np

from stopwise.cascade import TOLERANCE, Cascade, FloatArray, IntArray, read_only
from stopwise.checks import whole_number
from stopwise.errors import CascadeError, InputError, OutputsError, StateError

Outputs = Sequence[Hashable]


def price_covers(extra_cost: float, disagreement: float) -> bool:
    """Whether going on costs at least what it can gain: C_j - C_i >= P(Y^i ≠ Y^j).

    Since γ_i - γ_j <= P(Y^i ≠ Y^j) for any outputs, going on from i to j then never pays.
    False where the disagreement is unknown (NaN).
    """
    return extra_cost >= disagreement - TOLERANCE


def dominated_pairs(cascade: Cascade, stage: int) -> tuple[tuple[int, int], ...]:
    """Return the pairs (i, j) whose price must cover their disagreement for ``stage`` to be sound.

    They are (stage, j) for each j below ``stage`` and, on a tree, (a, j) for each proper ancestor a
    of ``stage`` and each j below a in another branch. In a chain: (stage, j) for all later j.
    """
    pairs = [(stage, j) for j in cascade.descendants[stage]]
    for ancestor, towards in pairwise(cascade.paths[stage]):
        branches = cascade.branches[ancestor]
        pairs += [(ancestor, j) for j in cascade.descendants[ancestor] if branches[j] != towards]
    return tuple(pairs)


def is_dominant_at(disagreement: FloatArray, cascade: Cascade, stage: int) -> bool:
    """Whether the condition of weak dominance holds at ``stage``: nothing beyond it can pay."""
    C = cascade.cumulative_costs
    return all(
        price_covers(C[j] - C[i], disagreement[i, j]) for i, j in dominated_pairs(cascade, stage)
    )


def dominance_ratio(disagreement: FloatArray, cascade: Cascade, stage: int) -> float:
    """Return the smallest (C_j - C_i) / P(Y^i ≠ Y^j) over the pairs that ``stage`` has to dominate.

    At the best stage it is >= 1 exactly when the instance is weakly dominant. Infinite where
    there is nothing to dominate; NaN where a disagreement is unknown.
    """
    C = cascade.cumulative_costs
    ratios = [math.inf]
    for i, j in dominated_pairs(cascade, stage):
        p = float(disagreement[i, j])
        ratios.append(math.inf if p <= TOLERANCE else float(C[j] - C[i]) / p)
    return math.nan if any(map(math.isnan, ratios)) else min(ratios)


def sound_stage(disagreement: Any, cascade: Cascade) -> int | None:
    """Return the one stage that disagreement alone shows to be best under weak dominance (a_wd).

    It is the stage i beyond which nothing can pay, C_j - C_i >= P(Y^i ≠ Y^j) for each j below i
    (on a tree also for the branches that leave the path to i), and which pays itself:
    C_i - C_j < P(Y^j ≠ Y^i) for each j on the path to i. ``None`` where no stage meets both
    (Definition 3 of the paper, for any number of classes, chains and trees).

    ``disagreement`` is a (K, K) array; NaN stands for a pair that was never seen together.

    >>> import numpy as np
    >>> p = np.array([[0, 0.30, 0.35], [0.30, 0, 0.05], [0.35, 0.05, 0]])
    >>> sound_stage(p, Cascade(costs=[0, 0.1, 0.1]))
    1
    """
    p = _checked_disagreement(disagreement, cascade)
    C = cascade.cumulative_costs
    for i, path in enumerate(cascade.paths):
        pays = all(p[j, i] - (C[i] - C[j]) > TOLERANCE for j in path[:-1])
        if pays and is_dominant_at(p, cascade, i):
            return i
    return None


def _checked_disagreement(disagreement: Any, cascade: Cascade) -> FloatArray:
    try:
        p = np.asarray(disagreement, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(
            f"disagreement must be an array of numbers, got {disagreement!r}"
        ) from None
    K = cascade.n_stages
    if p.shape != (K, K):
        raise InputError(f"disagreement must have shape ({K}, {K}), got {p.shape}")
    bad = np.argwhere((p < 0) | (p > 1 + TOLERANCE))
    if len(bad):
        i, j = map(int, bad[0])
        raise InputError(
            f"disagreement must lie in [0, 1], got {float(p[i, j])!r} at stages {i + 1}, {j + 1}"
        )
    if not np.array_equal(p, p.T, equal_nan=True):
        i, j = map(int, np.argwhere((p != p.T) & ~(np.isnan(p) & np.isnan(p.T)))[0])
        raise InputError(
            f"disagreement must be symmetric, got {float(p[i, j])!r} and {float(p[j, i])!r} "
            f"for stages {i + 1} and {j + 1}"
        )
    return p


def check_outputs(
    outputs: Any, cascade: Cascade, stage: int | None = None
) -> tuple[int, tuple[Hashable, ...]]:
    """Return the stage that was played and its outputs as a tuple, or raise `OutputsError`.

    In a chain the number of outputs tells the stage; on a tree it has to be given. ``None`` means
    that the test gave nothing.
    """
    if (
        isinstance(outputs, (str, bytes, Set, Mapping))
        or not isinstance(outputs, Iterable)
        or (isinstance(outputs, np.ndarray) and outputs.ndim == 0)
    ):
        raise OutputsError(f"outputs must be a sequence with one output a test, got {outputs!r}")
    told = tuple(outputs.tolist() if isinstance(outputs, np.ndarray) else outputs)
    if stage is None:
        stage = _stage_by_length(told, cascade)
    elif isinstance(stage, bool) or not isinstance(stage, (int, np.integer)):
        raise OutputsError(f"stage must be an index, got {stage!r}")
    elif not 0 <= stage < cascade.n_stages:
        raise OutputsError(f"stage must lie in 0 to {cascade.n_stages - 1}, got {stage}")
    path = cascade.paths[stage]
    if len(told) != len(path):
        raise OutputsError(
            f"outputs must be those on the path to stage {stage + 1} ({cascade.names[stage]!r}), "
            f"{len(path)} of them, got {len(told)}"
        )
    for node, output in zip(path, told, strict=True):
        _check_output(output, node, cascade)
    return int(stage), told


def check_totals(stage: Any, times: Any, disagreed: Any, cascade: Cascade) -> None:
    """Raise `OutputsError` unless ``times`` complete cases at ``stage`` can have disagreed so."""
    if whole_number("stage", stage, OutputsError, least=0) >= cascade.n_stages:
        raise OutputsError(f"stage must lie in 0 to {cascade.n_stages - 1}, got {stage}")
    whole_number("times", times, OutputsError, least=0)
    length = len(cascade.paths[stage])
    if not isinstance(disagreed, (list, tuple)) or [
        len(row) if isinstance(row, (list, tuple)) else -1 for row in disagreed
    ] != list(range(length)):
        raise OutputsError(
            f"disagreed must have {length} rows of 0, 1, … entries, got {disagreed!r}"
        )
    for b, row in enumerate(disagreed):
        if row and not 0 <= min(row) <= max(row) <= times:
            raise OutputsError(f"disagreed must lie in 0 to {times}, got {row!r} in row {b}")


def _stage_by_length(told: tuple[Hashable, ...], cascade: Cascade) -> int:
    if not cascade.is_chain:
        raise OutputsError("stage must be given with the outputs on a tree")
    if not 1 <= len(told) <= cascade.n_stages:
        raise OutputsError(
            f"outputs must be those of the first 1 to {cascade.n_stages} tests, got {len(told)}"
        )
    return len(told) - 1


def _check_output(output: Any, node: int, cascade: Cascade) -> None:
    place = f"at stage {node + 1} ({cascade.names[node]!r})"
    try:
        hash(output)
    except TypeError:
        raise OutputsError(f"outputs must be hashable labels, got {output!r} {place}") from None
    if output != output:  # noqa: PLR0124  # NaN, the one label that disagrees with itself
        raise OutputsError(f"outputs must equal themselves, got {output!r} {place}: use None")


# A tally is one integer with 64 bits for each number: how many cases, then for b = 1, 2, … and
# a < b how many of them had outputs a and b disagree. Adding integers adds all lanes at once.
_LANE = 64
_ONE_OR_NONE = (bytes(_LANE // 8), (1).to_bytes(_LANE // 8, "little"))


def tally_word(outputs: Outputs) -> int:
    """Return the tally of one complete case."""
    lanes = [True]
    for b, y in enumerate(outputs):
        lanes += [bool(x != y) for x in outputs[:b]]
    return int.from_bytes(b"".join([_ONE_OR_NONE[lane] for lane in lanes]), "little")


def tally_totals(tally: int, length: int) -> tuple[int, list[list[int]]]:
    """Return the number of cases in a tally and how many disagreed, for `PairCounts.add_totals`."""
    n_lanes = 1 + length * (length - 1) // 2
    lanes = memoryview(tally.to_bytes(n_lanes * _LANE // 8, sys.byteorder)).cast("Q").tolist()
    if sys.byteorder == "big":
        lanes.reverse()
    starts = [1 + b * (b - 1) // 2 for b in range(length)]
    return lanes[0], [lanes[start : start + b] for b, start in enumerate(starts)]


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
        self.cascade = cascade
        K = cascade.n_stages
        self.stopped = [0] * K
        self.seen = [[0] * (j + 1) for j in range(K)]
        self.disagreed = [[0] * (j + 1) for j in range(K)]

    def add(self, outputs: Outputs, *, stage: int | None = None, times: int = 1) -> None:
        """Count ``times`` cases that showed ``outputs``."""
        played, told = check_outputs(outputs, self.cascade, stage)
        self.add_checked(played, told, whole_number("times", times, OutputsError, least=0))

    def add_checked(self, stage: int, outputs: Outputs, times: int) -> None:
        """Count outputs that `check_outputs` has passed already."""
        path = self.cascade.paths[stage]
        self.stopped[stage] += times
        shown = [(j, y) for j, y in zip(path, outputs, strict=True) if y is not None]
        for b, (j, y) in enumerate(shown):
            seen, disagreed = self.seen[j], self.disagreed[j]
            seen[j] += times
            for i, x in shown[:b]:
                seen[i] += times
                if x != y:
                    disagreed[i] += times

    def add_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        """Count ``times`` complete cases at ``stage`` by the number that disagreed, pair by pair.

        ``disagreed[b][a]`` belongs to the a-th and b-th test on the path to ``stage``.
        """
        self.stopped[stage] += times
        path = self.cascade.paths[stage]
        if len(path) <= stage:  # on a tree
            self._add_on_path(path, times, disagreed)
            return
        for j in range(stage + 1):  # whole rows at once
            row = self.seen[j]
            if row.count(row[0]) > j:  # no output was ever missing: one number for all
                self.seen[j] = [row[0] + times] * (j + 1)
            else:
                self.seen[j] = [n + times for n in row]
            self.disagreed[j] = [*map(add, self.disagreed[j][:j], disagreed[j]), 0]

    def _add_on_path(self, path: Sequence[int], times: int, disagreed: list[list[int]]) -> None:
        for b, j in enumerate(path):
            seen_row, disagreed_row, new = self.seen[j], self.disagreed[j], disagreed[b]
            seen_row[j] += times
            for a in range(b):
                i = path[a]
                seen_row[i] += times
                disagreed_row[i] += new[a]

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
            raise InputError(f"pair counts must contain what is taken away, got {other!r}")
        return rest

    def _combined(self, other: PairCounts, operation: Callable[[int, int], int]) -> PairCounts:
        if self.cascade.parents != other.cascade.parents:
            raise InputError(
                "pair counts must come from cascades of the same shape, "
                f"got parents {self.cascade.parents} and {other.cascade.parents}"
            )
        total = PairCounts(self.cascade)
        total.stopped = list(map(operation, self.stopped, other.stopped))
        total.seen = [
            list(map(operation, *rows)) for rows in zip(self.seen, other.seen, strict=True)
        ]
        total.disagreed = [
            list(map(operation, *rows))
            for rows in zip(self.disagreed, other.disagreed, strict=True)
        ]
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
        seen = self.n_seen
        share = np.full(seen.shape, math.nan)
        np.divide(self.n_disagreed, seen, out=share, where=seen > 0)
        np.fill_diagonal(share, 0.0)
        return read_only(share)

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; `from_state` reads them back."""
        return {
            "stopped": list(self.stopped),
            "seen": [list(row) for row in self.seen],
            "disagreed": [list(row) for row in self.disagreed],
        }

    @classmethod
    def from_state(cls, state: Any, cascade: Cascade) -> PairCounts:
        """Build the counts that `to_state` described, or raise `StateError`."""
        counts = cls(cascade)
        for name in ("stopped", "seen", "disagreed"):
            value = state.get(name) if isinstance(state, dict) else None
            if not _same_shape(value, getattr(counts, name)):
                raise StateError(f"pair counts must have whole numbers >= 0 for {name!r}")
            setattr(counts, name, _copied(value))
        for seen, disagreed in zip(counts.seen, counts.disagreed, strict=True):
            if any(not d <= n <= counts.n_rounds for n, d in zip(seen, disagreed, strict=True)):
                raise StateError("pair counts must have disagreed <= seen <= cases for each pair")
            if disagreed[-1]:
                raise StateError("pair counts must have no test that disagrees with itself")
        for j, row in enumerate(counts.seen):
            if any(n for i, n in enumerate(row) if i not in cascade.paths[j]):
                raise StateError("pair counts must be of tests on a common path")
        return counts


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


def _copied(value: Any) -> Any:
    return [_copied(v) for v in value] if isinstance(value, list) else value
