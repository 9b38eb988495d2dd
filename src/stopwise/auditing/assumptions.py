"""What a user may assume about hidden labels and missing outputs."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from stopwise.cascade import Cascade, FloatArray
from stopwise.checks import known_name
from stopwise.errors import SettingError
from stopwise.outputs import known_value, matching
from stopwise.patterns import PatternTable
from stopwise.reading.log_checks import own_words


@dataclass(frozen=True)
class Axes:
    """The entries of z: the error rate of each stage, then the share of each of ``values``."""

    cascade: Cascade
    values: tuple[Hashable, ...]

    def between(self, factors: Mapping[int, float], low: float, high: float) -> list[Condition]:
        """Return low <= Σ factor · z over some entries of z <= high, as conditions."""
        row = np.zeros(self.cascade.n_stages + len(self.values))
        for axis, factor in factors.items():
            row[axis] = factor
        return [(row, high), (-row, -low)]


Condition = tuple[FloatArray, float]  # row · z <= limit


class Assumption:
    """Something that is assumed about the labels or the gaps of a log.

    A subclass says which values may be right, whether gaps are random, or gives `conditions` that
    are linear in the error rates and in the shares of the label's values. ``str`` says it in words.
    """

    sentence: ClassVar[str] = ""  # the words of an assumption without settings
    values: tuple[Hashable, ...] = ()  # the values of the label whose share it bounds
    never_right: tuple[Hashable, ...] = ()  # outputs that are no answers
    allows_unseen: bool = False  # whether the label may be a value that no test gives
    gaps_are_random: bool = False  # whether gaps depend on earlier outputs alone

    def conditions(self, _axes: Axes) -> list[Condition]:
        """Return the linear conditions that the assumption adds; none by default."""
        return []

    def said_of(self, _names: Sequence[str]) -> str:
        """Return it in words, with the names of the tests."""
        return str(self)

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True)
class LabelSpace:
    """Which values the hidden label may have.

    Every value that some test gives may be right, except those in ``never_right`` (an "abstain").
    With ``unseen`` the label may also be a value that no test ever gives: then all are wrong.
    """

    never_right: tuple[Hashable, ...] = ()
    unseen: bool = False

    @classmethod
    def of(cls, assumptions: Sequence[Assumption], table: PatternTable) -> LabelSpace:
        """Return what may be right in a log; values that only the first test gives never are."""
        rule = "an output that is never right must be in the log"
        never = [known_value(rule, v, table.classes) for a in assumptions for v in a.never_right]
        unseen = any(a.allows_unseen for a in assumptions)
        return cls(tuple(dict.fromkeys([*own_words(table), *never])), unseen)

    def possible(self, classes: Sequence[Hashable]) -> list[int]:
        """Return the indices of the values in ``classes`` that may be right."""
        never = set(self.never_right)
        return [c for c, value in enumerate(classes) if value not in never]


@dataclass(frozen=True)
class Ordered(Assumption):
    """Each test errs at most as often as the one that runs just before it."""

    sentence = "each test errs at most as often as the one before"

    def conditions(self, axes: Axes) -> list[Condition]:
        """γ_k - γ_parent(k) <= 0."""
        links = [(k, parent) for k, parent in enumerate(axes.cascade.parents) if parent is not None]
        return [axes.between({k: 1.0, parent: -1.0}, -1.0, 0.0)[0] for k, parent in links]


@dataclass(frozen=True)
class ErrsWithin(Assumption):
    """One test errs at a rate between two bounds, as its maker or an earlier study says."""

    test: str
    high: float
    low: float = 0.0

    def __post_init__(self) -> None:
        _check_shares(f"the error rate of {self.test!r}", self.low, self.high)

    def conditions(self, axes: Axes) -> list[Condition]:
        """Low <= γ_k <= high."""
        names = axes.cascade.names
        known_name("the test of an assumption", self.test, names, SettingError)
        return axes.between({names.index(self.test): 1.0}, self.low, self.high)

    def __str__(self) -> str:
        if self.low <= 0:
            return f"{self.test!r} errs in at most {self.high:.4g} of the cases"
        return f"{self.test!r} errs in {self.low:.4g} to {self.high:.4g} of the cases"


@dataclass(frozen=True)
class Prevalence(Assumption):
    """The label has one value in a share of the cases between two bounds."""

    value: Hashable
    low: float
    high: float

    def __post_init__(self) -> None:
        _check_shares(f"the prevalence of {self.value!r}", self.low, self.high)

    @property
    def values(self) -> tuple[Hashable, ...]:  # type: ignore[override]
        """The value whose share this bounds."""
        return (self.value,)

    def conditions(self, axes: Axes) -> list[Condition]:
        """Low <= P(Y = value) <= high."""
        place = axes.values.index(matching(self.value, axes.values))
        return axes.between({axes.cascade.n_stages + place: 1.0}, self.low, self.high)

    def __str__(self) -> str:
        return f"{self.value!r} is right in {self.low:.4g} to {self.high:.4g} of the cases"


@dataclass(frozen=True, init=False)
class NeverRight(Assumption):
    """Some outputs are no answers, such as "abstain": the label is never one of them."""

    never_right: tuple[Hashable, ...]

    def __init__(self, *values: Hashable) -> None:
        if not values:
            raise SettingError("NeverRight must name at least one output, got none")
        object.__setattr__(self, "never_right", values)

    def __str__(self) -> str:
        are = "is" if len(self.never_right) == 1 else "are"
        return f"{', '.join(map(repr, self.never_right))} {are} never the right answer"


@dataclass(frozen=True)
class UnseenLabel(Assumption):
    """The right answer may be a value that no test ever gives."""

    sentence = "the right answer may be a value that no test gives"
    allows_unseen = True


@dataclass(frozen=True)
class MissingAtRandom(Assumption):
    """Whether an output is missing depends on nothing but the outputs before it."""

    sentence = "whether a test was run depends on nothing but the outputs before it"
    gaps_are_random = True


@dataclass(frozen=True)
class RateBounds(Assumption):
    """Bounds on γ_i, or on γ_i - γ_j where there is a j, from labels or from gaps at random."""

    source: str
    i: int
    j: int | None
    low: float
    high: float

    def conditions(self, axes: Axes) -> list[Condition]:
        """Low <= γ_i - γ_j <= high."""
        factors = {self.i: 1.0} if self.j is None else {self.i: 1.0, self.j: -1.0}
        return axes.between(factors, self.low, self.high)

    def said_of(self, names: Sequence[str]) -> str:
        """Return it in words, with the names of the tests."""
        less = "" if self.j is None else f" less that of {names[self.j]!r}"
        return (
            f"{self.source}, the error rate of {names[self.i]!r}{less} is "
            f"{round(self.low, 9) + 0:.4g} to {round(self.high, 9) + 0:.4g}"
        )


def _check_shares(what: str, low: float, high: float) -> None:
    if not 0 <= low <= high <= 1:
        raise SettingError(f"{what} must lie in 0 <= low <= high <= 1, got {low!r} to {high!r}")
