"""What each stage costs in all under a belief: its price and the mistakes that are expected."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import Cascade, FloatArray, read_only
from stopwise.errors import LogError
from stopwise.patterns import PatternTable


def stage_costs(model: LatentClasses, table: PatternTable, cascade: Cascade) -> FloatArray:
    """Return C_k + γ_k for each stage, in error units, where γ_k is what the belief expects.

    Infinite for a stage whose test was never run: nothing is known about it. The best single stage
    under the belief is the argmin.

    Parameters
    ----------
    model
        The belief, with labels or without.
    table
        The cases that the mean is over; its classes must be those that the model knows.
    cascade
        The prices.

    >>> rows = [[0, 0, 0], [0, 0, 1], [0, 1, 1], [1, 1, 1], [1, 0, 0]]
    >>> cascade = Cascade(costs=[0, 0.05, 0.05])
    >>> table = PatternTable.from_rows(rows, [400, 10, 90, 400, 90], cascade)
    >>> stage_costs(LatentClasses.fit(table), table, cascade).round(2)
    array([0.18, 0.05, 0.11])
    """
    if len({cascade.n_stages, table.codes.shape[1], model.n_tests}) > 1:
        raise LogError(
            f"model, table and cascade must have the same tests, got {model.n_tests}, "
            f"{table.codes.shape[1]} and {cascade.n_stages}"
        )
    codes = model.recode(table)
    errors = model.errors(codes, table.weights)
    return read_only(np.where(np.isnan(errors), np.inf, errors) + cascade.cumulative_costs)
