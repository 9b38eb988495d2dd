"""Posterior sampling: the rule of Algorithm 2 with sampled disagreement in place of its bound."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.policies.base import Policy
from stopwise.policies.compiled_rule import NOTHING, CompiledRule, Tables, pair, pair_tables
from stopwise.policies.posterior_chances import chances_of_acceptance, choose_by_chances
from stopwise.policies.walk import best_by_averages


class Thompson(Policy):
    """Stop at the first stage that no later one improves on in a draw from the posterior.

    In each round draw p_ij ~ Beta(1 + d_ij, 1 + n_ij - d_ij) for each pair, d_ij disagreements in
    n_ij cases, and play the first stage i with C_j - C_i >= p_ij for all j > i. On a tree walk down
    from the root. Each step goes into the branch whose draws gain most, until nothing below gains.

    Parameters
    ----------
    cascade
        The tests and their prices.
    seed
        A seed or a generator for the draws.

    >>> policy = Thompson(Cascade(costs=[0.0, 0.2, 0.3]), seed=1)
    >>> policy.ask_many(5)
    [2, 2, 1, 2, 0]
    """

    draws = True

    def __init__(self, cascade: Cascade, *, seed: int | np.random.Generator) -> None:
        super().__init__(cascade)
        self.reseed(seed)

    def _recommend(self) -> int:
        return best_by_averages(self.cascade, self._tables())

    def hold(self) -> int:
        """Return 1: every round draws anew."""
        return 1

    def compiled_rule(self) -> CompiledRule:
        """Return the rule as simulations compile it: on a chain by `chances_of_acceptance`."""
        tables, choose = pair_tables(self, []), _choose_on_tree
        if self.cascade.is_chain:
            choose = choose_by_chances
            tables = tables._replace(memory=chances_of_acceptance(tables))
        return CompiledRule(choose, tables, self.n_rounds, each_round=True)

    def _decide(self) -> tuple[int, int]:
        sampled = sampled_choice if self.cascade.is_chain else sampled_walk
        return sampled(self._tables(), self._rng), 0


def sampled_gain(tables: Tables, i: int, j: int, rng: Any) -> float:
    """Return a draw of p_ij less its price, C_j - C_i."""
    n, d, price = pair(tables, i, j)
    return float(rng.beta(1 + d, 1 + n - d) - price)


def sampled_choice(tables: Tables, rng: Any) -> int:
    """Return the first stage i with C_j - C_i >= a draw of p_ij for all j > i, or the last."""
    last = len(tables.prices) - 1
    for i in range(last):
        j = last
        while j > i and sampled_gain(tables, i, j, rng) <= 0:
            j -= 1
        if j == i:
            return i
    return last


def sampled_walk(tables: Tables, rng: Any) -> int:
    """Return the end of a walk into the branch where p_ij - (C_j - C_i) is drawn largest."""
    node = 0
    while True:
        towards, most = NOTHING, 0.0
        for j in range(node + 1, len(tables.prices)):
            if tables.branches[node][j] == NOTHING:
                continue
            gain = sampled_gain(tables, node, j, rng)
            if gain > most:
                towards, most = tables.branches[node][j], gain
        if towards == NOTHING:
            return node
        node = towards


def _choose_on_tree(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    return sampled_walk(tables, rng), 1
