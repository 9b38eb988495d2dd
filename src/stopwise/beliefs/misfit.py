"""Whether the table refutes the model: two tests that give the same wrong answer too often.

For a pair of tests let s(y) = Σ_a P(a | y) ([y_i = y_j ≠ a] - P(y_i = y_j ≠ a | a)), the score of a
term for common errors. Where only one of the two was run, the chance that the other agrees counts.
Under the model the mean of s is 0. Regression on the scores of the parameters removes the part that
these explain (Neyman's C(α) test). The sum of the residuals is compared with the same sum in 20 or
60 tables that are drawn from the fitted model and fitted again: standardised by their mean and
standard deviation, it has a t distribution. If the regression leaves nothing, the model fits any
table, as it does for three tests with two values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import combinations, compress
from typing import TYPE_CHECKING, Any

import numpy as np

from stopwise.beliefs.complexity import Complexity
from stopwise.beliefs.em import Design, fit_all
from stopwise.beliefs.hidden import Hidden
from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import MISSING, row_numbers
from stopwise.theory.beta_law import student_cdf

if TYPE_CHECKING:
    from collections.abc import Iterator

LEVEL = 0.01  # at which the model is refuted
N_DRAWS, MORE_DRAWS, DOUBTFUL = 20, 40, 0.1  # draw more tables if p is no larger
FIRST_CYCLES, CYCLES = 20, 6  # of the fit to the table; of one to a drawn table, from there
MAX_CASES, MAX_CELLS = 5_000, 50_000  # cases, and patterns x hidden classes; else a sample
MAX_CASES_OF_FEW = 10_000_000  # where patterns are few, and drawn at once
CASES_A_PARAMETER, MAX_PARAMETERS = 20, 400  # otherwise scores are pooled
LEAST_INFORMATION = 0.3  # of a score, to count
LEAST_LEFT, NOTHING = 1e-3, 1e-5  # of the variance of a score, and in all, to be testable
RIDGE = 1e-9  # a column: some scores are combinations of others


@dataclass(frozen=True)
class DependentPair:
    """Two tests that do not err independently.

    ``t`` is how many standard errors the cases in which both give the same wrong answer are above
    what the model expects, ``excess`` the share of cases by which they are.
    """

    tests: tuple[int, int]
    t: float
    excess: float


@dataclass(frozen=True)
class Misfit:
    """Whether a table refutes the model.

    ``pairs`` are those that can be tested, the most dependent first; ``p_value`` is that of the
    largest deviation, corrected for their number. It is 1 where nothing can be tested.
    """

    p_value: float
    pairs: tuple[DependentPair, ...]

    @property
    def is_testable(self) -> bool:
        """Whether any table could refute the model."""
        return bool(self.pairs)

    @property
    def is_refuted(self) -> bool:
        """Whether this table does, at a level of 1 %."""
        return self.p_value < LEVEL


UNTESTABLE = Misfit(1.0, ())


def independence(
    hidden: Hidden, complexity: Complexity, codes: IntArray, counts: FloatArray
) -> Misfit:
    """Test whether the tests err independently given what is hidden.

    Parameters
    ----------
    hidden
        The fitted law.
    complexity
        How it was fitted; of this only the levels of difficulty are kept.
    codes
        The patterns; shape (R, K).
    counts
        How many cases show each; shape (R,).
    """
    (K, M, *_), L = hidden.tests.shape, hidden.parameters.shape[1]
    is_free = M**K <= L * (1 + K * (M - 1)) and not complexity.pair
    if is_free and (codes != MISSING).all():  # as many parameters as patterns: it fits any table
        return UNTESTABLE
    rng = np.random.default_rng(0)
    codes, counts = _sample(codes, counts, L, rng)
    # Independence is tested and not one accuracy a test, so the errors are unrestricted.
    free = replace(complexity, share=0.0)
    hidden = _refit(hidden, free, codes, counts, max_cycles=FIRST_CYCLES)
    sums = _score_sums(hidden, codes, counts)
    if not sums:
        return UNTESTABLE
    resampled: dict[tuple[int, int], list[float]] = {pair: [] for pair in sums}
    for n_draws in (N_DRAWS, MORE_DRAWS):
        for _ in range(n_draws):
            rows, times = _draw(hidden, codes, counts, rng)
            refit = _refit(hidden, free, rows, times)
            for pair, total in _score_sums(refit, rows, times).items():
                if pair in resampled:
                    resampled[pair].append(total)
        misfit = _compare(sums, resampled, float(counts.sum()))
        if misfit.p_value > DOUBTFUL:
            break
    return misfit


def _compare(
    sums: dict[tuple[int, int], float], resampled: dict[tuple[int, int], list[float]], n: float
) -> Misfit:
    """Return how far the sums of scores of ``n`` cases are from those of the resampled tables."""
    n_draws, pairs = max(map(len, resampled.values())), []
    for pair, total in sums.items():
        values = np.array(resampled[pair])
        if len(values) < max(n_draws, N_DRAWS) or not (spread := float(values.std(ddof=1))):
            continue
        mean = float(values.mean())
        t = (total - mean) / (spread * math.sqrt(1 + 1 / n_draws))
        pairs.append(DependentPair(pair, t, (total - mean) / n))
    if not pairs:
        return UNTESTABLE
    pairs.sort(key=lambda pair: -abs(pair.t))
    tail = 2 * student_cdf(-abs(pairs[0].t), n_draws - 1)
    return Misfit(min(1.0, len(pairs) * tail), tuple(pairs))


def _sample(
    codes: IntArray, counts: FloatArray, n_hidden: int, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return the table, or a sample of its cases if it is large."""
    whole = np.rint(counts).astype(np.int64)
    n, most = int(whole.sum()), int(min(MAX_CASES, max(MAX_CELLS / n_hidden, 1_000)))
    if len(whole) * n_hidden <= MAX_CELLS / 50:
        most = MAX_CASES_OF_FEW
    if n > most:
        whole = rng.multivariate_hypergeometric(whole, most, method="marginals")
    rows = whole > 0
    return codes[rows], whole[rows].astype(np.float64)


