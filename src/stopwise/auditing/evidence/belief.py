"""What a model of independent errors believes about each test, with labels if there are some."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.cases import LabelledCase
from stopwise.beliefs.model import LatentClasses
from stopwise.cascade import FloatArray, read_only
from stopwise.patterns import PatternTable

MAX_INTERVALS = 5_000  # patterns times classes: intervals of larger tables take too long
MAX_CLASSES = 300  # each test has a table of classes by classes


@dataclass(frozen=True, eq=False)
class Belief:
    """Error rates under `stopwise.beliefs.LatentClasses`.

    Parameters
    ----------
    error_rates
        How often each test is believed to err; NaN where nothing is believed; shape (K,).
    intervals
        Limits for each of them, if the model holds.
    is_identified
        Whether the log has enough tests for the model to mean something without labels.
    """

    error_rates: FloatArray
    intervals: tuple[Interval, ...]
    is_identified: bool


def belief_of(table: PatternTable, labels: Sequence[LabelledCase] | None) -> Belief:
    """Fit the model; without three tests or labels there is nothing to believe."""
    K, anything = table.n_stages, (Interval(0.0, 1.0),) * table.n_stages
    model = LatentClasses.fit(table, labels=labels) if table.n_classes <= MAX_CLASSES else None
    if model is None or not (model.is_identified or model.n_labels):
        return Belief(read_only(np.full(K, np.nan)), anything, False)
    if model.n_labels:  # their own intervals hold whether the model does or not
        return Belief(model.error_rates, anything, True)
    if len(table.codes) * table.n_classes <= MAX_INTERVALS:
        anything = tuple(Interval(*ends) for ends in model.error_intervals.tolist())
    return Belief(model.error_rates, anything, model.is_identified)
