"""Many cases as one integer: what a learner is told while its decision is in force."""

from __future__ import annotations

from collections.abc import Hashable
from sys import getsizeof
from typing import Any

from stopwise.counts import Totals
from stopwise.outputs import Outputs, Told

# A tally is one integer with a byte for each number: how many cases, then for b = 1, 2, … and
# a < b how many of them had outputs a and b disagree. Adding integers adds all bytes at once.
_MOST_ADDED = 255

EQUAL_THEMSELVES = frozenset((bool, int, str))
"""The types of outputs that need no check."""
_SMALL_TYPES = EQUAL_THEMSELVES | {float}

MOST_WAITING = 250
"""At most so many cases wait to be counted; threads that tell at once may add a few more."""

# About how many bytes the words of known patterns may take, and how many patterns are known. Beyond
# that, known outputs stay known and the table of words by agreement starts anew.
WORD_MEMORY = 4_000_000
MOST_KNOWN = 1_000
# The most bytes of an output that is looked up: a text of about fifty letters.
_LARGEST = 100


class Inbox:
    """The cases of one stage that wait to be counted, each as its tally of one case: its *word*.

    ``known`` maps outputs to their words and ``waiting`` has a word for each case. Both are used
    without a lock: looking up in a dictionary and appending to a list cannot be interrupted.
    ``left`` is for how many rounds the stage is certain, the waiting cases included; ``room`` is
    how many cases may wait.
    """

    __slots__ = ("_rows", "known", "left", "room", "stage", "waiting")

    def __init__(self, stage: int, rows: list[slice]) -> None:
        self.stage = stage
        self.left = self.room = 0
        self.known: dict[Any, int] = {}
        self.waiting: list[int] = []
        self._rows = rows  # where in a tally the numbers of each test are

    def take_out(self) -> tuple[int, Totals]:
        """Return how many cases waited and how many disagreed, for `PairCounts.add_totals`."""
        words = self.waiting[:_MOST_ADDED]
        del self.waiting[: len(words)]
        rows = self._rows[: self.stage + 1]
        counts = sum(words).to_bytes(rows[-1].stop, "little")
        return counts[0], [counts[row] for row in rows]


class Words:
    """The tally of one case, its *word*, looked up by its outputs or by which of them agree.

    Only short outputs are remembered, in the inbox of their stage, so that long texts take no
    memory. All other cases are looked up by which outputs agree.
    """

    def __init__(self, n_stages: int) -> None:
        K = n_stages
        rows = [slice(1 + b * (b - 1) // 2, 1 + b * (b + 1) // 2) for b in range(K)]
        self.inboxes = [Inbox(stage, rows) for stage in range(K)]
        self.waiting = [inbox.waiting for inbox in self.inboxes]
        self._by_agreement: dict[tuple[int, ...], int] = {}
        self._numbers = range(K)
        self._n_known = 0
        self._keeps = True
        self._most_known = min(MOST_KNOWN, WORD_MEMORY // (200 + 100 * K))
        self._most_words = WORD_MEMORY // (200 + 10 * K + K * K // 2)

    def word(self, outputs: Told) -> int:
        """Return the word of a complete case of outputs that equal themselves."""
        first: dict[Hashable, int] = {}
        key = tuple(map(first.setdefault, outputs, self._numbers))
        word = self._by_agreement.get(key)
        if word is None:
            if len(self._by_agreement) >= self._most_words:
                self._by_agreement.clear()
            self._by_agreement[key] = word = tally_word(key)
        if self._keeps and all(type(y) in _SMALL_TYPES and getsizeof(y) <= _LARGEST for y in first):
            self._n_known += 1
            self._keeps = self._n_known < self._most_known
            self.inboxes[len(outputs) - 1].known[outputs] = word
        return word


def tally_word(outputs: Outputs) -> int:
    """Return the tally of one complete case."""
    counts = [True]
    for b, y in enumerate(outputs):
        counts += [bool(x != y) for x in outputs[:b]]
    return int.from_bytes(bytes(counts), "little")
