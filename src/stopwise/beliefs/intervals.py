"""Intervals for believed error rates: the table is drawn again, and the labels with it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from stopwise.beliefs.em import Design, Fits, fit_all
from stopwise.beliefs.strength import tau
from stopwise.cascade import FloatArray

if TYPE_CHECKING:
    from stopwise.beliefs.model import LatentClasses

N_DRAWS, LEAST_DRAWS = 100, 20
CYCLES = 6
BUDGET = 2e7  # patterns x classes x draws; of a larger table fewer are drawn
BLOCK = 2e6  # patterns x classes x draws at a time
Z = 1.959963984540054  # normal quantile of 97.5 %


def spreads(model: LatentClasses, counts: FloatArray, *, seed: int = 0) -> FloatArray:
    """Return the standard deviation of each error rate over tables drawn anew; shape (K,).

    Each pattern gets a random weight of mean 1 and variance 1 a case (the Bayesian bootstrap), and
    the fit goes on from where it was.
    """
    rng = np.random.default_rng(seed)
    size = model.table.codes.shape[0] * len(model.table.classes)
    n_draws = int(np.clip(BUDGET / size, LEAST_DRAWS, N_DRAWS))
    per_block = max(int(BLOCK / size), 1)
    rates: list[FloatArray] = []
    while len(rates) < n_draws:
        rates += _drawn(model, counts, min(per_block, n_draws - len(rates)), rng)
    return np.asarray(np.std(rates, axis=0, ddof=1))


def _drawn(
    model: LatentClasses, counts: FloatArray, n: int, rng: np.random.Generator
) -> list[FloatArray]:
    M = len(model.table.classes)
    weights = rng.gamma(counts[:, None], size=(len(counts), n))
    strengths = tau(np.full(n, model.share), weights.sum(axis=0), M)
    start = Fits(
        np.repeat(model.prior[None, :M], n, axis=0),
        np.repeat(model.confusion[None, :, :M, :M], n, axis=0),
        np.zeros(n, dtype=bool),
        np.full(n, -np.inf),
    )
    design = Design(model.table.codes, M)
    fits = fit_all(design, weights, strengths, start, max_cycles=CYCLES)
    return [
        model.redrawn(fits.prior[s], fits.confusion[s], rng).errors(
            model.table.codes, weights[:, s]
        )
        for s in range(n)
    ]
