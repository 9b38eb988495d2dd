"""How a policy hands its rule to a simulation, which compiles it with numba.

A policy class that has a method ``compiled_rule`` declares that the rule it returns is its own. A
subclass that changes the rule declares one of its own or none: the method is not inherited.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import Cascade

# "As long as anyone will ever play": the largest whole number that a float holds exactly.
FOREVER = 2**53
# Where a number of rounds comes out of a formula, a hair less is claimed, against rounding.
HAIR = 1 - 1e-12
# No stage.
NOTHING = -1


class Tables(NamedTuple):
    """What a rule over pairs decides by: lists in a learner, arrays in a simulation.

    Pairs are indexed ``table[j][i]`` with i <= j.
    """

    # C_j - C_i, how many cases showed i and j, and the sum that the rule averages over them.
    prices: Any
    seen: Any
    sums: Any
    stopped: Any  # how many cases were stopped at each stage
    # The tree: the parent of each stage, and `Cascade.branches`.
    parents: Any
    branches: Any
    settings: Any  # numbers that the rule knows by their place; it may change them
    memory: Any  # arrays that the rule may use as it likes; three dimensions

    def copy(self) -> Tables:
        """Return tables that can be changed without changing these."""
        return Tables(*(table.copy() for table in self))


def pair(tables: Tables, i: int, j: int) -> tuple[int, int, float]:
    """Return how many cases showed i and j, the sum over them, and the price C_j - C_i."""
    return tables.seen[j][i], tables.sums[j][i], tables.prices[j][i]


class CompiledRule(NamedTuple):
    """A rule over pairs that numba compiles."""

    # ``choose(tables, n_rounds, rng)`` returns the stage to play and for how many rounds that is
    # certain. A plain function on numbers and arrays.
    choose: Callable[[Any, int, Any], tuple[int, int]]
    tables: Tables  # what the policy knows now
    n_rounds: int  # how many cases it was told
    # Whether a case adds [i is wrong] - [j is wrong] to a sum, and not [i and j disagree].
    counts_errors: bool = False
    # Whether the rule decides anew in nearly every round. On a tree this holds for all rules.
    each_round: bool = False


class ContextualRule(NamedTuple):
    """A rule over the logistic models of pairs that numba compiles."""

    # ``choose(kind, model, n_stages, context, exploration, rng)`` returns the stage to play.
    choose: Callable[[int, Any, int, Any, float, Any], int]
    kind: int = 0  # which of the rules in this function; rules in one function share a kernel


def price_rows(cascade: Cascade) -> list[list[float]]:
    """Return C_j - C_i as plain floats: ``rows[j][i]`` for i <= j."""
    C = cascade.cumulative_costs.tolist()
    return [[C[j] - C[i] for i in range(j + 1)] for j in range(len(C))]


def pair_tables(
    policy: Any, settings: list[float], *, sums: Any = None, memory: Any = None
) -> Tables:
    """Return the tables of a policy as arrays; by default sums count disagreements."""
    counts, cascade = policy.counts, policy.cascade
    K = cascade.n_stages
    prices = np.zeros((K, K))
    for j, row in enumerate(price_rows(cascade)):
        prices[j, : j + 1] = row
    return Tables(
        prices,
        counts.n_seen.copy(),
        counts.n_disagreed.copy() if sums is None else sums,
        counts.n_stopped.copy(),
        np.array([NOTHING, *cascade.parents[1:]], dtype=np.int64),
        np.array(cascade.branches, dtype=np.int64),
        np.array(settings, dtype=np.float64),
        np.zeros((0, 0, 0)) if memory is None else memory,
    )


def declared_rule(policy: Any) -> Any:
    """Return the rule that the very class of a policy declares, or None."""
    declare = vars(type(policy)).get("compiled_rule")
    return None if declare is None else declare(policy)
