"""Algorithm 2 with contexts: optimistic logistic disagreement between every two stages."""

from __future__ import annotations

from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_rules import BOUND, contextual_stage


class ContextualWeakDominance(ContextualPolicy):
    """Stop a case at the first stage that surely no later one improves on for cases like it.

    In round t, for a case with features x, play the first stage i with
    C_j - C_i >= σ(θ̂_ij·x + sqrt(exploration · ln(1 + t) · xᵀ H_ij⁻¹ x)) for all j > i, the last
    stage if there is none. H_ij = λI + Σ σ'(θ̂_ij·x) x xᵀ over the cases that showed both i and j.
    Like Algorithm 2 it can get stuck at a stage that never shows what an earlier stage waits for.
    `ContextualResolve` cannot.

    Parameters
    ----------
    cascade, n_features, exploration, regularisation, intercept, warm_up
        As in `ContextualPolicy`.

    >>> from stopwise import Cascade
    >>> policy = ContextualWeakDominance(Cascade(costs=[0.0, 0.3]), 1, warm_up=10)
    >>> cases = [((0, int(x > 0)), [x]) for x in (-2, -1, 1, 2)]  # they disagree where x > 0
    >>> policy.tell_many(cases * 50)
    >>> policy.ask([-2]), policy.ask([2])
    (0, 1)
    """

    def compiled_rule(self) -> ContextualRule:
        """Return the rule, as it is played here and as simulations compile it."""
        return ContextualRule(contextual_stage, BOUND)
