"""The loop that numba compiles: 64 cases to a word, one popcount for each set of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from stopwise.cascade import IntArray

Words = NDArray[np.uint64]

WORDS = 1024  # in a block: the bits of all tests and their products stay in the cache


def _popcount(_context: Any, _word: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)


def _pack(column: Words, bits: Words) -> None:
    """Join eight words of a column, each shifted by one bit more, to one word of 64 cases.

    In which order the cases end there does not matter, as it is the same for every column.
    """
    m = len(bits)
    for w in range(m):
        bits[w] = column[w]
    for j in range(1, 8):
        part = column[j * m : (j + 1) * m]
        shift = np.uint64(j)
        for w in range(m):
            bits[w] |= part[w] << shift


def _count_four(z: Words, x: Words, y: Words, m: int, all_one: IntArray) -> None:
    """Count the ones of z, z and x, z and y, and of all three: x and y are read once for all."""
    n_z = n_x = n_y = n_both = np.uint64(0)
    for w in range(m):
        z_x = z[w] & x[w]
        n_z += popcount(z[w])
        n_x += popcount(z_x)
        n_y += popcount(z[w] & y[w])
        n_both += popcount(z_x & y[w])
    all_one[0] += np.int64(n_z)
    all_one[1] += np.int64(n_x)
    all_one[2] += np.int64(n_y)
    all_one[3] += np.int64(n_both)


def _join_and_count_four(
    first: Words, others: Words, here: Words, x: Words, y: Words, m: int, all_one: IntArray
) -> None:
    """Set z = first and others and count as `_count_four` does, in one pass."""
    n_z = n_x = n_y = n_both = np.uint64(0)
    for w in range(m):
        z = first[w] & others[w]
        here[w] = z
        z_x = z & x[w]
        n_z += popcount(z)
        n_x += popcount(z_x)
        n_y += popcount(z & y[w])
        n_both += popcount(z_x & y[w])
    all_one[0] += np.int64(n_z)
    all_one[1] += np.int64(n_x)
    all_one[2] += np.int64(n_y)
    all_one[3] += np.int64(n_both)


_compiled: Any = njit
pack, count_four, join_and_count_four = map(_compiled, (_pack, _count_four, _join_and_count_four))


def _count_ones(words: Words, all_one: IntArray, look: bool) -> np.uint64:
    """Add to ``all_one[s]`` in how many cases all tests of the set s (a bit mask) say 1.

    ``words`` holds columns of bytes 0 and 1, eight cases to a word; shape (K, n / 8), K >= 2 and n
    a multiple of 64.

    Returns all words or-ed together where ``look`` asks for it: what has other bits than the
    lowest of a byte had other values than 0 and 1.
    """
    K, n_words = words.shape
    product = np.empty((1 << K, WORDS), dtype=np.uint64)
    product[0] = ~np.uint64(0)
    used = np.uint64(0)
    for start in range(0, n_words, 8 * WORDS):
        m = min(WORDS, (n_words - start) // 8)
        for k in range(K):
            column = words[k, start : start + 8 * m]
            if look:
                for w in range(8 * m):
                    used |= column[w]
            pack(column, product[1 << k, :m])
        x, y = product[1], product[2]
        for s in range(0, 1 << K, 4):
            lowest = s & -s
            rest = s ^ lowest
            counts = all_one[s : s + 4]
            if rest == 0:
                count_four(product[s], x, y, m, counts)
            else:
                join_and_count_four(product[lowest], product[rest], product[s], x, y, m, counts)
    return used


count_ones: Callable[[Words, IntArray, bool], np.uint64] = _compiled(cache=True, nogil=True)(
    _count_ones
)
