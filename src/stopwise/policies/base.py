"""Ask and tell: a stage before each case, so that a policy file holds its rule alone."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.counts import PairCounts
from stopwise.errors import OutputsError, SettingError
from stopwise.outputs import Outputs, Told, check_totals
from stopwise.policies.learner import Learner
from stopwise.policies.tally import EQUAL_THEMSELVES, Words, tally_totals

Case = tuple[int, Told]


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
        # The decision in force and the rounds left to it. What is told meanwhile goes into one
        # integer, a lane a pair: adding the word of a case is all that a usual tell has to do.
        self._stage = 0
        self._left = 0
        self._tally = 0
        self._words = Words(cascade.n_stages)
        self._known = self._words.known[0]
        # On a tree nothing is looked up by its outputs alone: they do not tell the stage.
        self._has_words = self.takes_totals and cascade.is_chain

    def ask(self) -> int:
        """Return the stage at which to stop the next case."""
        return self._stage if self._left > 0 else self._renew()

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
                elif kind is np.ndarray:
                    outputs = tuple(outputs.tolist())  # type: ignore[attr-defined]
                with self._lock:
                    word = self._known.get(outputs)
                    if word is None and self._left > 0 and self._has_words:
                        word = self._word_unchecked(outputs)
                    if word is not None:
                        self._tally += word
                        self._left -= 1
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
        For whoever has counted already: a simulation or an SQL query.
        """
        totals = check_totals(stage, times, disagreed, self.cascade)
        with self._lock:
            self._check_room(totals[1])
            self._take_totals(*totals)

    def hold(self) -> int:
        """Return for how many rounds `ask` is certain to return the same stage (>= 1).

        Whatever these rounds show, as long as they play that stage. A case from another stage that
        is told in between, a late one say, ends the guarantee.
        """
        self.ask()
        return max(self._left, 1)

    def recommend(self) -> int:
        """Return the stage that looks best now, with no regard for what is still to be learned.

        Before anything is told that is where the rule starts from: the end for those that stop
        early only if sure, the beginning for those that go on only for a reason.
        """
        with self._lock:
            return self._recommend()

    @abstractmethod
    def _recommend(self) -> int:
        """Return the stage that looks best, from the counts."""

    @abstractmethod
    def _decide(self) -> tuple[int, int]:
        """Return the stage to play and for how many rounds that is certain, from the counts."""

    @property
    def counts(self) -> PairCounts:
        """A copy of all that has been learned."""
        with self._lock:
            counts: PairCounts = self._statistics["pairs"].copy()
            return counts

    @property
    def n_rounds(self) -> int:
        """The number of cases told."""
        with self._lock:
            return int(self._statistics["pairs"].n_rounds)

    @property
    def _counts(self) -> PairCounts:
        """The pair counts that the rule goes by: of everything told so far, or recent ones."""
        tables = self._statistics
        counts: PairCounts = tables["recent"].faded if "recent" in tables else tables["pairs"]
        return counts

    @property
    def _statistics(self) -> dict[str, Any]:
        """The statistics, after moving what was told under the decision in force into them."""
        if self._tally:  # in a chain only
            tally, self._tally = self._tally, 0
            self._absorb_totals(self._stage, *tally_totals(tally, self._stage + 1))
        return self._stored

    def _word_unchecked(self, outputs: Any) -> int | None:
        """Return the word of a new case of the decision in force if it needs no check."""
        if type(outputs) is not tuple or len(outputs) != self._stage + 1:
            return None
        plain = EQUAL_THEMSELVES.issuperset(map(type, outputs))
        return self._words.word(outputs) if plain and self._spelling.knows(outputs) else None

    def _read_statistic(self, name: str, saved: Any) -> PairCounts:
        return PairCounts.from_state(saved, self.cascade)

    def _checked(self, outputs: Any, *, stage: int | None = None, label: Any = None) -> Case:
        """Return the stage of a case and what it showed, or raise."""
        if label is not None:
            raise OutputsError(f"label must be left out: {type(self).__name__} learns from none")
        return self._checked_outputs(outputs, stage)

    def _take(self, case: Case, times: int) -> None:
        stage, told = case
        held = stage == self._stage and times <= self._left
        self._left = self._left - times if held else 0
        if held and self._has_words and None not in told:
            self._tally += times * self._words.word(told)
        else:
            self._absorb(stage, told, times)

    def _take_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        """Do as `tell_totals`, unchecked: in a simulation the check would take the longest."""
        self._left = self._left - times if stage == self._stage and times <= self._left else 0
        self._absorb_totals(stage, times, disagreed)

    def _absorb(self, stage: int, told: Told, times: int) -> None:
        self._count("pairs", lambda table: table.add_checked(stage, told, times))

    def _absorb_totals(self, stage: int, times: int, disagreed: list[list[int]]) -> None:
        self._count("pairs", lambda table: table.add_totals(stage, times, disagreed))

    def _renew(self) -> int:
        with self._lock:
            _ = self._statistics  # the tally belongs to the stage that was in force
            stage, left = self._decide()
            self._stage, self._left = stage, min(left, self._left_of_block)
            self._known = self._words.known[stage]
            return stage
