"""Counting outputs in memory: patterns of small numbers, pairs of 0 and 1 packed into bits."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import Cascade, IntArray, read_only
from stopwise.patterns import PatternTable
from stopwise.reading.checks import MAX_PATTERNS, check_n_patterns
from stopwise.reading.packing import WordCounts

MAX_COMPILED = 8  # tests: beyond this there are too many sets of them to count each
BLOCK = 1 << 16  # rows of a table that is turned, a multiple of the kernel's groups
CACHED = 1 << 19  # rows whose bits, and what is made of them, stay in the cache
ONES = np.uint64(0x0101010101010101)

Bits = NDArray[np.uint8]


def is_countable(array: NDArray[Any]) -> bool:
    """Whether the values are booleans or whole numbers, which need no engine to be counted."""
    return array.dtype.kind in "bui"


def count_patterns(array: NDArray[Any], cascade: Cascade) -> PatternTable | None:
    """Return the pattern histogram of booleans or whole numbers, one row a case; shape (n, K).

    ``None`` where the outputs of a case do not fit into one word.
    """
    table = _compiled_table(array)
    if table is not None and len(array):
        seen = np.flatnonzero(table)
        rows = (seen[:, None] >> np.arange(array.shape[1])) & 1
        if seen[-1] == 0 or seen[0] == len(table) - 1:  # one value only
            return PatternTable.from_numbers(rows.astype(array.dtype), table[seen], cascade)
        order = np.lexsort(rows.T[::-1])
        values = (False, True) if array.dtype == np.bool_ else (0, 1)
        return PatternTable(read_only(rows[order]), read_only(table[seen[order]]), values, cascade)
    numbers = array.view(np.uint8) if array.dtype == np.bool_ else array
    low = numbers.min(axis=0) if len(array) else np.zeros(array.shape[1], dtype=numbers.dtype)
    high = numbers.max(axis=0) if len(array) else low
    sizes = [int(y) - int(least) + 1 for y, least in zip(high, low, strict=True)]
    if not WordCounts.fits(sizes):
        return None
    counts = WordCounts(sizes)
    unsigned = np.dtype(f"u{numbers.dtype.itemsize}")  # a distance may be too large for the sign
    for start in range(0, len(numbers), BLOCK):
        block = np.ascontiguousarray((numbers[start : start + BLOCK] - low).T)
        counts.add(list(block.view(unsigned)))
        if counts.n_kept > MAX_PATTERNS:
            break
    codes, times = counts.patterns()
    check_n_patterns(len(times), codes, cascade.names)
    outputs = (codes.astype(numbers.dtype) + low).astype(array.dtype)
    return PatternTable.from_numbers(outputs, times, cascade)


def _compiled_table(array: NDArray[Any]) -> IntArray | None:
    """Return how many rows have each pattern; bit k of the index is column k; shape (2^K,).

    ``None`` where that takes another way: no numba, other values than 0 and 1, many columns.
    """
    if array.dtype.itemsize != 1 or not 2 <= array.shape[1] <= MAX_COMPILED:
        return None
    try:
        from stopwise.reading.kernel import GROUP, count_ones
    except ImportError:
        return None
    columns = array.view(np.uint8).T
    n = columns.shape[1]
    whole = n // GROUP * GROUP
    table = np.zeros(1 << len(columns), dtype=np.int64)
    step = n if columns.strides[1] == 1 else BLOCK  # else block by block, each copied
    for start in range(0, whole, step):
        block = columns[:, start : min(start + step, whole)]
        sums, used = count_ones(block if step == n else np.ascontiguousarray(block))
        if (used & ~ONES).any():
            return None
        single, pairs = np.hsplit(sums, 2)
        table += (np.bitwise_count(single) + 2 * pairs).sum(axis=1).astype(np.int64)
    # From "all of these are 1" to "these and no others are": take off what has one more.
    for k in range(len(columns)):
        without, with_k = table.reshape(-1, 2, 1 << k).transpose(1, 0, 2)
        without -= with_k
    rest = columns[:, whole:]
    if rest.size and rest.max() > 1:
        return None
    codes = (rest.astype(np.int64) << np.arange(len(rest))[:, None]).sum(axis=0)
    table += np.bincount(codes, minlength=len(table))
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
        differ = np.empty((K - 1, words.shape[1]), dtype=np.uint64)
        counts = np.empty((len(sums), words.shape[1]), dtype=np.uint8)
        for i in range(K - 1):
            here = np.bitwise_xor(words[i], words[i + 1 :], out=differ[i:])
            np.bitwise_count(here, out=counts[first[i] : first[i + 1]])
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
