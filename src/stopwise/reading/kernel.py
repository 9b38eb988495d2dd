"""The loop that numba compiles: 64 cases to a word, one popcount for each set of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numpy.typing import NDArray

from stopwise.reading.vectors import LANES, load, popcounts, store, zero

Words = NDArray[np.uint64]
Bytes = NDArray[np.uint8]

VECTOR = 8 * LANES  # bytes
GROUP = 2 * 8 * VECTOR  # cases counted at once: two vectors of bits for each test

_compiled: Any = njit


def _carry_save(a: Any, b: Any, c: Any) -> tuple[Any, Any]:
    """Add three bits in each place: the ones and the twos of the sum."""
    differ = a ^ b
    return differ ^ c, (a & b) | (differ & c)


def _pack(column: Any, at: int) -> tuple[Any, Any]:
    """Join eight vectors of bytes 0 and 1, each shifted by one bit more, to one vector of bits.

    In which order the cases end there does not matter, as it is the same for every column. Also
    returned are all bytes or-ed together.
    """
    bits = used = load(column, at)
    for j in range(1, 8):
        part = load(column, at + j * VECTOR)
        bits = bits | (part << j)
        used = used | part
    return bits, used


def _add_two(sums: Any, first: Any, second: Any) -> None:
    """Add the ones of two vectors to those so far: bits that are still single, counts of pairs."""
    single, pairs = carry_save(load(sums, 0), first, second)
    store(sums, 0, single)
    store(sums, LANES, load(sums, LANES) + popcounts(pairs))


carry_save, pack, add_two = map(_compiled, (_carry_save, _pack, _add_two))


def _count_ones(columns: Bytes) -> tuple[Words, Words]:
    """Count in how many cases all tests of a set say 1, for each set; shape (2^K, 8).

    ``columns`` holds bytes 0 and 1, shape (K, n), n a multiple of `GROUP`. The row of a set, whose
    number has the bits of its tests, holds four words of bits that count one each and four sums
    that count two each. The second array holds all bytes or-ed together: what has other bits than
    the lowest had other values than 0 and 1.
    """
    K, n = columns.shape
    sums = np.zeros((1 << K, 2 * LANES), dtype=np.uint64)
    product = np.empty((1 << K, 2 * LANES), dtype=np.uint64)
    product[0] = ~np.uint64(0)
    used = zero()
    for start in range(0, n, GROUP):
        for k in range(K):
            for half in range(2):
                bits, bytes_used = pack(columns[k], start + half * 8 * VECTOR)
                store(product[1 << k], half * LANES, bits)
                used = used | bytes_used
        x, y = load(product[1], 0), load(product[1], LANES)
        for s in range(0, 1 << K, 2):  # and with the first test, which no larger product needs
            lowest = s & -s
            one, others = product[lowest], product[s ^ lowest]
            first = load(one, 0) & load(others, 0)
            second = load(one, LANES) & load(others, LANES)
            store(product[s], 0, first)
            store(product[s], LANES, second)
            add_two(sums[s], first, second)
            add_two(sums[s + 1], first & x, second & y)
    seen = np.empty(LANES, dtype=np.uint64)
    store(seen, 0, used)
    return sums, seen


# One signature for all: any distance between columns, writable or not.
_columns = types.Array(types.uint8, 2, "A", readonly=True)
count_ones: Callable[[Bytes], tuple[Words, Words]] = _compiled((_columns,), cache=True, nogil=True)(
    _count_ones
)
