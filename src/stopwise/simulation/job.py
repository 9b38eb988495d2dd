"""Replications of one policy in one world, or in several that follow each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.simulation.trace import Trace


class Played(NamedTuple):
    """What was played up to each of n checkpoints."""

    stops: IntArray  # how many cases were stopped at each stage; shape (n, K)
    wrong: IntArray  # how many answers were wrong; shape (n,)
    regret: FloatArray  # the expected regret; shape (n,)
    # How often each test was run, where that does not follow from ``stops``; shape (n, K).
    runs: IntArray | None = None

    def then(self, later: Played) -> Played:
        """Return this and what was played after it, counted from the same start."""
        parts: list[Any] = [
            None if a is None or b is None else np.concatenate([a, a[-1] + b])
            for a, b in zip(self, later, strict=True)
        ]
        return Played(*parts)

    def at(self, checkpoints: IntArray) -> Played:
        """Return some of the checkpoints, by their index."""
        parts: list[Any] = [None if part is None else part[checkpoints] for part in self]
        return Played(*parts)


@dataclass(frozen=True)
class Job:
    """Replications to be played, with everything that a worker needs; already checked."""

    worlds: tuple[Any, ...]  # in the order of time
    # The rounds after which the next world begins, one fewer than there are worlds.
    changes: tuple[int, ...]
    policy: Any  # the policy to copy for each replication
    # Its compiled rule, if there is one. Chosen once, so that all workers draw the same numbers.
    rule: Any
    rounds: IntArray  # the checkpoints, the horizon last
    # Where randomness comes from, and which replications to play.
    seed: int
    replications: range
    count_errors: bool  # whether the trace has the number of wrong answers

    def play(self) -> list[Played]:
        """Play the replications one after the other."""
        return [self._play(r) for r in self.replications]

    def player(self, replication: int) -> Any:
        """Return what plays one replication."""
        rng = np.random.default_rng([self.seed, replication])
        return self.worlds[0].player(self.policy, self.rule, rng)

    def trace(self, played: list[Played], *, name: str = "") -> Trace:
        """Return what was played, one replication or more, as a trace."""
        is_plain = len(self.worlds) == 1 and self.worlds[0].stops_give_regret
        runs = [p.runs for p in played if p.runs is not None]
        spans = np.diff([0, *self.changes, self.rounds[-1]])
        return Trace(
            self.rounds,
            np.array([p.stops for p in played]),
            np.average([world.gaps for world in self.worlds], axis=0, weights=spans),
            self.worlds[0].cascade,
            name or type(self.policy).__name__,
            np.array([p.wrong for p in played]) if self.count_errors else None,
            seed=self.seed,
            n_asked=len(self.replications),
            given_regret=None if is_plain else np.array([p.regret for p in played]),
            given_runs=np.array(runs) if runs else None,
        )

    def _play(self, replication: int) -> Played:
        player = self.player(replication)
        changes = [*self.changes, int(self.rounds[-1])]
        ends = np.union1d(self.rounds, changes)
        whole: Played | None = None
        start = 0
        for world, change in zip(self.worlds, changes, strict=True):
            checkpoints = ends[(ends > start) & (ends <= change)]
            played = player.play(world, checkpoints - start)
            whole = played if whole is None else whole.then(played)
            start = change
        assert whole is not None  # there is a world
        return whole.at(np.searchsorted(ends, self.rounds)) if self.changes else whole
