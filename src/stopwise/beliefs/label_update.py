"""What labels add to a belief: they update patterns, those that agree alike, and the tests.

A label belongs to a pattern of outputs and updates the belief *given that pattern*. So labels may
be sampled more often from some patterns than from others, as a plan does; they need only be random
within a pattern. From coarse to fine:

1. *Tests.* b(a) ∝ q(a)^(1 + δ) exp(Σ_k δ_k [y_k = a] + δ_shown [a is shown]): each test gets more
   or less weight than the model q gives it, and the model itself more or less. The δ have normal
   priors around 0; their widths are averaged by evidence (Laplace).
2. *Agreement.* Among cases in which the same tests agree, those that give the same answer are right
   in proportion to their labels and to their expected share, which counts like A labels.
3. *Pattern.* The same for each answer to the very same outputs.

All three steps use the same labels, and with few labels a single wrong one matters: with n labels
in all, steps 1 and 2 are shrunk by n / (n + 3).

A is one of the `STRENGTHS`, which are averaged by how likely each makes the labels: small where
they contradict the model, large where they confirm it. As the labels of a pattern grow, its belief
tends to the share of each label, however wrong the model is: the last step is a mean with weights n
and A.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from stopwise.beliefs.labelled_patterns import LabelledPatterns
from stopwise.cascade import BoolArray, FloatArray, IntArray
from stopwise.patterns import MISSING, agreement_of_rows

STRENGTHS = np.array([3.0, 10.0, 30.0, 100.0])
# Standard deviations of δ_k and of δ, all pairs of which are averaged, and of δ_shown.
TEST_WIDTHS, MODEL_WIDTHS, SHOWN_WIDTH = (0.0, 0.3, 1.0, 3.0), (0.0, 0.3, 1.0), 3.0
CAUTION = 3.0  # labels with which steps 1 and 2 are shrunk by half
FLOOR = 0.01  # of the model's belief is spread over all answers, so that labels can move it
MAX_FITTED = 1_000  # labelled patterns that the weights of the tests are fitted to
NEWTON_STEPS, LONGEST_STEP = 25, 2.0


@dataclass(frozen=True, eq=False)
class LabelUpdate:
    """What turns the belief of the model into a belief with labels."""

    weights: FloatArray  # δ_1, …, δ_K, δ and δ_shown; shape (K + 2,)
    groups: IntArray  # which tests agree in labelled cases; shape (G, K)
    # By how much an answer is likelier than the model says, in the column of the first test that
    # gave it; the last column is for answers that no test gave; shape (G, K + 1).
    factors: FloatArray
    patterns: IntArray  # the outputs of labelled cases; shape (P, K)
    counts: FloatArray  # how often each answer was the label; shape (P, M)
    odds: FloatArray  # the chance of each of the `STRENGTHS` for patterns

    @classmethod
    def fit(cls, cases: LabelledPatterns, model: FloatArray) -> LabelUpdate:
        """Return the update for labelled ``cases`` whose beliefs by the model are ``model``."""
        K, M = cases.codes.shape[1], model.shape[1]
        care = cases.n_labels / (cases.n_labels + CAUTION)
        weights = care * _test_weights(cases, model)
        belief = _tilted(cases.codes, model, weights)
        agreement = agreement_of_rows(cases.codes, keep_gaps=True)
        groups, group = np.unique(agreement, axis=0, return_inverse=True)
        firsts = first_tests(cases.codes, M)
        expected, counts = np.zeros((2, len(groups), K + 1))
        np.add.at(expected, (group[:, None], firsts), cases.weights[:, None] * belief)
        np.add.at(counts, (group, firsts[np.arange(len(firsts)), cases.labels]), cases.weights)
        expected /= np.maximum(counts.sum(axis=1, keepdims=True), 1e-300)
        shares = _updated(expected, counts, _odds(expected, counts))
        factors = np.where(expected > 0, shares / (expected + 1e-300), 1.0) ** care
        patterns, first, row = np.unique(
            cases.codes, axis=0, return_index=True, return_inverse=True
        )
        counts = np.zeros((len(patterns), M))
        np.add.at(counts, (row, cases.labels), cases.weights)
        bare = cls(weights, groups, factors, patterns[:0], counts[:0], np.ones(1))
        odds = _odds(bare.apply(patterns, model[first]), counts)
        return cls(weights, groups, factors, patterns, counts, odds)

    def apply(self, codes: IntArray, model: FloatArray) -> FloatArray:
        """Return the beliefs of patterns with labels; shape (R, M)."""
        belief = _tilted(codes, model, self.weights)
        place = matching_rows(self.groups, agreement_of_rows(codes, keep_gaps=True))
        (rows,) = np.nonzero(place >= 0)
        firsts = first_tests(codes[rows], model.shape[1])
        belief[rows] *= self.factors[place[rows, None], firsts]
        belief[rows] /= belief[rows].sum(axis=1, keepdims=True)
        place = matching_rows(self.patterns, codes)
        (rows,) = np.nonzero(place >= 0)
        belief[rows] = _updated(belief[rows], self.counts[place[rows]], self.odds)
        return belief


def _updated(expected: FloatArray, counts: FloatArray, odds: FloatArray) -> FloatArray:
    """Return the expected shares updated by counts of labels, averaged over the strengths."""
    n = counts.sum(axis=1, keepdims=True)
    total = np.zeros_like(expected)
    for A, chance in zip(STRENGTHS, odds, strict=False):
        total += chance * (A * expected + counts) / (A + n)
    return total


def _odds(expected: FloatArray, counts: FloatArray) -> FloatArray:
    """Return the chance of each of the `STRENGTHS` if shares have Dirichlet laws; shape (S,)."""
    from scipy.special import gammaln

    n = counts.sum(axis=1)
    logs = []
    for A in STRENGTHS:
        prior = A * np.maximum(expected, 1e-6)
        each = (gammaln(prior + counts) - gammaln(prior)).sum(axis=1)
        logs.append(float((each + gammaln(A) - gammaln(A + n)).sum()))
    odds = np.exp(np.array(logs) - max(logs))
    return np.asarray(odds / odds.sum())


def is_unanimous(codes: IntArray) -> BoolArray:
    """Whether all outputs of each pattern are the same; shape (R,)."""
    differs = (codes != codes.max(axis=1, keepdims=True)) & (codes != MISSING)
    return np.asarray(~differs.any(axis=1))


def first_tests(codes: IntArray, n_classes: int) -> IntArray:
    """Return for each class the first test that gave it, K where none did; shape (R, M)."""
    R, K = codes.shape
    firsts = np.full((R, n_classes), K)
    for k in reversed(range(K)):
        (rows,) = np.nonzero(codes[:, k] != MISSING)
        firsts[rows, codes[rows, k]] = k
    return firsts


def matching_rows(table: IntArray, rows: IntArray) -> IntArray:
    """Return the place of each row in ``table``, whose rows differ; -1 if it is not there."""
    table, rows = np.ascontiguousarray(table), np.ascontiguousarray(rows)
    place = {key.tobytes(): r for r, key in enumerate(table)}
    return np.array([place.get(key.tobytes(), -1) for key in rows], dtype=np.int64)


def _features(codes: IntArray, log_model: FloatArray) -> FloatArray:
    """Return the features that the weights of `LabelUpdate` belong to; shape (R, M, K + 2)."""
    R, K = codes.shape
    features = np.zeros((R, log_model.shape[1], K + 2))
    features[:, :, :K] = codes[:, None, :] == np.arange(log_model.shape[1])[:, None]
    features[:, :, K] = log_model
    features[:, :, K + 1] = features[:, :, :K].max(axis=2)
    features[is_unanimous(codes)] = 0.0
    return features


def _log_model(model: FloatArray) -> FloatArray:
    floor = FLOOR / model.shape[1]
    return np.asarray(np.log(model * (1 - FLOOR) + floor))


def _tilted(codes: IntArray, model: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the beliefs after step 1, without a table of all features."""
    K = codes.shape[1]
    score = (1 + weights[K]) * _log_model(model)
    score += np.where(first_tests(codes, model.shape[1]) < K, weights[K + 1], 0.0)
    for k in range(K):
        (rows,) = np.nonzero(codes[:, k] != MISSING)
        score[rows, codes[rows, k]] += weights[k]
    score -= score.max(axis=1, keepdims=True)
    np.exp(score, out=score)
    score /= score.sum(axis=1, keepdims=True)
    unanimous = is_unanimous(codes)
    score[unanimous] = model[unanimous]
    return score


