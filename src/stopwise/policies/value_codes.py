"""Outputs as codes of classes: each value is a class, or values are pooled if there are many."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from zlib import crc32

from stopwise.outputs import present, rank
from stopwise.patterns import MISSING, Pattern

MOST_VALUES = 64
"""Outputs of more values are pooled: a model of M values has M² chances a test."""

N_POOLS = 16


class ValueCodes:
    """The class of each output of a case.

    Up to `MOST_VALUES` values are classes of their own. More values, for example free text, are
    pooled: a value belongs to one of `N_POOLS` classes by its checksum, or to the next free class
    if another value of the same case has that one. So codes show which outputs of a case agree,
    and nothing else.

    >>> codes = ValueCodes(["no", "yes"], n_tests=3)
    >>> codes.of(("yes", None, "no")), codes.of(("maybe",))
    ([1, -1, 0], [-1])
    >>> pooled = ValueCodes(map(str, range(1000)), n_tests=3)
    >>> pooled.is_pooled, pooled.of(("7", "x", "7"))
    (True, [8, 2, 8])
    """

    def __init__(self, values: Iterable[Hashable], *, n_tests: int) -> None:
        distinct_values = sorted(set(values), key=rank)
        self.is_pooled = len(distinct_values) > MOST_VALUES
        self.n_pools = max(N_POOLS, 2 * n_tests)
        classes = range(self.n_pools) if self.is_pooled else distinct_values
        self.classes: tuple[Hashable, ...] = tuple(classes)
        self._code = {value: code for code, value in enumerate(self.classes)}

    def of(self, outputs: Pattern) -> list[int]:
        """Return the codes of outputs in their order, -1 for ``None`` and for unknown values."""
        if not self.is_pooled:
            return [self._code.get(y, MISSING) for y in outputs]
        codes: dict[Hashable, int] = {None: MISSING}
        for y in outputs:
            if y not in codes:
                code = crc32(repr(present(y)).encode()) % self.n_pools
                while code in codes.values():
                    code = (code + 1) % self.n_pools
                codes[y] = code
        return [codes[y] for y in outputs]
