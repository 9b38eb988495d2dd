"""Recorded cases as a world to learn in: a table of outputs, with the labels beside it."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance


class Recording:
    """A table of recorded outputs, one row a case, from which rows are drawn with replacement.

    This is how Section 7 runs its online learners on real data. Drawing rows with replacement is
    drawing from the empirical law, so everything true of a recording is told by its `instance`.

    Parameters
    ----------
    outputs
        What the tests said; shape (n, K).
    labels
        The right answers, shape (n,), or ``None`` if there are none: then there is no regret.
    cascade
        The tests and what they cost.

    >>> recording = Recording([[0, 0], [0, 1], [1, 1]], [0, 1, 1], Cascade(costs=[0, 0.1]))
    >>> recording.instance.best_stage
    1
    """

    def __init__(self, outputs: Any, labels: Any, cascade: Cascade) -> None:
        shown = np.asarray(outputs)
        if shown.ndim != 2 or shown.shape[1] != cascade.n_stages or not len(shown):
            raise InstanceError(
                f"outputs must have shape (n, {cascade.n_stages}) with n >= 1, got {shown.shape}"
            )
        self.outputs = shown
        self.labels = None if labels is None else np.asarray(labels)
        self.cascade = cascade

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        labelled = "no labels" if self.labels is None else "labelled"
        return f"Recording({len(self)} cases, {self.cascade.n_stages} stages, {labelled})"

    @cached_property
    def instance(self) -> Instance:
        """The empirical law of the recorded cases."""
        if self.labels is None:
            raise InstanceError("labels must be recorded for regret to be known, got none")
        return Instance.from_outcomes(self.labels, self.outputs, self.cascade)

    @classmethod
    def from_csv(
        cls,
        path: str | Path,
        cascade: Cascade,
        *,
        label: str = "y",
        tests: Sequence[str] | None = None,
    ) -> Recording:
        """Read a CSV with a header: one column a test, and the label's column if it is there.

        ``tests`` names the columns in order; by default all but the label's.
        """
        with Path(path).open(newline="") as lines:
            rows = list(csv.reader(lines))
        header, cases = (rows[0], rows[1:]) if rows else ([], [])
        columns = [name for name in header if name != label] if tests is None else list(tests)
        for name in columns:
            if name not in header:
                raise InstanceError(f"tests must be columns of {header}, got {name!r}")
        for r, row in enumerate(cases):
            if len(row) != len(header):
                raise InstanceError(
                    f"rows must have {len(header)} fields, got {len(row)} at line {r + 2}"
                )
        picked = [header.index(name) for name in columns]
        outputs = np.array([[row[k] for k in picked] for row in cases])
        labels = [row[header.index(label)] for row in cases] if label in header else None
        return cls(outputs.reshape(len(cases), len(columns)), labels, cascade)
