"""Warn once of outputs that differ but look alike to a reader."""

from __future__ import annotations

import warnings
from collections.abc import Hashable

from stopwise.errors import OutputsWarning
from stopwise.outputs import Told, looks_like

# Outputs of more values than this, or longer, are not compared: they are free text.
MOST_VALUES = 200
LONGEST_TEXT = 40


class Spelling:
    """Compares the outputs of a learner until two look alike or there are too many values."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Hashable] = {}
        self._met: set[Hashable] = {None}
        self._is_over = False

    def knows(self, told: Told) -> bool:
        """Whether all these outputs have been compared already, or no longer need to be."""
        return self._is_over or self._met.issuperset(told)

    def watch(self, told: Told) -> None:
        """Warn if an output looks like an earlier one: the two would count as disagreement."""
        if self.knows(told):
            return
        for output in told:
            if output in self._met or not isinstance(output, (str, int, float)):
                continue
            if isinstance(output, str) and len(output) > LONGEST_TEXT:
                continue
            other = self._known.setdefault(looks_like(output), output)
            if other != output:
                self._is_over = True
                warnings.warn(
                    f"outputs {other!r} and {output!r} look alike and count as different answers: "
                    "write them alike before telling them",
                    OutputsWarning,
                    stacklevel=5,
                )
                return
            self._met.add(output)
        self._is_over = len(self._known) > MOST_VALUES
