"""Counting patterns of 0 and 1 in memory: bits packed 64 cases to a word, counted by popcount."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.audit.histogram import Histogram
from stopwise.cascade import Cascade, IntArray, read_only

MAX_BITS = 16  # beyond this a table of all patterns is larger than one of those that occur
MAX_COMPILED = 8  # beyond this there are too many sets of tests to count each
BLOCK = 1 << 20
CACHED = 1 << 17  # rows whose bits, and what is made of them, stay in the cache
WORD = 64

Bits = NDArray[np.uint8]


def is_countable(array: NDArray[Any]) -> bool:
    """Whether an array can be counted here: bytes or booleans, all 0 or 1, few enough columns."""
    if array.shape[1] > MAX_BITS or not array.size:
        return False
    if array.dtype == np.bool_:
        return True
    # As unsigned bytes negative numbers are large.
    return array.dtype in (np.uint8, np.int8) and bool(array.view(np.uint8).max() <= 1)


def count_patterns(array: NDArray[Any], cascade: Cascade) -> Histogram:
    """Return the pattern histogram of an array of 0 and 1; shape (n, K)."""
    table = pattern_table(array)
    seen = np.flatnonzero(table)
    rows = (seen[:, None] >> np.arange(array.shape[1])) & 1
    return Histogram.from_rows(rows.tolist(), table[seen].tolist(), cascade)


def pattern_table(array: NDArray[Any]) -> IntArray:
    """Return how many rows have each pattern; bit k of the index is column k; shape (2^K,).

    Fastest where columns are contiguous, as those of data frames are, and with numba.

    >>> pattern_table(np.array([[0, 1], [1, 1], [0, 1]], dtype=np.uint8))
    array([0, 0, 2, 1])
    """
    columns = array.view(np.uint8).T
    table = np.zeros(1 << len(columns), dtype=np.int64)
    step = columns.shape[1] if columns.flags.c_contiguous else BLOCK
    for start in range(0, columns.shape[1], max(step, 1)):
        block = np.ascontiguousarray(columns[:, start : start + step])
        whole = block.shape[1] // WORD * WORD if len(block) <= MAX_COMPILED else 0
        if not (whole and _add_compiled(block[:, :whole], table)):
            whole = 0
        _add_codes(block[:, whole:], table)
    return table


def pair_counts(array: NDArray[Any]) -> IntArray:
    """Return in how many rows two columns differ, for an array of 0 and 1; shape (K, K).

    >>> pair_counts(np.array([[0, 1], [1, 1], [1, 0]], dtype=np.uint8))
    array([[0, 2],
           [2, 0]])
    """
    K = array.shape[1]
    upper = np.triu_indices(K, 1)
    if not len(upper[0]):
        return read_only(np.zeros((K, K), dtype=np.int64))
    first = np.searchsorted(upper[0], np.arange(K + 1))  # where the pairs of each test begin
    sums = np.zeros(len(upper[0]), dtype=np.int64)
    columns = array.view(np.uint8).T
    for start in range(0, columns.shape[1], CACHED):
        words = _packed(columns[:, start : start + CACHED])
        counts = np.empty((len(sums), words.shape[1]), dtype=np.uint8)
        for i in range(K - 1):
            np.bitwise_count(words[i] ^ words[i + 1 :], out=counts[first[i] : first[i + 1]])
        sums += _byte_sums(counts)
    total = np.zeros((K, K), dtype=np.int64)
    total[upper] = sums
    return read_only(total + total.T)


def _packed(columns: Bits) -> NDArray[np.uint64]:
    """Return each column as bits, 64 rows to a word and eight words at least; shape (K, words)."""
    packed = np.packbits(columns, axis=1)
    words = np.zeros((len(packed), -(-packed.shape[1] // 64) * 8), dtype=np.uint64)
    words.view(np.uint8)[:, : packed.shape[1]] = packed
    return words


def _byte_sums(counts: Bits) -> IntArray:
    """Return the sum of each row of popcounts, four at a time in the lanes of a word.

    A lane of 16 bits holds two popcounts <= 64 of each of up to 511 words.
    """
    lanes = counts.view(np.uint64)
    even = np.uint64(0x00FF00FF00FF00FF)
    lanes = (lanes & even) + ((lanes >> np.uint64(8)) & even)
    sums = np.add.reduceat(lanes, np.arange(0, lanes.shape[1], 256), axis=1)
    whole = sums.view(np.uint16).reshape(len(sums), -1).sum(axis=1, dtype=np.int64)
    return np.asarray(whole)


def _add_compiled(columns: Bits, table: IntArray) -> bool:
    """Count with the compiled loop and return True, or False without numba."""
    try:
        from stopwise.audit.kernel import count_ones
    except ImportError:
        return False
    at_least = np.zeros_like(table)
    at_least[0] = columns.shape[1]
    count_ones(columns.view(np.uint64), at_least)
    # From "all of these are 1" to "these and no others are": take off what has one more.
    for k in range(len(columns)):
        without, with_k = at_least.reshape(-1, 2, 1 << k).transpose(1, 0, 2)
        without -= with_k
    table += at_least
    return True


def _add_codes(columns: Bits, table: IntArray) -> None:
    for start in range(0, columns.shape[1], BLOCK):
        block = columns[:, start : start + BLOCK]
        codes = np.zeros(block.shape[1], dtype=np.uint32)
        for k, column in enumerate(block):
            codes |= column.astype(np.uint32) << np.uint32(k)
        table += np.bincount(codes, minlength=len(table))
