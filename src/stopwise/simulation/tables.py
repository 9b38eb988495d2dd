"""A policy and a world as the compiled kernel takes them: numbers and arrays, nothing else."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stopwise.counts import PairCounts
from stopwise.policies.base import Policy
from stopwise.policies.optimism import price_rows
from stopwise.policies.resolve import Resolve
from stopwise.policies.strong_dominance import StrongDominance
from stopwise.policies.supervised import Supervised
from stopwise.policies.thompson import Thompson
from stopwise.policies.weak_dominance import WeakDominance
from stopwise.simulation.draws import alias_table
from stopwise.simulation.world import World
from stopwise.theory.bounds import PowerLaw

# The rules that are compiled.
WEAK_DOMINANCE, SUPERVISED, RESOLVE, THOMPSON, STRONG_DOMINANCE = 0, 1, 2, 3, 4


class Learner(NamedTuple):
    """A rule and what it knows at the start; tables are indexed ``table[j, i]``, i <= j.

    Algorithm 1 also looks at where was stopped, ``stopped``, at the number of exploring rounds,
    ``explored``, an array of one, and at the cascade: cumulative costs and parents. Its forced
    exploration is ``beta[0] * explored ** beta[1]``. On a tree the others look at ``branches``.
    """

    rule: int
    setting: float
    prices: Any
    seen: Any
    sums: Any
    n_rounds: int
    stopped: Any
    explored: Any
    beta: Any
    costs: Any
    parents: Any
    branches: Any

    def copy(self) -> Learner:
        """Return a learner that can be changed without changing this one."""
        return self._replace(
            seen=self.seen.copy(),
            sums=self.sums.copy(),
            stopped=self.stopped.copy(),
            explored=self.explored.copy(),
        )


class Rows(NamedTuple):
    """The patterns of a world: what each adds to the sums, and tables to draw them from.

    Parameters
    ----------
    adds
        What each row adds to ``sums[j, i]``, by j, then i < j; shape (rows, K (K - 1) / 2).
    is_wrong
        Whether its answer at each stage is wrong; shape (rows, K).
    keep, ends
        The alias table of the rows.
    alike
        For each stage and row the first row that looks like it; shape (K, rows).
    starts
        Stage k shows the cases ``starts[k]`` to ``starts[k + 1] - 1``.
    examples
        For each of these cases a row that looks like it.
    shares
        The chance of each, given that none of those before it in the same stage came up.
    """

    adds: Any
    is_wrong: Any
    keep: Any
    ends: Any
    alike: Any
    starts: Any
    examples: Any
    shares: Any


def learner_of(policy: Policy) -> Learner | None:
    """Return the tables of a policy, or None if its rule is not compiled."""
    # Not isinstance: a subclass may have changed the rule.
    if type(policy) is WeakDominance:
        rule, setting = WEAK_DOMINANCE, policy.exploration
    elif type(policy) is Supervised:
        rule, setting = SUPERVISED, policy.exploration
    elif type(policy) is Resolve:
        rule, setting = RESOLVE, policy.indifference / policy.cascade.mistake_cost
    elif type(policy) is Thompson:
        rule, setting = THOMPSON, 0.0
    elif type(policy) is StrongDominance and not policy.literal:
        rule, setting = STRONG_DOMINANCE, policy.alpha
    else:
        return None
    counts, cascade = policy.counts, policy.cascade
    prices = np.zeros((cascade.n_stages, cascade.n_stages))
    for j, row in enumerate(price_rows(cascade)):
        prices[j, : j + 1] = row
    sums = counts.n_disagreed.copy()
    if rule == SUPERVISED:  # how much oftener i was wrong than j
        mended = policy.to_state()["statistics"]["mended"]
        sums = (
            2 * PairCounts.from_state(mended, cascade, counts_disagreement=False).n_disagreed - sums
        )
    beta, explored = PowerLaw(), 0
    if isinstance(policy, StrongDominance):
        beta, explored = policy.beta, policy.n_explored
    return Learner(
        rule,
        setting,
        prices,
        counts.n_seen.copy(),
        sums,
        counts.n_rounds,
        counts.n_stopped.copy(),
        np.array([explored], dtype=np.int64),
        np.array([beta.scale, beta.exponent]),
        cascade.cumulative_costs.copy(),
        np.array([-1, *cascade.parents[1:]], dtype=np.int64),
        np.array(cascade.branches, dtype=np.int64),
    )


def rows_of(world: World, rule: int) -> Rows:
    """Return the tables of a world, for a given rule."""
    instance = world.instance
    outputs, is_wrong = instance.outputs, (~instance.is_right).astype(np.int8)
    j, i = np.tril_indices(world.cascade.n_stages, -1)
    if rule == SUPERVISED:
        adds = is_wrong[:, i] - is_wrong[:, j]
    else:
        adds = (outputs[:, i] != outputs[:, j]).astype(np.int8)
    alike, starts, examples, shares = [], [0], [], []
    for stage in range(world.cascade.n_stages):
        view = world.view(stage)
        order = np.argsort(-view.probabilities, kind="stable")
        chances = view.probabilities[order]
        left = np.cumsum(chances[::-1])[::-1]
        alike.append(view.examples[view.of_pattern])
        starts.append(starts[-1] + len(order))
        examples.append(view.examples[order])
        shares.append(np.append(chances[:-1] / left[:-1], 1.0))
    return Rows(
        np.ascontiguousarray(adds),
        is_wrong,
        *alias_table(instance.probabilities),
        np.array(alike),
        np.array(starts),
        np.concatenate(examples),
        np.concatenate(shares),
    )
