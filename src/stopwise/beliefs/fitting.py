"""Starts of the iteration, the choice among its results, and the names of the classes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from stopwise.beliefs.cases import Cases
from stopwise.beliefs.complexity import LARGE, Complexity
from stopwise.beliefs.em import ROUGHLY, fit_all, maximise
from stopwise.beliefs.hidden import Hidden
from stopwise.beliefs.moments import posteriors_by_moments
from stopwise.cascade import FloatArray
from stopwise.patterns import MISSING

N_STARTS = 3
LEAST_RIGHT = 0.1  # how often an answer is right over how often it is given
ALIKE = 0.05  # rates of two explanations that differ by less
CYCLES = 2  # after which only the likeliest fit is continued


class Fit(NamedTuple):
    """A fitted law, how simple it was made, and whether the iteration converged."""

    hidden: Hidden
    complexity: Complexity
    has_converged: bool


def later_is_right(cases: Cases) -> Fit:
    """Return the fit in which the last output of each case is the right answer."""
    (R, K), M = cases.codes.shape, cases.design.n_classes
    last = K - 1 - np.argmax(cases.codes[:, ::-1] != MISSING, axis=1)
    right = np.zeros((R, 1, M))
    right[np.arange(R), 0, cases.codes[np.arange(R), last]] = cases.counts
    parameters = maximise(cases.design, right, 1e-3)
    return Fit(Hidden(parameters[:, 0], M), Complexity(0.0), True)


def votes_and_others(cases: Cases, rng: np.random.Generator) -> FloatArray:
    """Return the first posteriors: the votes, the votes led by one test, and one more.

    The test that leads is the one that agrees most with the others. The last start is the solution
    of the moment equations where there is one, else the votes with noise.
    """
    votes, codes, counts = cases.design.votes, cases.codes, cases.counts
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
    by_moments = posteriors_by_moments(cases.design, counts)
    noisy = votes * rng.uniform(0.5, 1.5, votes.shape)
    starts[:, 2, :] = noisy if by_moments is None else by_moments
    starts /= starts.sum(axis=2, keepdims=True)
    return starts


def continued_fit(cases: Cases, complexity: Complexity, start: Hidden) -> Fit:
    """Return the fit that starts from this law, its classes named after outputs."""
    weights, first = cases.counts[:, None], start.parameters[:, None]
    tau = complexity.tau(weights.sum(), start.n_classes)
    fits = fit_all(cases.design, weights, tau, first, pair=complexity.pair)
    hidden = _name_classes(Hidden(fits.parameters[:, 0], start.n_classes))
    return Fit(hidden, complexity, bool(fits.has_converged[0]))


def _best_fit(cases: Cases, complexity: Complexity, starts: FloatArray) -> Fit:
    """Return the likeliest of the fits from several starts."""
    design, weights, pair = cases.design, cases.counts[:, None], complexity.pair
    tau = complexity.tau(weights.sum(), design.n_classes)
    chances = design.with_levels(starts, complexity.n_levels, pair)
    start, best = maximise(design, weights[:, :, None] * chances, tau, pair), 0
    if start.shape[1] > 1:
        fits = fit_all(design, weights, tau, start, pair=pair, max_cycles=CYCLES, tolerance=ROUGHLY)
        start, best = fits.parameters, int(np.argmax(fits.log_likelihood))
    return continued_fit(cases, complexity, Hidden(start[:, best], design.n_classes))


def choose_fit(cases: Cases, choices: list[Complexity], starts: FloatArray) -> tuple[Fit, bool]:
    """Return the chosen fit, and whether all plausible fits give the same rates.

    All choices but the last model shared errors, and they predict equally well. Among these, the
    fit in which the last test errs least is chosen: where outputs cannot decide, later tests are
    assumed to be better. The last choice is used if each of these confuses levels with answers.
    """
    *candidates, simple = choices
    fits = [_best_fit(cases, complexity, starts) for complexity in candidates]
    fits = [fit for fit in fits if not _levels_stand_in(cases, fit.hidden.prior)]
    if not fits:
        return _best_fit(cases, simple, starts), True
    right = np.array([fit.hidden.accuracies for fit in fits])
    return fits[right[:, -1].argmax()], bool(np.ptp(right, axis=0).max() < ALIKE)


def _levels_stand_in(cases: Cases, prior: FloatArray) -> bool:
    """Whether the fit uses a level as an answer: some frequent answer is hardly ever right.

    Two answers at one level and one answer at two levels can have the same likelihood.
    """
    M = len(prior)
    outputs = np.asarray(cases.design.transposed @ cases.counts)[1:].reshape(-1, M).sum(axis=0)
    is_common = outputs > outputs.sum() / (10 * M)
    return bool((prior < LEAST_RIGHT * outputs / outputs.sum())[is_common].any())


def _name_classes(hidden: Hidden) -> Hidden:
    """Return the law with each class named after the output that its tests mostly give.

    Other names have the same likelihood. These make the tests right as often as possible, in line
    with the assumption that they are better than chance on the whole.
    """
    M = hidden.n_classes
    gain = (hidden.levels * hidden.tests).sum(axis=(0, 2)).T
    if (gain.argmax(axis=1) == np.arange(M))[hidden.prior > 1 / (1e6 * M)].all():
        return hidden
    from scipy.optimize import linear_sum_assignment

    places, name = linear_sum_assignment(-gain)
    order = places[np.argsort(name)]
    return Hidden.of(hidden.levels[:, order], hidden.tests[..., order])
