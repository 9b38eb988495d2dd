"""The two instances of Theorem 3's proof, and what no learner can avoid on them."""

from __future__ import annotations

import numpy as np

from stopwise.problem.families import indistinguishable_pair
from stopwise.problem.instance import Instance
from stopwise.theory.divergence import bernoulli_kl


def hidden_pair(epsilon: float) -> tuple[Instance, Instance]:
    """Return the proof's pair, each case turned into its opposite with probability one half.

    As printed test 2 always says 0, so that stage 1 shows how often test 1 says 1 and with it,
    free of charge, the disagreement. The turned pair has the same costs, error rates and
    disagreement, and stage 1 shows a fair coin in both.
    """
    first, second = indistinguishable_pair(epsilon)
    return _turned(first), _turned(second)


def lower_bound(n: int, epsilon: float) -> float:
    """Return what the worse of the two regrets is at least after n rounds, for any learner.

    With m = E_θ[plays of stage 2]: R(θ) = m / 4 and, by Bretagnolle and Huber's inequality,
    R(θ) + R(θ') >= min(1/8, ε/2) n · exp(-m kl) / 2 with kl = kl(1/4, 1/4 + ε).
    """
    kl = float(bernoulli_kl(0.25, 0.25 + epsilon))
    m = np.geomspace(1e-3, n, 2_000)
    other = min(1 / 8, epsilon / 2) * n * np.exp(-m * kl) / 4
    return float(np.maximum(m / 4, other).min())


def _turned(instance: Instance) -> Instance:
    rows = np.column_stack([instance.labels, instance.outputs])
    both = np.vstack([rows, 1 - rows])
    weights = np.tile(instance.probabilities, 2)
    return Instance.from_patterns(both.tolist(), weights, instance.cascade)
