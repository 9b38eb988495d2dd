"""What a model of independent errors believes about each test, with labels if there are some."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.evidence.per_case import MAX_SIZE, PerCase, per_case_rule
from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.labelled_cases import LabelledCase
from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.stages import hedged
from stopwise.cascade import Cascade, FloatArray, read_only
from stopwise.patterns import MISSING, PatternTable

MAX_CLASSES = 300  # each test has a table of classes by classes
MAX_LEFT_OUT = 50_000  # patterns times classes times tests: more take too long to fit again


@dataclass(frozen=True, eq=False)
class Belief:
    """Error rates under `stopwise.beliefs.LatentClasses`.

    Parameters
    ----------
    error_rates
        How often each test is believed to err; NaN where nothing is believed; shape (K,).
    hedged_rates
        What decides in their place: hedged against shared errors as in
        `stopwise.beliefs.stage_costs`; shape (K,).
    intervals
        Limits for ``error_rates`` if the model holds; 0 to 1 where they were not computed.
    spreads
        Standard errors of the differences γ_i - γ_j over cases; shape (K, K).
    is_identified
        Whether outputs alone identify the error rates; otherwise they come from labels.
    is_testable, is_refuted
        Whether some log could refute the model, and whether this one does.
    left_out
        The hedged rates with one test after the other left out, NaN for itself; empty with
        fewer than four tests, with labels, for large tables and where the model is refuted.
    dependent_tests
        The two tests that depend on each other most, where the model is refuted.
    per_case
        The best rule that decides after each output, where it was computed.
    """

    error_rates: FloatArray
    hedged_rates: FloatArray
    intervals: tuple[Interval, ...]
    spreads: FloatArray
    is_identified: bool
    is_testable: bool = False
    is_refuted: bool = False
    left_out: tuple[FloatArray, ...] = ()
    dependent_tests: tuple[int, ...] = ()
    per_case: PerCase | None = None

    @property
    def has_rates(self) -> bool:
        """Whether there are error rates to go by."""
        return not np.isnan(self.error_rates).any()


def belief_of(
    table: PatternTable,
    labels: Sequence[LabelledCase] | None,
    disagreement: FloatArray,
    *,
    never_right: Sequence[Hashable] = (),
) -> Belief:
    """Fit the model; without three tests or labels there is nothing to believe.

    ``disagreement`` is what the hedge goes by, estimated over all cases; shape (K, K). An output
    that is never right is missing to the model, and counts as a mistake.
    """
    K, intervals = table.n_stages, (Interval(0.0, 1.0),) * table.n_stages
    answers = _without(table, never_right)
    cases = [(_answers(outputs, never_right), label, n) for outputs, label, n in labels or ()]
    model = LatentClasses.fit(answers, labels=cases) if table.n_classes <= MAX_CLASSES else None
    if model is None or not (model.is_identified or model.n_labels):
        nothing = read_only(np.full(K, math.nan))
        return Belief(nothing, nothing, intervals, read_only(np.zeros((K, K))), False)
    wrong, shares = _wrong(model, table), table.probabilities
    differ = disagreement[:, -1] if table.cascade.is_chain else np.full(K, math.nan)
    if len(table.codes) * table.n_classes <= MAX_SIZE and answers is table:
        intervals = tuple(Interval(*limits) for limits in model.error_intervals.tolist())
    misfit, rates = model.misfit, shares @ wrong
    return Belief(
        error_rates=read_only(rates),
        hedged_rates=read_only(hedged(rates, differ, model.n_labels)),
        intervals=intervals,
        spreads=_spreads(wrong, shares, table.n_cases),
        is_identified=model.is_identified,
        is_testable=misfit.is_testable,
        is_refuted=misfit.is_refuted,
        left_out=() if cases or misfit.is_refuted else _left_out(answers, differ),
        dependent_tests=misfit.pairs[0].tests if misfit.is_refuted else (),
        per_case=per_case_rule(model, answers),
    )


def _left_out(table: PatternTable, differ: FloatArray) -> tuple[FloatArray, ...]:
    """Return error rates with each test left out, so that a pair with shared errors is split."""
    K = table.n_stages
    if K < 4 or table.agreement_only or table.codes.size * table.n_classes > MAX_LEFT_OUT:
        return ()
    results, free = [], Cascade([0.0] * (K - 1))
    for test in range(K):
        others = np.delete(np.arange(K), test)
        rows = [[table.value(c) for c in row] for row in table.codes[:, others].tolist()]
        model = LatentClasses.fit(PatternTable.from_rows(rows, table.weights, free))
        rates = np.full(K, math.nan)
        rates[others] = model.error_rates
        results.append(read_only(hedged(rates, differ, 0)))
    return tuple(results)


def _without(table: PatternTable, never_right: Sequence[Hashable]) -> PatternTable:
    """Return the table with gaps for outputs that are never right."""
    if not never_right:
        return table
    rows = [_answers([table.value(c) for c in row], never_right) for row in table.codes.tolist()]
    return PatternTable.from_rows(rows, table.weights, table.cascade)


def _answers(outputs: Sequence[Hashable], never_right: Sequence[Hashable]) -> list[Hashable]:
    return [None if value in never_right else value for value in outputs]


def _wrong(model: LatentClasses, table: PatternTable) -> FloatArray:
    """Return for each pattern the chance that each test is wrong; shape (R, K)."""
    place = {value: code for code, value in enumerate(model.classes)}
    codes_of_model = [place.get(value, MISSING) for value in table.classes]
    codes = np.array([*codes_of_model, MISSING])[table.codes]
    is_never_right = table.shown & (codes == MISSING)
    return np.where(is_never_right, 1.0, model.wrong(codes))


def _spreads(wrong: FloatArray, shares: FloatArray, n_cases: int) -> FloatArray:
    """Return the standard error of each γ_i - γ_j if the parameters of the model were known."""
    mean = shares @ wrong
    cov = (wrong * shares[:, None]).T @ wrong - np.outer(mean, mean)
    variance = np.diag(cov)[:, None] + np.diag(cov)[None, :] - 2 * cov
    return read_only(np.sqrt(np.maximum(variance, 0.0) / n_cases))
