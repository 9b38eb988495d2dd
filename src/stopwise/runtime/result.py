"""The result of running one case, and its explanation."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Failure(NamedTuple):
    """A stage that gave no output for a case, and why."""

    stage: str
    reason: str
    attempts: int


class Result(NamedTuple):
    """The answer to a case and how it was reached.

    Parameters
    ----------
    answer
        The output of the last stage that gave one.
    stage
        The index of the stage that gave the answer, from 0.
    cost
        What all calls for the case cost until the answer was there, in the unit of the costs.
    outputs
        The outputs of the stages that were reached, ``None`` where one gave nothing.
    key
        The caller's name for the case, if it has one.
    failures
        The stages that gave no output.
    is_fallback
        Whether the stage at which to stop gave nothing, so that another one answers.
    seconds
        How long it took.
    belief
        The chance that the answer is right by the policy's model, ``None`` if it has none.
    is_shadow
        Whether the remaining stages run afterwards, to learn from them.
    """

    answer: Hashable
    stage: int
    cost: float
    outputs: tuple[Hashable, ...]
    key: str | None = None
    failures: tuple[Failure, ...] = ()
    is_fallback: bool = False
    seconds: float = 0.0
    belief: float | None = None
    is_shadow: bool = False


def explain(result: Result, names: Sequence[str], *, has_belief: bool) -> str:
    """Explain an answer in a few sentences.

    ``names`` are those of the stages; ``has_belief`` says whether the policy decides by belief.
    """
    outputs = ", ".join(
        f"{name} said {output!r}" if output is not None else f"{name} gave nothing"
        for name, output in zip(names, result.outputs, strict=False)
    )
    lines = [f"The answer is {result.answer!r}: {outputs}. It cost {result.cost:g}."]
    lines += [f"{failure.stage}: {failure.reason}." for failure in result.failures]
    if result.is_fallback:
        lines.append(f"{names[result.stage]} answers in place of a stage that gave nothing.")
    if len(result.outputs) < len(names):
        why = "is not expected to pay" if has_belief else "cannot pay, or is not known to"
        lines.append(f"It stopped because going on to {names[len(result.outputs)]} {why}.")
    if result.belief is not None:
        lines.append(f"The answer is right with a chance of about {result.belief:.0%}.")
    return "\n".join(lines)
