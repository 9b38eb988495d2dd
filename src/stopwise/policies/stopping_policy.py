"""Next and tell: policies that look at the outputs so far and stop a case or run one more test."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Any

import numpy as np

from stopwise.errors import OutputsWarning
from stopwise.outputs import Outputs, Told, check_outputs
from stopwise.policies.learner import Learner


class Decision(Enum):
    """What to do with a case whose first outputs were seen."""

    STOP = "stop"
    CONTINUE = "continue"
    UNDECIDED = "undecided"
    """Nothing is known about going on from there: ``recommend`` only."""


class StoppingPolicy(Learner):
    """A learner that decides after each output whether to stop the case.

    A subclass says whether to go on after some outputs, `next`, and how a case is checked and
    counted. The first of its statistics counts all cases.
    """

    looks_at_outputs = True
    skip: Any = False  # whether tests are run in any order
    _warned = False

    @abstractmethod
    def next(self, outputs_so_far: Outputs) -> Decision:
        """Say whether to stop a case, or to run one more test, after the outputs so far."""

    def chance_to_go_on(self, outputs_so_far: Outputs) -> float:
        """Return how likely `next` says to go on: 0 or 1 unless the policy draws."""
        return float(self.next(outputs_so_far) is Decision.CONTINUE)

    def tell(self, outputs: Outputs, *, stage: int | None = None, label: Any = None) -> None:
        """Take in the outputs of the tests that were run on one case, ``None`` where one failed.

        Their number tells how many tests were run. ``stage`` says it again: without it a ``None``
        at the end is counted as a test that ran and gave nothing, with a warning. ``label`` is the
        right answer, for policies that learn from it.
        """
        case = self._checked(outputs, stage=stage, label=label)
        if stage is None:
            self._watch_the_end(outputs)
        with self._lock:
            self._take(case, 1)

    def tell_many(self, batch: Iterable[Any] | Mapping[Any, int]) -> None:
        """Take in many cases at once, in any order, or a mapping from cases to how often.

        If one case is refused, none is counted. A ``None`` at the end gets the warning of `tell`,
        except in a mapping: whoever has counted cases knows which tests were run.
        """
        if isinstance(batch, Iterator):
            batch = list(batch)
        super().tell_many(batch)
        if not isinstance(batch, Mapping):
            for outputs in batch:
                self._watch_the_end(outputs)

    def _prefix(self, outputs_so_far: Any) -> Told:
        """Return the outputs so far, of which there may be none, or raise."""
        if isinstance(outputs_so_far, (tuple, list, np.ndarray)) and not len(outputs_so_far):
            return ()
        return check_outputs(outputs_so_far, self.cascade)[1]

    def _watch_the_end(self, outputs: Any) -> None:
        """Warn once of outputs that end with None: the last test may not have been run."""
        if self._warned or type(outputs) not in (list, tuple):
            return
        if len(outputs) > 1 and outputs[-1] is None:
            self._warned = True
            warnings.warn(
                f"outputs end with None, got {outputs!r:.200}: counted as a test that ran and gave "
                "nothing. Leave out tests that were not run, or give the stage",
                OutputsWarning,
                stacklevel=3,
            )

    @property
    def n_stopped(self) -> tuple[int, ...]:
        """For each stage how many of the cases told were stopped there."""
        return tuple(self._told.n_stopped)

    @property
    def _turn(self) -> Any:
        """What changes whenever recent counts fade or are forgotten."""
        recent = self._stored.get("recent")
        return None if recent is None else recent.turn
