"""What all learners share: settings, batches, saved states, workers, and one lock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from functools import partial
from threading import RLock
from typing import Any, ClassVar, Self

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import MOST_CASES
from stopwise.errors import CascadeError, OutputsError, SettingError, StateError
from stopwise.outputs import Told, check_outputs
from stopwise.policies.batches import checked_batch, mixed, parts
from stopwise.policies.generators import generator_from_state, generator_of, generator_state
from stopwise.policies.read_only import ReadOnly
from stopwise.policies.recent import Recent
from stopwise.policies.spelling import Spelling
from stopwise.policies.state import STATE_VERSION


class Learner(ABC):
    """A rule over additive statistics of what was told: the base of every policy.

    A subclass keeps its statistics in `_stored`, by name. They can be added, subtracted and written
    with ``to_state()``; `_read_statistic` reads one back. The subclass checks a case in `_checked`
    and counts it in `_take`. Batches, merging, forks and states follow.

    Threads may share a learner: one lock guards everything that reads or changes the statistics.

    Parameters
    ----------
    cascade
        The tests and their prices.
    """

    settings: ClassVar[tuple[str, ...]] = ()
    """The parameters of the class, each kept as a read-only attribute of the same name."""

    needs_chain: ClassVar[bool] = False  # the rule makes no sense on a tree
    needs_label: ClassVar[bool] = False  # `tell` needs the right answer, ``label``
    needs_context: ClassVar[bool] = False  # `ask` and `tell` need features, ``context``
    looks_at_outputs: ClassVar[bool] = False  # the rule decides after each output, with `next`
    draws: ClassVar[bool] = False  # the rule draws random numbers, from ``seed``
    # Whether a number may follow the name on the command line, as in ``fixed-stage:2``.
    takes_number: ClassVar[bool] = False
    merge_refusal: ClassVar[str] = ""  # why learners of this class cannot be merged, if so
    cascade: Any = ReadOnly("cascade")

    def __init_subclass__(cls) -> None:
        for name in cls.__dict__.get("settings", ()):
            setattr(cls, name, ReadOnly(name))

    def __init__(self, cascade: Cascade) -> None:
        if not isinstance(cascade, Cascade):
            raise CascadeError(f"cascade must be a Cascade, got {cascade!r}")
        if self.needs_chain and not cascade.is_chain:
            raise CascadeError(f"{type(self).__name__} needs a chain, got a tree: {cascade!r}")
        self.cascade = cascade
        self._lock = RLock()
        self._stored: dict[str, Any] = {}
        self._start: dict[str, Any] | None = None
        self._rng: Any = None
        self._spelling = Spelling()

    @classmethod
    def with_defaults(
        cls, cascade: Cascade, *, horizon: int = 1_000, number: int | None = None
    ) -> Self:
        """Return the policy with its usual settings for a run of ``horizon`` cases.

        ``number`` is what a command line gives after the name, counted from 1.
        """
        return cls(cascade, **({"seed": 0} if cls.draws else {}))

    def __repr__(self) -> str:
        settings = "".join(f", {name}={getattr(self, name)!r}" for name in self.settings)
        return f"{type(self).__name__}({self.cascade!r}{settings})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_lock"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._lock = RLock()

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Replace the generator of a policy that draws; others have none."""
        if self.draws:
            self._rng = generator_of(seed)

    def reseeded(self, seed: int | np.random.Generator) -> Self:
        """Return a copy with another generator, if the policy draws."""
        policy = deepcopy(self)
        policy.reseed(seed)
        return policy

    def tell_many(self, batch: Iterable[Any] | Mapping[Any, int]) -> None:
        """Take in many cases at once, in any order, or a mapping from cases to how often.

        A case is its outputs, or a tuple of outputs and what else `tell` needs: label, context,
        stage on a tree, in this order. If one case is refused, none is counted.
        """
        names = self._case_names()
        cases = checked_batch(batch, names, lambda case: self._checked(**parts(case, names)))
        with self._lock:
            self._check_room(sum(times for _, times in cases))
            if "recent" in self._stored and isinstance(batch, Mapping):
                cases = mixed(cases)  # or its order would look like a change
            for case, times in cases:
                self._take(case, times)

    def _case_names(self) -> tuple[str, ...]:
        """Return what a case of a batch consists of, by the names of `_checked`."""
        label = ("label",) if self.needs_label else ()
        return ("outputs", *label, *(() if self.cascade.is_chain else ("stage",)))

    @abstractmethod
    def _checked(self, *args: Any, **kwargs: Any) -> Any:
        """Return one case as `_take` counts it, or raise; change nothing."""

    @abstractmethod
    def _take(self, case: Any, times: int) -> None:
        """Count a checked case ``times`` times; called with the lock held."""

    def _keep(self, name: str, empty: Any, memory: int | None = None) -> None:
        """Keep counts under ``name``; with ``memory``, the rule uses recent counts instead."""
        self._stored[name] = empty
        if memory is not None:
            self._stored["recent"] = Recent(empty, memory)

    def _count(self, how: Callable[[Any], Any]) -> Any:
        """Count with ``how``, which adds to a table; return its result for the rule's table."""
        result = how(next(iter(self._stored.values())))
        return self._stored["recent"].count(how) if "recent" in self._stored else result

    @property
    def _left_of_block(self) -> int:
        """The number of cases until recent counts fade or are looked at for a change."""
        return int(self._stored["recent"].left) if "recent" in self._stored else MOST_CASES

    @property
    def _span(self) -> int:
        """The number of cases behind the counts that the rule uses."""
        tables = self._statistics
        return int(tables["recent"].span if "recent" in tables else self._told.n_rounds)

    @property
    def _told(self) -> Any:
        """The counts of everything told so far: the first of the statistics."""
        return next(iter(self._statistics.values()))

    @property
    def _counts(self) -> Any:
        """The counts that the rule uses: of everything told so far, or recent ones."""
        tables = self._statistics
        return tables["recent"].faded if "recent" in tables else next(iter(tables.values()))

    def _checked_outputs(
        self, outputs: Any, stage: int | None = None, label: Any = None
    ) -> tuple[int, Told]:
        """Return the stage of a case and its outputs, or raise; policies with labels pass none."""
        if label is not None:
            raise OutputsError(f"label must be left out: {type(self).__name__} learns from none")
        case = check_outputs(outputs, self.cascade, stage)
        self._spelling.watch(case[1])
        return case

    def _check_room(self, times: int) -> None:
        if self._told.n_rounds + times > MOST_CASES:
            raise OutputsError(f"times must add up to at most {MOST_CASES} cases, got {times} more")

    @property
    def n_rounds(self) -> int:
        """The number of cases told; available while a model is fitted."""
        return int(self._told.n_rounds)

    # Workers

    def fork(self) -> Self:
        """Return a worker that starts with what this learner knows, and remembers its start.

        `merge` then counts only what the worker itself was told, however much this learner has
        learned meanwhile. The worker's state carries its start to another machine and back. A
        policy that draws needs ``worker.reseed(…)``, or all its workers draw the same numbers.
        """
        with self._lock:
            worker = self._twin()
            worker._start = self._copied_tables()
        return worker

    def merge(self, other: Self) -> Self:
        """Return a learner that knows what both know; neither is changed.

        Of a worker from `fork`, only the cases told to it since the fork are added, so each case
        counts once. Fork new workers after a merge. If two other learners have been told the same
        case, it counts twice.
        """
        if self.merge_refusal:
            raise SettingError(f"{type(self).__name__} cannot be merged: {self.merge_refusal}")
        if type(other) is not type(self) or self._described() != other._described():
            pair = f"{self!r} and {other!r}"
            raise SettingError(f"merge needs learners of equal settings, got {pair}")
        with self._lock:
            merged = self._twin()
            ours, our_start = self._copied_tables(), self._start
        with other._lock:
            theirs, their_start = other._copied_tables(), other._start
        if our_start is not None and their_start is not None:
            if our_start != their_start:
                raise SettingError("merge needs workers that were forked from the same state")
            merged._start = our_start
        elif our_start is not None:  # the other may well know our start already
            ours, theirs, their_start = theirs, ours, our_start
        for name, table in ours.items():
            new = theirs[name] - their_start[name] if their_start is not None else theirs[name]
            merged._stored[name] = table + new
        return merged

    def _twin(self) -> Self:
        """Return a copy of this learner, without a start."""
        return type(self)._rebuilt({**self.to_state(), "start": None})

    def _copied_tables(self) -> dict[str, Any]:
        """Return the statistics, up to date, as tables that nobody else changes."""
        return {name: table.copy() for name, table in self._statistics.items()}

    @property
    def _statistics(self) -> dict[str, Any]:
        """The statistics with everything told so far."""
        return self._stored

    # States

    def to_state(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; `policy_from_state` goes on from there."""
        with self._lock:
            state = {
                "policy": type(self).__name__,
                "version": STATE_VERSION,
                **self._described(),
                "statistics": _state_of(self._statistics),
                **self._extra_state(),
            }
            return state if self._start is None else {**state, "start": _state_of(self._start)}

    def _described(self) -> dict[str, Any]:
        """Return cascade and settings as plain data: what has to be equal for a merge."""
        settings = {name: getattr(self, name) for name in self.settings}
        return {"cascade": self.cascade.to_state(), "settings": settings}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        """Return the learner that a state describes, or raise any `InputError` or `KeyError`."""
        seed = {"seed": 0} if cls.draws else {}
        policy = cls(Cascade.from_state(state["cascade"]), **state["settings"], **seed)
        keys = {"policy", "version", "cascade", "settings", "statistics", "start"}
        unknown = set(state) - keys - set(policy._extra_state())
        if unknown:
            raise StateError(f"state must have known keys only, got {sorted(unknown)}")
        policy._stored = policy._read(state["statistics"])
        if state.get("start") is not None:
            policy._start = policy._read(state["start"])
            for name, table in policy._start.items():
                _ = policy._stored[name] - table  # raises if the start is no part of it
        policy._restore_extra(state)
        return policy

    def _read(self, statistics: Any) -> dict[str, Any]:
        """Return the statistics from their states, or raise `StateError`."""
        if not isinstance(statistics, dict) or set(statistics) != set(self._stored):
            raise StateError(f"statistics must be {sorted(self._stored)}, got {statistics!r:.200}")
        read_main = partial(self._read_statistic, next(iter(self._stored)))
        return {
            name: empty.restored(statistics[name], read_main)
            if name == "recent"
            else self._read_statistic(name, statistics[name])
            for name, empty in self._stored.items()
        }

    @abstractmethod
    def _read_statistic(self, name: str, saved: Any) -> Any:
        """Return one of the statistics from its state, or raise `StateError`."""

    def _extra_state(self) -> dict[str, Any]:
        """Return what is no statistic: the generator of a policy that draws."""
        return {"generator": generator_state(self._rng)} if self.draws else {}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        """Take back what `_extra_state` gave."""
        if self.draws:
            self._rng = generator_from_state(state["generator"])


def _state_of(tables: dict[str, Any]) -> dict[str, Any]:
    return {name: table.to_state() for name, table in tables.items()}
