"""Algorithm 2 of the paper: optimistic disagreement between every two stages."""

from __future__ import annotations

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.compiled_rule import CompiledRule, pair_tables
from stopwise.policies.walk import best_by_averages, optimistic_rule


class WeakDominance(Policy):
    """Stop at the first stage that surely no later one improves on; else go to the end.

    In round t play the first stage i with C_j - C_i >= U_ij for all j > i, the last stage if there
    is none. Here U_ij = p̂_ij + sqrt(exploration · ln t / n_ij), and p̂_ij is the share of
    disagreement in the n_ij cases that showed i and j (Algorithm 2). On a tree: `optimistic_walk`.

    Parameters
    ----------
    cascade
        The tests and their prices.
    exploration
        1.5 in the paper; more goes deep for longer.

    >>> policy = WeakDominance(Cascade(costs=[0.0, 0.9]))
    >>> for _ in range(20):
    ...     policy.tell([0, 0][: policy.ask() + 1])
    >>> policy.ask(), policy.hold()
    (0, 5)
    """

    settings = ("exploration",)

    def __init__(self, cascade: Cascade, *, exploration: float = 1.5) -> None:
        super().__init__(cascade)
        self.exploration = finite_number("exploration", exploration, SettingError, zero=False)
        self._rule = optimistic_rule(cascade)
        self._rule_settings = [self.exploration, 0.0]

    def compiled_rule(self) -> CompiledRule:
        """Return the rule as simulations compile it."""
        return CompiledRule(self._rule, pair_tables(self, self._rule_settings), self.n_rounds)

    def _recommend(self) -> int:
        return best_by_averages(self.cascade, self._tables())

    def _decide(self) -> tuple[int, int]:
        return self._rule(self._tables(self._rule_settings), self._counts.n_rounds, None)
