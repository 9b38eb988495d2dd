"""Stop by belief: after each output, a model learned without labels decides whether to go on."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.stopping_rule import Answer
from stopwise.cascade import Cascade
from stopwise.checks import finite_number, indices_of_tests, known_name, whole_number
from stopwise.errors import SettingError
from stopwise.outputs import Outputs, Told, check_label
from stopwise.pattern_counts import plain_output
from stopwise.policies.belief_rule import (
    ChainRule,
    NextStep,
    SkipRule,
    belief_rule,
    left_to_run,
    run_to_the_end,
)
from stopwise.policies.case_counts import Case, CaseCounts
from stopwise.policies.recent import PARTS
from stopwise.policies.stopping_policy import Decision, StoppingPolicy

FIRST_FIT = 16  # cases that are run to the end before the first fit
GROWTH = 1.5  # of the number of cases, or of labels, after which the model is fitted again


class BeliefStopping(StoppingPolicy):
    """Run test after test on a case and stop once going on is not believed to pay.

    A `LatentClasses` model is fitted to all outputs told, with no labels or a few. After each
    output the dynamic programme of `stopping_rule` stops or goes on, whichever has the lower
    expected cost + error. The model is fitted again when the number of cases has grown by half.
    Where the rule stops, a case is run to the end with some chance, so that learning never ends.
    After t cases this costs about ``exploration`` / √t mistakes per case, and at most 2.5 times
    ``exploration`` · √t in all.

    Two tests alone do not identify the model. Then the later output is assumed to be right, and the
    rule stops where going on cannot pay, whatever is right.

    Parameters
    ----------
    cascade
        The tests and their prices; a chain.
    answer
        ``"last"``: the answer is the output at which the rule stops. A case that runs on to learn
        gets that or the last one, whichever is believed more. ``"believed"``: the value believed
        most.
    skip
        Tests may be run in any order, each at its own price: ask `choose` which to run next. The
        answer ``"last"`` is then the output of the last test, in the order of the cascade.
    exploration
        What running on to learn may cost, in mistakes: this much over √t per case.
    max_patterns
        How many different sequences of outputs are counted; nothing is learned from others.
    memory
        About how many cases to remember, at least 256, if the world may change; see `Resolve`.
        Not with ``skip``: a change of the rule would look like a change of the world.
    seed
        A seed or a generator for exploration.

    >>> policy = BeliefStopping(Cascade(costs=[0.0, 0.05, 0.1]), seed=0)
    >>> seen = {(0, 0, 0): 40, (1, 1, 1): 40, (0, 1, 1): 15, (1, 0, 0): 3, (1, 1, 0): 3}
    >>> policy.tell_many(seen)
    >>> policy.recommend([0]), policy.recommend([0, 1])
    (<Decision.CONTINUE: 'continue'>, <Decision.STOP: 'stop'>)
    """

    settings = ("answer", "skip", "exploration", "max_patterns", "memory")
    needs_chain = True
    draws = True

    def __init__(
        self,
        cascade: Cascade,
        *,
        answer: Answer = "last",
        skip: bool = False,
        exploration: float = 0.15,
        max_patterns: int = 20_000,
        memory: int | None = None,
        seed: int | np.random.Generator = 0,
    ) -> None:
        super().__init__(cascade)
        known_name("answer", answer, ("last", "believed"), SettingError)
        self.answer: Answer = answer
        if not isinstance(skip, bool):
            raise SettingError(f"skip must be true or false, got {skip!r}")
        self.skip = self._warned = skip  # with it a None at the end is no surprise
        self.exploration = finite_number("exploration", exploration, SettingError, zero=True)
        self.max_patterns = whole_number("max_patterns", max_patterns, SettingError, least=1)
        self.reseed(seed)
        self._waits = False
        if memory is not None:
            memory = whole_number("memory", memory, SettingError, least=PARTS * FIRST_FIT)
            if skip:
                raise SettingError(f"memory must be None with skip, got {memory!r}")
        self.memory = memory
        self._keep("cases", CaseCounts(cascade, max_patterns=self.max_patterns), memory)
        self._fit_to(self._counts)

    def next(self, outputs_so_far: Outputs) -> Decision:
        """Say whether to stop a case, or to run one more test, after the outputs so far."""
        return Decision.STOP if self.choose(outputs_so_far) is None else Decision.CONTINUE

    def choose(self, outputs_so_far: Outputs = (), *, failed: Collection[int] = ()) -> int | None:
        """Return the test to run next, ``None`` to stop.

        Parameters
        ----------
        outputs_so_far
            What the tests gave, in the order of the cascade; ``None`` for those left out.
        failed
            With ``skip``, tests that gave nothing and are not to be run again.
        """
        if type(failed) is not tuple or failed:
            return self._choose_without(outputs_so_far, failed)
        entry = self._entry(outputs_so_far)
        chance = entry.chance
        runs_on = chance >= 1 or (chance and self._rng.random() < chance)
        return entry.further if runs_on else None

    def ask(self, outputs_so_far: Outputs = ()) -> int:
        """Return the stage up to which to run the tests of a case before looking again.

        The stage already reached means: stop.
        """
        if self.skip:
            raise SettingError("skip must be false to ask for a stage: `choose` says which test")
        stage = len(self._prefix(outputs_so_far)) - 1
        if self._rule_in_force() is None:
            return len(self.cascade.costs) - 1
        test = self.choose(outputs_so_far) if stage >= 0 else 0
        return stage if test is None else test

    def chance_to_go_on(self, outputs_so_far: Outputs) -> float:
        """Return how likely `next` says to go on: between 0 and 1 where the rule explores."""
        return self._entry(outputs_so_far).chance

    def test_if_going_on(self, outputs_so_far: Outputs = ()) -> int | None:
        """Return the test that `choose` names if the case goes on; ``None`` if all were run."""
        return self._entry(outputs_so_far).further

    def recommend(self, outputs_so_far: Outputs) -> Decision:
        """Say what is believed best, whatever is to be learned; undecided before the first fit."""
        entry = self._entry(outputs_so_far)
        if self._rule is None:
            return Decision.UNDECIDED
        return Decision.STOP if entry.test < 0 else Decision.CONTINUE

    def conclude(self, outputs_so_far: Outputs) -> tuple[Hashable, float]:
        """Return the answer if one stops and its chance to be wrong, NaN before the first fit."""
        entry = self._entry(outputs_so_far)
        return entry.answer, entry.error

    def hold(self) -> int:
        """Return for how many more cases without labels the rule stays as it is (>= 1)."""
        rounds: int = math.ceil(self._next_fit - self._counts.n_rounds)
        return max(1, min(rounds, self._left_of_block))

    @property
    def model(self) -> LatentClasses | None:
        """The model in force; ``None`` before the first fit."""
        rule = self._rule_in_force()
        return None if rule is None else rule.model

    @property
    def exploration_cost(self) -> float:
        """The most that running on to learn costs a case now, in the unit of the costs."""
        worth = self.exploration * self.cascade.mistake_cost
        return float(worth / math.sqrt(max(self._fitted.n_rounds, 1)))

    @property
    def n_labels(self) -> int:
        """The number of cases told with a label."""
        return int(self._stored["cases"].n_labels)

    def _checked(self, outputs: Any, *, stage: int | None = None, label: Any = None) -> Case:
        """Return the outputs of a case and its label, or raise."""
        _, outputs = self._checked_outputs(outputs, stage)
        if label is not None:
            label = check_label(label)
            self._spelling.watch((label,))
            plain_output(label, name="label")
        for output in outputs:  # they have to be saved
            plain_output(output)
        return self._stripped(outputs), label

    def tell(self, outputs: Outputs, *, stage: int | None = None, label: Any = None) -> None:
        """Take in a case as every policy does; one like it that was told before is not checked."""
        if stage is None and label is None and type(outputs) is tuple:
            with self._lock:
                counts = self._stored["cases"]
                is_usual = counts is self._source and self.memory is None
                try:
                    n = counts.table.get((outputs, None), 0) if is_usual else 0
                except TypeError:  # an output that cannot be hashed: refused below
                    n = 0
                if n and outputs[-1] is not None and counts.n_rounds + 1 < self._next_fit:
                    counts.table[outputs, None] = n + 1
                    counts.n_rounds += 1
                    return
        super().tell(outputs, stage=stage, label=label)

    def tell_many(self, batch: Iterable[Any] | Mapping[Any, int]) -> None:
        """Take in many cases at once, all or none, and fit the model again if it is due."""
        with self._lock:
            self._waits = True
            try:
                super().tell_many(batch)
            finally:
                self._waits = False
            self._fit_if_due()

    def _take(self, case: Case, times: int) -> None:
        self._rule_in_force()
        self._count(lambda table: table.add(case, times))
        if not self._waits:
            self._fit_if_due()

    def _fit_if_due(self) -> None:
        counts = self._counts
        has_grown = counts.n_rounds >= self._next_fit or counts.n_labels >= self._next_labels
        if has_grown or self._turn != self._turn_fitted:
            self._fit_to(counts)

    def _rule_in_force(self) -> ChainRule | SkipRule | None:
        if self._source is not self._stored["cases"]:  # merged: fitted when it is needed
            with self._lock:
                self._fit_to(self._counts)
        return self._rule

    def _fit_to(self, counts: CaseCounts) -> None:
        """Make the rule that follows from ``counts``: the present or earlier ones."""
        self._rule = None
        if counts.n_rounds >= FIRST_FIT:
            answer, skip, frequent = self.answer, self.skip, counts.within(self.max_patterns)
            self._rule = belief_rule(
                self.cascade, frequent, answer=answer, skip=skip, exploration=self.exploration
            )
        self._fitted = counts.copy()
        self._source, self._turn_fitted = self._stored["cases"], self._turn
        self._next_fit = max(FIRST_FIT, math.ceil(GROWTH * counts.n_rounds))
        self._next_labels = math.ceil(GROWTH * counts.n_labels) + 1

    def _entry(self, outputs_so_far: Outputs) -> NextStep:
        rule = self._rule if self._source is self._stored["cases"] else self._rule_in_force()
        if rule is not None and type(outputs_so_far) in (tuple, list):  # else it is checked first
            try:
                return rule.known[tuple(outputs_so_far)]
            except (KeyError, TypeError):  # not computed yet, or not hashable: refused below
                pass
        prefix = self._prefix(outputs_so_far)
        if rule is None:
            return run_to_the_end(prefix, self.cascade.n_stages, skip=self.skip)
        with self._lock:
            return rule.after(prefix)

    def _choose_without(self, outputs_so_far: Outputs, failed: Any) -> int | None:
        """Choose by looking one test ahead, where some tests are not to be run again."""
        tests = indices_of_tests("failed", failed, self.cascade.n_stages)
        if not tests:
            return self.choose(outputs_so_far)
        if not self.skip:
            raise SettingError("skip must be true for tests to be left out as failed")
        rule, prefix = self._rule_in_force(), self._prefix(outputs_so_far)
        if isinstance(rule, SkipRule):
            test = rule.without(prefix, tests).test
            return None if test < 0 else test
        others = left_to_run(prefix, self.cascade.n_stages, skip=True)
        return next((k for k in others if k not in tests), None)

    def _prefix(self, outputs_so_far: Any) -> Told:
        prefix = self._stripped(super()._prefix(outputs_so_far))
        return () if self.skip and prefix == (None,) else prefix

    def _stripped(self, outputs: Told) -> Told:
        """Return what is counted: with ``skip`` a missing output at the end says nothing."""
        while self.skip and len(outputs) > 1 and outputs[-1] is None:
            outputs = outputs[:-1]
        return outputs

    def _read_statistic(self, name: str, saved: Any) -> CaseCounts:
        return CaseCounts.from_state(saved, self.cascade, self.max_patterns, self._checked)

    def _extra_state(self) -> dict[str, Any]:
        self._rule_in_force()
        return {**super()._extra_state(), "since_fit": (self._counts - self._fitted).to_state()}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        super()._restore_extra(state)
        since = self._read_statistic("cases", state["since_fit"])
        self._fit_to(self._counts.before(since))
