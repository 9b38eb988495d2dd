"""The truth about tests in any order, against recursion over plain rows."""

from __future__ import annotations

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import InstanceError
from stopwise.problem.skipping_problem import best_cost_in_any_order
from stopwise.problem.stopping_problem import StoppingProblem


def random_instance(seed, K=3, M=2):
    rng = np.random.default_rng(seed)
    rows = np.indices((M,) * (K + 1)).reshape(K + 1, -1).T
    right = 1.0 + 6 * (rows[:, 1:] == rows[:, :1]).sum(axis=1)
    law = rng.dirichlet(np.ones(len(rows))) * right
    joint = (law / law.sum()).reshape((M,) * (K + 1))
    return sw.Instance(joint, sw.Cascade(costs=rng.uniform(0.01, 0.15, K).tolist()))


def least(instance, state):
    """The least cost + error from a state on: a dictionary from tests that were run to outputs."""
    rows = [
        r
        for r, row in enumerate(instance.outputs.tolist())
        if all(row[k] == y for k, y in state.items())
    ]
    weights = instance.probabilities[rows] / instance.probabilities[rows].sum()
    best = weights @ ~instance.is_right[rows, max(state)] if state else np.inf
    for k in set(range(instance.cascade.n_stages)) - set(state):
        given = instance.outputs[rows, k]
        ahead = sum(
            weights[given == y].sum() * least(instance, {**state, k: int(y)}) for y in set(given)
        )
        best = min(best, instance.cascade.costs[k] + ahead)
    return best


@pytest.mark.parametrize("seed", range(6))
def test_the_best_cost_is_that_of_the_best_of_all_rules(seed):
    instance = random_instance(seed, K=3, M=2 + seed % 2)
    best_cost = best_cost_in_any_order(instance)
    assert best_cost == pytest.approx(least(instance, {}))
    assert best_cost <= StoppingProblem(instance).best_cost + 1e-12


def test_trees_and_too_many_sets_of_tests_are_refused():
    tree = sw.Cascade(costs=[0, 0.1, 0.1], parents=[None, 0, 0])
    with pytest.raises(InstanceError, match="instance must be on a chain"):
        best_cost_in_any_order(random_instance(0).with_cascade(tree))
    rows = np.random.default_rng(0).integers(0, 9, (500, 14))
    wide = sw.Recording(rows[:, 1:], rows[:, 0], sw.Cascade(costs=[0.1] * 13)).instance
    with pytest.raises(InstanceError, match=r"at most 4,000,000 patterns x sets of tests, got 4,0"):
        best_cost_in_any_order(wide)
