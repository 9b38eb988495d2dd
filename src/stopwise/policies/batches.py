"""Many cases at once: what a batch may be, checked before anything is counted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import Any

from stopwise.checks import whole_number
from stopwise.errors import InputError, OutputsError

PARTS = 256  # about how many parts a batch without order is cut into
GOLDEN = 0.618034  # its multiples modulo 1 are spread evenly


def checked_batch(
    batch: Any, names: tuple[str, ...], check: Callable[[Any], Any]
) -> list[tuple[Any, int]]:
    """Return the cases of a batch, each as ``check`` returns it, and how often; or raise."""
    if isinstance(batch, (str, bytes)) or not isinstance(batch, Iterable):
        raise OutputsError(f"batch must be cases, or a mapping from cases, got {batch!r}")
    cases = batch.items() if isinstance(batch, Mapping) else ((case, 1) for case in batch)
    counts = []
    for number, (case, times) in enumerate(cases, start=1):
        try:
            count = whole_number("times", times, OutputsError, least=1)
            counts.append((check(case), count))
        except InputError as error:
            form = "" if names == ("outputs",) else f"; a case is ({', '.join(names)})"
            raise type(error)(f"{error}; it is case {number} of the batch{form}") from None
    return counts


def mixed(batch: list[tuple[Any, int]]) -> list[tuple[Any, int]]:
    """Return a batch that has no order with each of its cases spread evenly over it.

    >>> mixed([("a", 4), ("b", 2)])
    [('a', 1), ('a', 1), ('b', 1), ('a', 1), ('a', 1), ('b', 1)]
    """
    if len(batch) == 1:
        return batch
    size = -(-sum(times for _, times in batch) // PARTS)
    steps = []
    for number, (case, times) in enumerate(batch):
        n, shift = -(-times // size), number * GOLDEN % 1
        steps += [((i + shift) / n, case, times * (i + 1) // n - times * i // n) for i in range(n)]
    steps.sort(key=itemgetter(0))
    return [(case, times) for _, case, times in steps]


def parts(case: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Return the parts of a case by their names: outputs alone, or a tuple of all of them."""
    if len(names) == 1:
        return {"outputs": case}
    if not isinstance(case, (tuple, list)) or len(case) != len(names):
        raise OutputsError(f"a case must be ({', '.join(names)}), got {case!r}")
    return dict(zip(names, case, strict=True))
