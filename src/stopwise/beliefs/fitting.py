"""Starts of the iteration, the choice among its results, and the names of the classes."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.complexity import LARGE, Complexity
from stopwise.beliefs.em import ROUGHLY, Design, Fits, fit_all, maximise
from stopwise.beliefs.hidden import Hidden
from stopwise.beliefs.moments import posteriors_by_moments
from stopwise.cascade import FloatArray
from stopwise.patterns import MISSING

N_STARTS = 3
LEAST_RIGHT = 0.1  # how often an answer is right over how often it is given
ALIKE = 0.05  # rates of two explanations that differ by less
CYCLES = 2  # after which only the likeliest fit is continued


def later_is_right(design: Design, counts: FloatArray) -> Fits:
    """Return the fit in which the last output of each case is the right answer."""
    R, K = design.codes.shape
    last = K - 1 - np.argmax(design.codes[:, ::-1] != MISSING, axis=1)
    right = np.zeros((R, 1, design.n_classes))
    right[np.arange(R), 0, design.codes[np.arange(R), last]] = counts
    parameters = maximise(design, right, np.array([1e-3]))
    return Fits(parameters, np.ones(1, dtype=bool), np.zeros(1))


def votes_and_others(design: Design, counts: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the first posteriors: the votes, the votes led by one test, and one more.

    The test that leads is the one that agrees most with the others. The last start is the solution
    of the moment equations where there is one, else the votes with noise.
    """
    votes, codes = design.votes, design.codes
    if votes.size > LARGE:  # one start must do
        return votes[:, None, :]
    starts = np.repeat(votes[:, None, :], N_STARTS, axis=1)
    n_agreed = [
        float(counts @ ((codes == column[:, None]) & (column >= 0)[:, None]).sum(axis=1))
        for column in codes.T
    ]
    leader = codes[:, int(np.argmax(n_agreed))]
    (rows,) = np.nonzero(leader >= 0)
    starts[rows, 1, leader[rows]] += 1.0
    by_moments = posteriors_by_moments(design, counts)
    noisy = votes * rng.uniform(0.5, 1.5, votes.shape)
    starts[:, 2, :] = noisy if by_moments is None else by_moments
    starts /= starts.sum(axis=2, keepdims=True)
    return starts


def best_fit(
    design: Design, counts: FloatArray, complexity: Complexity, start: FloatArray | Fits
) -> Fits:
    """Return the likeliest of the fits from several starts, its classes named after outputs."""
    if not isinstance(start, Fits):
        start = design.with_levels(start, complexity.n_levels, complexity.pair)
    S = (start.parameters if isinstance(start, Fits) else start).shape[1]
    tau = np.full(S, complexity.tau(float(counts.sum()), design.n_classes))
    weights, varies = np.repeat(counts[:, None], S, axis=1), complexity.varies(design.n_tests, S)
    if S > 1:
        trials = fit_all(
            design, weights, tau, start, varies=varies, max_cycles=CYCLES, tolerance=ROUGHLY
        )
        start = trials.pick(int(np.argmax(trials.log_likelihood)))
    varies = complexity.varies(design.n_tests)
    fits = fit_all(design, weights[:, :1], tau[:1], start, varies=varies)
    return _name_classes(fits, design.n_classes)


def choose_fit(
    design: Design, counts: FloatArray, choices: list[Complexity], start: FloatArray
) -> tuple[Fits, Complexity, bool]:
    """Return the chosen fit, its complexity, and whether all plausible fits give the same rates.

    All choices but the last model shared errors, and they predict equally well. Among these, the
    fit in which the last test errs least is chosen: where outputs cannot decide, later tests are
    assumed to be better. The last choice is used if each of these confuses levels with answers.
    """
    *candidates, simple = choices
    trials = [(best_fit(design, counts, one, start), one) for one in candidates]
    trials = [(fits, one) for fits, one in trials if not _levels_stand_in(design, counts, fits)]
    if not trials:
        return best_fit(design, counts, simple, start), simple, True
    right = np.array([Hidden(f.parameters[:, 0], design.n_classes).accuracies for f, _ in trials])
    return *trials[right[:, -1].argmax()], bool(np.ptp(right, axis=0).max() < ALIKE)


def _levels_stand_in(design: Design, counts: FloatArray, fits: Fits) -> bool:
    """Whether the fit uses a level as an answer: some frequent answer is hardly ever right.

    Two answers at one level and one answer at two levels can have the same likelihood.
    """
    M = design.n_classes
    prior = fits.parameters[0, 0].reshape(-1, M).sum(axis=0)
    outputs = np.asarray(design.transposed @ counts)[1:].reshape(-1, M).sum(axis=0)
    is_common = outputs > outputs.sum() / (10 * M)
    return bool((prior < LEAST_RIGHT * outputs / outputs.sum())[is_common].any())


def _name_classes(fits: Fits, M: int) -> Fits:
    """Return the fit with each class named after the output that its tests mostly give.

    Other names have the same likelihood. These make the tests right as often as possible, in line
    with the assumption that they are better than chance on the whole.
    """
    chances = fits.parameters[:, 0].reshape(fits.parameters.shape[0], -1, M)  # row, level, class
    prior = chances[0].sum(axis=0)
    gain = (chances[0] * chances[1:].reshape(-1, M, *chances.shape[1:])).sum(axis=(0, 2)).T
    if (gain.argmax(axis=1) == np.arange(M))[prior > 1 / (1e6 * M)].all():
        return fits
    from scipy.optimize import linear_sum_assignment

    places, name = linear_sum_assignment(-gain)
    order = places[np.argsort(name)]
    columns = np.concatenate([order + h * M for h in range(chances.shape[1])])
    return Fits(fits.parameters[:, :, columns], fits.has_converged, fits.log_likelihood)
