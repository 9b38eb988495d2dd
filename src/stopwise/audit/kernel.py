"""The loop that numba compiles: 64 cases to a word, one popcount for each set of tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from stopwise.cascade import IntArray

WORDS = 1024  # in a block: the bits of all tests and their products stay in the cache


def _popcount(_context: Any, _word: Any) -> tuple[Any, Callable[..., Any]]:
    def generate(_: Any, builder: Any, __: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.uint64(types.uint64), generate


popcount: Any = intrinsic(_popcount)


def _count_ones(words: NDArray[np.uint64], all_one: IntArray) -> None:
    """Add to ``all_one[s]`` in how many cases all tests of the set s (a bit mask) say 1.

    ``words`` holds columns of bytes 0 and 1, eight cases to a word; shape (K, n / 8), n a multiple
    of 64. Eight words of a column, each shifted by one bit more than the last, join to one word of
    64 cases; in which order does not matter, as it is the same for every column.
    """
    K, n_words = words.shape
    product = np.empty((1 << K, WORDS), dtype=np.uint64)
    for start in range(0, n_words, 8 * WORDS):
        m = min(WORDS, (n_words - start) // 8)
        for k in range(K):
            bits = product[1 << k]
            column = words[k, start : start + 8 * m]
            for w in range(m):
                bits[w] = column[w]
            for j in range(1, 8):
                part = column[j * m : (j + 1) * m]
                shift = np.uint64(j)
                for w in range(m):
                    bits[w] |= part[w] << shift
        for s in range(1, 1 << K):
            lowest = s & -s
            rest = s ^ lowest
            here = product[s]
            ones = np.uint64(0)
            if rest and lowest == 1:  # no larger set is made from this one
                first, others = product[lowest], product[rest]
                for w in range(m):
                    ones += popcount(first[w] & others[w])
            elif rest:
                first, others = product[lowest], product[rest]
                for w in range(m):
                    both = first[w] & others[w]
                    here[w] = both
                    ones += popcount(both)
            else:
                for w in range(m):
                    ones += popcount(here[w])
            all_one[s] += np.int64(ones)


count_ones: Callable[[NDArray[np.uint64], IntArray], None] = njit(cache=True, nogil=True)(
    _count_ones
)
