"""Posterior sampling with contexts: the rule of Algorithm 2 with sampled logistic disagreement."""

from __future__ import annotations

import numpy as np

from stopwise.cascade import Cascade
from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_rules import DRAWN, contextual_stage


class ContextualThompson(ContextualPolicy):
    """Stop a case at the first stage that no later one improves on in a draw from the posterior.

    In each round draw θ_ij·x ~ N(θ̂_ij·x, exploration · xᵀ H_ij⁻¹ x) for each pair (Laplace's
    approximation), and play the first stage i with C_j - C_i >= σ(θ_ij·x) for all j > i.

    Parameters
    ----------
    cascade, n_features, regularisation, intercept, warm_up
        As in `ContextualPolicy`.
    seed
        A seed or a generator for the draws.
    exploration
        What the variance of a draw is multiplied by.

    >>> policy = ContextualThompson(Cascade(costs=[0.0, 0.4]), 2, seed=1, warm_up=0)
    >>> policy.ask_many([[0.5, 1.0]] * 5)
    [1, 1, 1, 0, 1]
    """

    draws = True

    def __init__(
        self,
        cascade: Cascade,
        n_features: int,
        *,
        seed: int | np.random.Generator,
        exploration: float = 1.0,
        regularisation: float = 1.0,
        intercept: bool = True,
        warm_up: int = 50,
    ) -> None:
        super().__init__(
            cascade,
            n_features,
            exploration=exploration,
            regularisation=regularisation,
            intercept=intercept,
            warm_up=warm_up,
        )
        self.reseed(seed)

    def compiled_rule(self) -> ContextualRule:
        """Return the rule, as it is played here and as simulations compile it."""
        return ContextualRule(contextual_stage, DRAWN)
