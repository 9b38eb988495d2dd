"""What became of each sequence of outputs: how often one went on, and how often that changed it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from operator import add, sub
from typing import Any, NamedTuple

from stopwise.cascade import Cascade
from stopwise.errors import InputError, StateError
from stopwise.patterns import Pattern, agreement, plain_output, standing_answer


class Followed(NamedTuple):
    """How often a prefix was followed by one more test, and what that test did to the answer.

    It *changed* the standing answer, or gave nothing (*missing*), or confirmed it (the rest).
    """

    times: int = 0
    changed: int = 0
    missing: int = 0


NEVER = Followed()
Table = dict[Pattern, Followed]


class Place(NamedTuple):
    """Where the counts of a prefix are: in which table, and under which name."""

    pooled: bool
    name: Pattern


class PrefixCounts:
    """How often each prefix of outputs was followed, and how often that changed the answer.

    The first ``max_prefixes`` prefixes that were followed have counts of their own. All others are
    pooled by which of their outputs agree; of such patterns no more than ``max_patterns`` are kept,
    and what goes beyond them is not counted. A prefix is pooled with its predecessors or after
    them, never before: so what a rule does with a case depends on nothing that its counts hide.

    Counts of two machines add up, in any order as long as ``max_prefixes`` is not reached.

    >>> counts = PrefixCounts(Cascade(costs=[1, 2, 3]), max_prefixes=100)
    >>> counts.add((0, 1, 1), 3)
    >>> counts.of(counts.place((0,))), counts.of(counts.place((0, 1)))
    (Followed(times=3, changed=3, missing=0), Followed(times=3, changed=0, missing=0))
    """

    max_patterns = 10_000

    def __init__(self, cascade: Cascade, *, max_prefixes: int) -> None:
        self.cascade = cascade
        self.max_prefixes = max_prefixes
        self.stopped = [0] * cascade.n_stages
        self.exact: Table = {}
        self.pooled: Table = {}
        # Which outputs were seen to follow, so that one can look ahead.
        self._children: dict[Place, list[Place]] = {}

    def __repr__(self) -> str:
        return f"PrefixCounts(n_rounds={self.n_rounds}, n_stopped={self.stopped})"

    @property
    def n_rounds(self) -> int:
        """The number of cases counted."""
        return sum(self.stopped)

    def place(self, prefix: Pattern) -> Place:
        """Return where a prefix is counted, or would be."""
        if prefix in self.exact:
            return Place(False, prefix)
        has_room = len(self.exact) < self.max_prefixes
        if has_room and (len(prefix) == 1 or prefix[:-1] in self.exact):
            return Place(False, prefix)
        return Place(True, agreement(prefix))

    def next_place(self, place: Place, output: Any) -> Place:
        """Return where a prefix is counted that goes on with ``output``, as in its table."""
        name = (*place.name, output)
        return Place(True, name) if place.pooled else self.place(name)

    def of(self, place: Place) -> Followed:
        """Return the counts at a place."""
        return (self.pooled if place.pooled else self.exact).get(place.name, NEVER)

    def children(self, place: Place) -> list[Place]:
        """Return the places with counts that are one output further."""
        found = self._children.get(place, [])
        if place.pooled or not self.pooled:
            return found
        return found + self._children.get(Place(True, agreement(place.name)), [])

    def first_places(self) -> list[Place]:
        """Return the places with counts after one output."""
        return self._children.get(Place(False, ()), []) + self._children.get(Place(True, ()), [])

    def add(self, outputs: Pattern, times: int) -> None:
        """Count cases that showed ``outputs``, checked before."""
        self.stopped[len(outputs) - 1] += times
        for i in range(1, len(outputs)):
            prefix, output = outputs[:i], outputs[i]
            missing = output is None
            changed = not missing and output != standing_answer(prefix)
            self._count(self.place(prefix), Followed(times, times * changed, times * missing), add)

    def _count(self, place: Place, more: Followed, operation: Callable[[int, int], int]) -> None:
        table = self.pooled if place.pooled else self.exact
        if place.name in table:
            table[place.name] = Followed(*map(operation, table[place.name], more))
        elif not place.pooled or len(table) < self.max_patterns:
            self._open(place)
            table[place.name] = more

    def _open(self, place: Place) -> None:
        parent = Place(place.pooled, place.name[:-1])
        self._children.setdefault(parent, []).append(place)

    def __add__(self, other: PrefixCounts) -> PrefixCounts:
        return self._combined(other, add)

    def __sub__(self, other: PrefixCounts) -> PrefixCounts:
        """Return what was counted since ``other``, which must be part of these counts."""
        known = (
            other.exact.keys() <= self.exact.keys() and other.pooled.keys() <= self.pooled.keys()
        )
        rest = self._combined(other, sub)
        numbers = [n for table in (rest.exact, rest.pooled) for f in table.values() for n in f]
        if not known or min([*rest.stopped, *numbers]) < 0:
            raise InputError(f"prefix counts must contain what is taken away, got {other!r}")
        return rest

    def _combined(self, other: PrefixCounts, operation: Callable[[int, int], int]) -> PrefixCounts:
        total = PrefixCounts(self.cascade, max_prefixes=self.max_prefixes)
        total.stopped = list(map(operation, self.stopped, other.stopped))
        for counts, step in ((self, add), (other, operation)):
            for place, followed in counts.entries():
                # Beyond the limit the other one's prefixes are pooled like any new one.
                home = place if place.pooled else total.place(place.name)
                total._count(home, followed, step)
        return total

    def entries(self) -> Iterator[tuple[Place, Followed]]:
        """Yield every place with its counts, shorter prefixes first, in an order of their own."""
        for pooled, table in ((False, self.exact), (True, self.pooled)):
            for name in sorted(table, key=lambda name: (len(name), repr(name))):
                yield Place(pooled, name), table[name]

    def to_state(self) -> dict[str, Any]:
        """Return the counts as plain data for JSON; the outputs must be JSON values themselves."""
        rows: dict[bool, list[Any]] = {False: [], True: []}
        for place, followed in self.entries():
            rows[place.pooled].append([[*map(plain_output, place.name)], *followed])
        return {
            "stopped": list(self.stopped),
            **{
                name: sorted(rows[pooled], key=lambda row: (len(row[0]), json.dumps(row[0])))
                for name, pooled in (("exact", False), ("pooled", True))
            },
        }

    @classmethod
    def from_state(cls, state: Any, cascade: Cascade, *, max_prefixes: int) -> PrefixCounts:
        """Build the counts that `to_state` described, or raise `StateError`."""
        counts = cls(cascade, max_prefixes=max_prefixes)
        stopped = [_whole(n) for n in state["stopped"]]
        if len(stopped) != cascade.n_stages:
            raise StateError(f"prefix counts must have {cascade.n_stages} stages, got {stopped!r}")
        counts.stopped = stopped
        for name, table in (("exact", counts.exact), ("pooled", counts.pooled)):
            for prefix, times, changed, missing in state[name]:
                place = Place(name == "pooled", tuple(prefix))
                followed = Followed(_whole(times), _whole(changed), _whole(missing))
                if not 1 <= len(place.name) < cascade.n_stages or place.name in table:
                    raise StateError(f"prefix counts must have each prefix once, got {prefix!r}")
                if not followed.changed + followed.missing <= followed.times <= counts.n_rounds:
                    raise StateError(f"prefix counts must add up, got {followed} for {prefix!r}")
                if not place.pooled and counts.place(place.name) != place:
                    raise StateError(f"prefix counts must have room for {prefix!r}")
                counts._count(place, followed, add)
        return counts


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise StateError(f"prefix counts must be whole numbers >= 0, got {value!r}")
    return value
