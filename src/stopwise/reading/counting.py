"""Counting patterns of small codes: the codes of a case are packed into one word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import Cascade, IntArray
from stopwise.patterns import PatternTable
from stopwise.reading.log_checks import MAX_PATTERNS

WORD = 64  # bits
MAX_CODES = 1 << 16  # of one column
DENSE = 22  # bits: up to here a table of all words is faster than sorting those that occur
BLOCK = 1 << 16  # cases whose words stay in the cache while they are packed
PENDING = 1 << 20  # words that are counted at once, or fewer where their table is small

Codes = NDArray[Any]  # whole numbers from 0


class WordCounts:
    """How often each pattern occurs among cases that come in blocks, as columns of codes.

    The memory grows with the number of different patterns and not with that of cases.

    ``sizes`` says for each column how many codes it may have; they must fit (`fits`).

    >>> counts = WordCounts([2, 3])
    >>> counts.add([np.array([0, 1, 0]), np.array([2, 0, 2])])
    >>> counts.patterns()
    (array([[0, 2],
           [1, 0]]), array([2, 1]))
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.widths = [_width(size) for size in sizes]
        bits = sum(self.widths)
        self._word = next(np.dtype(f"u{n}") for n in (1, 2, 4, 8) if bits <= 8 * n)
        self._table = np.zeros(1 << bits, dtype=np.int64) if bits <= DENSE else None
        self._counts = (np.empty(0, dtype=self._word), np.empty(0, dtype=np.int64))
        self._pending: list[Codes] = []
        self._n_pending = 0
        self._enough = PENDING if bits > DENSE else min(1 << bits, PENDING)

    @staticmethod
    def fits(sizes: Sequence[int]) -> bool:
        """Whether one word can hold a code of each column."""
        return max(sizes, default=1) <= MAX_CODES and sum(map(_width, sizes)) <= WORD

    def add(self, columns: Sequence[Codes]) -> None:
        """Count cases given as one array of codes for each column."""
        for start in range(0, len(columns[0]), BLOCK):
            block = [column[start : start + BLOCK] for column in columns]
            words = block[0].astype(self._word)
            for codes, width in zip(block[1:], self.widths[1:], strict=True):
                words *= 1 << width  # a shift, but NumPy's shift of bytes takes ten times as long
                words |= codes.astype(self._word, copy=False)
            self._pending.append(words)
            self._n_pending += len(words)
            if self._n_pending >= self._enough:
                self._count()

    @property
    def n_kept(self) -> int:
        """The number of patterns stored apart from the dense table."""
        return len(self._counts[0])

    def patterns(self) -> tuple[IntArray, IntArray]:
        """Return the patterns as rows of codes, and how many cases have each."""
        self._count()
        words, times = self._counts
        if self._table is not None:
            words = np.flatnonzero(self._table)
            times = self._table[words]
        codes = np.empty((len(words), len(self.widths)), dtype=np.int64, order="F")
        for k in reversed(range(len(self.widths))):
            codes[:, k] = words & ((1 << self.widths[k]) - 1)
            words = words >> self.widths[k]
        return codes, times

    def _count(self) -> None:
        """Count the pending words."""
        if not self._pending:
            return
        words = np.concatenate(self._pending) if len(self._pending) > 1 else self._pending[0]
        self._pending, self._n_pending = [], 0
        if self._table is not None:
            self._table += np.bincount(words, minlength=len(self._table))
            return
        words, times = np.unique(words, return_counts=True)
        total_words, place = np.unique(np.append(self._counts[0], words), return_inverse=True)
        total = np.zeros(len(total_words), dtype=np.int64)
        np.add.at(total, place, np.append(self._counts[1], times))
        self._counts = (total_words, total)


def _width(size: int) -> int:
    return max((size - 1).bit_length(), 1)


def count_array(
    array: NDArray[Any], names: Sequence[str], columns: Sequence[str], cascade: Cascade
) -> PatternTable | None:
    """Return the pattern table of booleans or whole numbers, one row per case; shape (n, K).

    ``None`` where the outputs of a case do not fit into one word, or there are too many patterns.
    ``names`` are those of the array's columns, ``columns`` those to count.
    """
    if tuple(columns) != tuple(names):
        array = array[:, [list(names).index(name) for name in columns]]
    numbers = array.view(np.uint8) if array.dtype == np.bool_ else array
    low, high = (numbers.min(), numbers.max()) if numbers.size else (numbers.dtype.type(0),) * 2
    size = int(high) - int(low) + 1
    if not WordCounts.fits([size] * len(columns)):
        return None
    counts = WordCounts([size] * len(columns))
    unsigned = np.dtype(f"u{numbers.dtype.itemsize}")  # a difference may not fit the signed type
    for start in range(0, len(numbers), BLOCK):
        block = numbers[start : start + BLOCK].T
        if block.strides[1] != block.itemsize:
            block = np.ascontiguousarray(block)
        counts.add(list((block - low if low else block).view(unsigned)))
        if counts.n_kept > MAX_PATTERNS:
            return None
    codes, times = counts.patterns()
    if len(times) > MAX_PATTERNS:
        return None
    kind = bool if array.dtype == np.bool_ else int
    values = [kind(int(low) + c) for c in range(size)]
    return PatternTable.from_codes(codes, [values] * len(columns), times, cascade)
