"""From a case to outcomes: which stages are called, in which order, and when to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from stopwise.errors import StageError
from stopwise.patterns import Pattern
from stopwise.policies.stopping_policy import Decision
from stopwise.runtime.caller import Caller, Outcome, error_text
from stopwise.runtime.result import Failure, Result
from stopwise.runtime.stage_list import StageList

Conclude = Callable[[Pattern, Hashable], tuple[Hashable, float | None]]
SKIPPED = Outcome(None, 0.0, 0)


class StoppingRule:
    """How far one case goes: to a stage chosen before it, or until the policy says stop.

    ``stage`` is the stage chosen before the case, or ``None`` if the policy decides after each
    output; ``stages_version`` is the version of the list of stages with which the case began.
    """

    __slots__ = ("_decide", "_policy", "stage", "stages_version")

    def __init__(
        self, policy: Any, stage: int | None, stages_version: int, *, explores: bool
    ) -> None:
        self._policy = policy
        self._decide = None if stage is not None else policy.next if explores else policy.recommend
        self.stage = stage
        self.stages_version = stages_version

    def continues(self, outputs: list[Hashable]) -> bool:
        """Whether to run one more stage after these outputs."""
        if self.stage is not None:
            return len(outputs) <= self.stage
        return self._decide(outputs) is not Decision.STOP  # type: ignore[misc]

    def certain_stage(self, outputs: list[Hashable]) -> int:
        """Return the last stage that will run whatever the next outputs are."""
        if self.stage is not None:
            return self.stage
        return self._policy.ask(outputs) if outputs else 0


class Engine:
    """Calls the stages of a case until its rule says stop and there is an answer.

    Parameters
    ----------
    stages
        What to call.
    continues_after_failure
        Whether the next stage is tried if the one at which to stop gave nothing; otherwise the
        last output before it is the answer.
    speculate
        ``None`` to call one stage after the other; else how many stages are started ahead, beyond
        those that are certain to run.
    """

    def __init__(
        self, stages: StageList, *, continues_after_failure: bool, speculate: int | None
    ) -> None:
        self.stages = stages
        self.speculated_cost = 0.0
        self.distrusted: frozenset[int] = frozenset()
        self._continues_after_failure = continues_after_failure
        self._speculate = speculate

    async def run(
        self, case: Any, rule: StoppingRule, callers: Sequence[Caller], outcomes: list[Outcome]
    ) -> int:
        """Append outcomes until there is an answer; return the stage at which the rule stopped.

        ``callers`` are the stages that there were when the case began. The list of outcomes is
        passed in, so that the outcomes so far are known even if this is cancelled.
        """
        n_stages = len(callers)
        stop = n_stages if rule.stage is None else rule.stage  # n_stages: not known yet
        outputs: list[Any] = []
        while len(outputs) < n_stages:
            if self._speculate is None:
                k = len(outputs)
                outcome = SKIPPED if k in self.distrusted else await callers[k](case)
                outcomes.append(outcome)
                outputs.append(outcome.output)
            else:
                await self._call_ahead(case, rule, callers, outcomes)
                outputs = [outcome.output for outcome in outcomes]
            if stop == n_stages and not rule.continues(outputs):
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

        ``conclude`` gives, for the outputs and the last of them, the answer and the chance that it
        is right.
        """
        outputs = tuple([outcome.output for outcome in outcomes])
        cost = sum([outcome.cost for outcome in outcomes])
        failures = _failures(outcomes, callers) if None in outputs else ()
        stage = len(outputs) - 1
        while stage >= 0 and outputs[stage] is None:
            stage -= 1
        if stage < 0:
            cause = next((o.error for o in reversed(outcomes) if o.error is not None), None)
            reasons = "; ".join(f"stage {f.stage!r}: {f.reason}" for f in failures)
            raise StageError(f"no stage gave an answer: {reasons}") from cause
        answer, belief = conclude(outputs, outputs[stage])
        is_fallback = stage != stop
        return Result(answer, stage, cost, outputs, key, failures, is_fallback, seconds, belief)

    async def _call_ahead(
        self, case: Any, rule: StoppingRule, callers: Sequence[Caller], outcomes: list[Outcome]
    ) -> None:
        """Call the stages that are certain to run together, and some more if asked for."""
        first = len(outcomes)
        last_certain = max(first, rule.certain_stage([outcome.output for outcome in outcomes]))
        last = min(last_certain + (self._speculate or 0), len(callers) - 1)
        stages, distrusted = range(first, last + 1), self.distrusted
        calls = [callers[k](case) for k in stages if k not in distrusted]
        answers = iter(await asyncio.gather(*calls, return_exceptions=True))
        results = [SKIPPED if k in distrusted else next(answers) for k in stages]
        for n_used, outcome in enumerate(results, start=1):
            if isinstance(outcome, BaseException):
                raise outcome
            outcomes.append(outcome)
            if not rule.continues([o.output for o in outcomes]):
                rest = [o for o in results[n_used:] if isinstance(o, Outcome)]
                self.speculated_cost += sum(o.cost for o in rest)
                break

    def _lacks_answer(self, outputs: list[Any], stop: int) -> bool:
        if outputs[-1] is not None:
            return False
        if all(output is None for output in outputs):
            return True
        return self._continues_after_failure and stop not in self.distrusted


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


def learnable_outputs(outcomes: list[Outcome]) -> tuple[Pattern, int]:
    """Return the outputs to learn from, and how many of them precede the first skipped stage.

    A stage that an alarm took out of service was not run: that it gave nothing means nothing.
    """
    outputs = tuple([outcome.output for outcome in outcomes])
    if None not in outputs:
        return outputs, len(outputs)
    n = len(outcomes)
    first_skipped = next((k for k, outcome in enumerate(outcomes) if outcome is SKIPPED), n)
    while n and outcomes[n - 1] is SKIPPED:
        n -= 1
    return outputs[:n], first_skipped
