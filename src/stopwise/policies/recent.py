"""Counts that fade, and start anew when something has changed: what `memory` adds to a policy."""

from __future__ import annotations

import math
from collections.abc import Callable
from operator import add, sub
from typing import Any

import numpy as np

from stopwise.checks import whole_number
from stopwise.errors import InputError, SettingError, StateError
from stopwise.theory.e_values import log_e_values

# The memory is divided into so many blocks; after each block, older counts fade.
PARTS = 16
FADING = 15 / 16
# The rule uses so many blocks; older ones only help to notice a change.
MOST_BLOCKS = 48
# How often a block is tested for a change, and the least number of cases between two tests.
LOOKS = 4
LEAST_LOOK = 16
# The chance that a given point in time is ever mistaken for a change if nothing changes.
FALSE_ALARM = 1e-5
# Weights are multiples of 1 / GRAIN, so that sums are exact in any order.
GRAIN = 1024


class Recent:
    """Recent counts, in blocks of ``memory`` / 16 cases; a block has 15/16 the weight of the next.

    At the end of a block, and three times before, each comparison is tested for a change at each
    cut between two blocks: `stopwise.theory.e_values`. If an e-value reaches 10⁵ times the number
    of comparisons, everything before that cut is forgotten. So is the block after it, since the
    change may lie within it.

    Parameters
    ----------
    empty
        An empty table of counts. Tables can be added, subtracted and copied;
        ``comparisons()`` returns for each share to be watched its hits and cases. A table with
        limits leaves out of ``faded(blocks, weights)`` what it leaves out of the newest block, and
        the other way round. So the faded counts always follow from what `to_state` describes.
    memory
        For about how many cases something is remembered, at least 16.
    """

    def __init__(self, empty: Any, memory: int) -> None:
        self.memory = whole_number("memory", memory, SettingError, least=PARTS)
        self._size = self.memory // PARTS
        self._empty = empty.copy()
        # Blocks are numbered; `since` is the first after the last change, `first` that of `blocks`.
        self.since = 0
        self.first = 0
        self.older = empty.copy()
        self.blocks = [empty.copy()]
        self._fade()

    @property
    def n_rounds(self) -> int:
        """The number of cases told since the last change that was noticed."""
        return int(sum(table.n_rounds for table in (self.older, *self.blocks)))

    @property
    def span(self) -> int:
        """The number of cases behind the faded counts, at most about ``memory``."""
        weight: float = self.faded.n_rounds
        return max(min(self.n_rounds, self.memory), math.ceil(weight))

    @property
    def left(self) -> int:
        """The number of cases until the next look for a change, or until counts fade."""
        n: int = self.blocks[-1].n_rounds
        return max(min(self._look - n % self._look, self._size - n), 1)

    @property
    def turn(self) -> tuple[int, int]:
        """What changes whenever counts fade or are forgotten."""
        return self.first, len(self.blocks)

    @property
    def _look(self) -> int:
        return max(-(-self._size // LOOKS), min(self._size, LEAST_LOOK))

    def count(self, how: Callable[[Any], Any]) -> Any:
        """Count with ``how``, which adds to a table; return its result for the faded table."""
        before = self.blocks[-1].n_rounds
        result = how(self.faded)
        how(self.blocks[-1])
        now = self.blocks[-1].n_rounds
        is_full = now >= self._size
        if is_full or now // self._look > before // self._look:
            self._forget_if_changed()
        if is_full and self.blocks[-1].n_rounds:
            self.blocks.append(self._empty.copy())
            if len(self.blocks) > MOST_BLOCKS + 1:
                self.older = self.older + self.blocks.pop(0)
                self.first += 1
            self._fade()
        return result

    def _fade(self) -> None:
        """Add up the blocks, each with its weight, the newest first."""
        weights = [round(GRAIN * FADING**age) / GRAIN for age in range(1, len(self.blocks))]
        # Older counts have no weight. They only tell a table with limits what it had room for.
        self.faded = self._empty.faded([*self.blocks[::-1], self.older], [1, *weights, 0])

    def _forget_if_changed(self) -> None:
        tables = [table.comparisons() for table in (self.older, *self.blocks)]
        streams = list(dict.fromkeys(key for table in tables for key in table))
        if not streams:
            return
        counts = np.array([[table.get(key, (0, 0)) for key in streams] for table in tables])
        evidence = log_e_values(counts[..., 0], counts[..., 1]).max(axis=1)
        cut = int(evidence.argmax())
        if evidence[cut] < math.log(len(streams) / FALSE_ALARM):
            return
        self.since = self.first = self.first + cut + 1
        self.older = self._empty.copy()
        self.blocks = self.blocks[cut + 1 :] or [self._empty.copy()]
        self._fade()

    # Workers and states

    def copy(self) -> Recent:
        """Return the same counts in tables of their own."""
        return self + Recent(self._empty, self.memory)

    def __add__(self, other: Recent) -> Recent:
        """Return what both were told, block by block; a change noticed by one counts for both."""
        return self._combined(other, add, max(self.since, other.since))

    def __sub__(self, other: Recent) -> Recent:
        """Return what was told since ``other``, as far as it was not forgotten."""
        if other.since > self.since or other.first > self.first:
            raise InputError("recent counts must contain those to subtract")
        return self._combined(other, sub, self.since)

    def _combined(self, other: Recent, operation: Callable[..., Any], since: int) -> Recent:
        total = Recent(self._empty, self.memory)
        total.since, total.first = since, max(self.first, other.first, since)
        n = max(part.first + len(part.blocks) for part in (self, other)) - total.first
        total.blocks = [self._empty.copy() for _ in range(max(n, 1))]
        for part, step in ((self, add), (other, operation)):
            if part.since == since:
                total.older = step(total.older, part.older)
            for number, block in enumerate(part.blocks, start=part.first):
                if number >= total.first:
                    place = number - total.first
                    total.blocks[place] = step(total.blocks[place], block)
                elif number >= since:
                    total.older = step(total.older, block)
        if operation is add:  # a difference is only there to be added
            total._fade()
        return total

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Recent) and self.to_state() == other.to_state()

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def to_state(self) -> dict[str, Any]:
        """Return everything as plain data for JSON."""
        return {
            "since": self.since,
            "first": self.first,
            "older": self.older.to_state(),
            "blocks": [block.to_state() for block in self.blocks],
        }

    def restored(self, state: Any, read: Callable[[Any], Any]) -> Recent:
        """Return what `to_state` described, or raise `StateError`; ``read`` reads one table."""
        recent = Recent(self._empty, self.memory)
        if set(state) != {"since", "first", "older", "blocks"}:
            raise StateError("recent counts must have since, first, older and blocks alone")
        recent.since = whole_number("since", state["since"], StateError, least=0)
        recent.first = whole_number("first", state["first"], StateError, least=recent.since)
        recent.older = read(state["older"])
        recent.blocks = [read(block) for block in state["blocks"]]
        if not 1 <= len(recent.blocks) <= MOST_BLOCKS + 1:
            raise StateError(f"recent counts must have 1 to {MOST_BLOCKS + 1} blocks")
        recent._fade()
        return recent
