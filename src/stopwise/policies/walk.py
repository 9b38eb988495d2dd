"""The rules on a tree: from the root down into the branch that may pay, until none does.

``branches[i][j]`` is the test after i on the way to j, -1 where j is not below i. Other tables are
indexed as in `optimism`; these functions are compiled as well. On a chain each walk ends where the
chain's own rule does, which is faster and also knows for how long; docs/trees.md has the proofs.
"""

from __future__ import annotations

import math
from typing import Any

from stopwise.cascade import Cascade
from stopwise.policies.compiled_rule import CompiledRule, Tables, pair_tables
from stopwise.policies.optimism import NOTHING, first_accepted, optimistic_choice


def optimistic_stage(
    cascade: Cascade, prices: Any, seen: Any, sums: Any, t: int, exploration: float, *, swing: int
) -> tuple[int, int]:
    """Return the stage of Algorithm 2 in round ``t`` and for how many rounds that is certain."""
    if cascade.is_chain:
        return optimistic_choice(prices, seen, sums, t, exploration, swing)
    return optimistic_walk(cascade.branches, prices, seen, sums, exploration * math.log(t)), 1


def compiled_optimism(policy: Any, exploration: float, *, sums: Any = None) -> CompiledRule:
    """Return `optimistic_stage` as simulations compile it; ``sums`` are of errors if given."""
    counts_errors = sums is not None
    tables = pair_tables(policy, [exploration, float(counts_errors)], sums=sums)
    choose = _optimistic_on_chain if policy.cascade.is_chain else _optimistic_on_tree
    return CompiledRule(choose, tables, policy.n_rounds, counts_errors)


def _optimistic_on_chain(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    exploration, swing = tables.settings[0], int(tables.settings[1])
    return optimistic_choice(
        tables.prices, tables.seen, tables.sums, n_rounds + 1, exploration, swing
    )


def _optimistic_on_tree(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    width = tables.settings[0] * math.log(n_rounds + 1)
    return optimistic_walk(tables.branches, tables.prices, tables.seen, tables.sums, width), 1


def best_by_averages(cascade: Cascade, prices: Any, seen: Any, sums: Any) -> int:
    """Return where to stop if the averages are the truth; an unseen pair speaks for going on."""
    if cascade.is_chain:
        return first_accepted(prices, seen, sums, 0.0)
    return steepest_walk(cascade.branches, prices, seen, sums, 0.0, math.inf)


def optimistic_walk(branches: Any, prices: Any, seen: Any, sums: Any, width: float) -> int:
    """Return where Algorithm 2 stops: at a test whose price covers every bound below it.

    It goes down the branch that holds what rejects stopping. Where several branches do, whatever
    cannot gain as much as another test surely does is left out. If several remain, the one of their
    tests that was seen least is played itself, of equals the last: so all of them are seen more and
    more often until one branch is left.
    """
    node = 0
    while True:
        sure = _surely_gained(branches, prices, seen, sums, width, node)
        towards, several, least = NOTHING, False, NOTHING
        for j in range(node + 1, len(prices)):
            branch, n = branches[node][j], seen[j][node]
            if branch == NOTHING:
                continue
            most = sums[j][node] / n + math.sqrt(width / n) - prices[j][node] if n > 0 else math.inf
            if most <= 0 or most < sure:
                continue
            several = several or NOTHING != towards != branch
            towards = branch
            if least == NOTHING or n <= seen[least][node]:
                least = j
        if several:
            return least
        if towards == NOTHING:
            return node
        node = towards


def _surely_gained(
    branches: Any, prices: Any, seen: Any, sums: Any, width: float, node: int
) -> float:
    """Return the largest lower bound on what a test below ``node`` gains, 0 at least."""
    most = 0.0
    for j in range(node + 1, len(prices)):
        n = seen[j][node]
        if branches[node][j] != NOTHING and n > 0:
            most = max(most, sums[j][node] / n - math.sqrt(width / n) - prices[j][node])
    return most


def steepest_walk(
    branches: Any, prices: Any, seen: Any, sums: Any, margin: float, unseen: float
) -> int:
    """Return where to stop if the observed averages are the truth.

    Each step goes into the branch with the test that gains most, p̂_ij - (C_j - C_i); where none
    gains more than ``margin`` the walk ends. A pair that was never seen gains ``unseen``.
    """
    node = 0
    while True:
        towards, most = NOTHING, -math.inf
        for j in range(node + 1, len(prices)):
            if branches[node][j] == NOTHING:
                continue
            n = seen[j][node]
            gain = sums[j][node] / n - prices[j][node] if n > 0 else unseen
            if gain > margin and gain > most:
                towards, most = branches[node][j], gain
        if towards == NOTHING:
            return node
        node = towards
