"""What a runtime tells people: why a case ended where it did, and the audit of what was seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from stopwise.cascade import Cascade
from stopwise.patterns import Pattern, PatternTable
from stopwise.runtime.result import Result

if TYPE_CHECKING:
    from stopwise.runtime.runtime import Runtime


def seen_table(patterns: Mapping[Pattern, int], cascade: Cascade) -> PatternTable:
    """Return all cases as a table, with a gap for each test that was not run.

    >>> seen_table({(0, 1): 3, (0,): 2}, Cascade([1, 2])).codes
    array([[ 0, -1],
           [ 0,  1]])
    """
    K = cascade.n_stages
    rows = [(*outputs, *[None] * (K - len(outputs))) for outputs in patterns]
    return PatternTable.from_rows(rows, patterns.values(), cascade)


def patterns_of(table: PatternTable) -> dict[Pattern, int]:
    """Return the cases of a table as a runtime counts them: as far as each went.

    >>> patterns_of(seen_table({(0, 1): 3, (0,): 2}, Cascade([1, 2])))
    {(0,): 2, (0, 1): 3}
    """
    found: dict[Pattern, int] = {}
    for row, times in zip(table.codes.tolist(), table.weights.tolist(), strict=True):
        outputs: tuple[Any, ...] = tuple(table.value(code) for code in row)
        while outputs and outputs[-1] is None:
            outputs = outputs[:-1]
        found[outputs] = found.get(outputs, 0) + int(times)
    return found


def explain(runtime: Runtime, result: Result) -> str:
    """Return in a few sentences how an answer came about."""
    names = runtime.cascade.names
    said = ", ".join(
        f"{name} said {output!r}" if output is not None else f"{name} gave nothing"
        for name, output in zip(names, result.outputs, strict=False)
    )
    lines = [f"The answer is {result.answer!r}: {said}. It cost {result.cost:g}."]
    lines += [f"{failure.stage}: {failure.reason}." for failure in result.failures]
    if result.is_fallback:
        lines.append(f"{names[result.stage]} answers in place of a stage that gave nothing.")
    left = names[len(result.outputs) :]
    if left:
        why = "is not expected to pay"
        if not runtime.learning.has_belief:
            why = "cannot pay, or is not known to"
        lines.append(f"It stopped because going on to {left[0]} {why}.")
    if result.belief is not None:
        lines.append(f"The answer is right with a chance of about {result.belief:.0%}.")
    return "\n".join(lines)
