"""Outputs of tests: checks of what a case showed, and values that are written differently."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from operator import eq
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import LogError, OutputsError, SettingError

Outputs = Sequence[Hashable]
Told = tuple[Hashable, ...]

_PLAIN = frozenset((str, int, float, bool, type(None)))


def check_outputs(outputs: Any, cascade: Cascade, stage: int | None = None) -> tuple[int, Told]:
    """Return the stage that was played and its outputs as a tuple, or raise `OutputsError`.

    In a chain the number of outputs tells the stage; on a tree it has to be given. ``None`` means
    that the test gave nothing; a null of pandas or Arrow is read as ``None``.
    """
    values = tuple(outputs) if type(outputs) in (tuple, list) else outputs_in_order(outputs)
    stage = _stage_by_length(values, cascade) if stage is None else _checked_stage(stage, cascade)
    path = cascade.paths[stage]
    if len(values) != len(path):
        raise OutputsError(
            f"outputs must be those on the path to stage {stage + 1} ({cascade.names[stage]!r}), "
            f"{len(path)} of them, got {len(values)}"
        )
    try:
        # Nearly all outputs are text and numbers that equal themselves.
        if _PLAIN.issuperset(map(type, values)) and all(map(eq, values, values)):
            return stage, values
    except TypeError:
        pass
    return stage, tuple(_output(y, node, cascade) for y, node in zip(values, path, strict=True))


def check_label(label: Any) -> Hashable:
    """Return ``label``, or raise `OutputsError` if no output could ever equal it."""
    label = label.item() if isinstance(label, np.generic) else label
    try:
        comparable = hash(label) is not None and bool(label == label)  # noqa: PLR0124  # NaN
    except TypeError:
        comparable = False
    if not comparable:
        raise OutputsError(f"label must be hashable and equal itself, got {label!r}")
    return label  # type: ignore[no-any-return]


def check_totals(
    stage: Any, times: Any, disagreed: Any, cascade: Cascade
) -> tuple[int, int, list[list[int]]]:
    """Return ``times`` complete cases at ``stage`` as plain integers, or raise `OutputsError`."""
    stage = _checked_stage(stage, cascade)
    times = whole_number("times", times, OutputsError, least=0)
    length = len(cascade.paths[stage])
    if not isinstance(disagreed, (list, tuple)) or [
        len(row) if isinstance(row, (list, tuple, np.ndarray)) else -1 for row in disagreed
    ] != list(range(length)):
        raise OutputsError(
            f"disagreed must have {length} rows of 0, 1, … entries, got {disagreed!r}"
        )
    rows = [
        [whole_number(f"disagreed[{b}][{a}]", n, OutputsError, least=0) for a, n in enumerate(row)]
        for b, row in enumerate(disagreed)
    ]
    for b, row in enumerate(rows):
        if row and max(row) > times:
            raise OutputsError(f"disagreed must lie in 0 to {times}, got {row!r} in row {b}")
        for a in range(b):  # two tests that agree both agree or both disagree with a third
            if any(
                row[a] > row[c] + rows[c][a] or abs(row[c] - rows[c][a]) > row[a]
                for c in range(a + 1, b)
            ):
                raise OutputsError(f"disagreed must be of the same cases, got {rows!r}")
    return stage, times, rows


def _checked_stage(stage: Any, cascade: Cascade) -> int:
    if isinstance(stage, bool) or not isinstance(stage, (int, np.integer)):
        raise OutputsError(f"stage must be an index, got {stage!r}")
    if not 0 <= stage < cascade.n_stages:
        raise OutputsError(f"stage must lie in 0 to {cascade.n_stages - 1}, got {stage}")
    return int(stage)


def outputs_in_order(outputs: Any) -> Told:
    """Return outputs as a tuple, or raise `OutputsError` if they have no order."""
    if (
        isinstance(outputs, (str, bytes, Set, Mapping))
        or not isinstance(outputs, Iterable)
        or (isinstance(outputs, np.ndarray) and outputs.ndim == 0)
        or hasattr(outputs, "columns")  # iterating over a frame gives the names of its columns
    ):
        value = f"a {type(outputs).__name__}" if hasattr(outputs, "columns") else repr(outputs)
        raise OutputsError(f"outputs must be a sequence with one output a test, got {value}")
    return tuple(outputs.tolist() if isinstance(outputs, np.ndarray) else outputs)


def _stage_by_length(outputs: Told, cascade: Cascade) -> int:
    if not cascade.is_chain:
        raise OutputsError("stage must be given with the outputs on a tree")
    if not 1 <= len(outputs) <= cascade.n_stages:
        raise OutputsError(
            f"outputs must be those of the first 1 to {cascade.n_stages} tests, got {len(outputs)}"
        )
    return len(outputs) - 1


def _output(output: Any, node: int, cascade: Cascade) -> Hashable:
    """Return an output that can be compared, ``None`` for a null, or raise `OutputsError`."""
    if hasattr(output, "as_py"):  # an Arrow scalar
        output = output.as_py()
    elif isinstance(output, np.generic):  # which compares with a tuple or a huge number otherwise
        output = output.item()
    if type(output).__name__ in ("NAType", "NaTType"):  # the nulls of pandas
        output = None
    place = f"at stage {node + 1} ({cascade.names[node]!r})"
    try:
        hash(output)
        equals_itself = bool(output == output)  # noqa: PLR0124  # not so for NaN
    except Exception as error:
        raise OutputsError(
            f"outputs must be hashable labels, got {output!r} {place}: {error}"
        ) from None
    if not equals_itself:
        raise OutputsError(f"outputs must equal themselves, got {output!r} {place}: use None")
    return output  # type: ignore[no-any-return]


def present(value: Any) -> Hashable:
    """Return an output as a hashable value, ``None`` where it is missing."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and math.isnan(value):
        return None
    try:
        hash(value)
    except TypeError:
        raise LogError(
            f"outputs must be labels (numbers, text, true or false), got {value!r}"
        ) from None
    return value  # type: ignore[no-any-return]


