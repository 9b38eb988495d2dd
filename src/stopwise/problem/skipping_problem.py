"""The truth about running tests in any order: which to run next, and where to stop."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import InstanceError
from stopwise.patterns import Pattern, row_numbers
from stopwise.problem.instance import Instance
from stopwise.problem.stopping_problem import check_chain, error_among

MOST = 4_000_000  # patterns times sets of tests


class SkippingProblem:
    """Which test to run next, or whether to stop, if tests may be left out.

    A state has the outputs of the tests in the order of the cascade, up to the last one that was
    run, ``None`` for those left out. The last output is the answer. The best rule follows by
    dynamic programming over the states that occur:
    V(z) = min(error(z), min_j c_j + E V(z and test j)).

    Parameters
    ----------
    instance
        The joint law; a chain.

    >>> from stopwise.cascade import Cascade
    >>> from stopwise.problem.families import nested_errors
    >>> problem = SkippingProblem(nested_errors(Cascade(costs=[0.05, 0.1, 0.1])))
    >>> problem.after((), 1), problem.after((None, 0), 0)
    (((None, 0), (None, 1)), ((0, 0), (1, 0)))
    >>> round(problem.best_cost, 4)  # test 3 alone: it costs .1 and errs in .05
    0.15
    """

    def __init__(self, instance: Instance) -> None:
        check_chain(instance)
        size = 2**instance.cascade.n_stages * len(instance.outputs)
        if size > MOST:
            raise InstanceError(
                f"instance must have at most {MOST:,} patterns x sets of tests, got {size:,}"
            )
        self.instance = instance
        self._rows: dict[Pattern, IntArray] = {(): np.arange(len(instance.outputs))}

    def after(self, state: Pattern, test: int) -> tuple[Pattern, ...]:
        """Return the states that follow if a test is run."""
        rows = self._rows[state]
        outputs = self.instance.outputs[rows, test]
        successors = {ran(state, test, y): rows[outputs == y] for y in np.unique(outputs).tolist()}
        self._rows |= successors
        return tuple(successors)

    def error_of(self, state: Pattern, answer: int) -> float:
        """Return the chance that ``answer``, a code, is wrong in a state that `after` gave."""
        return error_among(self.instance, self._rows[state], answer)

    @cached_property
    def best_cost(self) -> float:
        """The least cost + error of any rule."""
        instance, weights = self.instance, self.instance.probabilities
        K, costs = instance.cascade.n_stages, instance.cascade.costs
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


def ran(state: Pattern, test: int, output: int) -> Pattern:
    """Return the state after a test was run.

    >>> ran((1,), 2, 0), ran((None, 1), 0, 1)
    ((1, None, 0), (1, 1))
    """
    outputs = [*state, *(None,) * (test + 1 - len(state))]
    outputs[test] = output
    return tuple(outputs)
