"""Many cases as one integer: what a learner adds up while its decision is in force."""

from __future__ import annotations

import sys
from collections.abc import Hashable
from typing import Any

from stopwise.outputs import Outputs, Told

# A tally is one integer with 64 bits for each number: how many cases, then for b = 1, 2, … and
# a < b how many of them had outputs a and b disagree. Adding integers adds all lanes at once.
_LANE = 64
_ONE_OR_NONE = (bytes(_LANE // 8), (1).to_bytes(_LANE // 8, "little"))

EQUAL_THEMSELVES = frozenset((bool, int, str))
"""The types of outputs that need no check."""

# Bytes, about, that the words of known patterns may take, and how many patterns are known; beyond
# that the first outputs stay known and the table of words by agreement starts anew.
WORD_MEMORY = 4_000_000
MOST_KNOWN = 1_000
# Text and whole numbers beyond this size are not kept.
_LONGEST_TEXT = 40
_LARGEST_NUMBER = 2**63


class Words:
    """The tally of one case, its *word*, found by its outputs or by which of them agree.

    ``known[stage]`` maps the outputs of a case to its word. Only short outputs are kept there, so
    that texts of any length take no memory; all others are found by who agrees with whom.
    """

    def __init__(self, n_stages: int) -> None:
        K = n_stages
        self.known: list[dict[Any, int]] = [{} for _ in range(K)]
        self._by_agreement: dict[tuple[int, ...], int] = {}
        self._numbers = range(K)
        self._n_known = 0
        self._keeps = True
        self._most_known = min(MOST_KNOWN, WORD_MEMORY // (200 + 100 * K))
        self._most_words = WORD_MEMORY // (200 + 10 * K + 4 * K * K)

    def word(self, outputs: Told) -> int:
        """Return the word of a complete case of outputs that equal themselves."""
        first: dict[Hashable, int] = {}
        key = tuple(map(first.setdefault, outputs, self._numbers))
        word = self._by_agreement.get(key)
        if word is None:
            if len(self._by_agreement) >= self._most_words:
                self._by_agreement.clear()
            self._by_agreement[key] = word = tally_word(key)
        if self._keeps and all(map(_is_short, first)):
            self._n_known += 1
            self._keeps = self._n_known < self._most_known
            self.known[len(outputs) - 1][outputs] = word
        return word


def _is_short(output: Any) -> bool:
    kind = type(output)
    if kind is str:
        return len(output) <= _LONGEST_TEXT
    if kind is int:
        return bool(-_LARGEST_NUMBER <= output < _LARGEST_NUMBER)
    return kind is bool or kind is float


def tally_word(outputs: Outputs) -> int:
    """Return the tally of one complete case."""
    lanes = [True]
    for b, y in enumerate(outputs):
        lanes += [bool(x != y) for x in outputs[:b]]
    return int.from_bytes(b"".join([_ONE_OR_NONE[lane] for lane in lanes]), "little")


def tally_totals(tally: int, length: int) -> tuple[int, list[list[int]]]:
    """Return the number of cases in a tally and how many disagreed, for `PairCounts.add_totals`."""
    n_lanes = 1 + length * (length - 1) // 2
    lanes = memoryview(tally.to_bytes(n_lanes * _LANE // 8, sys.byteorder)).cast("Q").tolist()
    if sys.byteorder == "big":
        lanes.reverse()
    starts = [1 + b * (b - 1) // 2 for b in range(length)]
    return lanes[0], [lanes[start : start + b] for b, start in enumerate(starts)]
