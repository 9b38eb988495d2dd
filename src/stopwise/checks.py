"""Checks of single values that several constructors share."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sized
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.errors import InputError, OutputsError

# Squares and products of larger features or coefficients would overflow.
LARGEST_FEATURE = 1e100
# Beyond this numbers of cases are not exact as floats.
MOST_CASES = 2**53


def whole_number(name: str, value: Any, error: type[InputError], *, least: int) -> int:
    """Return ``value`` as an ``int`` if it is a whole number of at least ``least``, or raise."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise error(f"{name} must be a whole number >= {least}, got {value!r}")
    return int(value)


def whole_numbers(name: str, values: Any, error: type[InputError]) -> NDArray[np.int64]:
    """Return ``values`` as an array if all are whole numbers >= 0 and no more than cases can be."""
    items = [*values] if isinstance(values, Iterable) else [values]
    try:
        numbers = np.array(items, dtype=np.float64)
        numbers = numbers if numbers.ndim == 1 else np.full(len(items), np.nan)
    except (TypeError, ValueError, OverflowError):
        numbers = np.full(len(items), np.nan)
    is_whole = (numbers >= 0) & (numbers <= MOST_CASES) & (numbers == np.floor(numbers))
    if not is_whole.all():
        place = int(np.argmin(is_whole))
        raise error(
            f"{name} must be whole numbers from 0 to 2**53, got {items[place]!r} at {place + 1}"
        )
    return numbers.astype(np.int64)


def indices_of_tests(name: str, values: Any, n_tests: int) -> list[int]:
    """Return ``values`` as a list if it is a collection of indices of tests, or raise."""
    is_list = isinstance(values, Sized) and not isinstance(values, str)
    indices = whole_numbers(name, values, OutputsError).tolist() if is_list else [n_tests]
    if max(indices, default=0) >= n_tests:
        raise OutputsError(f"{name} must be indices of tests, 0 to {n_tests - 1}, got {values!r}")
    return indices


def finite_number(name: str, value: Any, error: type[InputError], *, zero: bool) -> float:
    """Return ``value`` as a ``float`` if it is a finite number > 0, or 0 if ``zero``, or raise."""
    try:
        is_number = not isinstance(value, (bool, np.bool_, str, bytes, np.ndarray))
        number = float(value) if is_number else math.nan
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not (0 < number < math.inf or (zero and number == 0)):
        raise error(f"{name} must be {'>=' if zero else '>'} 0 and finite, got {value!r}")
    return number


def stored_text(name: str, value: Any, error: type[InputError]) -> str:
    """Return ``value`` if it is a text that every database and file can hold, or raise."""
    if type(value) is not str:  # a database may give 5 back as "5"
        raise error(f"{name} must be a text, got {value!r:.60}")
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise error(f"{name} must have no NUL and no half of a surrogate pair, got {value!r:.60}")
    return value


def known_name(what: str, name: str, known: Iterable[str], error: type[InputError]) -> str:
    """Return ``name`` if it is one of ``known``, or raise with all of them and the closest."""
    names = list(known)
    if name in names:
        return name
    from difflib import get_close_matches

    matches = get_close_matches(str(name), names, n=1)
    hint = f": did you mean {matches[0]!r}?" if matches else ""
    raise error(f"{what} must be one of {', '.join(names)}, got {name!r}{hint}")
