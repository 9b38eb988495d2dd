"""The rules on a tree: from the root down into the branch that may pay, until none does.

``branches[i][j]`` is the test after i on the way to j, -1 where j is not below i. On a chain each
walk ends where the chain's own rule does. That rule is faster and also knows for how long it is
certain; docs/trees.md has the proofs. These functions run in Python and are compiled as they are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from stopwise.cascade import Cascade
from stopwise.policies.compiled_rule import NOTHING, Tables, pair
from stopwise.policies.optimism import first_accepted, optimistic_choice


def optimistic_rule(cascade: Cascade) -> Callable[[Tables, int, Any], tuple[int, int]]:
    """Return Algorithm 2 on a chain or a tree, with the settings of `optimism`."""
    return optimistic_choice if cascade.is_chain else _optimistic_choice_on_tree


def _optimistic_choice_on_tree(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    return optimistic_walk(tables, tables.settings[0] * math.log(n_rounds + 1)), 1


def best_by_averages(cascade: Cascade, tables: Tables) -> int:
    """Return where to stop if the averages are the truth; an unseen pair speaks for going on."""
    if cascade.is_chain:
        return first_accepted(tables, 0.0)
    return steepest_walk(tables, 0.0, math.inf)


def optimistic_walk(tables: Tables, width: float) -> int:
    """Return where Algorithm 2 stops: at a test whose price covers every bound below it.

    It goes down the branch of the test that rejects stopping. Where several branches have one,
    tests that cannot gain as much as another test surely does are left out. If several branches
    remain, the test in them that was seen least is played itself, the last of equals. So all of
    them are seen more and more often until one branch remains.
    """
    node = 0
    while True:
        sure = _surely_gained(tables, width, node)
        towards, several, least = NOTHING, False, NOTHING
        for j in range(node + 1, len(tables.prices)):
            branch = tables.branches[node][j]
            n, total, price = pair(tables, node, j)
            if branch == NOTHING:
                continue
            most = total / n + math.sqrt(width / n) - price if n > 0 else math.inf
            if most <= 0 or most < sure:
                continue
            several = several or NOTHING != towards != branch
            towards = branch
            if least == NOTHING or n <= tables.seen[least][node]:
                least = j
        if several:
            return least
        if towards == NOTHING:
            return node
        node = towards


def _surely_gained(tables: Tables, width: float, node: int) -> float:
    """Return the largest lower bound on what a test below ``node`` gains, 0 at least."""
    most = 0.0
    for j in range(node + 1, len(tables.prices)):
        n, total, price = pair(tables, node, j)
        if tables.branches[node][j] != NOTHING and n > 0:
            most = max(most, total / n - math.sqrt(width / n) - price)
    return most


def steepest_walk(tables: Tables, margin: float, unseen: float) -> int:
    """Return where to stop if the observed averages are the truth.

    Each step goes into the branch with the test that gains most, p̂_ij - (C_j - C_i); where none
    gains more than ``margin`` the walk ends. A pair that was never seen gains ``unseen``.
    """
    node = 0
    while True:
        towards, most = NOTHING, -math.inf
        for j in range(node + 1, len(tables.prices)):
            n, total, price = pair(tables, node, j)
            if tables.branches[node][j] == NOTHING:
                continue
            gain = total / n - price if n > 0 else unseen
            if gain > margin and gain > most:
                towards, most = tables.branches[node][j], gain
        if towards == NOTHING:
            return node
        node = towards
