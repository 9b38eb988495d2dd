"""Counting patterns of small codes: each case becomes one word of at most 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from stopwise.cascade import IntArray

BYTE, WORD = 8, 64
MAX_CODES = 1 << 16  # of one column
DENSE = 22  # bits: up to here a table of all words is faster than sorting those that occur
BUFFER = 1 << 20

Codes = NDArray[Any]  # whole numbers from 0


class WordCounts:
    """How often each pattern occurs among cases that come in blocks, as columns of codes.

    Codes of up to eight bits do not cross bytes, so that most of the packing is done on bytes. The
    memory grows with the number of different patterns and not with that of cases.

    Parameters
    ----------
    sizes
        For each column how many codes it may have; they must fit (`fits`).

    >>> counts = WordCounts([2, 3])
    >>> counts.add([np.array([0, 1, 0]), np.array([2, 0, 2])])
    >>> counts.patterns()
    (array([[1, 0],
           [0, 2]]), array([1, 2]))
    """

    def __init__(self, sizes: Sequence[int]) -> None:
        self.widths = [_width(size) for size in sizes]
        self.shifts, top = _places(self.widths)
        self._table = np.zeros(1 << top, dtype=np.int64) if top <= DENSE else None
        self._found: tuple[NDArray[np.int64], IntArray] = (
            np.empty(0, dtype=np.int64),
            np.empty(0, dtype=np.int64),
        )
        self._buffer = np.empty(BUFFER, dtype=np.int64)
        self._used = 0

    @staticmethod
    def fits(sizes: Sequence[int]) -> bool:
        """Whether one word can hold a code of each column."""
        widths = [_width(size) for size in sizes]
        return max(sizes, default=1) <= MAX_CODES and _places(widths)[1] <= WORD

    def add(self, columns: Sequence[Codes]) -> None:
        """Count cases given as one array of codes for each column."""
        for start in range(0, len(columns[0]), BUFFER):
            block = [column[start : start + BUFFER] for column in columns]
            n = len(block[0])
            if self._used + n > BUFFER:
                self._empty()
            words = self._buffer[self._used : self._used + n]
            words[:] = 0
            for lane, shift in self._lanes(block):
                np.bitwise_or(words, lane.astype(np.int64) << shift, out=words)
            self._used += n

    @property
    def n_kept(self) -> int:
        """How many patterns take memory beyond what was set aside at first."""
        return len(self._found[0])

    def patterns(self) -> tuple[IntArray, IntArray]:
        """Return the patterns as rows of codes, and how many cases have each."""
        self._empty()
        words, times = self._found
        if self._table is not None:
            words = np.flatnonzero(self._table)
            times = self._table[words]
        masks = (1 << np.array(self.widths)) - 1
        return (words[:, None] >> np.array(self.shifts)) & masks, times

    def _lanes(self, block: Sequence[Codes]) -> list[tuple[Codes, int]]:
        """Join the columns that share a byte, and return what is left with its place."""
        lanes: dict[int, Codes] = {}
        wide: list[tuple[Codes, int]] = []
        for codes, width, shift in zip(block, self.widths, self.shifts, strict=True):
            if width > BYTE:
                wide.append((codes, shift))
                continue
            place = shift // BYTE * BYTE
            moved = codes.astype(np.uint8, copy=False) << np.uint8(shift - place)
            if place in lanes:
                np.bitwise_or(lanes[place], moved, out=lanes[place])
            else:
                lanes[place] = moved
        return [*((lane, place) for place, lane in lanes.items()), *wide]

    def _empty(self) -> None:
        """Count what is in the buffer."""
        words = self._buffer[: self._used]
        self._used = 0
        if self._table is not None:
            self._table += np.bincount(words, minlength=len(self._table))
            return
        fresh, times = np.unique(words, return_counts=True)
        both, place = np.unique(np.append(self._found[0], fresh), return_inverse=True)
        total = np.zeros(len(both), dtype=np.int64)
        np.add.at(total, place, np.append(self._found[1], times))
        self._found = (both, total)


def _width(size: int) -> int:
    return max((size - 1).bit_length(), 1)


def _places(widths: Sequence[int]) -> tuple[list[int], int]:
    """Return the lowest bit of each column, and the number of bits that are used in all."""
    shifts, top = [], 0
    for width in widths:
        crosses = top // BYTE != (top + width - 1) // BYTE
        if crosses:
            top = -(-top // BYTE) * BYTE
        shifts.append(top)
        top += width
    return shifts, top
