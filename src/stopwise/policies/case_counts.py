"""How often each sequence of outputs was told, with its label if it has one."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable
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
    from them.

    >>> counts = CaseCounts(Cascade(costs=[1, 2]), max_patterns=100)
    >>> counts.add((("a", "b"), None), 3)
    >>> counts.add((("a", "b"), "b"), 1)
    >>> counts.n_rounds, counts.n_labels
    (4, 1)
    """

    def __init__(self, cascade: Cascade, *, max_patterns: int) -> None:
        self.cascade = cascade
        self.max_patterns = max_patterns
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
        if case in self.table or self._has_room(case):
            if case not in self.table:
                self._letters += _letters(case)
            self.table[case] = self.table.get(case, 0) + times
            self.n_labels += times * (case[1] is not None)
        else:
            self.n_other[len(case[0]) - 1] += times
        self.n_rounds += times

    def _has_room(self, case: Case) -> bool:
        fits = self._letters + _letters(case) <= MAX_LETTERS
        return fits and len(self.table) < self.max_patterns

    @property
    def n_stopped(self) -> tuple[int, ...]:
        """For each number of tests, from 1 on, how many cases were run so far."""
        stopped = list(self.n_other)
        for (outputs, _), times in self.table.items():
            stopped[len(outputs) - 1] += times
        return tuple(stopped)

    def scaled(self, weight: float) -> CaseCounts:
        """Return the counts times ``weight``: no whole numbers any more."""
        total = self._beginning_with([weight * n for n in self.n_other])
        for case, times in self.table.items():
            total.add(case, weight * times)  # type: ignore[arg-type]
        return total

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
        return self._combined(other, add)

    def __sub__(self, other: CaseCounts) -> CaseCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        rest = self._combined(other, sub)
        if min([*rest.table.values(), *rest.n_other], default=0) < 0:
            raise InputError(f"case counts must contain those to subtract, got {other!r}")
        return rest

    def _combined(self, other: CaseCounts, operation: Callable[[int, int], int]) -> CaseCounts:
        total = self._beginning_with(list(map(operation, self.n_other, other.n_other)))
        table = dict(self.table)
        for case, times in other.table.items():
            table[case] = operation(table.get(case, 0), times)
        rows = [(case, times) for case, times in table.items() if times]
        if len(rows) > self.max_patterns or sum(_letters(case) for case, _ in rows) > MAX_LETTERS:
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
