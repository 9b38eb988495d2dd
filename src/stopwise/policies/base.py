"""Ask and tell: the base of policies that choose a stage before each case."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.counts import PairCounts, Totals
from stopwise.errors import OutputsError, SettingError
from stopwise.outputs import Outputs, Told, check_totals
from stopwise.policies.compiled_rule import Tables, price_rows
from stopwise.policies.learner import Learner
from stopwise.policies.tally import EQUAL_THEMSELVES, MOST_WAITING, Inbox, Words

Case = tuple[int, Told]

_ROW = np.ndarray


class Policy(Learner):
    """A learner that says where to stop the next case and is told what was seen.

    A subclass is a rule over the pair counts, `_counts`: `_decide` returns the stage to play next
    and for how many rounds that is certain, `_recommend` the stage that looks best. The statistics
    are the counts alone, so tells may come late, in any order and in batches, and the counts of
    several learners add up.

    Parameters
    ----------
    cascade
        The tests and their prices.
    """

    takes_totals: ClassVar[bool] = True
    """Whether the rule needs no more of a case than which of its outputs disagreed."""

    def __init__(self, cascade: Cascade, *, memory: int | None = None) -> None:
        super().__init__(cascade)
        self._keep("pairs", PairCounts(cascade), memory)
        # A usual tell only looks up the word of a case and appends it to the inbox of the stage in
        # force.
        self._words = Words(cascade.n_stages)
        self._inbox = self._words.inboxes[0]
        # On a tree no case is looked up by its outputs: they do not determine the stage.
        self._has_words = self.takes_totals and cascade.is_chain

    def ask(self) -> int:
        """Return the stage at which to stop the next case."""
        inbox = self._inbox
        return inbox.stage if len(inbox.waiting) < inbox.left else self._renew()

    def tell(self, outputs: Outputs, *, stage: int | None = None, label: Any = None) -> None:
        """Take in the outputs of the tests that were run on one case, ``None`` where one failed.

        In a chain their number is the stage; on a tree ``stage`` has to be given as well. ``label``
        is the right answer, for policies that learn from it.
        """
        if stage is None and label is None:
            try:
                kind: Any = type(outputs)
                if kind is list:
                    outputs = tuple(outputs)
                elif kind is _ROW:
                    outputs = tuple(outputs.tolist())  # type: ignore[attr-defined]
                inbox = self._inbox
                word = inbox.known.get(outputs) or self._word_unchecked(outputs, inbox)
                if word and len(inbox.waiting) < inbox.room:
                    inbox.waiting.append(word)
                    return
            except TypeError:  # not hashable: refused below
                pass
        case = self._checked(outputs, stage=stage, label=label)
        with self._lock:
            self._take(case, 1)

    def ask_many(self, n: int) -> list[int]:
        """Return the stages for ``n`` cases that start now, before any of them is told."""
        return [self.ask() for _ in range(whole_number("n", n, SettingError, least=0))]

    def tell_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        """Take in ``times`` complete cases at ``stage`` by how many disagreed, pair by pair.

        ``disagreed[b]`` has b entries, ``disagreed[b][a]`` for the a-th and b-th test on the path.
        For whoever has counted already: a simulation or an SQL query. Refused by policies that
        need more of a case than which of its outputs disagreed.
        """
        if not self.takes_totals:
            name = type(self).__name__
            raise OutputsError(f"outputs must be told: {name} cannot be told disagreement alone")
        totals = check_totals(stage, times, disagreed, self.cascade)
        with self._lock:
            self._check_room(totals[1])
            self._take_totals(*totals)

    def hold(self) -> int:
        """Return for how many rounds `ask` is certain to return the same stage (>= 1).

        This holds whatever these rounds show, as long as they play that stage. If a case from
        another stage is told in between, for example a late one, the guarantee ends.
        """
        self.ask()
        inbox = self._inbox
        return max(inbox.left - len(inbox.waiting), 1)

    def recommend(self) -> int:
        """Return the stage that looks best now, without regard to what is still to be learned.

        Before anything is told, this is where the rule starts: the last stage for rules that stop
        early only if sure, the first for rules that go on only for a reason.
        """
        with self._lock:
            return self._recommend()

    @abstractmethod
    def _recommend(self) -> int:
        """Return the stage that looks best, from the counts."""

    @abstractmethod
    def _decide(self) -> tuple[int, int]:
        """Return the stage to play and for how many rounds that is certain, from the counts."""

    @cached_property
    def _prices(self) -> list[list[float]]:
        return price_rows(self.cascade)

    def _tables(self, settings: Any = ()) -> Tables:
        """Return what a rule over pairs decides by, as lists; `pair_tables` returns arrays."""
        counts, cascade = self._counts, self.cascade
        branches = None if cascade.is_chain else cascade.branches
        pairs = self._prices, counts.seen, counts.disagreed, counts.stopped
        return Tables(*pairs, cascade.parents, branches, settings, None)

    @property
    def counts(self) -> PairCounts:
        """A copy of all that has been learned."""
        with self._lock:
            counts: PairCounts = self._told.copy()
            return counts

    @property
    def n_rounds(self) -> int:
        """The number of cases told."""
        with self._lock:  # some may wait to be counted
            return int(self._told.n_rounds)

    @property
    def _statistics(self) -> dict[str, Any]:
        """The statistics, after counting the cases that wait."""
        self._settle()
        return self._stored

    def _settle(self) -> None:
        """Count the waiting cases: of the current decision, or told while it changed."""
        if any(self._words.waiting):
            for inbox in self._words.inboxes:
                while inbox.waiting:
                    self._take_totals(inbox.stage, *inbox.take_out())

    def _word_unchecked(self, outputs: Any, inbox: Inbox) -> int:
        """Return the word of a new case of the decision in force, 0 if it has to be checked."""
        if self._has_words and type(outputs) is tuple and len(outputs) == inbox.stage + 1:
            plain = EQUAL_THEMSELVES.issuperset(map(type, outputs))
            if plain and self._spelling.knows(outputs):
                return self._words.word(outputs)
        return 0

    def _read_statistic(self, name: str, saved: Any) -> PairCounts:
        return PairCounts.from_state(saved, self.cascade)

    def _checked(self, outputs: Any, *, stage: int | None = None, label: Any = None) -> Case:
        return self._checked_outputs(outputs, stage, label)

    def _take(self, case: Case, times: int) -> None:
        stage, outputs = case
        inbox = self._inbox
        waits = times == 1 and stage == inbox.stage and self._has_words and None not in outputs
        if not waits or len(inbox.waiting) >= inbox.room:
            self._settle()
        if waits:
            inbox.waiting.append(self._words.word(outputs))
        else:
            self._use_up(stage, times)
            self._absorb(stage, outputs, times)

    def _take_totals(self, stage: int, times: int, disagreed: Totals) -> None:
        """Same as `tell_totals`, unchecked: the check would take most of a simulation's time."""
        self._use_up(stage, times)
        self._add(stage, lambda table: table.add_totals(stage, times, disagreed))

    def _use_up(self, stage: int, times: int) -> None:
        """Take ``times`` rounds from the decision in force; another stage ends it."""
        inbox = self._inbox
        inbox.left = inbox.left - times if stage == inbox.stage else 0

    def _absorb(self, stage: int, outputs: Told, times: int) -> None:
        self._add(stage, lambda table: table.add_checked(stage, outputs, times))

    def _add(self, stage: int, how: Callable[[PairCounts], None]) -> None:
        self._count(how)
        self._inbox.room = min(self._left_of_block, MOST_WAITING)

    def _renew(self) -> int:
        with self._lock:
            self._settle()  # waiting cases count, and belong to the stage in force
            stage, rounds = self._decide()
            block = self._left_of_block
            self._inbox.left = 0
            self._inbox = inbox = self._words.inboxes[stage]
            inbox.left, inbox.room = min(rounds, block), min(block, MOST_WAITING)
            return stage
