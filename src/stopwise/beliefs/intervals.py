"""Intervals for error rates: the Bayesian bootstrap of the table and its labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stopwise.beliefs.em import fit_all
from stopwise.beliefs.hidden import Hidden
from stopwise.cascade import FloatArray

if TYPE_CHECKING:
    from stopwise.beliefs.model import LatentClasses

N_DRAWS, LEAST_DRAWS = 120, 40
CYCLES = 8
BUDGET = 5e5  # patterns x classes x draws; larger tables are drawn less often
BLOCK = 2e6  # patterns x classes x draws at a time
Z = 1.959963984540054  # normal quantile of 97.5 %


def spreads(model: LatentClasses) -> FloatArray:
    """Return the standard deviation of each error rate over resampled tables; shape (K,).

    Each pattern gets a random weight of mean 1 and variance 1 per case (the Bayesian bootstrap),
    and the fit continues from the one to the table.
    """
    rng, cases = np.random.default_rng(0), model.cases
    size = len(cases.codes) * model.hidden.parameters.shape[1]
    most = LEAST_DRAWS if model.n_labels else N_DRAWS  # each draw fits the labels again
    n_draws = int(np.clip(BUDGET / size, LEAST_DRAWS, most))
    per_block = max(int(BLOCK / size), 1)
    rates: list[FloatArray] = []
    while len(rates) < n_draws:
        rates += _draw_rates(model, min(per_block, n_draws - len(rates)), rng)
    return np.asarray(np.std(rates, axis=0, ddof=1))


def _draw_rates(model: LatentClasses, n: int, rng: np.random.Generator) -> list[FloatArray]:
    cases, complexity, M = model.cases, model.complexity, len(model.table.classes)
    weights = rng.gamma(cases.counts[:, None], size=(len(cases.counts), n))
    tau = complexity.tau(weights.sum(axis=0), M)
    start = np.repeat(model.hidden.cut(M).parameters[:, None], n, axis=1)
    fits = fit_all(cases.design, weights, tau, start, pair=complexity.pair, max_cycles=CYCLES)
    return [
        model.redrawn(Hidden(fits.parameters[:, s], M), rng).errors(cases.codes, weights[:, s])
        for s in range(n)
    ]
