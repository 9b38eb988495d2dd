"""Where the iteration starts and what its classes are called."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.em import Design, Fits, fit_all, maximise
from stopwise.beliefs.strength import tau
from stopwise.cascade import FloatArray
from stopwise.patterns import MISSING

LARGE = 300_000  # patterns x classes from which on one start must do
N_STARTS = 3


def later_is_right(design: Design, counts: FloatArray) -> Fits:
    """Return the fit in which the last output of each case is the right answer."""
    R, K = design.codes.shape
    last = K - 1 - np.argmax(design.codes[:, ::-1] != MISSING, axis=1)
    right = np.zeros((R, 1, design.n_classes))
    right[np.arange(R), 0, design.codes[np.arange(R), last]] = counts
    prior, confusion = maximise(design, right, np.array([1e-3]))
    return Fits(prior, confusion, np.ones(1, dtype=bool), np.zeros(1))


def votes_and_others(design: Design, counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the first posteriors: the votes, the votes led by one test, the votes with noise.

    The test that leads is the one that agrees most with the others.
    """
    votes, codes = design.votes, design.codes
    if votes.size > LARGE:
        return votes[:, None, :]
    starts = np.repeat(votes[:, None, :], N_STARTS, axis=1)
    alike = [
        float(counts @ ((codes == column[:, None]) & (column >= 0)[:, None]).sum(axis=1))
        for column in codes.T
    ]
    leader = codes[:, int(np.argmax(alike))]
    (rows,) = np.nonzero(leader >= 0)
    starts[rows, 1, leader[rows]] += 1.0
    starts[:, 2, :] *= rng.uniform(0.5, 1.5, votes.shape)
    starts /= starts.sum(axis=2, keepdims=True)
    return starts


def best_fit(design: Design, counts: FloatArray, share: float, start: FloatArray | Fits) -> Fits:
    """Return the likeliest of the fits from several starts, its classes named after outputs."""
    S = len(start.prior) if isinstance(start, Fits) else start.shape[1]
    strength = np.full(S, tau(share, float(counts.sum()), design.n_classes))
    weights = np.repeat(counts[:, None], S, axis=1)
    fits = fit_all(design, weights, strength, start)
    return _named(fits.pick([int(np.argmax(fits.log_likelihood))]))


def _named(fits: Fits) -> Fits:
    """Return the fit with each class named after the output that its tests give on the whole.

    Naming classes otherwise leaves the likelihood as it is; this one makes the tests right most
    often, which is what "better than chance on the whole" says.
    """
    prior, confusion = fits.prior[0], fits.confusion[0]
    gain = prior[:, None] * confusion.sum(axis=0)
    M = len(prior)
    if (gain.argmax(axis=1) == np.arange(M))[prior > 1 / (1e6 * M)].all():
        return fits
    from scipy.optimize import linear_sum_assignment

    hidden, name = linear_sum_assignment(-gain)
    order = hidden[np.argsort(name)]
    return Fits(
        fits.prior[:, order], fits.confusion[:, :, order], fits.has_converged, fits.log_likelihood
    )


def extended(prior: FloatArray, confusion: FloatArray, M: int) -> tuple[FloatArray, FloatArray]:
    """Return both with room for classes that labels alone have shown."""
    K, known = len(confusion), len(prior)
    if known == M:
        return prior, confusion
    longer, wider = np.zeros(M), np.full((K, M, M), 1 / M)
    longer[:known] = prior
    wider[:, :known] = 0.0
    wider[:, :known, :known] = confusion
    return longer, wider
