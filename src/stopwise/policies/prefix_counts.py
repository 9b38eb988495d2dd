"""Counts by prefix: how often cases went on from it, and how often that changed the answer."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial
from operator import add, sub
from typing import Any, NamedTuple

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import InputError, StateError
from stopwise.outputs import check_outputs
from stopwise.pattern_counts import n_letters, plain_output
from stopwise.patterns import Pattern, agreement, standing_answer

MAX_LETTERS = 10_000  # of a prefix with counts of its own
_read = partial(whole_number, "prefix counts", error=StateError, least=0)


class Followed(NamedTuple):
    """How often a prefix was followed by one more test, and what that test did to the answer.

    It *changed* the standing answer, or gave nothing (*missing*), or confirmed it (the rest).
    """

    times: int = 0
    changed: int = 0
    missing: int = 0


NEVER = Followed()


class Place(NamedTuple):
    """The key under which a prefix is counted: its first outputs, and which of all outputs agree.

    For a prefix with counts of its own, ``known`` has all its outputs. For a pooled one, ``known``
    is the longest prefix of it that has counts of its own. So a place determines all places on the
    way to it.
    """

    known: Pattern
    pattern: Pattern

    @property
    def is_pooled(self) -> bool:
        """Whether other prefixes are counted here too."""
        return len(self.known) < len(self.pattern)

    @property
    def parent(self) -> Place:
        """The place before the last output."""
        return Place(self.known if self.is_pooled else self.known[:-1], self.pattern[:-1])


class PrefixCounts:
    """How often each prefix of outputs was followed, and how often that changed the answer.

    The first ``max_prefixes`` prefixes that were followed have counts of their own, unless their
    texts have more than `MAX_LETTERS` letters. Longer prefixes are pooled by which of their outputs
    agree, in at most ``max_places`` places; what goes beyond these is not counted. A place
    determines all places on the way to it. So which cases reach it does not depend on outputs that
    it does not record.

    Counts of two machines add up, in any order, if together they have at most ``max_prefixes``
    prefixes with counts of their own. Otherwise the most frequent of these stay. A pool is dropped
    if the sum pools other prefixes than it did: its prefixes cannot be separated any more, and may
    have decided which cases stopped before it. Dropped counts are learned anew.

    >>> counts = PrefixCounts(Cascade(costs=[1, 2, 3]), max_prefixes=100)
    >>> places = counts.add((0, 1, 1), 3)
    >>> counts.of(counts.place((0,))), counts.of(counts.place((0, 1)))
    (Followed(times=3, changed=3, missing=0), Followed(times=3, changed=0, missing=0))
    """

    max_places = 10_000

    def __init__(self, cascade: Cascade, *, max_prefixes: int) -> None:
        self.cascade = cascade
        self.max_prefixes = max_prefixes
        self.n_stopped = [0] * cascade.n_stages
        self.table: dict[Place, Followed] = {}
        self._exact: dict[Pattern, Place] = {}
        # The places that follow each place, to look ahead.
        self._children: dict[Place, list[Place]] = {}

    def __repr__(self) -> str:
        return f"PrefixCounts(n_rounds={self.n_rounds}, n_stopped={self.n_stopped})"

    @property
    def n_rounds(self) -> int:
        """The number of cases counted."""
        return sum(self.n_stopped)

    @property
    def is_full(self) -> bool:
        """Whether no further prefix gets counts of its own."""
        return len(self._exact) >= self.max_prefixes

    def _has_room(self, prefix: Pattern) -> bool:
        return not self.is_full and n_letters(prefix) <= MAX_LETTERS

    def place(self, prefix: Pattern) -> Place:
        """Return where a prefix is counted, or would be."""
        if prefix in self._exact:
            return self._exact[prefix]
        return self._place_of(prefix, agreement(prefix))

    def _place_of(self, known: Pattern, pattern: Pattern) -> Place:
        """Return the place with as many of the known outputs as have counts, or have room."""
        n = len(known)
        while n and known[:n] not in self._exact:
            n -= 1
        if n == len(pattern) - 1 and self._has_room(known):
            n += 1
        return Place(known[:n], pattern)

    def next_place(self, place: Place, *, confirmed: bool) -> Place:
        """Return the place after an output that confirms the standing answer, or is missing.

        ``place`` must have counts.
        """
        pattern = (*place.pattern, standing_answer(place.pattern) if confirmed else None)
        if place.is_pooled:
            return Place(place.known, pattern)
        known = (*place.known, standing_answer(place.known) if confirmed else None)
        return self._exact.get(known) or Place(
            known if self._has_room(known) else place.known, pattern
        )

    def of(self, place: Place) -> Followed:
        """Return the counts at a place."""
        return self.table.get(place, NEVER)

    def children(self, place: Place) -> list[Place]:
        """Return the places with counts that are one output further."""
        return self._children.get(place, [])

    def add(self, outputs: Pattern, times: int) -> list[Place]:
        """Count cases that showed ``outputs``, checked before; return the places on the way."""
        places = []
        self.n_stopped[len(outputs) - 1] += times
        for i in range(1, len(outputs)):
            prefix, output = outputs[:i], outputs[i]
            missing = output is None
            changed = not missing and output != standing_answer(prefix)
            place = self.place(prefix)
            self._count(place, Followed(times, times * changed, times * missing), add)
            places.append(place)
        return places

    def _count(self, place: Place, more: Followed, operation: Callable[[int, int], int]) -> None:
        if place in self.table:
            self.table[place] = Followed(*map(operation, self.table[place], more))
        elif not place.is_pooled or len(self.table) - len(self._exact) < self.max_places:
            self.table[place] = more
            self._children.setdefault(place.parent, []).append(place)
            if not place.is_pooled:
                self._exact[place.known] = place

    def copy(self) -> PrefixCounts:
        """Return the same counts in a table of their own."""
        return self._combined(PrefixCounts(self.cascade, max_prefixes=self.max_prefixes), add)

    def scaled(self, weight: float) -> PrefixCounts:
        """Return the counts times ``weight``: no whole numbers any more."""
        total = self.copy()
        total.n_stopped = [weight * n for n in self.n_stopped]  # type: ignore[misc]
        for place, followed in self.table.items():
            total.table[place] = Followed(*(weight * n for n in followed))  # type: ignore[arg-type]
        return total

    def faded(self, blocks: Sequence[PrefixCounts], weights: Sequence[float]) -> PrefixCounts:
        """Return the sum of ``blocks``, each times its weight."""
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        for block, weight in zip(blocks, weights, strict=True):
            if block.n_rounds:
                total = total + (block if weight == 1 else block.scaled(weight))
        return total

    def comparisons(self) -> dict[Place, tuple[int, int]]:
        """Return for each place how often the next output changed the answer, of how many."""
        return {
            place: (changed, times - missing)
            for place, (times, changed, missing) in self.table.items()
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrefixCounts) and self.to_state() == other.to_state()

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def __add__(self, other: PrefixCounts) -> PrefixCounts:
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        total.n_stopped = list(map(add, self.n_stopped, other.n_stopped))
        own: dict[Pattern, Followed] = {}
        for counts in (self, other):
            for prefix, place in counts._exact.items():
                own[prefix] = Followed(*map(add, own.get(prefix, NEVER), counts.table[place]))
        # A prefix is followed at least as often as those that go on from it: none loses its parent.
        most = sorted(own, key=lambda s: (-own[s].times, len(s), repr(s)))[: self.max_prefixes]
        for prefix in sorted(most, key=len):
            total._count(Place(prefix, agreement(prefix)), own[prefix], add)
        for counts in (self, other):
            for place, followed in counts.table.items():
                if place.is_pooled and counts._own_after(place.known) == total._own_after(
                    place.known
                ):
                    total._count(place, followed, add)
        return total

    def _own_after(self, known: Pattern) -> set[Pattern] | None:
        """Return the exact prefixes one output longer than ``known``; None if it is pooled."""
        if known and known not in self._exact:
            return None
        children = self.children(Place(known, agreement(known)))
        return {child.known for child in children if not child.is_pooled}

    def __sub__(self, other: PrefixCounts) -> PrefixCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        rest = self._combined(other, sub)
        numbers = [n for followed in rest.table.values() for n in followed]
        if not other.table.keys() <= self.table.keys() or min([*rest.n_stopped, *numbers]) < 0:
            raise InputError(f"prefix counts must contain those to subtract, got {other!r}")
        return rest

    def _combined(self, other: PrefixCounts, operation: Callable[[int, int], int]) -> PrefixCounts:
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        total.n_stopped = list(map(operation, self.n_stopped, other.n_stopped))
        for counts, step in ((self, add), (other, operation)):
            # Shorter prefixes first, so that each finds the one it goes on from.
            for place in sorted(counts.table, key=lambda p: (len(p.pattern), p.is_pooled, repr(p))):
                total._count(total._place_of(*place), counts.table[place], step)
        return total

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; the outputs must be JSON values themselves."""
        rows: list[list[Any]] = [
            [[*map(plain_output, place.known)], [*place.pattern[len(place.known) :]], *followed]
            for place, followed in self.table.items()
        ]
        rows.sort(key=lambda row: (len(row[0]) + len(row[1]), len(row[1]), json.dumps(row[:2])))
        return {"stopped": list(self.n_stopped), "prefixes": rows}

    @classmethod
    def from_state(cls, state: Any, cascade: Cascade, *, max_prefixes: int) -> PrefixCounts:
        """Build the counts that `to_state` described, or raise `StateError`."""
        counts = cls(cascade, max_prefixes=max_prefixes)
        counts.n_stopped = [_read(n) for n in state["stopped"]]
        if len(counts.n_stopped) != cascade.n_stages:
            raise StateError(f"prefix counts must have {cascade.n_stages} stages")
        went_on = [sum(counts.n_stopped[i:]) for i in range(1, cascade.n_stages)]
        for known, rest, times, changed, missing in state["prefixes"]:
            if known:
                check_outputs(known, cascade)
            pattern = (*agreement(known), *rest)
            place = Place(tuple(known), pattern)
            followed = Followed(_read(times), _read(changed), _read(missing))
            if not 1 <= len(pattern) < cascade.n_stages or agreement(pattern) != pattern:
                raise StateError(f"prefix counts must be of prefixes, got {known!r} and {rest!r}")
            went_on[len(pattern) - 1] -= followed.times
            if followed.changed + followed.missing > followed.times or min(went_on) < 0:
                raise StateError(f"prefix counts must add up, got {followed} for {known!r}")
            if place in counts.table or counts._place_of(*place) != place:
                raise StateError(f"prefix counts must have one place for {known!r} and {rest!r}")
            counts._count(place, followed, add)
        return counts
