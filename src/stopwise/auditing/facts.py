"""What a log says, in numbers: the second step of an audit, computed once from its patterns."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.auditing.assumptions import Assumption, LabelSpace, RateBounds
from stopwise.auditing.bounds.identify import Ground, IdentifiedSet, ground_of
from stopwise.auditing.bounds.regrets import TINY, minimax_stage, possible_stages, worst_regrets
from stopwise.auditing.evidence.belief import Belief, belief_of
from stopwise.auditing.evidence.dominance import StrongDominanceEvidence, strong_dominance
from stopwise.auditing.evidence.missing import MissingOutputs, Pair, missing_outputs
from stopwise.auditing.evidence.verdict import Verdict, judge
from stopwise.auditing.interval import Interval
from stopwise.auditing.labels.label_evidence import LabelEvidence, label_evidence
from stopwise.auditing.labels.label_plan import LabelPlan, disputed, plan_labels
from stopwise.auditing.labels.labelled_cases import LabelledCase, LabelledCases
from stopwise.auditing.labels.skipped import is_drawn_by_agreement, skipped_by_truth
from stopwise.auditing.rules import Choice, choices
from stopwise.cascade import Cascade, FloatArray
from stopwise.patterns import PatternTable
from stopwise.reading.log_checks import odd_values, own_words


@dataclass(frozen=True, eq=False)
class Facts:
    """What a log of outputs shows at given prices, and what it leaves open; numbers only.

    Parameters
    ----------
    table
        The patterns of outputs, from which everything else is computed.
    confidence
        The chance with which all intervals hold together: at all times, those from labels for a
        number of labels fixed beforehand.
    assumptions
        What the user assumes.
    verdict
        The stage that is sound under weak dominance, with the evidence for each pair.
    strong_dominance
        Whether "a right answer stays right" is refuted.
    estimated_disagreement
        The share in which each pair differs, for estimates: over all cases, with gaps filled from
        cases that show the same; shape (K, K).
    error_bounds
        For each stage the smallest and the largest error rate that is possible.
    largest_differences
        For each pair the largest γ_i - γ_j that is possible; shape (K, K).
    proven_differences
        The same without labels and without intervals of gaps at random: what holds with certainty.
    choices
        What each rule would choose.
    belief
        The error rate of each test under a model of independent errors.
    missing
        What is missing in the log, ``None`` where nothing is.
    labels
        What labels say, if there are any.
    plan
        Which cases to label, if a plan was asked for.
    ground
        The weakest premises that prove the minimax stage best, ``None`` if nothing does.
    n_disputed
        The number of cases in which stages that may still be best disagree; only these can decide.
    n_disputed_labelled
        How many of these have a label.
    odd_values
        Outputs that may be errors of the log and count as answers.
    unshared_values
        The values of a first test that no other test gives, such as a score in buckets; they are no
        answers.
    """

    table: PatternTable
    confidence: float
    assumptions: tuple[Assumption, ...]
    verdict: Verdict
    strong_dominance: StrongDominanceEvidence
    estimated_disagreement: FloatArray
    error_bounds: tuple[Interval, ...]
    largest_differences: FloatArray
    proven_differences: FloatArray
    choices: tuple[Choice, ...]
    belief: Belief
    missing: MissingOutputs | None = None
    labels: LabelEvidence | None = None
    plan: LabelPlan | None = None
    ground: Ground | None = None
    n_disputed: int = 0
    n_disputed_labelled: int = 0
    odd_values: tuple[Hashable, ...] = ()
    unshared_values: tuple[Hashable, ...] = ()

    @property
    def cascade(self) -> Cascade:
        """The tests and their prices."""
        return self.table.cascade

    @cached_property
    def worst_regrets(self) -> FloatArray:
        """For each stage the most by which stopping there can exceed the cost of the best stage."""
        return worst_regrets(self.largest_differences, self.cascade.cumulative_costs)

    @property
    def minimax_stage(self) -> int:
        """The stage with the smallest worst-case regret."""
        return minimax_stage(self.worst_regrets)

    @property
    def guarantee(self) -> float:
        """The worst-case regret of the minimax stage."""
        return float(self.worst_regrets[self.minimax_stage])

    @property
    def is_known(self) -> bool:
        """Whether one stage is best in this log whatever the labels are, given the assumptions."""
        return self.guarantee <= TINY

    @property
    def expected_costs(self) -> FloatArray:
        """What stopping after each test is expected to cost in mistakes; NaN where unknown."""
        return self.belief.error_rates + self.cascade.cumulative_costs

    @property
    def has_telling_labels(self) -> bool:
        """Whether tests disagree on a labelled case; other labels do not compare tests."""
        return self.labels is not None and self.labels.n_telling > 0

    @property
    def possible_stages(self) -> tuple[int, ...]:
        """The stages that may be best given the log, the assumptions and the labels."""
        return possible_stages(self.largest_differences, self.cascade.cumulative_costs)

    def to_dict(self) -> dict[str, Any]:
        """Return every number as plain data for JSON; stages count from 0."""
        table = self.table
        log = {
            "n_cases": table.n_cases,
            "n_blank": table.n_blank,
            "n_patterns": len(table.weights),
            "classes": table.classes,
            "patterns": [[table.value(c) for c in row] for row in table.codes.tolist()],
            "counts": table.weights,
            "disagreement": table.disagreement,
        }
        names = ("worst_regrets", "minimax_stage", "guarantee", "is_known", "possible_stages")
        derived = {name: plain(getattr(self, name)) for name in names}
        return {**plain(self, without=("table",)), "log": plain(log), **derived}


def facts_of(
    table: PatternTable,
    *,
    assumptions: Sequence[Assumption] = (),
    labels: Sequence[LabelledCase] | None = None,
    n_planned: int = 0,
    confidence: float = 0.95,
) -> Facts:
    """Compute all facts of a log from its patterns and labels."""
    cascade, space = table.cascade, LabelSpace.of(assumptions, table)
    alpha = alpha_of_each(confidence)
    gaps, strata = missing_outputs(table), None
    if labels is not None:
        strata = LabelledCases.of(table, labels, space=space)
        if gaps is not None:
            gaps = replace(gaps, p_values_of_labels=skipped_by_truth(table, strata))
        if is_drawn_by_agreement(table, strata):
            strata = LabelledCases.of(table, labels, by_agreement=True, space=space)
    estimated = table.disagreement if gaps is None else gaps.estimated(table.disagreement)
    disagreement, adjustable = table.disagreement, frozenset[Pair]()
    if gaps is not None and any(a.gaps_are_random for a in assumptions):
        disagreement = gaps.adjusted(disagreement)
        adjustable = gaps.adjustable_pairs(cascade)
    verdict = judge(table, disagreement, alpha=alpha, adjustable=adjustable)
    evidence = None if strata is None else label_evidence(strata, verdict, cascade, alpha=alpha)
    label_bounds = () if evidence is None else evidence.as_assumptions()
    # Tests that rarely disagree err about equally often: |γ_i - γ_j| <= P(Y^i ≠ Y^j).
    highs = {(i, j): verdict.pair(i, j).interval.high for i, j in sorted(adjustable)}
    gap_bounds = [
        RateBounds("if gaps are random", *pair, -high, high) for pair, high in highs.items()
    ]
    identified_set = IdentifiedSet(table, (*assumptions, *gap_bounds, *label_bounds))
    differences, costs = identified_set.largest_differences, cascade.cumulative_costs
    proven_differences = differences
    if gap_bounds or label_bounds:
        proven_differences = IdentifiedSet(table, assumptions).largest_differences
    regrets = worst_regrets(differences, costs)
    ground = None
    if regrets.min() <= TINY:
        ground = ground_of(minimax_stage(regrets), table, assumptions, gap_bounds, label_bounds)
    plan = None
    if n_planned:
        plan = plan_labels(table, differences, n_labels=n_planned, alpha=alpha)
    possible = possible_stages(differences, costs)
    belief = belief_of(table, labels, estimated, never_right=space.never_right)
    return Facts(
        table=table,
        confidence=confidence,
        assumptions=tuple(assumptions),
        verdict=verdict,
        strong_dominance=strong_dominance(table, space, alpha=alpha),
        estimated_disagreement=estimated,
        error_bounds=identified_set.error_rates,
        largest_differences=differences,
        proven_differences=proven_differences,
        choices=choices(disagreement, belief.error_rates, regrets, cascade),
        belief=belief,
        missing=gaps,
        labels=evidence,
        plan=plan,
        ground=ground,
        n_disputed=int(table.weights[disputed(table, possible)].sum()),
        n_disputed_labelled=sum(
            n for outputs, _, n in labels or () if len({outputs[k] for k in possible} - {None}) > 1
        ),
        odd_values=tuple(v for v in odd_values(table) if v not in space.never_right),
        unshared_values=own_words(table),
    )


def alpha_of_each(confidence: float) -> float:
    """Return the level of each of three families of intervals: disagreement, dominance, labels.

    Labels have their share even where there are none, so that to ask for some does not change what
    the log says.
    """
    return (1 - confidence) / 3


def guessed_errors(cascade: Cascade, belief: Belief, disagreement: FloatArray) -> FloatArray:
    """Return the rates that decide: the hedged ones or, without a model, a guess up to a constant.

    The guess is for chains: the last test may correct anything from none to all of what it changes,
    so half of that counts, by the estimated ``disagreement``. NaN where there is neither.
    """
    gain = np.asarray(disagreement[:, -1] / 2)
    is_guess = cascade.is_chain and not belief.has_rates and not np.isnan(gain).any()
    return gain if is_guess else belief.hedged_rates


def plain(value: Any, *, without: tuple[str, ...] = ()) -> Any:
    """Return a value as JSON types; numbers that are not finite become ``None``.

    A dataclass becomes a dictionary of its fields, except those in ``without``; an assumption also
    gets its ``kind``.
    """
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        kind = {"kind": type(value).__name__} if isinstance(value, Assumption) else {}
        names = [part.name for part in fields(value) if part.name not in without]
        return {**kind, **{name: plain(getattr(value, name)) for name in names}}
    if isinstance(value, (np.ndarray, np.generic)):
        return plain(value.tolist())
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if isinstance(value, dict):
        return {name: plain(v) for name, v in value.items()}
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if value is None or isinstance(value, (str, int)):
        return value
    return str(value)
