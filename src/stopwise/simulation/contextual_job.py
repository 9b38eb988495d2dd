"""Simulate in a world with contexts: policies that look at them, and policies that do not."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.contextual import (
    ContextualPolicy,
    ContextualResolve,
    ContextualThompson,
    ContextualWeakDominance,
)
from stopwise.contextual.model import Model
from stopwise.contextual.rules import standard_normal
from stopwise.policies.base import Policy
from stopwise.problem.contextual import ContextualCases, ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.problem.instance import Instance
from stopwise.simulation import draws
from stopwise.simulation.compiled import can_compile, compiled
from stopwise.simulation.compiled_play import kernel_for
from stopwise.simulation.contextual_kernels import (
    OPTIMISTIC,
    RESOLVING,
    SAMPLED,
    play_cases,
)
from stopwise.simulation.oracle import play_rounds
from stopwise.simulation.trace import Trace
from stopwise.simulation.world import World

ContextualEnvironment = ContextualInstance | ContextualRecording
# Cases are drawn in blocks of this size whatever the horizon: a shorter run is a part of a longer.
BLOCK = 16_384
RULES: dict[type[Any], int] = {
    ContextualWeakDominance: OPTIMISTIC,
    ContextualResolve: RESOLVING,
    ContextualThompson: SAMPLED,
}
_lock = Lock()


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

    def parts(self, most: int) -> list[ContextualJob]:
        """Return the job cut into at most ``most`` jobs of about equal size, in order."""
        size = -(-len(self.replications) // most)
        cuts = range(0, len(self.replications), size)
        return [replace(self, replications=self.replications[cut : cut + size]) for cut in cuts]

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


class CompiledContextual:
    """A contextual policy as the compiled kernel takes it; the policy itself is not changed."""

    def __init__(self, policy: ContextualPolicy, source: Any) -> None:
        self._rule = RULES[type(policy)]
        self._exploration: float = policy.exploration  # type: ignore[attr-defined]
        self._n_stages = policy.cascade.n_stages
        self._source = source
        self.model = arrays_of(policy._model)

    def stages(self, cases: ContextualCases) -> IntArray:
        """Return the stage played in each case, one after the other, and learn from them."""
        K, n = self._n_stages, len(cases.labels)
        disagreed = np.zeros((n, K * (K - 1) // 2), dtype=np.int8)
        for j in range(K):
            for i in range(j):
                disagreed[:, j * (j - 1) // 2 + i] = cases.outputs[:, i] != cases.outputs[:, j]
        stages = np.zeros(n, dtype=np.int64)
        contexts = np.ascontiguousarray(cases.contexts)
        pairs = np.zeros(disagreed.shape[1], dtype=np.int8)
        kernel()(
            self._rule,
            self.model,
            self._exploration,
            contexts,
            disagreed,
            pairs,
            self._source,
            stages,
        )
        return stages


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
        learner._model = Model(**{k: v.tolist() for k, v in play.model._asdict().items()})
    return learner


def arrays_of(model: Model) -> Model:
    """Return a model as arrays that can be changed without changing the lists it came from."""
    P, D, d = len(model.theta), len(model.x), len(model.centre)
    warm_up = len(model.held_contexts)
    shapes = {
        "theta": (P, D),
        "inverse": (P, D, D),
        "held_contexts": (warm_up, d),
        "held_pairs": (warm_up, P),
    }
    whole = {"seen": np.int64, "counts": np.int64, "held_pairs": np.int8}
    return Model(
        **{
            name: np.array(values, dtype=whole.get(name, np.float64)).reshape(
                shapes.get(name, (len(values),))
            )
            for name, values in model._asdict().items()
        }
    )


def has_kernel(policy: Any) -> bool:
    """Whether the rule of a policy is compiled; a subclass may have changed it."""
    return type(policy) in RULES


def asked_stages(policy: ContextualPolicy, cases: ContextualCases) -> IntArray:
    """Return the stage played in each case by asking and telling: slow, obviously right."""
    stages = []
    for context, row in zip(cases.contexts.tolist(), cases.outputs.tolist(), strict=True):
        stage = policy.ask(context)
        policy.tell(row[: stage + 1], context)
        stages.append(stage)
    return np.array(stages, dtype=np.int64)


def plain_stages(
    policy: Policy, labels: IntArray, outputs: IntArray, sources: Any, *, compile_: bool
) -> IntArray:
    """Return the stages of a policy that does not look at contexts, round by round."""
    rows = np.ascontiguousarray(np.column_stack([labels, outputs]))
    keys = rows.view([("", rows.dtype)] * rows.shape[1]).reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    instance = Instance.from_patterns(rows[first].tolist(), [1.0] * len(first), policy.cascade)
    kernel = kernel_for(World(instance, labelled=True), policy) if compile_ else None
    if kernel is None:
        return np.array(play_rounds(policy, labels, outputs), dtype=np.int64)
    # Rows and patterns are in the same order, so that the number of a row is that of its pattern.
    coded = np.column_stack([instance.labels, instance.outputs])
    assert np.array_equal(np.array(instance.classes)[coded], rows[first])
    # The kernel counts rounds from the first that the policy was ever told.
    known = policy.n_rounds
    given = np.concatenate([np.zeros(known, dtype=np.int64), inverse.reshape(-1)])
    stages = np.zeros(len(given), dtype=np.int64)
    kernel.play(np.array([len(rows)]), sources, given, stages, False)
    return stages[known:]


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
        if not kernel and has_kernel(policy):
            warnings.warn(
                "numba is not installed, so simulations are slower: pip install 'stopwise[sim]'",
                stacklevel=4,
            )
        kernel = kernel and has_kernel(policy)
    return ContextualJob(
        environment, policy, kernel or None, rounds, seed, replications, count_errors
    )


def kernel() -> Any:
    """Return `play_cases`, compiled; at the first call ever that takes some seconds."""
    with _lock:
        return _kernel()


@cache
def _kernel() -> Any:
    return compiled(play_cases, {standard_normal: draws.normal})
