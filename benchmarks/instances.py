"""The instances on which policies are compared."""

from __future__ import annotations

import csv
from itertools import product
from pathlib import Path

import numpy as np

from stopwise import Cascade, Instance
from stopwise.problem.families import nested_errors, relaxed_errors

SYNTHETIC_COSTS = {
    "SD": [(0, 0.1, 0.1), (0, 0.25, 0.1), (0, 0.35, 0.1), (0, 0.2, 0.02)],
    "relaxed": [(0, 0.1, 0.25), (0, 0.2, 0.2), (0, 0.45, 0.2)],
}


def synthetic() -> dict[str, Instance]:
    """Section 7's two laws under seven cost settings."""
    laws = {"SD": nested_errors, "relaxed": relaxed_errors}
    return {
        f"{name} {costs}".replace("0.", "."): laws[name](Cascade(costs=costs))
        for name, settings in SYNTHETIC_COSTS.items()
        for costs in settings
    }


def with_margin(
    rng: np.random.Generator,
    n_stages: int,
    stage: int,
    *,
    margin: float,
    violation: float,
    slips: tuple[float, ...] = (0.0, 0.03, 0.1),
) -> Instance:
    """A random law priced so that ``stage`` is best and beats what is beyond by ``margin``.

    Every earlier stage costs about ``violation`` more than it. Error rates are random; where test
    1 is right the later ones err with one of the chances ``slips``.
    """
    while True:
        rates = np.sort(rng.uniform(0.02, 0.5, n_stages))[::-1]
        slip = float(rng.choice(slips))
        law = relaxed_errors(Cascade(costs=[0] * n_stages), rates.tolist(), slip=slip)
        gain = law.error_rates[:stage] - law.error_rates[stage]
        if np.any(gain <= 1.2 * violation):
            continue
        before = np.minimum.accumulate((violation - gain)[::-1])[::-1]
        beyond = np.maximum.accumulate(law.disagreement[stage, stage + 1 :] + margin)
        C = np.concatenate([before, [0.0], beyond])
        costs = np.diff(C, prepend=C[0])
        if costs.min() < -1e-12:
            continue
        instance = law.with_cascade(Cascade(costs=np.maximum(costs, 0)))
        if instance.best_stage == stage and instance.is_weakly_dominant():
            return instance


def margins() -> dict[str, Instance]:
    """K = 2, 5, 10; the first, the middle or the last stage best; margins .02 to .3."""
    rng = np.random.default_rng(5)
    laws = {}
    for K in (2, 5, 10):
        for stage in (0, K // 2, K - 1):
            for margin in (0.02, 0.05, 0.1, 0.3) if stage < K - 1 else (0.05,):
                for violation in (0.003, 0.05) if stage else (0.0,):
                    name = f"K={K} best {stage + 1} margin {margin} gap {violation}"
                    laws[name] = with_margin(rng, K, stage, margin=margin, violation=violation)
    return laws


def near_ties() -> dict[str, Instance]:
    """K = 2, 3, 5; a later stage misses paying by .001 to .01, or the last is best by as much."""
    rng = np.random.default_rng(7)
    laws = {}
    for K, tie in product((2, 3, 5), (0.001, 0.002, 0.003, 0.005, 0.01)):
        for stage in sorted({0, K - 2}):
            law = with_margin(rng, K, stage, margin=tie, violation=0.05)
            laws[f"K={K} best {stage + 1} margin {tie}"] = law
        law = with_margin(rng, K, K - 1, margin=tie, violation=tie, slips=(0.0,))
        laws[f"K={K} best {K} by {tie}"] = law
    return laws


def random_laws(n: int, seed: int) -> dict[str, Instance]:
    """Laws drawn from Dirichlet's with 2 to 4 tests and answers, weakly dominant by .01 or more."""
    rng = np.random.default_rng(seed)
    laws: dict[str, Instance] = {}
    while len(laws) < n:
        K, n_classes = rng.integers(2, 5, 2).tolist()
        joint = rng.dirichlet(np.full(n_classes ** (K + 1), rng.choice([0.03, 0.1, 0.3])))
        patterns = list(product(range(n_classes), repeat=K + 1))
        costs = rng.dirichlet(np.ones(K)) * rng.choice([0.1, 0.3, 1.0, 2.0])
        costs[0] = 0.0
        law = Instance.from_patterns(patterns, joint, Cascade(costs=costs))
        best, others = law.best_stage, np.sort(law.gaps)[1:]
        if best < K - 1 and others[0] > 0.003 and margin(law) > 0.01:
            laws[f"random {len(laws)} K={K} {n_classes} answers best {best + 1}"] = law
    return laws


def margin(instance: Instance) -> float:
    """By how much prices cover the disagreement beyond the best stage."""
    best, C, p = instance.best_stage, instance.cascade.cumulative_costs, instance.disagreement
    later = range(best + 1, instance.cascade.n_stages)
    return float(min((C[j] - C[best] - p[best, j] for j in later), default=np.inf))


def recorded(path: Path, step_costs: list[float], scales: list[float]) -> dict[str, Instance]:
    """A CSV with header y,s1,…,sK under several total costs, where weak dominance holds."""
    with path.open() as lines:
        outcomes = np.array(list(csv.reader(lines))[1:])
    steps = np.array(step_costs) / sum(step_costs)
    law = Instance.from_outcomes(outcomes[:, 0], outcomes[:, 1:], Cascade(costs=steps))
    priced = {s: law.with_cascade(Cascade(costs=steps * s)) for s in scales}
    return {f"{path.stem} x{s:.3g}": i for s, i in priced.items() if i.is_weakly_dominant()}
