"""How simple the model is: chosen by how well fits to one half of the cases predict the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from stopwise.beliefs.cases import Cases
from stopwise.beliefs.em import ROUGHLY, Design, fit_all, maximise, posteriors
from stopwise.beliefs.nested import chain_logs, settles_down, unrelated_logs
from stopwise.cascade import FloatArray

# The share of an average row of θ that comes from "one accuracy per test". With difficulty it is
# not 0: hidden classes without any restriction need not be right answers.
SHARES = (0.0, 0.1, 0.3, 0.6, 0.98)
CYCLES = 3  # enough to compare
# If the table is larger, a sample of cases is split in two, and difficulty is not tried.
MAX_PATTERNS, MAX_CASES, LARGE = 2_000, 4_000, 300_000
LEAST_GAIN, ALIKE = 2.0, 3.0  # standard errors by which a model is better, and may be as good
MAX_SIZE = 500_000  # patterns x classes x pairs up to which pairs are tried
UNEXPLAINED = 0.02  # the part of the dependence among tests that a chain may leave
LEAST_TESTS = 4  # seen together: with fewer, difficulty is not identified


@dataclass(frozen=True)
class Complexity:
    """The freedom of the model: the weight of "one accuracy per test", and levels of difficulty.

    With a ``pair``, only these two tests err together on hard cases.
    """

    share: float
    n_levels: int = 1
    pair: tuple[int, ...] = ()

    def tau(self, n_cases: float | FloatArray, n_classes: int) -> FloatArray:
        """Return the number of cases that the prior of a row of θ is worth, at least one."""
        return strengths(self.share, n_cases, n_classes * self.n_levels)


def strengths(share: float | FloatArray, n_cases: float | FloatArray, n_rows: int) -> FloatArray:
    """Return the number of cases that makes ``share`` of a row of average size, and one more.

    >>> float(strengths(0.5, 1000, 10))
    101.0
    """
    part = np.asarray(share, dtype=np.float64)
    return np.asarray(part / (1 - part) * n_cases / n_rows + 1)


def complexities(cases: Cases, rng: np.random.Generator) -> list[Complexity]:
    """Return the candidate models; the last is the best one without difficulty.

    The list is empty if outputs do not determine error rates, such as when the tests look nested.

    Those before the last have difficulty, of all tests or of a pair, and predict held-out cases
    about equally well: no more than `ALIKE` standard errors worse than the best.

    The table is split in two at random; a fit to each half predicts the other. The share is the
    largest whose log likelihood per case is less than one standard error below the best: where the
    data cannot decide, the simpler model is the safer one. A second level of difficulty must add
    more than `LEAST_GAIN` standard errors to the best model without it.
    """
    if not cases.tell_rates:
        return []
    if cases.agreement_only:
        return [Complexity(SHARES[-1])]  # the values are made up: errors cannot depend on them
    if cases.is_law:
        return [Complexity(0.0)]  # a law has no noise, so nothing can be overfitted
    design, halves = _halves(cases, rng)
    simple, logs = _best_share(design, halves, Complexity(0.0))
    hard: list[Complexity] = []
    is_large = cases.design.votes.size > LARGE
    if not is_large and (design.codes >= 0).sum(axis=1).max() >= LEAST_TESTS:
        hard, logs = _with_difficulty(design, halves, logs)
    return [] if _looks_nested(design, halves, logs) else [*hard, simple]


def _with_difficulty(
    design: Design, halves: FloatArray, logs: FloatArray
) -> tuple[list[Complexity], FloatArray]:
    """Return the models with difficulty that predict well, and the best log likelihoods.

    None if they add too little to ``logs``, those without it.
    """
    hard, hard_logs = _best_share(design, halves, Complexity(0.0, 2))
    gain, error = _mean_and_error(hard_logs - logs, halves)
    if gain <= LEAST_GAIN * error:
        return [], logs
    trials, pairs = [(hard, hard_logs)], [*combinations(range(design.n_tests), 2)]
    if len(pairs) * design.votes.size <= MAX_SIZE:
        trials += [_best_share(design, halves, Complexity(0.0, 2, pair)) for pair in pairs]
    _, best_logs = max(trials, key=lambda trial: float((halves * trial[1]).sum()))
    models = []
    for model, its_logs in trials:
        loss, error = _mean_and_error(best_logs - its_logs, halves)
        if loss <= ALIKE * error:
            models.append(model)
    return models, best_logs


def _looks_nested(design: Design, halves: FloatArray, logs: FloatArray) -> bool:
    """Whether a chain explains all but a small part of how the tests depend on each other.

    ``logs`` are the log likelihoods of the best model, which explains all of it. Nested tests
    settle down, so the last one may not change more answers than any step before it.
    """
    if not settles_down(design, halves.sum(axis=1)):
        return False
    trials = chain_logs(design, *_trials(halves, np.array(SHARES), design.n_classes))
    chain, best = _held_out(trials, halves)
    baseline, _ = _held_out(unrelated_logs(design, halves), halves)
    rest, whole = logs - chain[:, :, best], logs - baseline[:, :, 0]
    return bool((halves * rest).sum() <= UNEXPLAINED * (halves * whole).sum())


def _best_share(
    design: Design, halves: FloatArray, kind: Complexity
) -> tuple[Complexity, FloatArray]:
    """Return the share, and the best log likelihood of each pattern by the other half; (R, 2)."""
    shares, H = np.array(SHARES[kind.n_levels - 1 :]), kind.n_levels
    weights, tau = _trials(halves, shares, design.n_classes * H)
    chances = design.with_levels(design.votes[:, None, :], H, kind.pair)
    start = maximise(design, weights[:, :, None] * chances, tau, kind.pair)
    fits = fit_all(
        design,
        weights,
        tau,
        start,
        pair=kind.pair,
        max_cycles=CYCLES * H,
        tolerance=ROUGHLY,
    )
    _, logs = posteriors(design, fits.parameters)
    logs, best = _held_out(logs, halves)
    for s in reversed(range(len(shares))):
        loss, error = _mean_and_error(logs[:, :, best] - logs[:, :, s], halves)
        if loss <= error:
            break
    return replace(kind, share=float(shares[s])), logs[:, :, best]


def _trials(halves: FloatArray, shares: FloatArray, n_rows: int) -> tuple[FloatArray, FloatArray]:
    """Return the cases and the strength of a fit to each half by each share."""
    S = len(shares)
    tau = strengths(np.tile(shares, 2), np.repeat(halves.sum(axis=0), S), n_rows)
    return np.repeat(halves, S, axis=1), tau


def _held_out(logs: FloatArray, halves: FloatArray) -> tuple[FloatArray, int]:
    """Return the logs of each half by the fits to the other, (R, 2, S), and the best share."""
    logs = logs.reshape(len(halves), 2, -1)[:, ::-1]
    return logs, int(np.argmax(np.einsum("rh,rhs->s", halves, logs)))


def _mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    n = float(weights.sum())
    mean = float((weights * values).sum()) / n
    variance = float((weights * values**2).sum()) / n - mean**2
    return mean, float(np.sqrt(max(variance, 0.0) / n))


def _halves(cases: Cases, rng: np.random.Generator) -> tuple[Design, FloatArray]:
    """Return the patterns of both halves, and how many cases of each; shape (R, 2)."""
    design, whole = cases.design, np.rint(cases.counts).astype(np.int64)
    if len(whole) > MAX_PATTERNS and whole.sum() > MAX_CASES:
        whole = rng.multivariate_hypergeometric(whole, MAX_CASES, method="marginals")
    first = rng.binomial(whole, 0.5)
    rows = np.flatnonzero(whole)
    halves = np.column_stack([first, whole - first])[rows].astype(np.float64)
    if len(rows) < len(whole):
        design = Design(design.codes[rows], design.n_classes)
    return design, halves
