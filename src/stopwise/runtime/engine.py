"""From a case to outcomes: which stages are called, in which order, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from stopwise.errors import StageError
from stopwise.patterns import Pattern
from stopwise.runtime.calling import Caller, Outcome, error_text
from stopwise.runtime.course import Course
from stopwise.runtime.result import Failure, Result
from stopwise.runtime.stages import Stages

Conclude = Callable[[Pattern, Hashable], tuple[Hashable, float | None]]
SKIPPED = Outcome(None, 0.0, 0, answered=False)


class Engine:
    """Calls the stages of a case until its course ends and there is an answer.

    Parameters
    ----------
    stages
        What to call.
    goes_on_after_failure
        Whether the next stage is tried where the one at which to stop gave nothing; otherwise the
        last one that answered is good enough.
    speculate
        ``None`` to call one stage after the other; else how many stages beyond those that are
        called in any case are started ahead.
    """

    def __init__(
        self, stages: Stages, *, goes_on_after_failure: bool, speculate: int | None
    ) -> None:
        self.stages = stages
        self.speculated_cost = 0.0
        self.distrusted: frozenset[int] = frozenset()
        self._goes_on_after_failure = goes_on_after_failure
        self._speculate = speculate

    async def run(
        self, case: Any, course: Course, callers: Sequence[Caller], outcomes: list[Outcome]
    ) -> int:
        """Append outcomes until there is an answer; return the stage at which the course ended.

        ``callers`` are the stages that there were when the case began. The list of outcomes is the
        caller's, so that what was seen is there even if this is cancelled.
        """
        n_stages = len(callers)
        stop = n_stages if course.stage is None else course.stage  # n_stages: not known yet
        outputs: list[Any] = []
        while len(outputs) < n_stages:
            if self._speculate is None:
                k = len(outputs)
                outcome = SKIPPED if k in self.distrusted else await callers[k](case)
                outcomes.append(outcome)
                outputs.append(outcome.output)
            else:
                await self._call_ahead(case, course, callers, outcomes)
                outputs = [outcome.output for outcome in outcomes]
            if stop == n_stages and not course.goes_on(outputs):
                stop = len(outputs) - 1
            if len(outputs) > stop and not self._lacks_answer(outputs, stop):
                break
        return min(stop, n_stages - 1)

    async def complete(self, case: Any, callers: Sequence[Caller], outcomes: list[Outcome]) -> None:
        """Call all stages that were not called, so that the case shows every pair."""
        for stage in range(len(callers)):
            if stage >= len(outcomes):
                outcomes.append(await callers[stage](case))
            elif outcomes[stage] is SKIPPED:
                outcomes[stage] = await callers[stage](case)

    def result(
        self,
        outcomes: list[Outcome],
        stop: int,
        callers: Sequence[Caller],
        conclude: Conclude,
        *,
        key: str | None,
        seconds: float,
    ) -> Result:
        """Return the answer, or raise `StageError` if there is none.

        ``conclude`` says for outputs and the last of them what to answer, and how likely that is
        right.
        """
        outputs = tuple([outcome.output for outcome in outcomes])
        cost = sum([outcome.cost for outcome in outcomes])
        failures = _failures(outcomes, callers) if None in outputs else ()
        stage = len(outputs) - 1
        while stage >= 0 and outputs[stage] is None:
            stage -= 1
        if stage < 0:
            cause = next((o.error for o in reversed(outcomes) if o.error is not None), None)
            said = "; ".join(f"stage {f.stage!r}: {f.reason}" for f in failures)
            raise StageError(f"no stage gave an answer: {said}") from cause
        answer, belief = conclude(outputs, outputs[stage])
        is_fallback = stage != stop
        return Result(answer, stage, cost, outputs, key, failures, is_fallback, seconds, belief)

    async def _call_ahead(
        self, case: Any, course: Course, callers: Sequence[Caller], outcomes: list[Outcome]
    ) -> None:
        """Call the stages that run in any case together, and some more if that was asked for."""
        first = len(outcomes)
        certain = max(first, course.certain([outcome.output for outcome in outcomes]))
        last = min(certain + (self._speculate or 0), len(callers) - 1)
        ahead, skipped = range(first, last + 1), self.distrusted
        calls = [callers[k](case) for k in ahead if k not in skipped]
        called = iter(await asyncio.gather(*calls, return_exceptions=True))
        found = [SKIPPED if k in skipped else next(called) for k in ahead]
        for n_used, outcome in enumerate(found, start=1):
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes.append(outcome)
            if not course.goes_on([o.output for o in outcomes]):
                in_vain = [o for o in found[n_used:] if isinstance(o, Outcome)]
                self.speculated_cost += sum(o.cost for o in in_vain)
                break

    def _lacks_answer(self, outputs: list[Any], stop: int) -> bool:
        if outputs[-1] is not None:
            return False
        if all(output is None for output in outputs):
            return True
        return self._goes_on_after_failure and stop not in self.distrusted


def _failures(outcomes: list[Outcome], callers: Sequence[Caller]) -> tuple[Failure, ...]:
    return tuple(
        Failure(caller.stage.name, _reason(outcome), outcome.attempts)
        for caller, outcome in zip(callers, outcomes, strict=False)
        if outcome.output is None
    )


def _reason(outcome: Outcome) -> str:
    if outcome is SKIPPED:
        return "taken out of service by an alarm"
    if outcome.error is None:
        return "gave no answer that counts"
    return error_text(outcome.error)


def told_outputs(outcomes: list[Outcome]) -> tuple[Pattern, int]:
    """Return the outputs to learn from, and how many of them come before a stage that was skipped.

    A stage that an alarm took out of service was not run: that it gave nothing is no news.
    """
    outputs = tuple([outcome.output for outcome in outcomes])
    if None not in outputs:
        return outputs, len(outputs)
    shown = next((k for k, outcome in enumerate(outcomes) if outcome is SKIPPED), len(outcomes))
    n = len(outcomes)
    while n and outcomes[n - 1] is SKIPPED:
        n -= 1
    return outputs[:n], shown
