"""Who agrees with whom: all that matters of a pattern when it comes to which tests are right."""

from __future__ import annotations

from collections.abc import Sequence

from stopwise.audit.histogram import MISSING

Blocks = tuple[int, ...]


def agreement(pattern: Sequence[int]) -> Blocks:
    """Return who agrees with whom: for each test the first test with the same output.

    A missing output is -1.

    >>> agreement([7, 3, 7, 3])
    (0, 1, 0, 1)
    """
    first: dict[int, int] = {MISSING: MISSING}
    return tuple(first.setdefault(y, k) for k, y in enumerate(pattern))