def rank(value: Hashable) -> tuple[bool, float, str]:
    """Numbers in their order, then all else by name."""
    if isinstance(value, (bool, int, float)):
        return (False, value, "")  # as a float a large whole number is another one, or none
    return (True, 0.0, str(value))


def looks_like(value: Hashable) -> Hashable:
    """Return ``value`` without differences that a reader would overlook.

    These are case, blanks, ``1`` and ``1.0``, the encoding of accents, and invisible characters.

    >>> looks_like("Yes ") == looks_like("yes"), looks_like("1") == looks_like(1.0)
    (True, True)
    """
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return value
    text = " ".join(str(value).split())
    if not text.isascii():
        visible = (c for c in unicodedata.normalize("NFC", text) if unicodedata.category(c) != "Cf")
        text = "".join(visible)
    text = text.casefold()
    for number in (int, float):  # as a float a large whole number would be another one
        with suppress(ValueError):
            value = number(text)
            return value if number is int or math.isfinite(value) else text
    return {"true": 1, "false": 0}.get(text, text)


def matching(value: Hashable, classes: Sequence[Hashable]) -> Hashable:
    """Return the one of ``classes`` that ``value`` is or looks like, or ``value`` itself.

    A command line and a CSV file give text where a frame gives numbers.
    """
    if value in classes:
        return classes[list(classes).index(value)]
    text = looks_like(value)
    return next((other for other in classes if looks_like(other) == text), value)


def known_value(rule: str, value: Hashable, classes: Sequence[Hashable]) -> Hashable:
    """Return the one of ``classes`` that ``value`` is or looks like, or raise `SettingError`."""
    match = matching(value, classes)
    if match not in classes:
        raise SettingError(
            f"{rule}, got {value!r}; the log has {', '.join(map(repr, classes[:20]))}"
        )
    return match
