"""A sequence of tests with prices: everything known before the first case."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from stopwise.checks import finite_number, whole_number
from stopwise.errors import CascadeError, StateError

# Costs and probabilities are sums of rounded numbers: two that differ by less than this are equal.
TOLERANCE = 1e-12
# In error units; the square of a larger sum would overflow.
LARGEST_COST = 1e100

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Array = TypeVar("Array", bound=NDArray[Any])
_STATE = {"costs", "mistake_cost", "names", "parents"}


@dataclass(frozen=True, init=False, repr=False)
class Cascade:
    """Tests in the order in which they run, what each costs, and what a mistake costs.

    Stopping at stage ``i`` runs the path from the root to ``i`` and answers with the output of
    ``i``. By default the path is ``0, 1, …, i`` (a chain); with ``parents``, a branch of a tree.

    Parameters
    ----------
    costs
        What each test costs on top of those before it, in any unit, each >= 0.
    mistake_cost
        What one wrong answer costs in the same unit. All else is computed in *error units*,
        ``cost / mistake_cost``, in which a wrong answer costs 1.
    names
        One name a test; ``test 1``, ``test 2``, … by default.
    parents
        For each test the index of the test that runs just before it. The first is the root
        (``None``); every other parent comes earlier in the list.

    >>> cascade = Cascade(costs=[6, 16, 24], mistake_cost=1000)
    >>> cascade.cumulative_costs
    array([0.006, 0.022, 0.046])
    >>> Cascade(costs=[1, 2, 3, 4], parents=[None, 0, 0, 1]).path(3)
    (0, 1, 3)
    """

    prices: tuple[float, ...]
    mistake_cost: float
    names: tuple[str, ...]
    parents: tuple[int | None, ...]

    def __init__(
        self,
        costs: Iterable[float],
        mistake_cost: float = 1.0,
        names: Iterable[str] | None = None,
        parents: Iterable[int | None] | None = None,
    ) -> None:
        costs = _as_list("costs", costs)
        K = len(costs)
        names = [f"test {k + 1}" for k in range(K)] if names is None else _as_list("names", names)
        parents = [None, *range(K - 1)] if parents is None else _as_list("parents", parents)
        _check_lengths(costs, names, parents)
        _check_names(names)
        prices = tuple(_price(cost, k, names[k]) for k, cost in enumerate(costs))
        scale = finite_number("mistake_cost", mistake_cost, CascadeError, zero=False)
        if scale > LARGEST_COST or not sum(prices) / scale <= LARGEST_COST:  # false for NaN as well
            raise CascadeError(
                f"mistake_cost and costs / mistake_cost must be at most {LARGEST_COST:g}, "
                f"got costs that sum to {sum(prices)!r} and mistake_cost {scale!r}"
            )
        object.__setattr__(self, "prices", prices)
        object.__setattr__(self, "mistake_cost", scale)
        object.__setattr__(self, "names", tuple(names))
        object.__setattr__(self, "parents", _checked_parents(parents, names))

    def __repr__(self) -> str:
        tree = "" if self.is_chain else f", parents={list(self.parents)}"
        return (
            f"Cascade(costs={list(self.prices)}, mistake_cost={self.mistake_cost}, "
            f"names={list(self.names)}{tree})"
        )

    @property
    def n_stages(self) -> int:
        """The number of tests, K."""
        return len(self.prices)

    @cached_property
    def is_chain(self) -> bool:
        """Whether each test follows the one before it."""
        return self.parents == (None, *range(self.n_stages - 1))

    @cached_property
    def costs(self) -> FloatArray:
        """The cost of each test alone, in error units (c_k)."""
        return read_only(np.array(self.prices, dtype=np.float64) / self.mistake_cost)

    @cached_property
    def cumulative_costs(self) -> FloatArray:
        """The cost of stopping at each stage, in error units (C_k)."""
        sums = [math.fsum(self.prices[node] for node in path) for path in self.paths]
        return read_only(np.array(sums, dtype=np.float64) / self.mistake_cost)

    @cached_property
    def paths(self) -> tuple[tuple[int, ...], ...]:
        """For each stage the tests that run, root first, the stage itself last."""
        paths: list[tuple[int, ...]] = []
        for node, parent in enumerate(self.parents):
            paths.append((node,) if parent is None else (*paths[parent], node))
        return tuple(paths)

    @cached_property
    def descendants(self) -> tuple[tuple[int, ...], ...]:
        """For each stage the stages below it, without itself; in a chain all later ones."""
        below: list[list[int]] = [[] for _ in self.parents]
        for node, path in enumerate(self.paths):
            for ancestor in path[:-1]:
                below[ancestor].append(node)
        return tuple(map(tuple, below))

    @cached_property
    def children(self) -> tuple[tuple[int, ...], ...]:
        """For each stage the tests that may run just after it."""
        next_tests: list[list[int]] = [[] for _ in self.parents]
        for node, parent in enumerate(self.parents):
            if parent is not None:
                next_tests[parent].append(node)
        return tuple(map(tuple, next_tests))

    @cached_property
    def branches(self) -> tuple[tuple[int, ...], ...]:
        """For stages i and j the test after i on the way to j; -1 where j is not below i."""
        rows = [[-1] * self.n_stages for _ in self.parents]
        for node, path in enumerate(self.paths):
            for ancestor, towards in pairwise(path):
                rows[ancestor][node] = towards
        return tuple(map(tuple, rows))

    def path(self, stage: int) -> tuple[int, ...]:
        """Return the tests that run when one stops at ``stage``, root first."""
        if not 0 <= stage < self.n_stages:
            raise CascadeError(f"stage must lie in 0 to {self.n_stages - 1}, got {stage!r}")
        return self.paths[stage]

    def cut(self, stage: int) -> Cascade:
        """Return the tests up to ``stage`` alone, a chain; on a tree, those on the path to it.

        Prices, names and what a mistake costs stay.

        >>> Cascade(costs=[0, 7, 2], mistake_cost=20, names=["ask", "blood", "scan"]).cut(1)
        Cascade(costs=[0.0, 7.0], mistake_cost=20.0, names=['ask', 'blood'])
        """
        path = self.path(whole_number("stage", stage, CascadeError, least=0))
        return Cascade(
            [self.prices[node] for node in path],
            self.mistake_cost,
            [self.names[node] for node in path],
        )

    def to_state(self) -> dict[str, Any]:
        """Return the cascade as plain data for JSON; `from_state` reads it back."""
        return {
            "costs": list(self.prices),
            "mistake_cost": self.mistake_cost,
            "names": list(self.names),
            "parents": list(self.parents),
        }

    @classmethod
    def from_state(cls, state: Any) -> Cascade:
        """Build the cascade that `to_state` described, or raise `StateError`."""
        if not isinstance(state, dict) or set(state) != _STATE:
            raise StateError(f"a cascade must have {sorted(_STATE)}, got {state!r}")
        try:
            return cls(**state)
        except CascadeError as error:
            raise StateError(f"a cascade cannot be read: {error}") from error


def read_only(array: Array) -> Array:
    """Return ``array`` with writing switched off, so that values stay values."""
    array.flags.writeable = False
    return array


def _as_list(name: str, values: Iterable[Any]) -> list[Any]:
    if isinstance(values, (str, bytes, Set, Mapping)) or not isinstance(values, Iterable):
        raise CascadeError(f"{name} must be a sequence, got {values!r}")
    return list(values)


def _check_lengths(costs: Sequence[Any], names: Sequence[Any], parents: Sequence[Any]) -> None:
    if not costs:
        raise CascadeError("costs must not be empty: a cascade has at least one test")
    for what, values in (("names", names), ("parents", parents)):
        if len(values) != len(costs):
            raise CascadeError(
                f"{what} must have one entry per test, got {len(values)} for {len(costs)} costs"
            )


def _check_names(names: Sequence[Any]) -> None:
    first: dict[str, int] = {}
    for k, name in enumerate(names):
        if not isinstance(name, str) or not name:
            raise CascadeError(f"names must be non-empty strings, got {name!r} at stage {k + 1}")
        if name in first:
            raise CascadeError(
                f"names must differ, got {name!r} at stage {first[name] + 1} and at stage {k + 1}"
            )
        first[name] = k


def _price(cost: Any, stage: int, name: str) -> float:
    try:
        return finite_number("costs", cost, CascadeError, zero=True)
    except CascadeError as error:
        raise CascadeError(f"{error} at stage {stage + 1} ({name!r})") from None


def _checked_parents(parents: Sequence[Any], names: Sequence[str]) -> tuple[int | None, ...]:
    if parents[0] is not None:
        raise CascadeError(
            f"parents must start with None, the root, got {parents[0]!r} at stage 1 ({names[0]!r})"
        )
    indices: list[int | None] = [None]
    for k, parent in enumerate(parents[1:], start=1):
        place = f"at stage {k + 1} ({names[k]!r})"
        if parent is None:
            raise CascadeError(f"parents must have one root, the first test, got None {place}")
        if isinstance(parent, bool) or not isinstance(parent, (int, np.integer)):
            raise CascadeError(f"parents must be indices, got {parent!r} {place}")
        if not 0 <= parent < k:
            raise CascadeError(f"parents must come earlier (0 to {k - 1}), got {parent} {place}")
        indices.append(int(parent))
    return tuple(indices)
