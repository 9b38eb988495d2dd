"""Event-driven play: from decision to decision, drawing all that is shown in between at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stopwise.cascade import IntArray
from stopwise.policies.base import Policy
from stopwise.simulation.world import Played, View, World

# Stretches shorter than this are drawn case by case from a block drawn ahead.
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


def play_events(
    world: World, policy: Policy, checkpoints: Sequence[int], rng: np.random.Generator
) -> Played:
    """Play up to the last checkpoint.

    Equal in law to asking and telling round by round: while `hold` says that the stage cannot
    change, what the rounds show is independent and identically distributed, so its counts are
    multinomial.
    """
    cases = Cases(world, rng)
    n, K = len(checkpoints), world.cascade.n_stages
    played = Played(np.zeros((n, K), dtype=np.int64), np.zeros(n, dtype=np.int64))
    stops = [0] * K
    wrong = t = 0
    for c, until in enumerate(checkpoints):
        while t < until:
            stage = policy.ask()
            view = world.view(stage)
            rounds = min(policy.hold(), until - t)
            if rounds < max(FEW, len(view.probabilities) // 2):
                shown = cases.few(view, rounds)
                view.tell_cases(policy, shown)
                if world.labelled:
                    wrong += int(view.wrong[shown].sum())
            else:
                counts = cases.counts(view, rounds)
                view.tell_counts(policy, counts, rounds)
                if world.labelled:
                    wrong += int(counts @ view.wrong)
            stops[stage] += rounds
            t += rounds
        played.stops[c], played.wrong[c] = stops, wrong
    return played
