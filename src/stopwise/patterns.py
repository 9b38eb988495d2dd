"""Whole output patterns: their law, how often each was seen, and what refutes strong dominance."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray, read_only
from stopwise.checks import whole_number
from stopwise.errors import InputError, OutputsError, StateError
from stopwise.outputs import Outputs, check_outputs
from stopwise.pair_counts import PairCounts

Pattern = tuple[Hashable, ...]


def n_changes(outputs: Outputs) -> int:
    """Return how often the output changes from one test to the next, missing outputs left out.

    Under strong dominance binary outputs change at most once: from wrong to right.

    >>> n_changes([0, 1, 1, 0])
    2
    """
    shown = [y for y in outputs if y is not None]
    return sum(bool(x != y) for x, y in pairwise(shown))


def flip_flops(outputs: Outputs) -> bool:
    """Whether the output changes more than once, which strong dominance of binary tests forbids."""
    return n_changes(outputs) > 1


def agreement(outputs: Outputs) -> Pattern:
    """Return which outputs are equal and nothing else: for each the place of the first like it.

    ``None``, a test that gave nothing, stays ``None``. The agreement of a prefix is a prefix of
    the agreement.

    >>> agreement(["cat", "dog", None, "cat"])
    (0, 1, None, 0)
    """
    first: dict[Hashable, int] = {}
    return tuple(
        None if y is None else first.setdefault(y, place) for place, y in enumerate(outputs)
    )


def standing_answer(outputs: Outputs) -> Hashable:
    """Return the last output that is not missing: what one would answer now, ``None`` if nothing.

    >>> standing_answer([1, 0, None])
    0
    """
    return next((y for y in reversed(outputs) if y is not None), None)


@dataclass(frozen=True, eq=False)
class OutputLaw:
    """The joint law of the outputs, label left out: P_S, all that data without labels can show.

    Parameters
    ----------
    patterns
        The distinct patterns, one a row, as class codes; shape (R, K).
    probabilities
        Their probabilities; shape (R,).
    cascade
        Whose outputs they are.
    """

    patterns: IntArray
    probabilities: FloatArray
    cascade: Cascade

    @property
    def disagreement(self) -> FloatArray:
        """P(Y^i ≠ Y^j) for each pair; shape (K, K)."""
        return pairwise_disagreement(self.patterns, self.probabilities)

    def flip_flop_rate(self) -> float:
        """Return the probability that outputs change more than once on some path.

        Binary tests: zero exactly when some label makes the law strongly dominant.
        """
        leaves = [k for k, below in enumerate(self.cascade.children) if not below]
        flips = [
            any(flip_flops(row[list(self.cascade.paths[leaf])].tolist()) for leaf in leaves)
            for row in self.patterns
        ]
        return float(self.probabilities[flips].sum())


def pairwise_disagreement(patterns: IntArray, weights: FloatArray) -> FloatArray:
    """Return the total weight of the rows in which two columns differ; shape (K, K)."""
    K = patterns.shape[1]
    p = np.zeros((K, K))
    for i in range(K - 1):
        p[i, i + 1 :] = weights @ (patterns[:, [i]] != patterns[:, i + 1 :])
    return read_only(p + p.T)


class PatternCounts:
    """How often each output pattern was seen: the finest thing that unlabelled cases can tell.

    A pattern has one entry a stage, ``None`` where the test was not run or gave nothing. At most
    ``max_patterns`` distinct patterns are kept; cases with further ones are counted in
    ``n_other``, and still enter the pair counts and the flip-flop rate, which stay exact.

    >>> counts = PatternCounts(Cascade(costs=[1, 2, 3]))
    >>> counts.add([0, 1, 0])
    >>> counts.add([0, 1, 1], times=3)
    >>> counts.flip_flop_rate
    0.25
    """

    def __init__(self, cascade: Cascade, *, max_patterns: int = 100_000) -> None:
        self.cascade = cascade
        self.max_patterns = whole_number("max_patterns", max_patterns, InputError, least=1)
        self.table: dict[Pattern, int] = {}
        self.pairs = PairCounts(cascade)
        self.n_other = 0
        self.n_complete = 0
        self.n_flip_flopped = 0

    def add(self, outputs: Outputs, *, stage: int | None = None, times: int = 1) -> None:
        """Count ``times`` cases that showed ``outputs``."""
        played, told = check_outputs(outputs, self.cascade, stage)
        self.pairs.add(told, stage=played, times=times)
        times = int(times)
        if not self.cascade.children[played] and None not in told:
            self.n_complete += times
            self.n_flip_flopped += times * flip_flops(told)
        pattern: list[Hashable] = [None] * self.cascade.n_stages
        for node, output in zip(self.cascade.paths[played], told, strict=True):
            pattern[node] = output
        self._count(tuple(pattern), times)

    def _count(self, pattern: Pattern, times: int) -> None:
        if not times:
            return
        if pattern in self.table or len(self.table) < self.max_patterns:
            self.table[pattern] = self.table.get(pattern, 0) + times
        else:
            self.n_other += times

    @property
    def flip_flop_rate(self) -> float:
        """The share of complete cases in which the output changes more than once, or NaN."""
        return self.n_flip_flopped / self.n_complete if self.n_complete else math.nan

    def __add__(self, other: PatternCounts) -> PatternCounts:
        if not isinstance(other, PatternCounts):
            return NotImplemented
        total = PatternCounts(self.cascade, max_patterns=max(self.max_patterns, other.max_patterns))
        total.pairs = self.pairs + other.pairs
        total.n_other = self.n_other + other.n_other
        total.n_complete = self.n_complete + other.n_complete
        total.n_flip_flopped = self.n_flip_flopped + other.n_flip_flopped
        for table in (self.table, other.table):
            for pattern, times in table.items():
                total._count(pattern, times)
        return total

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, PatternCounts)
            and self.table == other.table
            and self.pairs == other.pairs
            and self._scalars() == other._scalars()
        )

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def _scalars(self) -> dict[str, int]:
        return {
            "max_patterns": self.max_patterns,
            "n_other": self.n_other,
            "n_complete": self.n_complete,
            "n_flip_flopped": self.n_flip_flopped,
        }

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; the outputs must be JSON values themselves."""
        return {
            **self._scalars(),
            "table": [[[*map(plain_output, row)], times] for row, times in self.table.items()],
            "pairs": self.pairs.to_state(),
        }

    @classmethod
    def from_state(cls, state: Any, cascade: Cascade) -> PatternCounts:
        """Build the counts that `to_state` described, or raise `StateError`."""
        try:
            counts = cls(cascade, max_patterns=_whole(state["max_patterns"]))
            counts.n_other = _whole(state["n_other"])
            counts.n_complete = _whole(state["n_complete"])
            counts.n_flip_flopped = _whole(state["n_flip_flopped"])
            counts.table = {tuple(pattern): _whole(times) for pattern, times in state["table"]}
            counts.pairs = PairCounts.from_state(state["pairs"], cascade)
        except StateError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise StateError(f"pattern counts cannot be read: {error!r}") from error
        if any(len(pattern) != cascade.n_stages for pattern in counts.table):
            raise StateError(f"pattern counts must have {cascade.n_stages} outputs a pattern")
        if sum(counts.table.values()) + counts.n_other != counts.pairs.n_rounds:
            raise StateError("pattern counts must add up to the number of cases")
        if not counts.n_flip_flopped <= counts.n_complete <= counts.pairs.n_rounds:
            raise StateError("pattern counts must have flip-flopped <= complete <= all cases")
        return counts


def plain_output(output: Hashable) -> str | int | float | None:
    """Return ``output`` as a value that JSON knows."""
    value = output.item() if isinstance(output, np.generic) else output
    if value is None or isinstance(value, (str, int, float)):
        return value
    raise OutputsError(f"outputs must be text, numbers or None to be saved, got {output!r}")


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise StateError(f"pattern counts must be whole numbers >= 0, got {value!r}")
    return value


def distinct_rows(
    rows: Sequence[Any] | IntArray, weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return the distinct rows in lexical order and the total weight of each."""
    unique, inverse = np.unique(np.asarray(rows, dtype=np.int64), axis=0, return_inverse=True)
    totals = np.zeros(len(unique))
    np.add.at(totals, inverse.reshape(-1), weights)
    return read_only(unique), read_only(totals)
