"""Counts by prefix: how often cases went on from it, and how often that changed the answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from operator import add, sub
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import InputError, StateError
from stopwise.outputs import check_outputs
from stopwise.pattern_counts import n_letters, plain_output
from stopwise.patterns import Pattern, agreement, standing_answer
from stopwise.policies.prefix_places import NEVER, Followed, Place, by_parent

MAX_LETTERS = 10_000  # of a prefix with counts of its own
_read = partial(whole_number, "prefix counts", error=StateError, least=0)


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
    have decided which cases stopped before it. Dropped counts are learned anew. So that recent
    counts lose nothing, all blocks pool the same prefixes until a change is noticed. For this a
    full block also has the prefixes that were not followed in it, with counts of 0.

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
        self._leader: PrefixCounts | None = None  # the faded counts, if this is the newest block

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

    @property
    def _may_lose(self) -> bool:
        """Whether a sum may have dropped counts."""
        n_pools = len(self.table) - len(self._exact)
        return n_pools >= self.max_places or 0 < self.max_prefixes <= len(self._exact)

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
        leader = self._leader
        self.n_stopped[len(outputs) - 1] += times
        for i in range(1, len(outputs)):
            prefix, output = outputs[:i], outputs[i]
            missing = output is None
            changed = not missing and output != standing_answer(prefix)
            place = (leader or self).place(prefix)
            places.append(place)
            if leader is None or place in leader.table:
                self._count(place, Followed(times, times * changed, times * missing))
        if leader is not None:
            self._follow(leader)
        return places

    def _count(self, place: Place, more: Followed) -> None:
        if place in self.table:
            self.table[place] = Followed(*map(add, self.table[place], more))
        elif not place.is_pooled or len(self.table) - len(self._exact) < self.max_places:
            self.table[place] = more
            self._children.setdefault(place.parent, []).append(place)
            if not place.is_pooled:
                self._exact[place.known] = place

    def copy(self) -> PrefixCounts:
        """Return the same counts in a table of their own."""
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        total.n_stopped = list(self.n_stopped)
        for place, followed in self.table.items():
            total._count(place, followed)
        return total

    def faded(self, blocks: Sequence[PrefixCounts], weights: Sequence[float]) -> PrefixCounts:
        """Return the sum of ``blocks``, each times its weight.

        Prefixes that were followed in any block have counts of their own, as far as there is room;
        what the sum cannot keep of the first block is removed from it. From then on that block
        counts each prefix where the sum does.
        """
        newest, *others = blocks
        for block in others:
            block._leader = None
        total = self._sum(others, weights[1:], least=1)
        total._lead(newest)
        return total

    def comparisons(self) -> dict[Place, tuple[int, int]]:
        """Return for each place how often the next output changed the answer, of how many."""
        return {
            place: (changed, times - missing)
            for place, (times, changed, missing) in self.table.items()
            if times
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PrefixCounts) and self.to_state() == other.to_state()

    __hash__ = None  # type: ignore[assignment]  # it changes with every case

    def __add__(self, other: PrefixCounts) -> PrefixCounts:
        return self._sum([self, other], [1, 1], least=0)

    def _sum(
        self, tables: Sequence[PrefixCounts], weights: Sequence[float], *, least: int
    ) -> PrefixCounts:
        """Return the weighted sum, without own counts of prefixes followed less than ``least``."""
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        own: dict[Pattern, Followed] = {}
        for table, weight in zip(tables, weights, strict=True):
            stopped = zip(total.n_stopped, table.n_stopped, strict=True)
            total.n_stopped = [n + weight * more for n, more in stopped]  # type: ignore[misc]
            for prefix, place in table._exact.items():
                if table.table[place].times >= least:
                    own[prefix] = own.get(prefix, NEVER).plus(table.table[place], weight)
        total._count_own(own)
        pools: dict[Place, Followed] = {}
        for table, weight in zip(tables, weights, strict=True):
            for place in total._same_pools(table) if weight else ():
                pools[place] = pools.get(place, NEVER).plus(table.table[place], weight)
        places = list(pools)
        if len(places) > self.max_places:
            places.sort(key=lambda place: (-pools[place].times, repr(place)))
        for place in places:
            total._count(place, pools[place])
        return total

    def _count_own(self, own: dict[Pattern, Followed]) -> None:
        """Count prefixes that have counts of their own, the most frequent if not all can."""
        new = [prefix for prefix in own if prefix not in self._exact]
        if len(new) + len(self._exact) > self.max_prefixes:
            # One is followed at least as often as those that go on from it: none loses its parent.
            new.sort(key=lambda s: (-own[s].times, len(s), repr(s)))
            new = new[: max(self.max_prefixes - len(self._exact), 0)]
        for prefix in sorted([*new, *(own.keys() & self._exact.keys())], key=len):
            self._count(Place(prefix, agreement(prefix)), own[prefix])

    def _same_pools(self, table: PrefixCounts) -> list[Place]:
        """Return the pools of ``table`` that here, too, would have the same prefixes."""
        pools = [place for place in table.table if place.is_pooled]
        if not pools or self._exact.keys() == table._exact.keys():
            return pools
        if not self.is_full:  # only prefixes with too many letters are pooled
            return [] if table.is_full else pools
        ours, theirs = by_parent(self._exact), by_parent(table._exact)
        return [
            place
            for place in pools
            if (not place.known or place.known in self._exact)
            and ours.get(place.known) == theirs.get(place.known)
        ]

    def _lead(self, block: PrefixCounts) -> None:
        """Add a block, remove from it what cannot be added, and let it follow from now on."""
        self.n_stopped = list(map(add, self.n_stopped, block.n_stopped))
        own = {s: block.table[p] for s, p in block._exact.items() if block.table[p].times}
        self._count_own(own)
        kept = {self._exact[s]: followed for s, followed in own.items() if s in self._exact}
        for place in self._same_pools(block):
            self._count(place, block.table[place])
            kept[place] = block.table[place]
        block.table, block._exact, block._children = {}, {}, {}
        for place, followed in kept.items():
            block._count(place, followed)
        block._leader = self
        block._follow(self)

    def _follow(self, leader: PrefixCounts) -> None:
        """Take over which prefixes have counts of their own, once that is settled."""
        if leader.is_full and not self.is_full:
            for prefix, place in leader._exact.items():
                if prefix not in self._exact:
                    self._count(place, NEVER)

    def __sub__(self, other: PrefixCounts) -> PrefixCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        rest = self.copy()
        rest.n_stopped = list(map(sub, self.n_stopped, other.n_stopped))
        may_lose = self._may_lose or other._may_lose
        for place, followed in other.table.items():
            if place not in self.table and may_lose:
                continue
            less = Followed(*map(sub, self.of(place), followed))
            rest.table[place] = NEVER if may_lose and min(less) < 0 else less
        numbers = [n for followed in rest.table.values() for n in followed]
        if not rest.table.keys() <= self.table.keys() or min([*rest.n_stopped, *numbers]) < 0:
            raise InputError(f"prefix counts must contain those to subtract, got {other!r}")
        return rest

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
            counts._count(place, followed)
        return counts
