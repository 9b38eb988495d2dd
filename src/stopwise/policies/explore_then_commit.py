"""Run all tests for a while, then commit to one stage: a simple baseline."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Self

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.counts import PairCounts
from stopwise.errors import SettingError, StateError
from stopwise.policies.base import Policy
from stopwise.policies.compiled_rule import FOREVER
from stopwise.policies.optimism import first_accepted


class ExploreThenCommit(Policy):
    """Run all tests on the first cases, then stop where their disagreement says.

    After ``rounds`` complete cases it plays the first stage i with C_j - C_i >= p̂_ij for all j > i.
    The shares p̂_ij are those of complete cases, so shallower ones cannot change the choice. It is
    the learner in the proof of Proposition 1 with rounds = ⌈sqrt(T)⌉.

    Parameters
    ----------
    cascade
        The tests and their prices.
    rounds
        The number of complete cases to see first, >= 1.

    >>> policy = ExploreThenCommit(Cascade(costs=[0.0, 0.5]), rounds=2)
    >>> policy.tell([0, 0])
    >>> policy.tell([0, 1])
    >>> policy.ask()
    0
    """

    settings = ("rounds",)
    takes_number = True
    needs_chain = True  # on a tree no case is complete

    def __init__(self, cascade: Cascade, *, rounds: int) -> None:
        super().__init__(cascade)
        self.rounds = whole_number("rounds", rounds, SettingError, least=1)
        # The cases that went to the end: later ones must not change the commitment.
        self._stored["complete"] = PairCounts(cascade)

    @classmethod
    def with_defaults(
        cls, cascade: Cascade, *, horizon: int = 1_000, number: int | None = None
    ) -> Self:
        """Return the policy that commits after ``number`` cases, ⌈sqrt(horizon)⌉ by default."""
        return cls(cascade, rounds=number or math.isqrt(horizon - 1) + 1)

    def _recommend(self) -> int:
        complete = self._statistics["complete"]
        tables = self._tables()._replace(seen=complete.seen, sums=complete.disagreed)
        return first_accepted(tables, 0.0)

    def _decide(self) -> tuple[int, int]:
        missing = self.rounds - self._statistics["complete"].n_rounds
        if missing > 0:
            return self.cascade.n_stages - 1, missing
        stage = self._recommend()
        # Playing the last stage brings complete cases, so the choice may still change.
        return stage, 1 if stage == self.cascade.n_stages - 1 else FOREVER

    def _add(self, stage: int, how: Callable[[PairCounts], None]) -> None:
        super()._add(stage, how)
        if stage == self.cascade.n_stages - 1:
            how(self._stored["complete"])

    def _read(self, statistics: Any) -> dict[str, Any]:
        tables = super()._read(statistics)
        complete = tables["complete"]
        if any(complete.stopped[:-1]) or complete.stopped[-1] != tables["pairs"].stopped[-1]:
            raise StateError("complete must be the cases that went to the end")
        _ = tables["pairs"] - complete  # raises unless they are among all cases
        return tables
