"""Outputs of tests: what a case showed, checked, and values known however they are written."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence, Set
from contextlib import suppress
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import LogError, OutputsError, SettingError

Outputs = Sequence[Hashable]


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
        return (False, float(value), "")
    return (True, 0.0, str(value))


def looks_like(value: Hashable) -> Hashable:
    """Return what a reader would take ``value`` for: case, blanks and ``1`` against ``1.0`` aside.

    >>> looks_like("Yes ") == looks_like("yes"), looks_like("1") == looks_like(1.0)
    (True, True)
    """
    if isinstance(value, bool):
        return int(value)
    text = " ".join(str(value).split()).casefold()
    for number in (int, float):  # as a float a large whole number would be another one
        with suppress(ValueError):
            found = number(text)
            return found if math.isfinite(found) else text
    return {"true": 1, "false": 0}.get(text, text)


def matching(value: Hashable, classes: Sequence[Hashable]) -> Hashable:
    """Return the one of ``classes`` that ``value`` is or looks like, or ``value`` itself.

    A command line and a CSV file give text where a frame gives numbers.
    """
    if value in classes:
        return classes[list(classes).index(value)]
    alike = looks_like(value)
    return next((known for known in classes if looks_like(known) == alike), value)


def known_value(rule: str, value: Hashable, classes: Sequence[Hashable]) -> Hashable:
    """Return the one of ``classes`` that ``value`` is or looks like, or raise `SettingError`."""
    found = matching(value, classes)
    if found not in classes:
        raise SettingError(
            f"{rule}, got {value!r}; the log has {', '.join(map(repr, classes[:20]))}"
        )
    return found
