"""What running one case came to."""

from __future__ import annotations

from collections.abc import Hashable
from typing import NamedTuple


class Failure(NamedTuple):
    """A stage that gave no output for a case, and why."""

    stage: str
    reason: str
    attempts: int


class Result(NamedTuple):
    """The answer to a case and how it came about.

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
        What the caller named the case, if anything.
    failures
        The stages that gave no output.
    is_fallback
        Whether the stage at which to stop gave nothing, so that another one answers.
    seconds
        How long it took.
    belief
        The chance that the answer is right by the policy's model, ``None`` if it has none.
    is_shadow
        Whether the stages beyond are run afterwards, to learn from.
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
