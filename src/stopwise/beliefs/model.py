"""Beliefs about the right answer: latent classes from outputs alone, and labels if any."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.beliefs.cases import Cases
from stopwise.beliefs.complexity import Complexity, complexities
from stopwise.beliefs.explain import explanation
from stopwise.beliefs.fitting import choose_fit, continued_fit, later_is_right, votes_and_others
from stopwise.beliefs.hidden import Hidden
from stopwise.beliefs.intervals import Z, spreads
from stopwise.beliefs.label_update import LabelUpdate
from stopwise.beliefs.labelled_patterns import LabelledPatterns
from stopwise.beliefs.misfit import UNTESTABLE, Misfit, independence
from stopwise.cascade import FloatArray, IntArray, read_only
from stopwise.checks import whole_number
from stopwise.errors import OutputsError, SettingError
from stopwise.outputs import outputs_in_order, present
from stopwise.patterns import MISSING, PatternTable


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """The right answer is a hidden class, and given it the tests err independently.

    Made by `fit`. See docs/beliefs.md for what this assumes, what refutes it and where it fails.

    Parameters
    ----------
    classes
        The possible right answers.
    hidden
        The fitted law; `prior` and `confusion` are parts of it.
    table
        What it was fitted to.
    complexity
        How simple the model is: the prior's weight, and the levels of difficulty.
    is_identified
        Whether three tests that vary and are not copies of each other were seen together after
        outputs of every kind, and do not look nested. Otherwise many error rates fit the table,
        and where two tests differ the later one is assumed to be right.
    has_converged
        Whether the iteration converged.
    is_settled
        False if another explanation of shared errors fits as well and gives other error rates.
    labels
        The labelled cases, or ``None`` if there are none.
    update
        What they change.

    >>> from stopwise.cascade import Cascade
    >>> rows = [[0, 0, 0], [0, 0, 1], [0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 1, 1]]
    >>> table = PatternTable.from_rows(rows, [400, 20, 40, 80, 80, 400], Cascade(costs=[1, 2, 3]))
    >>> model = LatentClasses.fit(table)
    >>> model.error_rates.round(2)
    array([0.16, 0.04, 0.02])
    >>> {y: round(chance, 2) for y, chance in model.belief([0, 1, 1]).items()}
    {0: 0.02, 1: 0.98}
    """

    classes: tuple[Hashable, ...]
    hidden: Hidden = field(repr=False)
    table: PatternTable = field(repr=False)
    complexity: Complexity
    is_identified: bool
    has_converged: bool
    is_settled: bool = True
    labels: LabelledPatterns | None = field(default=None, repr=False)
    update: LabelUpdate | None = field(default=None, repr=False)

    @classmethod
    def fit(
        cls,
        table: PatternTable,
        *,
        labels: Iterable[Sequence[Any]] | None = None,
        seed: int = 0,
        start: LatentClasses | None = None,
    ) -> LatentClasses:
        """Fit the model to a table of patterns.

        Parameters
        ----------
        table
            The patterns and how many cases show each. Whole numbers are counts; anything else is a
            law, known exactly. A missing output is skipped: the likelihood stays valid if earlier
            outputs decided whether a test was run.
        labels
            Cases whose right answer is known: ``(outputs, label)`` or ``(outputs, label, times)``,
            ``None`` for a missing output. Some patterns may be sampled more often than others.
        seed
            Seed of the split that chooses how simple the model is, and of the random start.
        start
            An earlier fit to start from: faster, with the same complexity. A fit to the very same
            table is reused, with these labels in place of its own.
        """
        cases = Cases.of(table)
        seed = whole_number("seed", seed, SettingError, least=0)
        if start is not None and not isinstance(start, LatentClasses):
            raise SettingError(f"start must be a LatentClasses, got {start!r}")
        rows = () if labels is None else labels
        if not isinstance(rows, Iterable):
            raise OutputsError(f"labels must be cases with their label, got {labels!r}")
        labelled, classes = LabelledPatterns.from_rows(
            rows, table.classes, cases.codes.shape[1], by_agreement=table.agreement_only
        )
        if start is not None and start.table is table:  # only the labels may differ
            hidden = start.hidden.cut(len(table.classes)).extended(len(classes))
            model = replace(start, classes=classes, hidden=hidden, labels=None, update=None)
        else:
            model = cls._fit_table(table, cases, classes, start, np.random.default_rng(seed))
        return model._with_labels(labelled) if labelled.n_labels else model

    @classmethod
    def _fit_table(
        cls,
        table: PatternTable,
        cases: Cases,
        classes: tuple[Hashable, ...],
        start: LatentClasses | None,
        rng: np.random.Generator,
    ) -> LatentClasses:
        is_identified, is_settled = True, True
        if start is not None and start._applies_to(cases):
            places = [start._place.get(value) for value in table.classes]
            fit = continued_fit(cases, start.complexity, start.hidden.renamed(places))
            is_settled = start.is_settled
        elif choices := complexities(cases, rng):
            fit, is_settled = choose_fit(cases, choices, votes_and_others(cases, rng))
        else:
            is_identified, fit = False, later_is_right(cases)
        return cls(
            classes,
            fit.hidden.extended(len(classes)),
            table,
            fit.complexity,
            is_identified,
            fit.has_converged,
            is_settled,
        )

    def _with_labels(self, labels: LabelledPatterns) -> LatentClasses:
        """Return the model with these labels in place of its own."""
        bare = replace(self, labels=None, update=None)
        update = LabelUpdate.fit(labels, bare.posterior(labels.codes))
        return replace(bare, labels=labels, update=update)

    def redrawn(self, hidden: Hidden, rng: np.random.Generator) -> LatentClasses:
        """Return the model with another law, and with its labels weighted at random."""
        other = replace(self, hidden=hidden.extended(len(self.classes)))
        if self.labels is None:
            return other
        weights = rng.gamma(self.labels.weights)
        return other._with_labels(replace(self.labels, weights=weights))

    def _applies_to(self, cases: Cases) -> bool:
        """Whether a fit to ``cases`` may start from this one."""
        return self.is_identified and self.n_tests == cases.design.n_tests and cases.tell_rates

    @property
    def prior(self) -> FloatArray:
        """How often each class is right; shape (M,)."""
        return self.hidden.prior

    @property
    def confusion(self) -> FloatArray:
        """The chance that test k says b where a is right, ``[k, a, b]``; shape (K, M, M)."""
        return self.hidden.confusion

    @property
    def n_tests(self) -> int:
        """The number of tests, K."""
        return int(self.table.codes.shape[1])

    @property
    def n_cases(self) -> float:
        """The number of cases it was fitted to; infinite for a law."""
        return math.inf if self.cases.is_law else float(self.table.n_cases)

    @cached_property
    def cases(self) -> Cases:
        """What it was fitted to."""
        return Cases.of(self.table)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return 0 if self.labels is None else self.labels.n_labels

    def posterior(self, codes: IntArray) -> FloatArray:
        """Return the chance of each answer for patterns given as codes, -1 for a missing output.

        Labels are included. Without any output it is the prior.

        Parameters
        ----------
        codes
            Indices into ``classes``; shape (R, K).
        """
        codes = np.asarray(codes, dtype=np.int64)
        chances = self.hidden.chances(codes).sum(axis=1)
        return chances if self.update is None else self.update.apply(codes, chances)

    def belief(self, outputs: Sequence[Any]) -> dict[Hashable, float]:
        """Return the chance of each answer after ``outputs``, ``None`` where one is missing."""
        values = outputs_in_order(outputs)
        if len(values) > self.n_tests:
            raise OutputsError(f"outputs must be at most {self.n_tests}, got {len(values)}")
        codes = np.full((1, self.n_tests), MISSING)
        for k, output in enumerate(map(present, values)):
            if output is None:
                continue
            if output not in self._place:
                names = ", ".join(map(repr, self.classes[:20]))
                raise OutputsError(f"outputs must be among {names}, got {output!r} at test {k + 1}")
            codes[0, k] = self._place[output]
        return dict(zip(self.classes, self.posterior(codes)[0].tolist(), strict=True))

    def recode(self, table: PatternTable) -> IntArray:
        """Return the codes of ``table`` as indices into the classes of the model."""
        if table.classes == self.classes[: len(table.classes)]:
            return table.codes
        unknown = [value for value in table.classes if value not in self._place]
        if unknown:
            raise OutputsError(f"outputs must be values that the model knows, got {unknown[0]!r}")
        place = np.array([*(self._place[value] for value in table.classes), MISSING])
        return np.asarray(place[table.codes])

    @cached_property
    def _place(self) -> dict[Hashable, int]:
        return {value: code for code, value in enumerate(self.classes)}

    @cached_property
    def error_rates(self) -> FloatArray:
        """How often each test is believed to err over all cases; NaN if it was never run."""
        return read_only(self.errors(self.table.codes, self.table.weights))

    @cached_property
    def error_intervals(self) -> FloatArray:
        """Limits for each error rate; shape (K, 2).

        They cover the truth in about 95 of 100 tables if the model holds; the chance that it does
        not is not included. The interval of a law has no width. A model that is not identified says
        nothing, so its intervals are 0 to 1.
        """
        if not (self.is_identified or self.n_labels):
            return read_only(np.tile([0.0, 1.0], (self.n_tests, 1)))
        rates = np.nan_to_num(self.error_rates, nan=0.5)
        spread = np.zeros_like(rates) if self.cases.is_law else spreads(self)
        width = np.maximum(Z * spread, Z**2 / (self.n_cases + Z**2))  # Wilson's for 0 of n cases
        width[np.isnan(self.error_rates)] = 1.0
        return read_only(np.clip(np.column_stack([rates - width, rates + width]), 0.0, 1.0))

    @cached_property
    def misfit(self) -> Misfit:
        """Whether the table refutes the model, and which tests depend on each other most."""
        if not (self.is_identified and self.is_settled):
            return UNTESTABLE
        hidden = self.hidden.cut(len(self.table.classes))
        return independence(hidden, self.complexity, self.cases.codes, self.cases.counts)

    def explain(self) -> str:
        """Return error rates with intervals, what they rest on, and whether to trust them."""
        return explanation(self)

    def errors(self, codes: IntArray, weights: Any) -> FloatArray:
        """Return how often each test is believed to err over patterns of these weights.

        If a test was not run, its chance to err is that given the other outputs.
        """
        codes = np.asarray(codes, dtype=np.int64)
        shares = np.asarray(weights, dtype=np.float64) / np.sum(weights)
        was_run = (codes != MISSING)[shares > 0].any(axis=0)
        rates = np.clip(shares @ self.wrong(codes), 0.0, 1.0)
        return np.asarray(np.where(was_run, rates, np.nan))

    def wrong(self, codes: IntArray) -> FloatArray:
        """Return the chance that each test is wrong, given the outputs of a case; shape (R, K)."""
        chances, errors = self.posterior(codes), np.zeros(codes.shape)
        for k, column in enumerate(codes.T):
            (rows,) = np.nonzero(column != MISSING)
            errors[rows, k] = 1 - chances[rows, column[rows]]
            (rows,) = np.nonzero(column == MISSING)
            if len(rows):
                errors[rows, k] = 1 - self.hidden.right(k, codes[rows], chances[rows])
        return errors
