"""How often each sequence of outputs was told, with its label if it has one."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import add, sub
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import InputError, StateError
from stopwise.outputs import Told
from stopwise.pattern_counts import MAX_LETTERS, n_letters, plain_output
from stopwise.patterns import standing_answer

Case = tuple[Told, Hashable]


class CaseCounts:
    """How often each case was told: its outputs, as far as it was run, and its label or ``None``.

    The table holds at most ``max_patterns`` different cases, with at most `MAX_LETTERS` letters of
    text. Cases beyond that are counted in ``n_other`` by how far they were run. Nothing is learned
    from them. If ``max_patterns`` is infinite, so is the number of letters.

    >>> counts = CaseCounts(Cascade(costs=[1, 2]), max_patterns=100)
    >>> counts.add((("a", "b"), None), 3)
    >>> counts.add((("a", "b"), "b"), 1)
    >>> counts.n_rounds, counts.n_labels
    (4, 1)
    """

    def __init__(self, cascade: Cascade, *, max_patterns: float) -> None:
        self.cascade = cascade
        self.max_patterns = max_patterns
        self._max_letters = MAX_LETTERS if max_patterns < math.inf else math.inf
        self._newest: CaseCounts | None = None  # of the blocks that these are the faded counts of
        self.table: dict[Case, int] = {}
        self._letters = 0
        self.n_other = [0] * cascade.n_stages
        self.n_rounds = 0
        self.n_labels = 0

    def __repr__(self) -> str:
        return f"CaseCounts(n_rounds={self.n_rounds}, n_labels={self.n_labels})"

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, CaseCounts)
            and self.table == other.table
            and self.n_other == other.n_other
        )

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def add(self, case: Case, times: int) -> None:
        """Count a case, checked before."""
        if (self._newest or self)._takes(case):
            if case not in self.table:
                self._letters += _letters(case)
            self.table[case] = self.table.get(case, 0) + times
            self.n_labels += times * (case[1] is not None)
        else:
            self.n_other[len(case[0]) - 1] += times
        self.n_rounds += times

    def _takes(self, case: Case) -> bool:
        return case in self.table or self._has_room(case)

    def _has_room(self, case: Case) -> bool:
        fits = self._letters + _letters(case) <= self._max_letters
        return fits and len(self.table) < self.max_patterns

    @property
    def n_stopped(self) -> tuple[int, ...]:
        """For each number of tests, from 1 on, how many cases were run so far."""
        stopped = list(self.n_other)
        for (outputs, _), times in self.table.items():
            stopped[len(outputs) - 1] += times
        return tuple(stopped)

    def faded(self, blocks: Sequence[CaseCounts], weights: Sequence[float]) -> CaseCounts:
        """Return the sum of ``blocks``, each times its weight, with all cases of their tables.

        It then takes the cases that the first of ``blocks`` takes.
        """
        total = CaseCounts(self.cascade, max_patterns=math.inf)
        for block, weight in zip(blocks, weights, strict=True):
            if not weight:
                continue
            for case, times in block.table.items():
                total.add(case, weight * times)  # type: ignore[arg-type]
            other = [weight * n for n in block.n_other]
            total.n_other = list(map(add, total.n_other, other))
            total.n_rounds += sum(other)  # type: ignore[assignment]
        total._newest = blocks[0]
        return total

    def within(self, max_patterns: int) -> CaseCounts:
        """Return the counts within these limits; the rarest go to ``n_other``."""
        return CaseCounts(self.cascade, max_patterns=max_patterns) + self

    def comparisons(self) -> dict[Told, tuple[int, int]]:
        """Return for each prefix how often the next output changed the answer, of how many."""
        shares: dict[Told, tuple[int, int]] = {}
        for (outputs, _), times in self.table.items():
            for k in range(1, len(outputs)):
                prefix, answer = outputs[:k], standing_answer(outputs[:k])
                if answer is not None and outputs[k] is not None:
                    changed, n = shares.get(prefix, (0, 0))
                    shares[prefix] = changed + times * (outputs[k] != answer), n + times
        return shares

    def copy(self) -> CaseCounts:
        """Return the same counts in a table of their own."""
        return self + CaseCounts(self.cascade, max_patterns=self.max_patterns)

    def __add__(self, other: CaseCounts) -> CaseCounts:
        """Return what both have counted; beyond the limits the rarest go to ``n_other``."""
        table = dict(self.table)
        for case, times in other.table.items():
            table[case] = table.get(case, 0) + times
        return self._limited(table, list(map(add, self.n_other, other.n_other)))

    def __sub__(self, other: CaseCounts) -> CaseCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        table, n_other = dict(self.table), list(map(sub, self.n_other, other.n_other))
        for case, times in other.table.items():
            there = min(times, table.get(case, 0))
            table[case] = table.get(case, 0) - there
            n_other[len(case[0]) - 1] -= times - there  # where a rare case may have gone since
        if min(n_other) < 0:
            raise InputError(f"case counts must contain those to subtract, got {other!r}")
        return self._limited(table, n_other)

    def before(self, since: CaseCounts) -> CaseCounts:
        """Return the counts without what a saved state says was counted last."""
        newest = self._newest
        if newest is not None:  # in old states, the block may not have all of it
            rows = {case: min(n, newest.table.get(case, 0)) for case, n in since.table.items()}
            since = since._limited(rows, list(map(min, since.n_other, newest.n_other)))
        return self - since

    def _limited(self, table: dict[Case, int], n_other: list[int]) -> CaseCounts:
        """Return these counts, with the rarest in ``n_other`` if there are too many."""
        total = self._beginning_with(n_other)
        rows = [(case, times) for case, times in table.items() if times]
        letters = sum(_letters(case) for case, _ in rows)
        if len(rows) > self.max_patterns or letters > self._max_letters:
            rows.sort(key=lambda row: (-row[1], repr(row[0])))
        for case, times in rows:
            total.add(case, times)
        return total

    def _beginning_with(self, n_other: list[Any]) -> CaseCounts:
        """Return counts with these limits and nothing in the table yet."""
        counts = CaseCounts(self.cascade, max_patterns=self.max_patterns)
        counts.n_other, counts.n_rounds = n_other, sum(n_other)
        return counts

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; the outputs must be JSON values themselves."""
        rows = [
            [[*map(plain_output, outputs)], plain_output(label), _whole_if_so(times)]
            for (outputs, label), times in self.table.items()
        ]
        return {"cases": sorted(rows, key=json.dumps), "other": [*map(_whole_if_so, self.n_other)]}

    @classmethod
    def from_state(
        cls, state: Any, cascade: Cascade, max_patterns: int, check: Callable[..., Case]
    ) -> CaseCounts:
        """Build the counts that `to_state` described, or raise `StateError`.

        ``check`` checks the outputs and the label of a case, as when it is told.
        """
        K = cascade.n_stages
        match state:
            case {"cases": [*cases], "other": [*other]} if len(state) == 2 and len(other) == K:
                pass
            case _:
                raise StateError(f"case counts must be 'cases' and {K} numbers of 'other'")
        whole = partial(whole_number, "case counts", error=StateError)
        empty = cls(cascade, max_patterns=max_patterns)
        counts = empty._beginning_with([whole(n, least=0) for n in other])
        for i, row in enumerate(cases):
            try:
                outputs, label, times = row
                key, times = check(outputs, label=label), whole(times, least=1)
            except (InputError, TypeError, ValueError) as error:
                raise StateError(
                    f"case counts must be [outputs, label, times], got {row!r} at {i}: {error}"
                ) from None
            if key in counts.table or not counts._has_room(key):
                raise StateError(f"case counts must be of at most {max_patterns} different cases")
            counts.add(key, times)
        return counts


def _whole_if_so(value: float) -> float:
    return int(value) if value == int(value) else value


def _letters(case: Case) -> int:
    outputs, label = case
    return n_letters((*outputs, label))
