"""Where a prefix of outputs is counted, and what is counted there."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from stopwise.patterns import Pattern


class Followed(NamedTuple):
    """How often a prefix was followed by one more test, and what that test did to the answer.

    It *changed* the standing answer, or gave nothing (*missing*), or confirmed it (the rest).
    """

    times: int = 0
    changed: int = 0
    missing: int = 0

    def plus(self, more: Followed, weight: float) -> Followed:
        """Return the sum with ``weight`` times ``more``: whole numbers only if it is one."""
        return Followed(*(n + weight * m for n, m in zip(self, more, strict=True)))  # type: ignore[arg-type]


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


def by_parent(prefixes: Iterable[Pattern]) -> dict[Pattern, set[Pattern]]:
    """Return for each prefix those of ``prefixes`` that are one output longer."""
    children: dict[Pattern, set[Pattern]] = {}
    for prefix in prefixes:
        children.setdefault(prefix[:-1], set()).add(prefix)
    return children
