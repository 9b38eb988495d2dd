"""Play with the compiled kernel: for the policies whose rule it has, if numba is installed."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from stopwise.cascade import IntArray
from stopwise.policies import thompson
from stopwise.policies.base import Policy
from stopwise.simulation import draws
from stopwise.simulation.compiled import can_compile, compiled
from stopwise.simulation.kernels import play
from stopwise.simulation.tables import (
    STRONG_DOMINANCE,
    THOMPSON,
    Learner,
    Rows,
    learner_of,
    rows_of,
)
from stopwise.simulation.tree_kernels import play_tree
from stopwise.simulation.world import Played, World

# Rounds of a rule that decides anew in each, after which the kernel returns to let Ctrl-C through.
LONGEST_CALL = 500_000
_lock = Lock()


class CompiledPlay:
    """A policy in a world, ready to be played by the kernel, which lets other threads run.

    Parameters
    ----------
    learner, rows
        The tables of the policy and of the world.
    is_chain
        Whether the tests are a chain, for which there is a faster kernel.
    """

    def __init__(self, learner: Learner, rows: Rows, *, is_chain: bool) -> None:
        self.learner = learner
        self.rows = rows
        self.is_chain = is_chain

    def replications(
        self, checkpoints: IntArray, seed: int, numbers: Iterable[int], *, jumps: bool = True
    ) -> Iterator[Played]:
        """Play the replications with these numbers; each depends on the seed and its number alone.

        With ``jumps`` from decision to decision, else round by round.
        """
        nothing = np.zeros(0, dtype=np.int64)
        for number in numbers:
            yield self.play(checkpoints, draws.sources(seed, number), nothing, nothing, jumps)

    def play(
        self, checkpoints: IntArray, sources: Any, given: IntArray, stages: IntArray, jumps: bool
    ) -> Played:
        """Play one replication; the arguments are those of `kernels.play`."""
        known = self.learner
        state = known.copy()
        ends = known.n_rounds + checkpoints
        totals = np.zeros((len(ends), len(known.prices) + 1), dtype=np.int64)
        run = kernel(is_chain=self.is_chain)
        if self.is_chain and known.rule not in (THOMPSON, STRONG_DOMINANCE):
            run(state, self.rows, ends, jumps, sources, given, totals, stages)
            return Played(totals[:, :-1], totals[:, -1])
        part = np.zeros((1, totals.shape[1]), dtype=np.int64)
        for c, end in enumerate(ends):
            totals[c] = totals[c - 1] if c > 0 else 0
            while state.n_rounds < end:
                until = np.minimum(ends[c : c + 1], state.n_rounds + LONGEST_CALL)
                run(state, self.rows, until, jumps, sources, given, part, stages)
                totals[c] += part[0]
                state = state._replace(n_rounds=int(until[0]))
        return Played(totals[:, :-1], totals[:, -1])


def kernel_for(world: World, policy: Policy) -> CompiledPlay | None:
    """Return what plays ``policy`` in ``world``, compiled; None if nothing does.

    Warns if that is because numba is missing.
    """
    learner = learner_of(policy)
    if learner is None:
        return None
    if not can_compile():
        warnings.warn(
            "numba is not installed, so simulations are slower: pip install 'stopwise[sim]'",
            stacklevel=2,
        )
        return None
    rows = rows_of(world, learner.rule)
    return CompiledPlay(learner, rows, is_chain=policy.cascade.is_chain)


def kernel(*, is_chain: bool) -> Any:
    """Return the kernel, compiled; at the first call ever that takes some seconds."""
    with _lock:
        return _kernel(is_chain)


@cache
def _kernel(is_chain: bool) -> Any:
    return compiled(play if is_chain else play_tree, {thompson.drawn: draws.beta})
