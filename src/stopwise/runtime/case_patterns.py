"""Counts of cases by their outputs: as a table, and as texts for the store.

A pattern is as long as its case went, and has ``None`` where a stage that ran gave nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from stopwise.cascade import Cascade
from stopwise.patterns import Pattern, PatternTable
from stopwise.store import case_text


def to_table(patterns: Mapping[Pattern, int], cascade: Cascade) -> PatternTable:
    """Return all cases as a table, with a gap for each test that was not run.

    >>> to_table({(0, 1): 3, (0,): 2}, Cascade([1, 2])).codes
    array([[ 0, -1],
           [ 0,  1]])
    """
    K = cascade.n_stages
    rows = [(*outputs, *[None] * (K - len(outputs))) for outputs in patterns]
    return PatternTable.from_rows(rows, patterns.values(), cascade)


def from_table(table: PatternTable) -> dict[Pattern, int]:
    """Return the cases of a table; gaps at the end of a case are tests that were not run.

    >>> from_table(to_table({(0, 1): 3, (0,): 2}, Cascade([1, 2])))
    {(0,): 2, (0, 1): 3}
    """
    rows = (tuple(table.value(code) for code in row) for row in table.codes.tolist())
    return _sum(
        (_without_end_gaps(row), int(n)) for row, n in zip(rows, table.weights, strict=True)
    )


def case_texts(patterns: Mapping[Pattern, int]) -> dict[str, int]:
    """Return the counts by the texts under which the store counts cases."""
    return _sum((case_text(outputs), times) for outputs, times in patterns.items())


def _without_end_gaps(outputs: Pattern) -> Pattern:
    while outputs and outputs[-1] is None:
        outputs = outputs[:-1]
    return outputs


def _sum(entries: Iterable[tuple[Any, int]]) -> dict[Any, int]:
    total: dict[Any, int] = {}
    for key, times in entries:
        total[key] = total.get(key, 0) + times
    return total
