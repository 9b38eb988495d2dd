"""The truth about running tests in any order: what the best rule costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import InstanceError
from stopwise.patterns import row_numbers
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import check_chain

MOST = 4_000_000  # patterns times sets of tests


def best_cost_in_any_order(instance: Instance) -> float:
    """Return the least cost + error if any test may be run next, and tests may be left out.

    A state z has the outputs of the tests that were run. The answer is the output of the last of
    them in the order of the cascade. The best rule follows by dynamic programming over the states
    that occur: V(z) = min(error(z), min_j c_j + E V(z and test j)).

    Parameters
    ----------
    instance
        The joint law; a chain.

    >>> from stopwise.cascade import Cascade
    >>> from stopwise.problem.families import nested_errors
    >>> world = nested_errors(Cascade(costs=[0.05, 0.1, 0.1]))
    >>> round(best_cost_in_any_order(world), 4)  # test 3 alone: it costs .1 and errs in .05
    0.15
    """
    check_chain(instance)
    K, costs, weights = instance.cascade.n_stages, instance.cascade.costs, instance.probabilities
    size = 2**K * len(weights)
    if size > MOST:
        raise InstanceError(
            f"instance must have at most {MOST:,} patterns x sets of tests, got {size:,}"
        )
    values: dict[int, FloatArray] = {}  # by the set of tests that were run, for each pattern
    for tests in reversed(range(2**K)):
        columns = [k for k in range(K) if tests >> k & 1]
        numbers = row_numbers(instance.outputs[:, columns])
        group = np.unique(numbers, return_inverse=True)[1]
        best = np.full(len(group), np.inf)
        if columns:
            best = _means(group, weights, ~instance.is_right[:, columns[-1]])
        for k in set(range(K)) - set(columns):
            best = np.minimum(best, costs[k] + _means(group, weights, values[tests | 1 << k]))
        values[tests] = best
    return float(values[0][0])


def _means(group: IntArray, weights: FloatArray, values: Any) -> FloatArray:
    """Return for each row the weighted mean of values over the rows of its group."""
    total = np.bincount(group, weights=weights)
    return np.asarray((np.bincount(group, weights=weights * values) / total)[group])
