"""What a model of independent errors believes about each test, with labels if there are some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.evidence.per_case import PerCase, per_case_rule
from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.cases import LabelledCase
from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import FloatArray, read_only
from stopwise.patterns import MISSING, PatternTable

MAX_CLASSES = 300  # each test has a table of classes by classes
MAX_SIZE = 5_000  # patterns times classes: intervals of larger tables take too long


@dataclass(frozen=True, eq=False)
class Belief:
    """Error rates under `stopwise.beliefs.LatentClasses`.

    Parameters
    ----------
    error_rates
        How often each test is believed to err; NaN where nothing is believed; shape (K,).
    intervals
        Limits for each of them if the model holds; 0 to 1 where they were not computed.
    spreads
        Standard errors of the differences γ_i - γ_j over cases; shape (K, K).
    is_identified
        Whether three tests, or labels, give the model a meaning.
    is_testable, is_refuted
        Whether some log could refute the model, and whether this one does.
    dependent_tests
        The two tests that depend on each other most, where the model is refuted.
    per_case
        The best rule that decides after each output, where it was computed.
    """

    error_rates: FloatArray
    intervals: tuple[Interval, ...]
    spreads: FloatArray
    is_identified: bool
    is_testable: bool = False
    is_refuted: bool = False
    dependent_tests: tuple[int, ...] = ()
    per_case: PerCase | None = None


def belief_of(table: PatternTable, labels: Sequence[LabelledCase] | None) -> Belief:
    """Fit the model; without three tests or labels there is nothing to believe."""
    K, anything = table.n_stages, (Interval(0.0, 1.0),) * table.n_stages
    if table.agreement_only:  # labels name values, which such a table does not have
        labels = None
    model = LatentClasses.fit(table, labels=labels) if table.n_classes <= MAX_CLASSES else None
    if model is None or not (model.is_identified or model.n_labels):
        nothing = read_only(np.full(K, math.nan))
        return Belief(nothing, anything, read_only(np.zeros((K, K))), False)
    # With labels, their own intervals hold whether the model does or not.
    if not model.n_labels and len(table.codes) * table.n_classes <= MAX_SIZE:
        anything = tuple(Interval(*ends) for ends in model.error_intervals.tolist())
    misfit = model.misfit
    return Belief(
        error_rates=model.error_rates,
        intervals=anything,
        spreads=_spreads(model, table),
        is_identified=True,
        is_testable=misfit.is_testable,
        is_refuted=misfit.is_refuted,
        dependent_tests=misfit.pairs[0].tests if misfit.is_refuted else (),
        per_case=per_case_rule(model, table),
    )


def _spreads(model: LatentClasses, table: PatternTable) -> FloatArray:
    """Return the standard error of each γ_i - γ_j, the parameters taken as they are."""
    codes = model.recode(table)
    chances = model.posterior(codes)
    wrong = np.column_stack([
        np.where(
            column == MISSING,
            1 - chances @ np.diagonal(model.confusion[k]),
            1 - chances[np.arange(len(codes)), column],
        )
        for k, column in enumerate(codes.T)
    ])  # fmt: skip
    share = table.probabilities
    mean = share @ wrong
    second = (wrong * share[:, None]).T @ wrong
    cov = second - np.outer(mean, mean)
    variance = np.diag(cov)[:, None] + np.diag(cov)[None, :] - 2 * cov
    return read_only(np.sqrt(np.maximum(variance, 0.0) / table.n_cases))
