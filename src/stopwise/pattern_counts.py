"""How often each whole pattern of outputs was seen, counted case by case."""

from __future__ import annotations

import math
from collections.abc import Hashable
from functools import partial
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.counts import PairCounts
from stopwise.errors import InputError, LogError, OutputsError, StateError
from stopwise.outputs import Outputs, check_outputs
from stopwise.patterns import Pattern, PatternTable, flip_flops

MAX_LETTERS = 10_000_000  # of all the texts that one table of patterns keeps


class PatternCounts:
    """How often each output pattern was seen: the finest thing that unlabelled cases can tell.

    A pattern has one entry per stage, ``None`` where the test was not run or gave nothing. At most
    ``max_patterns`` distinct patterns are kept, with at most `MAX_LETTERS` letters of text; cases
    with further ones are counted in ``n_other``, and still enter the pair counts and the flip-flop
    rate, which stay exact.

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
        self._letters = 0
        self.pairs = PairCounts(cascade)
        self.n_other = 0
        self.n_complete = 0
        self.n_flip_flopped = 0

    def add(self, outputs: Outputs, *, stage: int | None = None, times: int = 1) -> None:
        """Count ``times`` cases that showed ``outputs``."""
        stage, values = check_outputs(outputs, self.cascade, stage)
        self.pairs.add(values, stage=stage, times=times)
        times = int(times)
        if not self.cascade.children[stage] and None not in values:
            self.n_complete += times
            self.n_flip_flopped += times * flip_flops(values)
        pattern: list[Hashable] = [None] * self.cascade.n_stages
        for node, output in zip(self.cascade.paths[stage], values, strict=True):
            pattern[node] = output
        self._count(tuple(pattern), times)

    def _count(self, pattern: Pattern, times: int) -> None:
        if not times:
            return
        if pattern not in self.table:
            size = n_letters(pattern)
            if len(self.table) >= self.max_patterns or self._letters + size > MAX_LETTERS:
                self.n_other += times
                return
            self._letters += size
        self.table[pattern] = self.table.get(pattern, 0) + times

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

    def to_table(self) -> PatternTable:
        """Return what was counted as a table, or raise `LogError` where patterns were dropped."""
        if self.n_other:
            raise LogError(
                f"pattern counts must hold every pattern, got {self.n_other} cases beyond the "
                f"first {len(self.table)} patterns"
            )
        return PatternTable.from_rows(self.table, self.table.values(), self.cascade)

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
        whole = partial(whole_number, "pattern counts", error=StateError, least=0)
        try:
            counts = cls(cascade, max_patterns=state["max_patterns"])
            for name in ("n_other", "n_complete", "n_flip_flopped"):
                setattr(counts, name, whole(state[name]))
            counts.table = {
                tuple(map(plain_output, pattern)): whole(times) for pattern, times in state["table"]
            }
            counts._letters = sum(map(n_letters, counts.table))
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
        if len(counts.table) > counts.max_patterns or 0 in counts.table.values():
            raise StateError("pattern counts must have patterns that were seen, no more than kept")
        table = PatternTable.from_rows(counts.table, counts.table.values(), cascade)
        for name in ("n_seen", "n_disagreed"):
            rest = getattr(counts.pairs, name) - getattr(table, name)
            if (rest < 0).any() or (rest > counts.n_other).any():
                raise StateError("pattern counts must be of the same cases as the pair counts")
        return counts


def n_letters(outputs: Outputs) -> int:
    """Return how long the texts among ``outputs`` are."""
    return sum(len(y) for y in outputs if isinstance(y, str))


def plain_output(output: Hashable, *, name: str = "outputs") -> str | int | float | None:
    """Return ``output`` as a value that JSON knows."""
    value = output.item() if isinstance(output, np.generic) else output
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise OutputsError(f"{name} must be text, finite numbers or None to be saved, got {output!r}")
