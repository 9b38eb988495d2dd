"""How strongly confusion matrices are held to one accuracy a test: chosen by held-out cases."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.em import Design, Fits, fit_all, log_joint, posteriors
from stopwise.cascade import FloatArray

# The share of an average row of θ that comes from "one accuracy a test".
SHARES = (0.02, 0.1, 0.3, 0.6, 0.98)
CYCLES = 8  # enough to compare
MAX_PATTERNS, MAX_CASES = 2_000, 4_000  # of more patterns, a sample of cases is split in two


def tau(share: float | FloatArray, n_cases: float | FloatArray, n_classes: int) -> FloatArray:
    """Return the number of cases that makes ``share`` of a row of average size.

    >>> float(tau(0.5, 1000, 10))
    100.0
    """
    part = np.asarray(share, dtype=np.float64)
    return np.asarray(part / (1 - part) * n_cases / n_classes)


def chosen_share(design: Design, counts: FloatArray, rng: np.random.Generator) -> float:
    """Return the largest share that predicts cases held out about as well as the best one does.

    The table is split in two at random; a fit to each half predicts the other. The share is the
    largest whose log likelihood a case is less than one standard error below the best: where the
    data do not tell, the simpler model is the safer one.
    """
    design, halves = _halves(design, counts, rng)
    shares = np.array(SHARES)
    S = len(shares)
    weights = np.repeat(halves, S, axis=1)
    sizes = np.repeat(halves.sum(axis=0), S)
    start = np.repeat(design.votes[:, None, :], 2 * S, axis=1)
    strengths = tau(np.tile(shares, 2), sizes, design.n_classes)
    fits = fit_all(design, weights, strengths, start, max_cycles=CYCLES)
    return float(shares[_most_held(design, halves, fits, S)])


def _most_held(design: Design, halves: FloatArray, fits: Fits, n_shares: int) -> int:
    _, logs = posteriors(log_joint(design, fits.prior, fits.confusion))
    held_out = np.concatenate([halves[:, 1:], halves[:, :1]], axis=1)
    logs = logs.reshape(-1, 2, n_shares)
    n = held_out.sum()
    scores = np.einsum("rh,rhs->s", held_out, logs) / n
    best = int(np.argmax(scores))
    short = logs[:, :, best, None] - logs
    squares = np.einsum("rh,rhs->s", held_out, short**2) / n
    mean = np.einsum("rh,rhs->s", held_out, short) / n
    error = np.sqrt(np.maximum(squares - mean**2, 0) / n)
    return int(np.flatnonzero(mean <= error)[-1])


def _halves(
    design: Design, counts: FloatArray, rng: np.random.Generator
) -> tuple[Design, FloatArray]:
    whole = counts.astype(np.int64)
    if len(whole) > MAX_PATTERNS and whole.sum() > MAX_CASES:
        whole = rng.multivariate_hypergeometric(whole, MAX_CASES, method="marginals")
    first = rng.binomial(whole, 0.5)
    drawn = np.flatnonzero(whole)
    halves = np.column_stack([first, whole - first])[drawn].astype(np.float64)
    if len(drawn) < len(whole):
        design = Design(design.codes[drawn], design.n_classes)
    return design, halves
