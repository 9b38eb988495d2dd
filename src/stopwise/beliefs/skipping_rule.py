"""Choose which test to run next, in any order, by backward induction over what was seen.

A state z says for each test what it gave, or that it has not been run. One may stop and err with
chance e(z) = 1 - belief in the answer, or pay for any test j that has not been run:

    V(z) = min(e(z), min_j c_j + Σ_y p(y | z) V(z and test j gave y)).

All follows from one law p of complete patterns and the beliefs given them: chances and beliefs at z
are sums over the patterns that z leaves possible. The law is p = (N(y) + A m(y)) / (N + A) with m
the model's and N(y) the number of cases, those with gaps spread over the patterns that they leave
possible (`spread_law`).

To run the tests in order is one way to choose. So under the same law and beliefs this rule is never
worse than the best rule of the chain.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.prediction import pattern_law
from stopwise.beliefs.prefix_tree import standing_codes
from stopwise.beliefs.spread_law import spread_law
from stopwise.beliefs.stopping_rule import LAW_STRENGTH, Answer
from stopwise.cascade import TOLERANCE, BoolArray, FloatArray, IntArray
from stopwise.patterns import MISSING

MOST_STATES = 40_000
"""The largest number of states, (M + 1)^K, for which the induction is exact."""

STOP = -1


@dataclass(frozen=True, eq=False)
class SkippingRule:
    """What to do in each state; arrays have one axis a test, its last index for "not run"."""

    tests: IntArray  # the test to run next, or -1 to stop
    # V, the least cost + error expected from there on, without what has been paid.
    values: FloatArray
    answers: IntArray  # the code of the answer if one stops, -1 if there is none to give
    errors: FloatArray  # the chance, as believed, that this answer is wrong
    is_reached: BoolArray  # whether the rule ever gets there


def n_states(n_tests: int, n_classes: int) -> int:
    """Return the number of states of the induction."""
    return int((n_classes + 1) ** n_tests)


def skipping_rule(
    model: LatentClasses,
    codes: IntArray,
    weights: FloatArray,
    costs: FloatArray,
    *,
    answer: Answer = "last",
) -> SkippingRule:
    """Return the best way to choose tests under the model's beliefs.

    Parameters
    ----------
    model
        The beliefs.
    codes, weights
        The patterns seen, -1 for no output, and how often; shapes (R, K) and (R,).
    costs
        The price of each test in units of one mistake; shape (K,).
    answer
        ``"last"`` for the output of the last test, in the order of the cascade, among those run;
        ``"believed"`` for the class believed most. One test is always run.
    """
    K, M = codes.shape[1], len(model.classes)
    strength = LAW_STRENGTH * M ** (K - 1)  # of each prefix of K - 1 outputs
    law = spread_law(pattern_law(model), codes, weights, strength=strength)
    every = np.indices((M,) * K).reshape(K, -1).T
    joint = law[..., None] * model.posterior(every).reshape(*law.shape, M)
    for axis in range(K):
        law = np.concatenate([law, law.sum(axis=axis, keepdims=True)], axis=axis)
        joint = np.concatenate([joint, joint.sum(axis=axis, keepdims=True)], axis=axis)
    _add_labels_of_states(model, law, joint)
    states = np.indices(law.shape).reshape(K, -1)
    outputs = np.where(states == M, MISSING, states)
    answers = standing_codes(outputs.T) if answer == "last" else joint.reshape(-1, M).argmax(axis=1)
    right = joint.reshape(-1, M)[np.arange(law.size), answers]
    total = law.reshape(-1)
    errors = 1 - np.divide(right, total, out=np.zeros(law.size), where=total > 0)
    errors[answers == MISSING] = np.inf
    errors[-1] = np.inf  # nothing was run
    return _induced(law, errors.reshape(law.shape), answers.reshape(law.shape), costs)


def _add_labels_of_states(model: LatentClasses, law: FloatArray, joint: FloatArray) -> None:
    """Include the labels of cases that stopped early, by their share of all labels from there."""
    if model.labels is None:
        return
    codes, weights, M = model.labels.codes, model.labels.weights, len(model.classes)
    for state in np.unique(codes[(codes == MISSING).any(axis=1)], axis=0):
        was_run = state != MISSING
        ahead = (codes[:, was_run] == state[was_run]).all(axis=1)
        here = (codes == state).all(axis=1)
        share = weights[here].sum() / weights[ahead].sum()
        place = tuple(np.where(was_run, state, M).tolist())
        own = law[place] * model.posterior(state[None, :])[0]
        joint[place] = share * own + (1 - share) * joint[place]


def _induced(
    law: FloatArray, errors: FloatArray, answers: IntArray, costs: FloatArray
) -> SkippingRule:
    K, M = law.ndim, law.shape[0] - 1
    n_run = (np.indices(law.shape) < M).sum(axis=0)
    values, tests = errors.copy(), np.full(law.shape, STOP)
    for run in range(K - 1, -1, -1):
        for j in range(K):
            before, after = _states_around(j, M)
            ahead = (law[after] * np.minimum(values[after], 1.0)).sum(axis=j, keepdims=True)
            whole = law[before]
            going_on = costs[j] + np.divide(ahead, whole, out=np.ones_like(ahead), where=whole > 0)
            better = (n_run[before] == run) & (going_on < values[before] - TOLERANCE)
            values[before] = np.where(better, going_on, values[before])
            tests[before] = np.where(better, j, tests[before])
    return SkippingRule(tests, values, answers, np.clip(errors, 0.0, 1.0), _reached(tests))


def _reached(tests: IntArray) -> BoolArray:
    """Return the states that the rule reaches from the one in which nothing was run."""
    K, M = tests.ndim, tests.shape[0] - 1
    reached = np.zeros(tests.shape, dtype=bool)
    reached[(M,) * K] = True
    for _ in range(K):
        for j in range(K):
            before, after = _states_around(j, M)
            reached[after] |= reached[before] & (tests[before] == j)
    return reached


def _states_around(j: int, n_classes: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """Return the indices of the states in which test j was not run, and in which it was."""
    axes = (slice(None),) * j
    return (*axes, slice(n_classes, None)), (*axes, slice(n_classes))
