"""What a simulation draws from: the patterns of an instance, cut to what each stage shows."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from stopwise.cascade import Cascade, FloatArray, IntArray
from stopwise.problem.instance import Instance

Told = tuple[int, ...]


@dataclass(frozen=True)
class View:
    """What playing one stage can show: its distinct cases and how often each comes up.

    Parameters
    ----------
    outputs
        The outputs on the path, one distinct case a row.
    labels
        The label of each case, or zeros if the learner is not told it.
    probabilities
        The chance of each.
    of_pattern
        For each pattern of the instance the case it looks like.
    """

    outputs: IntArray
    labels: IntArray
    probabilities: FloatArray
    of_pattern: IntArray

    @cached_property
    def cases(self) -> list[Told]:
        """The outputs as tuples, as a learner is told them."""
        return [tuple(row) for row in self.outputs.tolist()]

    @cached_property
    def pairs(self) -> IntArray:
        """For each case and each pair (a, b), a < b, by b then a: whether they disagree."""
        length = self.outputs.shape[1]
        columns = [
            self.outputs[:, a] != self.outputs[:, b] for b in range(length) for a in range(b)
        ]
        if not columns:
            return np.zeros((len(self.outputs), 0), dtype=np.int64)
        return np.stack(columns, axis=1).astype(np.int64)


class World:
    """An instance prepared for drawing, many cases at a time or one by one.

    Parameters
    ----------
    instance
        The truth.
    labelled
        Whether the learner is told the labels (`Supervised` is).
    """

    def __init__(self, instance: Instance, *, labelled: bool = False) -> None:
        self.instance = instance
        self.labelled = labelled
        self._views: dict[int, View] = {}

    @property
    def cascade(self) -> Cascade:
        """The tests and what they cost."""
        return self.instance.cascade

    def view(self, stage: int) -> View:
        """Return what playing ``stage`` can show."""
        if stage not in self._views:
            self._views[stage] = self._cut(stage)
        return self._views[stage]

    def _cut(self, stage: int) -> View:
        path = list(self.cascade.paths[stage])
        labels = self.instance.labels if self.labelled else np.zeros_like(self.instance.labels)
        rows = np.column_stack([labels, self.instance.outputs[:, path]])
        unique, of_pattern = np.unique(rows, axis=0, return_inverse=True)
        of_pattern = of_pattern.reshape(-1)
        chances = np.bincount(of_pattern, weights=self.instance.probabilities)
        return View(unique[:, 1:], unique[:, 0], chances / chances.sum(), of_pattern)
