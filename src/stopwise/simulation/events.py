"""Event-driven play: from decision to decision; all cases in between are drawn at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from stopwise.cascade import IntArray
from stopwise.errors import PolicyError
from stopwise.policies.base import Policy
from stopwise.simulation.job import Played

if TYPE_CHECKING:  # a world makes its player
    from stopwise.simulation.world import View, World

# Stretches shorter than this take their cases one by one from a block that was drawn ahead.
FEW = 6
_BLOCK = 4096


class Cases:
    """The cases of a world, drawn one by one or as counts, from one generator."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self._chances = world.instance.probabilities
        self._rng = rng
        self._block = np.zeros(0, dtype=np.int64)
        self._next = 0

    def few(self, view: View, times: int) -> IntArray:
        """Return the cases of ``view`` that come up in ``times`` rounds."""
        start = self._next
        self._next = start + times
        if self._next > len(self._block):
            size = max(_BLOCK, times)
            self._block = self._rng.choice(len(self._chances), size=size, p=self._chances)
            start, self._next = 0, times
        return view.of_pattern[self._block[start : start + times]]

    def counts(self, view: View, times: int) -> IntArray:
        """Return how often each case of ``view`` comes up in ``times`` rounds."""
        return self._rng.multinomial(times, view.probabilities)


class EventPlay:
    """One replication of a policy that chooses a stage before a case starts.

    Equal in law to asking and telling round by round: as long as `hold` says that the stage cannot
    change, the cases of the rounds are independent and identically distributed, so their counts
    are multinomial.

    The policy learns; ``rng`` draws the cases.
    """

    def __init__(self, policy: Policy, rng: np.random.Generator) -> None:
        self._policy = policy
        self._rng = rng

    def play(self, world: World, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        policy, cases = self._policy, Cases(world, self._rng)
        K = world.cascade.n_stages
        stops = np.zeros((len(ends), K), dtype=np.int64)
        wrong = np.zeros(len(ends), dtype=np.int64)
        n_stopped = [0] * K
        n_wrong = t = 0
        for c, until in enumerate(ends.tolist()):
            while t < until:
                stage = checked_stage(policy, policy.ask(), K)
                view = world.view(stage)
                rounds = min(checked_hold(policy), until - t)
                if rounds < max(FEW, len(view.probabilities) // 2):
                    few = cases.few(view, rounds)
                    view.tell_cases(policy, few)
                    if world.labelled:
                        n_wrong += int(view.wrong[few].sum())
                else:
                    counts = cases.counts(view, rounds)
                    view.tell_counts(policy, counts, rounds)
                    if world.labelled:
                        n_wrong += int(counts @ view.wrong)
                n_stopped[stage] += rounds
                t += rounds
            stops[c], wrong[c] = n_stopped, n_wrong
        return Played(stops, wrong, stops @ world.instance.gaps)


def checked_stage(policy: Any, stage: Any, n_stages: int) -> int:
    """Return a stage that a policy asked for, or raise."""
    if isinstance(stage, (int, np.integer)) and 0 <= stage < n_stages:
        return int(stage)
    raise PolicyError(
        f"{type(policy).__name__}.ask must return a stage from 0 to {n_stages - 1}, got {stage!r}"
    )


def checked_hold(policy: Any) -> int:
    """Return the number of rounds for which a policy says its decision is certain, or raise."""
    rounds = policy.hold()
    if isinstance(rounds, (int, np.integer)) and rounds >= 1:
        return int(rounds)
    raise PolicyError(f"{type(policy).__name__}.hold must return rounds >= 1, got {rounds!r}")
