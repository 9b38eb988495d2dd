"""Simulate in a world with contexts: policies that look at them, and policies that do not."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.policies.base import Policy
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.pair_models import Model
from stopwise.problem.contextual import ContextualCases, ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.simulation import draws
from stopwise.simulation.compiled import can_compile
from stopwise.simulation.contextual_play import (
    CompiledContextual,
    asked_stages,
    check_contexts,
    has_kernel,
    plain_stages,
)
from stopwise.simulation.trace import Trace

ContextualEnvironment = ContextualInstance | ContextualRecording
# Cases are drawn in blocks of this size whatever the horizon: a shorter run is a part of a longer.
BLOCK = 16_384


class PlayedCases(NamedTuple):
    """Where was stopped, (n, K), how often wrongly, (n,), and at which regret, at n checkpoints."""

    stops: IntArray
    wrong: IntArray
    regret: FloatArray


@dataclass(frozen=True)
class ContextualJob:
    """Replications to be played in a world with contexts; all policies meet the same cases.

    Parameters
    ----------
    environment
        The truth.
    policy
        The policy to copy for each replication, with an eye for contexts or without.
    kernel
        Whether it is played compiled; the stages are the same.
    rounds
        The checkpoints, the horizon last.
    seed, replications
        Where randomness comes from, and which replications to play.
    count_errors
        Whether the trace tells how often the answer was wrong.
    """

    environment: ContextualEnvironment
    policy: ContextualPolicy | Policy
    kernel: bool | None
    rounds: IntArray
    seed: int
    replications: range
    count_errors: bool

    def play(self) -> Iterator[PlayedCases]:
        """Play the replications one after the other."""
        for r in self.replications:
            yield self._play(r)

    def trace(self, played: list[PlayedCases], *, name: str = "") -> Trace:
        """Return what was played, the first of the replications at least, as a trace."""
        return Trace(
            self.rounds,
            np.array([p.stops for p in played]),
            self.environment.average_gaps,
            self.environment.cascade,
            name or type(self.policy).__name__,
            np.array([p.wrong for p in played]) if self.count_errors else None,
            seed=self.seed,
            n_asked=len(self.replications),
            given_regret=np.array([p.regret for p in played]),
        )

    def _play(self, replication: int) -> PlayedCases:
        n, K = len(self.rounds), self.environment.cascade.n_stages
        played = PlayedCases(
            np.zeros((n, K), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n)
        )
        t = c = 0
        stops, wrong, regret = np.zeros(K, dtype=np.int64), 0, 0.0
        for cases, stages in self._blocks_with_stages(replication):
            rows = np.arange(len(stages))
            is_wrong = cases.outputs[rows, stages] != cases.labels
            paid = cases.gaps[rows, stages]
            while c < n and self.rounds[c] <= t + len(stages):
                k = int(self.rounds[c]) - t
                played.stops[c] = stops + np.bincount(stages[:k], minlength=K)
                played.wrong[c] = wrong + is_wrong[:k].sum()
                played.regret[c] = regret + paid[:k].sum()
                c += 1
            stops += np.bincount(stages, minlength=K)
            wrong += int(is_wrong.sum())
            regret += float(paid.sum())
            t += len(stages)
        return played

    def _blocks(self, replication: int) -> Iterator[ContextualCases]:
        """Yield the cases of a replication, which depend on the seed and its number alone."""
        rng = np.random.default_rng([self.seed, replication])
        left = int(self.rounds[-1])
        while left > 0:
            x, labels, outputs, gaps = self.environment.draw(BLOCK, rng)
            yield ContextualCases(x[:left], labels[:left], outputs[:left], gaps[:left])
            left -= BLOCK

    def _blocks_with_stages(self, replication: int) -> Iterator[tuple[ContextualCases, IntArray]]:
        sources = draws.sources(self.seed, replication)
        learner = copy.deepcopy(self.policy)
        learner.reseed(np.random.default_rng([self.seed, replication, 1]))
        if isinstance(learner, Policy):
            # The stages of a policy that may jump are had for the whole run at once.
            blocks = list(self._blocks(replication))
            labels = np.concatenate([block.labels for block in blocks])
            outputs = np.concatenate([block.outputs for block in blocks])
            stages = plain_stages(learner, labels, outputs, sources, compile_=bool(self.kernel))
            cuts = np.cumsum([len(block.labels) for block in blocks])[:-1]
            yield from zip(blocks, np.split(stages, cuts), strict=True)
        elif self.kernel:
            play = CompiledContextual(learner, sources[1])
            for cases in self._blocks(replication):
                yield cases, play.stages(cases)
        else:
            for cases in self._blocks(replication):
                yield cases, asked_stages(learner, cases)


def learned(
    environment: ContextualEnvironment, policy: ContextualPolicy, *, rounds: int, seed: int = 0
) -> ContextualPolicy:
    """Return a copy of a policy that has played so many rounds in a world, to look at or to use."""
    job = contextual_job(environment, policy, np.array([rounds]), seed, range(1), False)
    learner = copy.deepcopy(policy)
    play = CompiledContextual(learner, draws.sources(seed, 0)[1]) if job.kernel else None
    for cases in job._blocks(0):
        if play is None:
            asked_stages(learner, cases)
        else:
            play.stages(cases)
    if play is not None:
        learner._stored["model"] = Model(**{k: v.tolist() for k, v in play.model._asdict().items()})
    return learner


def known_contexts(environment: ContextualEnvironment) -> FloatArray:
    """Return contexts of which it is known beforehand that they may come up."""
    if isinstance(environment, ContextualRecording):
        return environment.features
    return environment.contexts.extremes()


def contextual_job(
    environment: ContextualEnvironment,
    policy: ContextualPolicy | Policy,
    rounds: IntArray,
    seed: int,
    replications: range,
    count_errors: bool,
) -> ContextualJob:
    """Return the job; warns if it will be slow because numba is missing."""
    kernel = can_compile()
    if isinstance(policy, ContextualPolicy):
        check_contexts(policy, known_contexts(environment))
        if not kernel and has_kernel(policy):
            warnings.warn(
                "numba is not installed, so simulations are slower: pip install 'stopwise[sim]'",
                stacklevel=4,
            )
        kernel = kernel and has_kernel(policy)
    return ContextualJob(
        environment, policy, kernel or None, rounds, seed, replications, count_errors
    )
