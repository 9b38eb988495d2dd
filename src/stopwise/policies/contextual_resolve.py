"""With contexts, play what is known to be best, or what settles the first open question."""

from __future__ import annotations

from typing import Any

from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_rules import growing_bonus
from stopwise.policies.pair_models import Model, is_warm, outlook

REFUTED = -1


class ContextualResolve(ContextualPolicy):
    """Stop a case at the stage that is known to be best for cases like it, or find out.

    For a case with features x and each pair, θ̂_ij·x ± sqrt(exploration · ln(1 + t) · xᵀ H_ij⁻¹ x)
    bounds the log odds of disagreement. A stage is refuted if for some later one the price is below
    the lower bound, accepted if for all later ones it is above the upper bound. Play the first
    stage that is not refuted if it is accepted, else the deepest test on which that hangs: every
    undecided round shows what it is undecided about, so nothing stays open for want of looking.

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
        return ContextualRule(_choose)


def _choose(model: Model, n_stages: int, context: Any, exploration: float, rng: Any) -> int:
    """Return the first stage that is not refuted, or the deepest stage that may refute it.

    Stage i is refuted by j if C_j - C_i is below a lower bound on P(Y^i ≠ Y^j | x). If the prices
    cover all pairs of i, it is played; otherwise the deepest j for which neither is known.
    """
    last = n_stages - 1
    if not is_warm(model):
        return last
    bonus = growing_bonus(exploration, model.counts[0])
    spares, deviations = outlook(model, context, bonus)
    for i in range(last):
        deepest = i
        for j in range(i + 1, n_stages):
            p = j * (j - 1) // 2 + i
            if -deviations[p] <= spares[p] < deviations[p] or model.seen[p] == 0:
                deepest = j
            elif spares[p] < 0:
                deepest = REFUTED
                break
        if deepest != REFUTED:
            return deepest
    return last
