"""The two instances of Theorem 3's proof, and what no learner can avoid on them."""

from __future__ import annotations

import numpy as np

from stopwise.cascade import IntArray
from stopwise.problem.families import indistinguishable_pair
from stopwise.problem.instance import Instance
from stopwise.theory.divergence import bernoulli_kl


def hidden_pair(epsilon: float) -> tuple[Instance, Instance]:
    """Return the proof's pair, each case replaced by its opposite with probability one half.

    As printed, test 2 always says 0. So stage 1 shows how often test 1 says 1, and thereby, free of
    charge, the disagreement. The mirrored pair has the same costs, error rates and disagreement,
    and stage 1 shows a fair coin in both.
    """
    first, second = indistinguishable_pair(epsilon)
    return _mirror(first), _mirror(second)


def lower_bound(n: int, epsilon: float) -> float:
    """Return what the worse of the two regrets is at least after n rounds, for any learner.

    With m = E_θ[plays of stage 2]: R(θ) = m / 4 and, by Bretagnolle and Huber's inequality,
    R(θ) + R(θ') >= min(1/8, ε/2) n · exp(-m kl) / 2 with kl = kl(1/4, 1/4 + ε).
    """
    kl = float(bernoulli_kl(0.25, 0.25 + epsilon))
    m = np.geomspace(1e-3, n, 2_000)
    other = min(1 / 8, epsilon / 2) * n * np.exp(-m * kl) / 4
    return float(np.maximum(m / 4, other).min())


def staying_regrets(
    n: int, epsilon: float, *, margin: float, runs: int, rng: np.random.Generator
) -> tuple[float, float]:
    """Return the mean regrets on θ and θ' of a rule that attains the order of Theorem 3's bound.

    Play stage 2 for n^(2/3) rounds, and on as long as p̂ > 1/4 + A n^(−1/3); then always stage 1.

    Parameters
    ----------
    n
        Rounds.
    epsilon
        Of the pair: stage 2 costs 1/4 a round too much in θ, stage 1 costs ε in θ'.
    margin
        A.
    runs, rng
        How many runs, and where chance comes from.
    """
    edge = 0.25 + margin * n ** (-1 / 3)
    at_two = [_rounds_at_two(n, p, edge, runs, rng).mean() for p in (0.25, 0.25 + epsilon)]
    return float(at_two[0] / 4), float(epsilon * (n - at_two[1]))


def _rounds_at_two(n: int, p: float, edge: float, runs: int, rng: np.random.Generator) -> IntArray:
    """Return for how many rounds each run plays stage 2."""
    t = min(round(n ** (2 / 3)), n)
    rounds = np.full(runs, n)
    disagreed = rng.binomial(t, p, size=runs)
    playing = np.arange(runs)
    ends = disagreed <= edge * t
    rounds[ends] = t
    playing, disagreed = playing[~ends], disagreed[~ends]
    while len(playing) and t < n:
        block = min(max(t // 8, 64), n - t)
        walks = disagreed[:, None] + np.cumsum(rng.random((len(playing), block)) < p, axis=1)
        below = walks <= edge * (t + 1 + np.arange(block))
        ends = below.any(axis=1)
        rounds[playing[ends]] = t + 1 + below[ends].argmax(axis=1)
        playing, disagreed = playing[~ends], walks[~ends, -1]
        t += block
    return rounds


def _mirror(instance: Instance) -> Instance:
    rows = np.column_stack([instance.labels, instance.outputs])
    both = np.vstack([rows, 1 - rows])
    weights = np.tile(instance.probabilities, 2)
    return Instance.from_patterns(both.tolist(), weights, instance.cascade)
