"""The values that outputs have: in order, and known again however they are written."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from stopwise.errors import LogError, SettingError


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
