"""The rule that `BeliefStopping` has in force: a model fitted to what was told, and what follows.

The rule is a function of the counts and the settings, so whoever restores them has the same rule.
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
"""So many sequences of outputs keep their decision; that of others is worked out each time."""


class Entry(NamedTuple):
    """What to do after some outputs."""

    test: int  # the test to run next by the rule, or -1 to stop
    chance: float  # the chance to go on: 1 by the rule, less where it stops, so as to learn
    further: int | None  # the test that is run if the case goes on, ``None`` if all were
    answer: Hashable  # the answer if one stops
    error: float  # the chance, as believed, that it is wrong
    # Whether the rule never comes here: someone ran on so as to learn, and runs to the end. Never
    # so without exploration.
    explores: bool


def left_to_run(outputs: Told, n_tests: int, *, skip: bool) -> list[int]:
    """Return the tests that can still be run: after the last one, or with ``skip`` any other.

    >>> left_to_run(("a", None), 4, skip=False), left_to_run(("a", None), 4, skip=True)
    ([2, 3], [1, 2, 3])
    """
    if not skip:
        return list(range(len(outputs), n_tests))
    return [k for k in range(n_tests) if k >= len(outputs) or outputs[k] is None]


def run_to_the_end(outputs: Told, n_tests: int, *, skip: bool) -> Entry:
    """Return what to do before there is a rule: run all tests, in order."""
    left, answer = left_to_run(outputs, n_tests, skip=skip), standing_answer(outputs)
    error = 1.0 if answer is None else math.nan
    further = left[0] if left else None
    test = STOP if further is None else further
    return Entry(test, float(bool(left)), further, answer, error, False)


class BeliefRule(ABC):
    """A model and the decisions that follow from it; see `belief_rule`."""

    skips: ClassVar[bool]

    def __init__(
        self, cascade: Cascade, counts: CaseCounts, *, answer: Answer, exploration: float
    ) -> None:
        self.costs = cascade.costs
        self.answer: Answer = answer
        self._spent_on_learning = exploration / np.sqrt(counts.n_rounds)  # a case
        values = {y for told, label in counts.table for y in (*told, label) if y is not None}
        self._codes = ValueCodes(values, n_tests=cascade.n_stages)
        self.known: dict[Told, Entry] = {}
        self._cases = self._coded(counts)
        codes, weights = self._cases_to_fit()
        shown = (codes != MISSING).any(axis=1)
        table = PatternTable(codes[shown], weights[shown], self._codes.classes, cascade)
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

    def after(self, outputs: Told) -> Entry:
        """Return what to do after outputs that have been checked."""
        found = self.known.get(outputs)
        if found is None:
            found = self._worked_out(outputs)
            if len(self.known) < MOST_KNOWN:
                self.known[outputs] = found
        return found

    def _worked_out(self, outputs: Told) -> Entry:
        codes = self._codes.of(outputs)
        is_new = any(c == MISSING and y is not None for c, y in zip(codes, outputs, strict=True))
        test, answer, error = self._as_usual(outputs) if is_new else self._decide(codes)
        spent = self._spent_on_learning
        explores = spent > 0 and not is_new and self._explores(outputs, codes)
        if explores and self.answer == "last" and not self.skips:
            answer, error = self._more_believed(outputs, codes)
        left = left_to_run(outputs, len(self.costs), skip=self.skips)
        value = self._value(answer, outputs, codes)
        if not left:
            return Entry(test, 0.0, None, value, error, explores)
        if test >= 0 and not explores:
            return Entry(test, 1.0, test, value, error, explores)
        price = float(self.costs[left].sum())
        chance = 1.0 if explores or price <= spent else float(spent / price)
        return Entry(test, chance, left[0], value, error, explores)

    def _more_believed(self, outputs: Told, codes: list[int]) -> tuple[int, float]:
        """Return the output at which the rule stopped, or the last one if that is believed more.

        With its chance to be wrong. What is run so as to learn must not spoil an answer.
        """
        n = next(n for n in range(1, len(codes)) if self.after(outputs[:n]).test == STOP)
        belief = self.model.posterior(np.array([self._row(codes)]))[0]
        shown = [[c for c in part if c != MISSING] for part in (codes[:n], codes)]
        said = [part[-1] for part in shown if part]
        if not said:
            return MISSING, 1.0
        answer = max(said, key=lambda code: float(belief[code]))
        return answer, 1 - float(belief[answer])

    def _as_usual(self, outputs: Told) -> Choice:
        """Return what to do after a value never seen: its test errs as it does on the whole."""
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
        for (told, label), times in counts.table.items():
            row = total.setdefault(tuple(self._codes.of(told)), [0, 0])
            row[0] += times
            row[1] += times * (label is not None)
        codes = np.array([self._row(list(row)) for row in total], dtype=np.int64)
        lengths = np.array([len(row) for row in total], dtype=np.int64)
        weights, n_labels = np.array(list(total.values()), dtype=np.float64).T
        return ToldCases(codes, lengths, weights, n_labels)

    def _labels(self, counts: CaseCounts) -> list[tuple[Told, Hashable, int]]:
        rows: list[tuple[Told, Hashable, int]] = []
        for (told, label), times in counts.table.items():
            if label is None:
                continue
            if self._codes.is_pooled:  # a label is a class beside the outputs of its own case
                codes = self._codes.of((*told, label))
                right: Hashable = codes.pop()
                shown: Told = tuple(None if c == MISSING else c for c in codes)
            else:
                shown, right = told, label
            whole = max(round(times), 1)  # labels that fade count as whole ones
            rows.append(((*shown, *(None,) * (len(self.costs) - len(told))), right, whole))
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
        decided: dict[tuple[int, ...], tuple[Choice, float]] = {}
        decided[()] = (Choice(0, MISSING, 1.0), start)
        for k, level in enumerate(decisions):
            columns = (level.level.codes, level.stops, level.answers, level.errors, level.values)
            for codes, stops, given, error, value in zip(
                *(column.tolist() for column in columns), strict=True
            ):
                choice = Choice(STOP if stops else k + 1, given, error)
                decided[tuple(codes)] = (choice, value)
        return decided


class ChainRule(BeliefRule):
    """Run the tests in order and stop after some output, by `stopping_rule`."""

    skips = False

    def __init__(self, cascade: Cascade, counts: CaseCounts, **settings: Any) -> None:
        super().__init__(cascade, counts, **settings)
        self._decided = self._in_order()

    def _cases_to_fit(self) -> tuple[IntArray, IntArray]:
        return representative_cases(prefix_levels(self._cases, len(self._codes.classes)))

    def _decide(self, codes: list[int]) -> Choice:
        if not codes:
            return Choice(0, MISSING, 1.0)  # nothing was run: there is no answer yet
        known = self._decided.get(tuple(codes))
        if known is not None:
            return known[0]
        k = len(codes) - 1
        pattern = np.array([self._row(codes)])
        belief = self.model.posterior(pattern)
        if self.answer == "last":
            answer = next((c for c in reversed(codes) if c != MISSING), MISSING)
        else:
            answer = int(belief[0].argmax())
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
        known = self._chain.get(tuple(codes))
        chain = None if known is None else (known[0].test, known[1])
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


def belief_rule(
    cascade: Cascade, counts: CaseCounts, *, answer: Answer, skip: bool, exploration: float
) -> ChainRule | SkipRule | None:
    """Return the rule that follows from the counts; ``None`` if no test ever gave an output."""
    if not any(y is not None for told, _ in counts.table for y in told):
        return None
    kind = SkipRule if skip else ChainRule
    return kind(cascade, counts, answer=answer, exploration=exploration)
