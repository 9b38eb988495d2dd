"""What each stage costs in all under a belief: its price and the mistakes that are expected."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.completion import completed_disagreement
from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import Cascade, FloatArray, read_only
from stopwise.errors import LogError
from stopwise.patterns import PatternTable

HEDGE = 0.15
HALVING_LABELS = 3.0  # labels after which the hedge is half as large


def stage_costs(model: LatentClasses, table: PatternTable, cascade: Cascade) -> FloatArray:
    """Return the price and the expected mistakes of each stage, in error units; the least is best.

    Without labels the mistakes are not quite those of the belief. Tests that share their errors
    look better than they are, the early ones most, and often nothing in the table shows it. So a
    share `HEDGE` goes to the assumption of the proven rules, that the last test is right where
    another differs: C_k + (1 - h) γ_k + h P(Y^k ≠ Y^K). With n labels h falls like 1 / n. Where
    outputs are missing, P is the share over all cases, as `completed_disagreement` estimates it.

    Infinite for a stage whose test was never run: nothing is known about it.

    Parameters
    ----------
    model
        The belief, with labels or without.
    table
        The cases that the mean is over; its classes must be those that the model knows.
    cascade
        The prices.

    >>> rows = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    >>> cascade = Cascade(costs=[0, 0.05, 0.05])
    >>> table = PatternTable.from_rows(rows, [400, 20, 40, 80, 80, 400], cascade)
    >>> stage_costs(LatentClasses.fit(table), table, cascade).round(2)
    array([0.16, 0.09, 0.12])
    """
    if len({cascade.n_stages, table.codes.shape[1], model.n_tests}) > 1:
        raise LogError(
            f"model, table and cascade must have the same tests, got {model.n_tests}, "
            f"{table.codes.shape[1]} and {cascade.n_stages}"
        )
    errors = model.errors(model.recode(table), table.weights)
    if table.cascade.is_chain:
        errors = hedged(errors, completed_disagreement(table)[:, -1], model.n_labels)
    return read_only(np.where(np.isnan(errors), np.inf, errors) + cascade.cumulative_costs)


def hedged(errors: FloatArray, differ: FloatArray, n_labels: int) -> FloatArray:
    """Return error rates of a chain as `stage_costs` has them; shape (K,).

    ``differ`` is how often each test differs from the last one, NaN where that is unknown.
    """
    hedge = HEDGE * HALVING_LABELS / (HALVING_LABELS + n_labels)
    return np.where(np.isnan(differ), errors, (1 - hedge) * errors + hedge * differ)
