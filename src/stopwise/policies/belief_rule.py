"""The rule in force in `BeliefStopping`: a model fitted to the counts, and its decisions.

The rule is a function of the counts and the settings, so restoring them restores the rule.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stopwise.beliefs.look_ahead import Choice, look_ahead
from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.prefix_tree import ToldCases, prefix_levels
from stopwise.beliefs.representative import representative_cases, representative_of_any_order
from stopwise.beliefs.skipping_rule import MOST_STATES, STOP, n_states, skipping_rule
from stopwise.beliefs.stopping_rule import Answer, one_stage_value, stopping_rule
from stopwise.cascade import Cascade, IntArray
from stopwise.outputs import Told
from stopwise.patterns import MISSING, PatternTable, standing_answer
from stopwise.policies.case_counts import CaseCounts
from stopwise.policies.value_codes import ValueCodes

MOST_KNOWN = 100_000
"""The most sequences of outputs whose decision is remembered; others are computed each time."""


class NextStep(NamedTuple):
    """What to do after some outputs."""

    test: int  # the test to run next by the rule, or -1 to stop
    chance: float  # the chance to go on: 1 by the rule, less where it stops, so as to learn
    further: int | None  # the test that is run if the case goes on, ``None`` if all were
    answer: Hashable  # the answer if one stops
    error: float  # the chance, as believed, that it is wrong
    # Whether the rule itself never comes here: the case runs on to learn, and runs to the end.
    # False without exploration.
    explores: bool


def left_to_run(outputs: Told, n_tests: int, *, skip: bool) -> list[int]:
    """Return the tests that can still be run: after the last one, or with ``skip`` any other.

    >>> left_to_run(("a", None), 4, skip=False), left_to_run(("a", None), 4, skip=True)
    ([2, 3], [1, 2, 3])
    """
    if not skip:
        return list(range(len(outputs), n_tests))
    return [k for k in range(n_tests) if k >= len(outputs) or outputs[k] is None]


def run_to_the_end(outputs: Told, n_tests: int, *, skip: bool) -> NextStep:
    """Return what to do before there is a rule: run all tests, in order."""
    further = next(iter(left_to_run(outputs, n_tests, skip=skip)), None)
    answer = standing_answer(outputs)
    error = 1.0 if answer is None else math.nan
    if further is None:
        return NextStep(STOP, 0.0, None, answer, error, False)
    return NextStep(further, 1.0, further, answer, error, False)


class BeliefRule(ABC):
    """A model and the decisions that follow from it; see `belief_rule`."""

    skips: ClassVar[bool]

    def __init__(
        self, cascade: Cascade, counts: CaseCounts, *, answer: Answer, exploration: float
    ) -> None:
        self.costs = cascade.costs
        self.answer: Answer = answer
        self._learning_cost = exploration / np.sqrt(counts.n_rounds)  # per case, at most
        values = {y for outputs, label in counts.table for y in (*outputs, label)} - {None}
        self._codes = ValueCodes(values, n_tests=cascade.n_stages)
        self.known: dict[Told, NextStep] = {}
        self._cases = self._coded(counts)
        codes, weights = self._cases_to_fit()
        if not (codes != MISSING).any():  # a few that show nothing stand for all the others
            codes, weights = BeliefRule._cases_to_fit(self)
        rows = (codes != MISSING).any(axis=1)
        table = PatternTable(codes[rows], weights[rows], self._codes.classes, cascade)
        self.model = LatentClasses.fit(table, labels=self._labels(counts))

    def _cases_to_fit(self) -> tuple[IntArray, IntArray]:
        """Return the patterns that the model is fitted to, and how many cases show each."""
        codes, place = np.unique(self._cases.codes, axis=0, return_inverse=True)
        weights = np.bincount(place.reshape(-1), weights=self._cases.weights)
        return codes, weights.astype(np.int64)

    @abstractmethod
    def _decide(self, codes: list[int]) -> Choice:
        """Return what the rule does after outputs that are all known."""

    @abstractmethod
    def _explores(self, outputs: Told, codes: list[int]) -> bool:
        """Return whether the rule itself never comes to these outputs."""

    def after(self, outputs: Told) -> NextStep:
        """Return what to do after outputs that have been checked."""
        entry = self.known.get(outputs)
        if entry is None:
            entry = self._compute(outputs)
            if len(self.known) < MOST_KNOWN:
                self.known[outputs] = entry
        return entry

    def _compute(self, outputs: Told) -> NextStep:
        codes = self._codes.of(outputs)
        is_new = any(c == MISSING and y is not None for c, y in zip(codes, outputs, strict=True))
        test, answer, error = self._as_usual(outputs) if is_new else self._decide(codes)
        budget = self._learning_cost
        explores = budget > 0 and not is_new and self._explores(outputs, codes)
        if explores and self.answer == "last" and not self.skips:
            answer, error = self._more_believed(outputs, codes)
        tests = left_to_run(outputs, len(self.costs), skip=self.skips)
        value = self._value(answer, outputs, codes)
        if not tests:
            return NextStep(test, 0.0, None, value, error, explores)
        if test >= 0 and not explores:
            return NextStep(test, 1.0, test, value, error, explores)
        price = float(self.costs[tests].sum())
        chance = 1.0 if explores or price <= budget else float(budget / price)
        return NextStep(test, chance, tests[0], value, error, explores)

    def _more_believed(self, outputs: Told, codes: list[int]) -> tuple[int, float]:
        """Return the output at which the rule stopped, or the last one if it is believed more.

        The second value is its chance to be wrong. Running on to learn must not spoil an answer.
        """
        n = next(n for n in range(1, len(codes)) if self.after(outputs[:n]).test == STOP)
        belief = self.model.posterior(np.array([self._row(codes)]))[0]
        answers = [_last(part) for part in (codes[:n], codes) if _last(part) != MISSING]
        if not answers:
            return MISSING, 1.0
        answer = max(answers, key=lambda code: float(belief[code]))
        return answer, 1 - float(belief[answer])

    def _as_usual(self, outputs: Told) -> Choice:
        """Return what to do after a value never seen, by the overall error rate of its test."""
        last = max(k for k, y in enumerate(outputs) if y is not None)
        errors = np.where(np.isnan(self.model.error_rates), 1.0, self.model.error_rates)
        totals = np.cumsum(self.costs) + errors
        goes_on = bool((totals[last + 1 :] < totals[last]).any())
        return Choice(last + 1 if goes_on else STOP, MISSING, float(errors[last]))

    def _value(self, answer: int, outputs: Told, codes: list[int]) -> Hashable:
        """Return the output that a code stands for in this case."""
        if answer == MISSING:
            return standing_answer(outputs)
        if not self._codes.is_pooled:
            return self.model.classes[answer]
        return outputs[codes.index(answer)] if answer in codes else standing_answer(outputs)

    def _coded(self, counts: CaseCounts) -> ToldCases:
        total: dict[tuple[int, ...], list[int]] = {}
        for (outputs, label), times in counts.table.items():
            row = total.setdefault(tuple(self._codes.of(outputs)), [0, 0])
            row[0] += times
            row[1] += times * (label is not None)
        codes = np.array([self._row(list(row)) for row in total], dtype=np.int64)
        lengths = np.array([len(row) for row in total], dtype=np.int64)
        weights, n_labels = np.array(list(total.values()), dtype=np.float64).T
        return ToldCases(codes, lengths, weights, n_labels)

    def _labels(self, counts: CaseCounts) -> list[tuple[Told, Hashable, int]]:
        rows: list[tuple[Told, Hashable, int]] = []
        for (outputs, label), times in counts.table.items():
            if label is None:
                continue
            values: Told = (*outputs, label)
            if self._codes.is_pooled:  # a label is a class beside the outputs of its own case
                values = tuple(None if c == MISSING else c for c in self._codes.of(values))
            gaps = (None,) * (len(self.costs) - len(outputs))
            whole = max(round(times), 1)  # labels that fade count as whole ones
            rows.append(((*values[:-1], *gaps), values[-1], whole))
        return rows

    def _row(self, codes: list[int]) -> list[int]:
        """Return codes with -1 for all tests after them."""
        return codes + [MISSING] * (len(self.costs) - len(codes))

    def _in_order(self) -> dict[tuple[int, ...], tuple[Choice, float]]:
        """Return the best rule that runs the tests in order, with what it costs from each prefix.

        For the empty prefix the rule runs the first test.
        """
        decisions = stopping_rule(self.model, self._cases, self.costs, answer=self.answer)
        first = decisions[0]
        shares = first.level.weights / first.level.weights.sum()
        start = float(self.costs[0] + shares @ first.values)
        rule: dict[tuple[int, ...], tuple[Choice, float]] = {(): (Choice(0, MISSING, 1.0), start)}
        for k, level in enumerate(decisions):
            columns = (level.level.codes, level.stops, level.answers, level.errors, level.values)
            for codes, stops, answer, error, value in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                choice = Choice(STOP if stops else k + 1, answer, error)
                rule[tuple(codes)] = (choice, value)
        return rule


class ChainRule(BeliefRule):
    """Run the tests in order and stop after some output, by `stopping_rule`."""

    skips = False

    def __init__(self, cascade: Cascade, counts: CaseCounts, **settings: Any) -> None:
        super().__init__(cascade, counts, **settings)
        self._rule = self._in_order()

    def _cases_to_fit(self) -> tuple[IntArray, IntArray]:
        return representative_cases(prefix_levels(self._cases, len(self._codes.classes)))

    def _decide(self, codes: list[int]) -> Choice:
        if not codes:
            return Choice(0, MISSING, 1.0)  # nothing was run: there is no answer yet
        if tuple(codes) in self._rule:
            return self._rule[tuple(codes)][0]
        k = len(codes) - 1
        pattern = np.array([self._row(codes)])
        belief = self.model.posterior(pattern)
        answer = _last(codes) if self.answer == "last" else int(belief[0].argmax())
        error = 1 - float(belief[0, answer]) if answer != MISSING else 1.0
        if k + 1 == len(self.costs):
            return Choice(STOP, answer, error)
        ahead = one_stage_value(self.model, pattern, self.costs, k + 1)
        goes_on = float(self.costs[k + 1] + ahead[0]) < error
        return Choice(k + 1 if goes_on else STOP, answer, error)

    def _explores(self, outputs: Told, codes: list[int]) -> bool:
        if len(outputs) <= 1:
            return False
        before = self.after(outputs[:-1])
        return before.explores or before.test == STOP


class SkipRule(BeliefRule):
    """Choose which test to run next, by `skipping_rule` or, of very many states, `look_ahead`."""

    skips = True

    def __init__(self, cascade: Cascade, counts: CaseCounts, **settings: Any) -> None:
        super().__init__(cascade, counts, **settings)
        cases = self._cases
        if self.is_exact:
            self._rule = skipping_rule(
                self.model, cases.codes, cases.weights, self.costs, answer=self.answer
            )
        else:
            self._chain = self._in_order()

    @property
    def is_exact(self) -> bool:
        """Whether there are so few states that the induction goes over all of them."""
        return n_states(len(self.costs), len(self._codes.classes)) <= MOST_STATES

    def _cases_to_fit(self) -> tuple[IntArray, IntArray]:
        codes, weights = self._cases.codes, self._cases.weights
        if not self.is_exact or not (codes != MISSING).all(axis=1).any():
            return super()._cases_to_fit()
        return representative_of_any_order(codes, weights, len(self._codes.classes))

    def _decide(self, codes: list[int]) -> Choice:
        if self.is_exact:
            place, rule = tuple(self._row(codes)), self._rule  # -1, the last index: not run
            return Choice(*(part[place].item() for part in (rule.tests, rule.answers, rule.errors)))
        entry = self._chain.get(tuple(codes))
        chain = None if entry is None else (entry[0].test, entry[1])
        seen = np.array(self._row(codes))
        return look_ahead(self.model, seen, self.costs, answer=self.answer, chain=chain)

    def without(self, outputs: Told, failed: Collection[int]) -> Choice:
        """Return what to do if some tests cannot be run again, looking one test ahead."""
        costs = self.costs.copy()
        costs[np.array([*failed], dtype=int)] = np.inf
        seen = np.array(self._row(self._codes.of(outputs)))
        return look_ahead(self.model, seen, costs, answer=self.answer)

    def _explores(self, outputs: Told, codes: list[int]) -> bool:
        return self.is_exact and not bool(self._rule.is_reached[tuple(self._row(codes))])


def _last(codes: list[int]) -> int:
    """Return the last code that is not missing, `MISSING` if there is none."""
    return next((c for c in reversed(codes) if c != MISSING), MISSING)


def belief_rule(
    cascade: Cascade, counts: CaseCounts, *, answer: Answer, skip: bool, exploration: float
) -> ChainRule | SkipRule | None:
    """Return the rule that follows from the counts; ``None`` if no test ever gave an output."""
    if not any(y is not None for outputs, _ in counts.table for y in outputs):
        return None
    kind = SkipRule if skip else ChainRule
    return kind(cascade, counts, answer=answer, exploration=exploration)
