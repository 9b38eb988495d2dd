"""Cases as text, the form in which a store counts them.

A case is a compact JSON list of the outputs. On a tree the stage belongs to it: ``[outputs,
stage]``. Pair counts, prefix counts and pattern tables all follow from how often each case was
seen, and counts of cases add up over workers and time.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from stopwise.errors import OutputsError
from stopwise.pattern_counts import plain_output

MAX_LETTERS = 10_000  # of a case, since thousands of different ones are kept in memory
Counts = dict[str, int]
"""How often each case was seen, by its text."""


class Case(NamedTuple):
    """One case: its outputs, and on a tree the stage."""

    outputs: tuple[Hashable, ...]
    stage: int | None = None


def case_text(outputs: Iterable[Hashable], *, stage: int | None = None) -> str:
    """Return the text under which a case is counted, or raise `OutputsError`.

    >>> case_text(["cat", None, 1])
    '["cat",null,1]'
    >>> case_text([0, 1], stage=2)
    '[[0,1],2]'
    """
    if isinstance(outputs, (str, bytes, Mapping)) or not isinstance(outputs, Iterable):
        raise OutputsError(f"outputs must be a sequence with one output a test, got {outputs!r}")
    case: list[Any] = [plain_output(y) for y in outputs]
    if stage is not None:
        case = [case, int(stage)]
    text = json.dumps(case, separators=(",", ":"), allow_nan=False)
    if len(text) > MAX_LETTERS:
        raise OutputsError(
            f"outputs must take at most {MAX_LETTERS} letters to be stored, got {len(text)}: "
            "are they free text?"
        )
    return text


def read_case(text: str) -> Case:
    """Return the case that `case_text` described.

    >>> read_case('[[0,1],2]')
    Case(outputs=(0, 1), stage=2)
    """
    value = json.loads(text)
    if value and isinstance(value[0], list):
        return Case(tuple(value[0]), value[1])  # earlier releases could add a label
    return Case(tuple(value))


def case_for(text: str, sources: Sequence[int | None]) -> str | None:
    """Return a case for other stages, up to the last that ran; ``None`` if none of them did.

    ``sources`` has the index of each stage in the case, ``None`` for a new stage.

    >>> case_for('["cat",null,1]', [0, None, 2]), case_for('["cat"]', [1])
    ('["cat",null,1]', None)
    """
    outputs = read_case(text).outputs
    ran = [source is not None and source < len(outputs) for source in sources]
    if not any(ran):
        return None
    moved = [outputs[k] if k is not None and k < len(outputs) else None for k in sources]
    n_run = max(k for k, is_run in enumerate(ran, start=1) if is_run)
    return case_text(moved[:n_run])


def check_case(text: str) -> str:
    """Return the text of a case, or raise ``ValueError`` if it is not one."""
    try:
        case = read_case(text)
        is_case = text.startswith("[") and len(case.outputs) > 0
        case_text(case.outputs, stage=case.stage)
    except (ValueError, TypeError, LookupError, RecursionError):
        is_case = False
    if not is_case:
        raise ValueError(f"a case must be a list of outputs, got {text!r:.80}")
    return text


def tellable(counts: Mapping[str, int]) -> dict[Any, int]:
    """Return counts by case in the form that ``tell_many`` takes.

    >>> tellable({"[0,1]": 3, "[[0],2]": 1})
    {(0, 1): 3, ((0,), 2): 1}
    """
    cases: dict[Any, int] = {}
    for text, times in counts.items():
        case = read_case(text)
        pattern = case.outputs if case.stage is None else (case.outputs, case.stage)
        cases[pattern] = cases.get(pattern, 0) + times
    return cases


def add_counts(total: Counts, counts: Mapping[str, int], *, sign: int = 1) -> None:
    """Add ``counts`` to ``total`` in place, or subtract them; entries that become 0 are removed."""
    for text, times in counts.items():
        value = total.get(text, 0) + sign * times
        if value:
            total[text] = value
        else:
            total.pop(text, None)
