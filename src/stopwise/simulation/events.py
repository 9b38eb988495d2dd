"""Event-driven play: from decision to decision, drawing all that is shown in between at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from stopwise.cascade import IntArray
from stopwise.policies.base import Policy
from stopwise.simulation.world import View, World

# Below this many rounds it is cheaper to draw cases one by one from a block drawn ahead.
FEW = 8
_BLOCK = 4096


class Cases:
    """The cases of a world, drawn one by one or as counts, from one generator."""

    def __init__(self, world: World, rng: np.random.Generator) -> None:
        self._world = world
        self._rng = rng
        self._block: list[int] = []

    def next(self, view: View) -> int:
        """Return the next case, as an index into ``view``."""
        if not self._block:
            chances = self._world.instance.probabilities
            drawn = self._rng.choice(len(chances), size=_BLOCK, p=chances)
            self._block = drawn.tolist()
        return int(view.of_pattern[self._block.pop()])

    def counts(self, view: View, times: int) -> IntArray:
        """Return how often each case of ``view`` comes up in ``times`` rounds."""
        return np.asarray(self._rng.multinomial(times, view.probabilities), dtype=np.int64)


def play_events(
    world: World, policy: Policy, checkpoints: Sequence[int], rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """Play up to the last checkpoint; return stops (n, K) and wrong answers (n,) at each.

    Equal in law to asking and telling round by round: while `hold` says that the stage cannot
    change, what the rounds show is independent and identically distributed, so its counts are
    multinomial.
    """
    cases = Cases(world, rng)
    stops = np.zeros((len(checkpoints), world.cascade.n_stages), dtype=np.int64)
    played = [0] * world.cascade.n_stages
    t = 0
    for c, until in enumerate(checkpoints):
        while t < until:
            stage = policy.ask()
            rounds = min(policy.hold(), until - t)
            view = world.view(stage)
            if rounds < FEW:
                for _ in range(rounds):
                    _tell_one(policy, view, cases.next(view))
            else:
                _tell_counts(policy, view, stage, rounds, cases.counts(view, rounds))
            played[stage] += rounds
            t += rounds
        stops[c] = played
    return stops


def _tell_one(policy: Policy, view: View, case: int) -> None:
    policy.tell(view.cases[case])


def _tell_counts(policy: Policy, view: View, stage: int, rounds: int, counts: IntArray) -> None:
    totals = (counts @ view.pairs).tolist()
    starts = [b * (b - 1) // 2 for b in range(stage + 1)]
    policy.tell_totals(stage, rounds, [totals[s : s + b] for b, s in enumerate(starts)])
