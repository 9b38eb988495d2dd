"""Checks of single values that several constructors share."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.errors import InputError


def whole_number(name: str, value: Any, error: type[InputError], *, least: int) -> int:
    """Return ``value`` as an ``int`` if it is a whole number of at least ``least``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)