def _draw(
    hidden: Hidden, codes: IntArray, counts: FloatArray, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return a table drawn from the model, with outputs missing where they are in ``codes``.

    Cases with the same outputs so far are drawn at once, however many they are.
    """
    K, M = len(hidden.tests), hidden.n_classes
    prior = hidden.parameters[0] / hidden.parameters[0].sum()
    chances = hidden.parameters[1:].reshape(K, M, -1).transpose(0, 2, 1)
    rows, n = _distinct(np.where(codes == MISSING, MISSING, 0), counts)
    times = rng.multinomial(n.astype(np.int64), prior)
    place, classes = np.nonzero(times)
    rows, times = rows[place], times[place, classes]
    for k in range(K):
        law = chances[k, classes]
        law = np.where(rows[:, [k]] == MISSING, np.eye(1, M), law / law.sum(axis=1, keepdims=True))
        times_of_each = rng.multinomial(times, law)
        place, output = np.nonzero(times_of_each)
        times, rows, classes = times_of_each[place, output], rows[place], classes[place]
        rows[:, k] = np.where(rows[:, k] == MISSING, MISSING, output)
    return _distinct(rows, times)


def _distinct(rows: IntArray, counts: Any) -> tuple[IntArray, FloatArray]:
    """Return each row once, with the sum of its counts."""
    _, first, place = np.unique(row_numbers(rows), return_index=True, return_inverse=True)
    return rows[first], np.asarray(np.bincount(place, weights=counts), dtype=np.float64)


def _refit(
    hidden: Hidden,
    complexity: Complexity,
    codes: IntArray,
    counts: FloatArray,
    *,
    max_cycles: int = CYCLES,
) -> Hidden:
    design, tau = Design(codes, hidden.n_classes), complexity.tau(counts.sum(), hidden.n_classes)
    start, pair = hidden.parameters[:, None], complexity.pair
    fits = fit_all(design, counts[:, None], tau, start, pair=pair, max_cycles=max_cycles)
    return Hidden(fits.parameters[:, 0], hidden.n_classes)


def _score_sums(
    hidden: Hidden, codes: IntArray, counts: FloatArray
) -> dict[tuple[int, int], float]:
    """Return for each pair that can be tested the sum of its scores."""
    chances = hidden.chances(codes).reshape(len(codes), -1)
    root = np.sqrt(counts)
    scores = dict(_pair_scores(hidden, codes, chances))
    if not scores:
        return {}
    whole = root[:, None] * np.stack([*scores.values()], axis=1)
    own = _own_scores(hidden, codes, chances, float(counts.sum()))
    residuals = _residuals(whole, root[:, None] * own)
    rest, total = (residuals**2).sum(axis=0), (whole**2).sum(axis=0)
    is_testable = (rest > LEAST_LEFT * total) & (rest > NOTHING)
    sums = zip(scores, (root @ residuals).tolist(), strict=True)
    return dict(compress(sums, is_testable))


def _pair_scores(
    hidden: Hidden, codes: IntArray, chances: FloatArray
) -> Iterator[tuple[tuple[int, int], FloatArray]]:
    tests = hidden.tests
    K, M, H, _ = tests.shape
    right = np.einsum("kaha->kha", tests)
    was_run = codes != MISSING
    levels = chances.reshape(len(codes), H, M)
    other_answers = 1 - levels.sum(axis=1)
    for i, j in combinations(range(K), 2):
        both = was_run[:, i] & was_run[:, j]
        if not both.any():
            continue
        expected = (tests[i] * tests[j]).sum(axis=0) - right[i] * right[j]
        score = -(chances @ expected.reshape(H * M))
        (rows,) = np.nonzero(both & (codes[:, i] == codes[:, j]))
        score[rows] += other_answers[rows, codes[rows, i]]
        for one, other in ((i, j), (j, i)):  # only one was run: the other may say the same
            (rows,) = np.nonzero(was_run[:, one] & ~was_run[:, other])
            output = codes[rows, one]
            same = levels[rows] * tests[other][output]
            same[np.arange(len(rows)), :, output] = 0.0
            score[rows] += same.sum(axis=(1, 2))
        yield (i, j), np.where(was_run[:, i] | was_run[:, j], score, 0.0)


def _own_scores(hidden: Hidden, codes: IntArray, chances: FloatArray, n: float) -> FloatArray:
    """Return the scores of the parameters, pooled where they are too many; shape (R, D)."""
    tests = hidden.tests
    K, M, H, _ = tests.shape
    L = H * M
    columns = [chances - hidden.parameters[0]]
    each = min(n / CASES_A_PARAMETER, MAX_PARAMETERS) >= L + K * (M - 1) * L
    for k in range(K):
        was_run = codes[:, k] != MISSING
        output = 1.0 * (codes[:, [k]] == np.arange(M))  # 0 throughout where there is none
        theta, levels = tests[k], chances.reshape(-1, H, M) * was_run[:, None, None]
        if (theta == theta[:, :1]).all():  # it does not depend on the level
            theta, levels = theta[:, :1], levels.sum(axis=1, keepdims=True)
        if each:
            scores = levels[:, None] * (output[:, :, None, None] - theta)
            columns.append(scores[:, 1:].reshape(len(codes), -1))
            continue
        right = levels * (output[:, None, :] - np.einsum("aha->ha", theta))
        if n < 2 * (L + K * (L + M)):  # still too many: one for all right answers of a test
            columns.append(right.sum(axis=(1, 2))[:, None])
            continue
        columns.append(right.reshape(len(codes), -1))
        expected = np.einsum("rha,bha->rb", levels, theta)
        columns.append(output - expected - right.sum(axis=1))
    return np.concatenate(columns, axis=1)


def _residuals(whole: FloatArray, regressors: FloatArray) -> FloatArray:
    """Return the residuals of the columns of ``whole`` after regression on ``regressors``."""
    scale = np.sqrt((regressors**2).sum(axis=0))
    is_informative = scale > LEAST_INFORMATION  # more than a class without cases has
    columns = regressors[:, is_informative] / scale[is_informative]
    gram = columns.T @ columns
    np.fill_diagonal(gram, 1 + RIDGE * max(len(gram), 1))
    return np.asarray(whole - columns @ np.linalg.solve(gram, columns.T @ whole))
