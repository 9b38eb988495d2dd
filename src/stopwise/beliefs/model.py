"""Beliefs about the right answer: latent classes from outputs alone, and labels if any."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.beliefs.em import Design, Fits, log_joint, posteriors
from stopwise.beliefs.intervals import Z, spreads
from stopwise.beliefs.labels import LabelledPatterns, LabelUpdate
from stopwise.beliefs.starts import best_fit, extended, later_is_right, votes_and_others
from stopwise.beliefs.strength import chosen_share
from stopwise.cascade import FloatArray, IntArray, read_only
from stopwise.errors import LogError, OutputsError, SettingError
from stopwise.outputs import present
from stopwise.patterns import MISSING, PatternTable

LAW_CASES = 1e6  # what a law counts for: so many cases that no prior matters
# A test that always gives one answer tells nothing, and two others do not identify the model.
LEAST_TESTS = 3


@dataclass(frozen=True, eq=False)
class LatentClasses:
    """The right answer is a hidden class, and given it the tests err independently.

    Made by `fit`. See docs/beliefs.md for what this assumes, what refutes it and where it fails.

    Parameters
    ----------
    classes
        The possible right answers.
    prior
        How often each class is right; shape (M,).
    confusion
        ``confusion[k, a, b]``: the chance that test k says b where a is right; shape (K, M, M).
    table
        What it was fitted to.
    share
        How much of an average row of ``confusion`` comes from "one accuracy a test", 0 to 1.
    is_identified
        Whether three tests that do not always say the same were seen together. Where they were not,
        the table fits many error rates, and the belief falls back on the rule by which disagreement
        decides: where two tests differ, the later one is right.
    has_converged
        Whether the iteration came to rest.
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
    prior: FloatArray
    confusion: FloatArray
    table: PatternTable = field(repr=False)
    share: float
    is_identified: bool
    has_converged: bool
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
            law, known exactly. A missing output is skipped: that a test was left out because of
            what was seen before leaves the likelihood intact.
        labels
            Cases whose right answer is known: ``(outputs, label)`` or ``(outputs, label, times)``,
            ``None`` for a missing output. They may be drawn more often from some patterns than from
            others.
        seed
            Of the split that chooses how strongly errors are held to one accuracy a test, and of
            the random start.
        start
            An earlier fit to go on from: faster, with the strength that it has.
        """
        _check_table(table)
        if start is not None and not isinstance(start, LatentClasses):
            raise SettingError(f"start must be a LatentClasses, got {start!r}")
        n_tests = table.codes.shape[1]
        cases, classes = LabelledPatterns.from_rows(labels or (), table.classes, n_tests)
        counts, is_law = _counts(table)
        design = Design(table.codes, len(table.classes))
        is_identified = _is_identified(table)
        share = 0.0
        if not is_identified:
            fits = later_is_right(design, counts)
        else:
            rng = np.random.default_rng(seed)
            if not is_law:
                share = chosen_share(design, counts, rng) if start is None else start.share
            earlier = None if start is None else start._on(table)
            first = votes_and_others(design, counts, rng) if earlier is None else earlier
            fits = best_fit(design, counts, share, first)
        prior, confusion = extended(fits.prior[0], fits.confusion[0], len(classes))
        model = cls(
            classes,
            read_only(prior),
            read_only(confusion),
            table,
            share,
            is_identified,
            bool(fits.has_converged[0]),
        )
        return model._with_labels(cases) if cases.n_labels else model

    def _with_labels(self, cases: LabelledPatterns) -> LatentClasses:
        """Return the model with labels in place of those that it has."""
        bare = replace(self, labels=None, update=None)
        return replace(
            bare, labels=cases, update=LabelUpdate.fit(cases, bare.posterior(cases.codes))
        )

    def redrawn(
        self, prior: FloatArray, confusion: FloatArray, rng: np.random.Generator
    ) -> LatentClasses:
        """Return the model with other parameters, and with its labels weighted at random."""
        prior, confusion = extended(prior, confusion, len(self.classes))
        other = replace(self, prior=prior, confusion=confusion)
        if self.labels is None:
            return other
        weights = rng.gamma(self.labels.weights)
        return other._with_labels(replace(self.labels, weights=weights))

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return 0 if self.labels is None else self.labels.n_labels

    def _on(self, table: PatternTable) -> Fits | None:
        """Return this fit for the classes of ``table``, or ``None`` where it is of no use there."""
        if not self.is_identified or len(self.confusion) != table.codes.shape[1]:
            return None
        M, known = len(table.classes), [c for c, y in enumerate(table.classes) if y in self._place]
        here = [self._place[table.classes[c]] for c in known]
        prior, confusion = np.full(M, 1e-3 / M), np.full((len(self.confusion), M, M), 1e-3 / M)
        prior[known] += self.prior[here]
        confusion[:, np.array(known)[:, None], known] += self.confusion[
            :, np.array(here)[:, None], here
        ]
        prior /= prior.sum()
        confusion /= confusion.sum(axis=2, keepdims=True)
        return Fits(prior[None], confusion[None], np.zeros(1, dtype=bool), np.full(1, -np.inf))

    @property
    def n_cases(self) -> float:
        """The number of cases it was fitted to; infinite for a law."""
        counts, is_law = _counts(self.table)
        return math.inf if is_law else float(counts.sum())

    def posterior(self, codes: IntArray) -> FloatArray:
        """Return the chance of each answer for patterns given as codes, -1 for a missing output.

        Labels are included. Without any output it is the prior.

        Parameters
        ----------
        codes
            Indices into ``classes``; shape (R, K).
        """
        codes = np.asarray(codes, dtype=np.int64)
        design = Design(codes, len(self.classes))
        logs = log_joint(design, self.prior[None], self.confusion[None])
        chances = posteriors(logs)[0][:, 0, :]
        return chances if self.update is None else self.update.apply(codes, chances)

    def belief(self, outputs: Sequence[Any]) -> dict[Hashable, float]:
        """Return the chance of each answer after ``outputs``, ``None`` where one is missing."""
        n_tests = len(self.confusion)
        if len(outputs) > n_tests:
            raise OutputsError(f"outputs must be at most {n_tests}, got {len(outputs)}")
        codes = np.full((1, n_tests), MISSING)
        for k, output in enumerate(map(present, outputs)):
            if output is None:
                continue
            if output not in self._place:
                known = ", ".join(map(repr, self.classes[:20]))
                raise OutputsError(f"outputs must be among {known}, got {output!r} at test {k + 1}")
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

        They cover the truth in about 95 of 100 tables if the model holds, and leave out that it may
        not. A law has no width; a model that is not identified says nothing, so 0 to 1.
        """
        counts, is_law = _counts(self.table)
        if not (self.is_identified or self.n_labels):
            return read_only(np.tile([0.0, 1.0], (len(self.confusion), 1)))
        rates = np.nan_to_num(self.error_rates, nan=0.5)
        width = np.zeros_like(rates) if is_law else Z * spreads(self, counts)
        width[np.isnan(self.error_rates)] = 1.0
        return read_only(np.clip(np.column_stack([rates - width, rates + width]), 0.0, 1.0))

    def errors(self, codes: IntArray, weights: Any) -> FloatArray:
        """Return how often each test is believed to err over patterns of these weights.

        Where a test was not run its chance to err is that given the others.
        """
        chances = self.posterior(codes)
        shares = np.asarray(weights, dtype=np.float64)
        shares = shares / shares.sum()
        rates = np.full(len(self.confusion), np.nan)
        for k, column in enumerate(np.asarray(codes).T):
            shown = column != MISSING
            if not shown.any():
                continue
            wrong = 1 - chances @ np.diagonal(self.confusion[k])
            wrong[shown] = 1 - chances[shown, column[shown]]
            rates[k] = shares @ wrong
        return np.asarray(np.clip(rates, 0.0, 1.0))


def _check_table(table: Any) -> None:
    if not isinstance(table, PatternTable):
        raise LogError(f"table must be a PatternTable, got {type(table).__name__}")
    if not len(table.codes):
        raise LogError("table must have at least one pattern, got none")


def _counts(table: PatternTable) -> tuple[FloatArray, bool]:
    """Return the number of cases of each pattern, and whether the weights are a law."""
    weights = np.asarray(table.weights, dtype=np.float64)
    if np.array_equal(weights, np.floor(weights)):
        return weights, False
    return weights * (LAW_CASES / weights.sum()), True


def _is_identified(table: PatternTable) -> bool:
    varies = [len(np.unique(column[column != MISSING])) > 1 for column in table.codes.T]
    together = (table.codes[:, varies] != MISSING).sum(axis=1)
    return bool((together >= LEAST_TESTS).any())