def _test_weights(cases: LabelledPatterns, model: FloatArray) -> FloatArray:
    """Return the posterior means of the δ, averaged over the widths of their priors."""
    most = np.argsort(-cases.weights, kind="stable")[:MAX_FITTED]
    offset = _log_model(model[most])
    features = _features(cases.codes[most], offset)
    K = cases.codes.shape[1]
    scales = np.array(
        [
            [*(width,) * K, model_width, SHOWN_WIDTH]
            for width, model_width in product(TEST_WIDTHS, MODEL_WIDTHS)
        ]
    )
    coefficients, evidence = _newton(
        features, scales, offset, cases.labels[most], cases.weights[most]
    )
    odds = np.exp(evidence - evidence.max())
    return np.asarray(odds @ (scales * coefficients) / odds.sum())


def _newton(
    features: FloatArray,
    scales: FloatArray,
    offset: FloatArray,
    labels: IntArray,
    weights: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Return the likeliest coefficients and the log evidence for each width of the priors.

    Feature d times ``scales[s, d]`` has a standard normal coefficient; shapes (S, D) and (S,).
    """
    S, D = scales.shape
    of_label = features[np.arange(len(labels)), labels]
    coefficients, step = np.zeros((S, D)), np.ones((S, D))
    pairs = (features[:, :, :, None] * features[:, :, None, :]).reshape(*features.shape[:2], D * D)
    for _ in range(NEWTON_STEPS):
        score = offset + np.tensordot(scales * coefficients, features, axes=(1, 2))
        score -= score.max(axis=2, keepdims=True)
        p = np.exp(score)
        p /= p.sum(axis=2, keepdims=True)
        weighted = p * weights[:, None]
        mean = np.einsum("sra,rad->srd", p, features)
        spread = np.tensordot(weighted, pairs, axes=2).reshape(S, D, D)
        spread -= np.einsum("srd,sre,r->sde", mean, mean, weights)
        curvature = scales[:, :, None] * scales[:, None, :] * spread + np.eye(D)
        if np.abs(step).max() < 1e-5:
            break
        slope = scales * np.einsum("srd,r->sd", of_label - mean, weights) - coefficients
        step = np.linalg.solve(curvature, slope[:, :, None])[:, :, 0]
        step *= np.minimum(1, LONGEST_STEP / (np.abs(step).max(axis=1, keepdims=True) + 1e-12))
        coefficients = coefficients + step
    fit = np.log(p[:, np.arange(len(labels)), labels] + 1e-300) @ weights
    _, volume = np.linalg.slogdet(curvature)
    return coefficients, fit - 0.5 * (coefficients**2).sum(axis=1) - 0.5 * volume
