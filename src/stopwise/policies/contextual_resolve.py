"""With contexts, play the stage that is known to be best, or settle the first open question."""

from __future__ import annotations

from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_rules import RESOLVING, contextual_stage


class ContextualResolve(ContextualPolicy):
    """Stop a case at the stage that is known to be best for cases like it, or find out.

    For a case with features x and each pair, θ̂_ij·x ± sqrt(exploration · ln(1 + t) · xᵀ H_ij⁻¹ x)
    bounds the log odds of disagreement. A stage is refuted if for some later one the price is below
    the lower bound, accepted if for all later ones it is above the upper bound. Play the first
    stage that is not refuted if it is accepted, else the deepest test that it depends on. So every
    undecided round shows what it is undecided about, and no question stays open unobserved.

    Parameters
    ----------
    cascade, n_features, exploration, regularisation, intercept, warm_up
        As in `ContextualPolicy`.

    >>> from stopwise import Cascade
    >>> policy = ContextualResolve(Cascade(costs=[0.0, 0.3]), 1, warm_up=10)
    >>> for k in range(400):  # the tests disagree where the feature is positive
    ...     x = [(k % 7) - 3]
    ...     policy.tell([0, int(x[0] > 0)][: policy.ask(x) + 1], x)
    >>> policy.ask([-3]), policy.ask([3])
    (0, 1)
    """

    def compiled_rule(self) -> ContextualRule:
        """Return the rule, as it is played here and as simulations compile it."""
        return ContextualRule(contextual_stage, RESOLVING)
