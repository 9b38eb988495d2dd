"""The two instances of Theorem 3's proof: what learners pay, and what none can avoid."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from paper.contenders import Contender, mean_interval, play
from paper.experiment import JSON, Scale
from stopwise.cascade import FloatArray, IntArray
from stopwise.problem.families import indistinguishable_pair
from stopwise.problem.instance import Instance
from stopwise.simulation import Trace
from stopwise.theory.divergence import bernoulli_kl

WORST_OVER = tuple(np.geomspace(0.01, 0.3, 8).round(4).tolist())
MARGIN = 0.5
RUNS_OF_RULE = 5  # times the usual number, since its runs are fast
KEYS = ("worse", "low", "high")  # of the worse of two regrets: mean and 95 % band


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
) -> tuple[FloatArray, FloatArray]:
    """Return the regrets on θ and θ', run by run, of a rule of the order of Theorem 3's bound.

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
    first, second = (_rounds_at_two(n, p, edge, runs, rng) for p in (0.25, 0.25 + epsilon))
    return first / 4, np.multiply(epsilon, n - second)


def worse_of_pair(contender: Contender, epsilon: float, scale: Scale, rounds: list[int]) -> JSON:
    """Return the worse of a learner's two regrets with its band, and both of them."""
    traces = [_play(world, contender, scale, rounds) for world in hidden_pair(epsilon)]
    return {
        "rounds": rounds,
        "theta": traces[0].mean_regret().tolist(),
        "theta_prime": traces[1].mean_regret().tolist(),
        **_largest(traces),
        "final_stops": [trace.stops[:, -1].sum(axis=0).tolist() for trace in traces],
    }


def worst_of(contender: Contender, scale: Scale, horizons: list[int]) -> JSON:
    """Return the worse regret at the worst ε for each horizon; θ is the same for every ε."""
    pairs = [hidden_pair(epsilon) for epsilon in WORST_OVER]
    worlds = [pairs[0][0], *(second for _, second in pairs)]
    return _largest([_play(world, contender, scale, horizons) for world in worlds])


def worst_of_rule(horizons: list[int], scale: Scale) -> JSON:
    """Return the worst regret over ε of the rule of order n^(2/3) for each horizon."""
    rng, runs = np.random.default_rng(0), RUNS_OF_RULE * scale.replications
    worst = []
    for n in horizons:
        pairs = (staying_regrets(n, e, margin=MARGIN, runs=runs, rng=rng) for e in WORST_OVER)
        bands = [(float(r.mean()), *mean_interval(r)) for pair in pairs for r in pair]
        worst.append(np.max(bands, axis=0))
    return dict(zip(KEYS, np.transpose(worst).tolist(), strict=True))


def _largest(traces: list[Trace]) -> JSON:
    """Return the largest of the regrets with a band: it lies between the largest of the ends."""
    bands = [(trace.mean_regret(), *trace.interval(0.95)) for trace in traces]
    return dict(zip(KEYS, np.max(bands, axis=0).tolist(), strict=True))


def exactly(values: list[float]) -> JSON:
    """Return what is known without sampling in the form of a band."""
    return dict.fromkeys(KEYS, values)


def joined(cells: Iterable[JSON]) -> JSON:
    """Return several bands as one."""
    cells = list(cells)
    return {key: [value for cell in cells for value in cell[key]] for key in KEYS}


def _play(world: Instance, contender: Contender, scale: Scale, rounds: list[int]) -> Trace:
    return play(world, contender, scale, horizon=rounds[-1], checkpoints=rounds)


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
