"""Replications of one policy in one world, or in several that follow each other."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from stopwise.cascade import IntArray
from stopwise.simulation.cases import CasePlay, CaseWorld
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.events import EventPlay
from stopwise.simulation.stopping import StoppingPlay, StoppingWorld
from stopwise.simulation.trace import Trace
from stopwise.simulation.world import Played, World

AnyWorld = World | StoppingWorld | CaseWorld


@dataclass(frozen=True)
class Job:
    """Replications to be played, checked and self-contained: what goes to a worker.

    Parameters
    ----------
    worlds
        What is true, in the order of time.
    changes
        The rounds after which the next world begins, one fewer than there are worlds.
    policy
        The policy to copy for each replication.
    rule
        Its compiled rule, if there is one. Chosen once, so that all workers draw the same numbers.
    rounds
        The checkpoints, the horizon last.
    seed, replications
        Where randomness comes from, and which replications to play.
    count_errors
        Whether the trace tells how often the answer was wrong.
    """

    worlds: tuple[Any, ...]
    changes: tuple[int, ...]
    policy: Any
    rule: Any
    rounds: IntArray
    seed: int
    replications: range
    count_errors: bool

    def play(self) -> Iterator[Played]:
        """Play the replications one after the other."""
        for r in self.replications:
            yield self._play(r)

    def player(self, replication: int) -> Any:
        """Return what plays one replication."""
        rng = np.random.default_rng([self.seed, replication])
        world = self.worlds[0]
        if isinstance(world, World) and self.rule is not None:
            return CompiledPlay(self.rule, rng)
        learner = copy.deepcopy(self.policy)
        if hasattr(learner, "reseed"):
            learner.reseed(rng.spawn(1)[0])
        if isinstance(world, CaseWorld):
            return CasePlay(learner, self.rule, rng)
        return (StoppingPlay if isinstance(world, StoppingWorld) else EventPlay)(learner, rng)

    def trace(self, played: list[Played], *, name: str = "") -> Trace:
        """Return what was played, the first of the replications at least, as a trace."""
        is_plain = len(self.worlds) == 1 and isinstance(self.worlds[0], World)
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
        )

    def _play(self, replication: int) -> Played:
        player, start, parts = self.player(replication), 0, []
        before = Played(
            np.zeros(self.worlds[0].cascade.n_stages, dtype=np.int64), np.int64(0), np.float64(0)
        )
        for world, end in zip(self.worlds, [*self.changes, int(self.rounds[-1])], strict=True):
            inside = self.rounds[(self.rounds > start) & (self.rounds <= end)]
            ends = np.append(inside, end) if not len(inside) or inside[-1] < end else inside
            played = Played(
                *(a + b for a, b in zip(player.play(world, ends - start), before, strict=True))
            )
            parts.append(Played(*(part[: len(inside)] for part in played)))
            before = Played(*(part[-1] for part in played))
            start = end
        if len(parts) == 1:
            return parts[0]
        return Played(*(np.concatenate(part) for part in zip(*parts, strict=True)))
