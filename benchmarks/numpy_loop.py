"""Algorithm 2 as one would write it first: NumPy on (K, K) tables, one round after the other."""

from __future__ import annotations

import numpy as np

from stopwise import Instance


def numpy_loop(
    instance: Instance,
    horizon: int,
    *,
    seed: int = 0,
    exploration: float = 1.5,
    ahead: bool = False,
) -> np.ndarray:
    """Return how often each stage was played; with ``ahead`` all rows are drawn beforehand."""
    C = instance.cascade.cumulative_costs
    K = len(C)
    prices = C[None, :] - C[:, None]
    deeper = np.triu(np.ones((K, K), dtype=bool), 1)
    seen, disagreed = np.zeros((K, K)), np.zeros((K, K))
    played = np.zeros(K, dtype=np.int64)
    rng, chances = np.random.default_rng(seed), instance.probabilities
    rows = rng.choice(len(chances), size=horizon, p=chances) if ahead else None
    with np.errstate(divide="ignore", invalid="ignore"):
        for t in range(1, horizon + 1):
            bound = disagreed / seen + np.sqrt(exploration * np.log(t) / seen)
            accepted = np.all((prices >= bound) | ~deeper, axis=1)
            stage = int(np.argmax(accepted))
            row = rng.choice(len(chances), p=chances) if rows is None else rows[t - 1]
            shown = instance.outputs[row, : stage + 1]
            seen[: stage + 1, : stage + 1] += 1
            disagreed[: stage + 1, : stage + 1] += shown[:, None] != shown[None, :]
            played[stage] += 1
    return played
