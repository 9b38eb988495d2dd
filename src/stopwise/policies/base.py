"""Ask and tell: what every policy does, so that a policy file holds its rule alone."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from contextlib import suppress
from typing import Any, ClassVar, Self

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.counts import PairCounts
from stopwise.errors import CascadeError, OutputsError, SettingError, StateError
from stopwise.outputs import Outputs, check_outputs, check_totals
from stopwise.policies.state import STATE_VERSION, Saved
from stopwise.policies.tally import tally_totals, tally_word

# Bytes, about, that the words of known patterns may take; the table of a stage is emptied beyond.
WORD_MEMORY = 1_000_000

Told = tuple[Hashable, ...]


class Policy(Saved, is_base=True):
    """A learner that says where to stop and is told what was seen, never what was right.

    A subclass is a rule over the pair counts: `_decide` returns the stage to play next and for how
    many rounds that is certain. The statistics are the counts alone, so tells may come late, in any
    order and in batches, and the counts of several learners add up.

    Parameters
    ----------
    cascade
        The tests and their prices.
    """

    settings: ClassVar[tuple[str, ...]] = ()
    """The keyword parameters of the class, each kept as an attribute of the same name."""

    needs_chain: ClassVar[bool] = False
    """Whether the rule makes no sense on a tree."""

    takes_totals: ClassVar[bool] = True
    """Whether the rule needs no more of a case than which of its outputs disagreed."""

    def __init__(self, cascade: Cascade) -> None:
        if not isinstance(cascade, Cascade):
            raise CascadeError(f"cascade must be a Cascade, got {cascade!r}")
        if self.needs_chain and not cascade.is_chain:
            raise CascadeError(f"{type(self).__name__} needs a chain, got a tree: {cascade!r}")
        self.cascade = cascade
        self._counts = PairCounts(cascade)
        # Counts that a rule needs besides, additive as well.
        self._further: dict[str, PairCounts] = {}
        # The decision in force and the rounds left to it. What is told meanwhile goes into one
        # integer, a lane a pair: adding the word of a pattern is all that a usual tell has to do.
        self._stage = 0
        self._left = 0
        self._tally = 0
        self._words_at: list[dict[Any, int]] = [{} for _ in range(cascade.n_stages)]
        self._words = self._words_at[0]
        # On a tree nothing is looked up by its outputs alone: they do not tell the stage.
        self._has_words = self.takes_totals and cascade.is_chain
        K = cascade.n_stages  # a word has K² / 2 lanes; the tuple and the table add a hundred bytes
        self._max_words = max(64, WORD_MEMORY // (100 * K + K**3))

    def __repr__(self) -> str:
        given = "".join(f", {name}={getattr(self, name)!r}" for name in self.settings)
        return f"{type(self).__name__}({self.cascade!r}{given})"

    def ask(self) -> int:
        """Return the stage at which to stop the next case."""
        return self._stage if self._left > 0 else self._renew()

    def tell(self, outputs: Outputs, *, stage: int | None = None) -> None:
        """Take in the outputs of the tests that were run on one case, ``None`` where one failed.

        In a chain their number is the stage; on a tree ``stage`` has to be given as well.
        """
        if stage is None:
            try:
                self._tally += self._words[outputs]
            except (KeyError, TypeError):  # a pattern not met before at this stage, or not a tuple
                pass
            else:
                self._left -= 1
                return
        self._take(*self._known(outputs, stage), 1)

    def ask_many(self, n: int) -> list[int]:
        """Return the stages for ``n`` cases that start now, before any of them is told."""
        return [self.ask() for _ in range(whole_number("n", n, SettingError, least=0))]

    def tell_many(self, batch: Iterable[Any] | Mapping[Any, int]) -> None:
        """Take in many cases at once, in any order, or a mapping from cases to how often.

        A case is what `tell` takes: outputs, on a tree a pair (outputs, stage). All or nothing: if
        one of them is refused none is taken.
        """
        if not isinstance(batch, Iterable):
            raise OutputsError(f"batch must be cases, or a mapping from cases, got {batch!r}")
        cases = batch.items() if isinstance(batch, Mapping) else ((case, 1) for case in batch)
        checked = []
        for number, (case, times) in enumerate(cases, start=1):
            try:
                count = whole_number("times", times, OutputsError, least=1)
                checked.append((*self._checked(*self._parts(case)), count))
            except OutputsError as error:
                form = "" if self.cascade.is_chain else ", and on a tree a case has its stage last"
                raise OutputsError(f"{error}; it is case {number} of the batch{form}") from None
        for stage, told, count in checked:
            self._take(stage, told, count)

    def tell_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        """Take in ``times`` complete cases at ``stage`` by how many disagreed, pair by pair.

        ``disagreed[b]`` has b entries, ``disagreed[b][a]`` for the a-th and b-th test on the path.
        For whoever has counted already: a simulation or an SQL query.
        """
        check_totals(stage, times, disagreed, self.cascade)
        self._take_totals(stage, times, disagreed)

    def reseed(self, seed: int | np.random.Generator) -> None:
        """Replace the generator of a policy that draws; others have none."""
        return

    def hold(self) -> int:
        """Return for how many rounds `ask` is certain to return the same stage (>= 1).

        Whatever these rounds show, as long as they play that stage. A case from another stage that
        is told in between, a late one say, ends the guarantee.
        """
        self.ask()
        return max(self._left, 1)

    @abstractmethod
    def recommend(self) -> int:
        """Return the stage that looks best now, with no regard for what is still to be learned.

        Before anything is told that is where the rule starts from: the end for those that stop
        early only if sure, the beginning for those that go on only for a reason.
        """

    @abstractmethod
    def _decide(self) -> tuple[int, int]:
        """Return the stage to play and for how many rounds that is certain, from the counts."""

    @property
    def counts(self) -> PairCounts:
        """A copy of all that has been learned."""
        self._settle()
        return self._counts + PairCounts(self.cascade)

    @property
    def n_rounds(self) -> int:
        """The number of cases told."""
        self._settle()
        return self._counts.n_rounds

    def merge(self, other: Self, *, start: Self | None = None) -> Self:
        """Return a learner that knows what both know; none is changed.

        Cases that both know count twice, unless they are those of ``start``: what ``other`` was
        restored from, if it is a worker that began with the knowledge of another learner.
        """
        for learner in (other, self if start is None else start):
            if type(learner) is not type(self) or self._described() != learner._described():
                raise SettingError(
                    f"merge needs learners of equal settings, got {self!r} and {learner!r}"
                )
        merged = type(self)._rebuilt(self.to_state())
        merged._counts += other.counts - start.counts if start else other.counts
        for name, counts in other._further.items():
            merged._further[name] += counts - start._further[name] if start else counts
        return merged

    def to_state(self) -> dict[str, Any]:
        """Return everything as plain data for JSON; `policy_from_state` goes on from there."""
        self._settle()
        return {
            "policy": type(self).__name__,
            "version": STATE_VERSION,
            **self._described(),
            "counts": self._counts.to_state(),
            "further": {name: counts.to_state() for name, counts in self._further.items()},
            **self._extra_state(),
        }

    def _described(self) -> dict[str, Any]:
        settings = {name: getattr(self, name) for name in self.settings}
        return {"cascade": self.cascade.to_state(), "settings": settings}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        cascade = Cascade.from_state(state["cascade"])
        policy = cls(cascade, **state["settings"])
        policy._counts = PairCounts.from_state(state["counts"], cascade)
        for name in policy._further:
            policy._further[name] = PairCounts.from_state(state["further"][name], cascade)
        policy._restore_extra(state)
        return policy

    def _extra_state(self) -> dict[str, Any]:
        """Return what is not in the counts: the state of a generator, say."""
        return {}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        """Take back what `_extra_state` gave."""
        return

    def _parts(self, case: Any) -> tuple[Any, ...]:
        """Return a case of a batch as what `tell` takes, or raise."""
        return (case,) if self.cascade.is_chain else parts_of(case, "outputs", "stage")

    def _checked(self, outputs: Any, stage: int | None = None) -> tuple[int, Told]:
        """Return the stage of a case and what it showed, or raise."""
        return check_outputs(outputs, self.cascade, stage)

    def _known(self, outputs: Any, stage: int | None) -> tuple[int, Told]:
        """Return what `_checked` does, at once for a list or an array that was met before."""
        if stage is None and isinstance(outputs, (list, np.ndarray)):
            with suppress(TypeError):
                told = tuple(outputs if isinstance(outputs, list) else outputs.tolist())
                if told in self._words:
                    return self._stage, told
        return self._checked(outputs, stage)

    def _take(self, stage: int, told: Told, times: int) -> None:
        held = stage == self._stage and times <= self._left
        self._left = self._left - times if held else 0
        if held and self._has_words and None not in told:
            self._tally += times * (self._words.get(told) or self._new_word(told))
        else:
            self._absorb(stage, told, times)

    def _new_word(self, told: Told) -> int:
        if len(self._words) >= self._max_words:
            self._words.clear()
        self._words[told] = word = tally_word(told)
        return word

    def _take_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        """Do as `tell_totals`, unchecked: in a simulation the check would take the longest."""
        self._left = self._left - times if stage == self._stage and times <= self._left else 0
        self._absorb_totals(stage, times, disagreed)

    def _settle(self) -> None:
        """Move what was told under the decision in force into the counts."""
        if self._tally:  # in a chain only
            self._absorb_totals(self._stage, *tally_totals(self._tally, self._stage + 1))
            self._tally = 0

    def _absorb(self, stage: int, told: Told, times: int) -> None:
        self._counts.add_checked(stage, told, times)

    def _absorb_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        self._counts.add_totals(stage, times, disagreed)

    def _renew(self) -> int:
        self._settle()
        self._stage, self._left = self._decide()
        self._words = self._words_at[self._stage]
        return self._stage


def generator_of(seed: int | np.random.Generator) -> np.random.Generator:
    """Return a generator from a seed or a generator; one that JSON cannot hold seeds a PCG64."""
    try:
        rng = np.random.default_rng(seed)
    except (TypeError, ValueError) as error:
        raise SettingError(f"seed must be a seed or a generator, got {seed!r}") from error
    if not isinstance(rng.bit_generator, np.random.PCG64):
        rng = np.random.default_rng(rng.integers(2**63))
    return rng


def parts_of(case: Any, *names: str) -> tuple[Any, ...]:
    """Return the parts of a case that is told in a batch, or raise `OutputsError`."""
    if not isinstance(case, (tuple, list)) or len(case) != len(names):
        raise OutputsError(f"a case must be ({', '.join(names)}), got {case!r}")
    return tuple(case)


def generator_state(rng: np.random.Generator) -> dict[str, Any]:
    """Return a generator as plain data for JSON."""
    return dict(rng.bit_generator.state)


def generator_from_state(state: dict[str, Any]) -> np.random.Generator:
    """Return the generator that `generator_state` described."""
    bits: Any = np.random.PCG64()
    try:
        bits.state = state
    except (KeyError, OverflowError, TypeError, ValueError) as error:
        raise StateError(f"generator cannot be read: {error}") from error
    return np.random.Generator(bits)
