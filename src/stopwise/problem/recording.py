"""Recorded cases to learn from: a table of outputs with their labels."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade, read_only
from stopwise.checks import known_name
from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance, coded_outcomes
from stopwise.reading import open_log

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Recording:
    """A table of recorded outputs, one row per case, from which rows are drawn with replacement.

    This is how Section 7 runs its online learners on real data. Drawing rows with replacement is
    drawing from the empirical law, so its ``instance`` gives all true quantities of a recording.

    Parameters
    ----------
    outputs
        The outputs of the tests; shape (n, K). Any hashable values, none missing.
    labels
        The right answers, without which regret is not known; shape (n,).
    cascade
        The tests and what they cost.

    >>> recording = Recording([[0, 0], [0, 1], [1, 1]], [0, 1, 1], Cascade(costs=[0, 0.1]))
    >>> recording.instance.best_stage
    1
    """

    has_contexts = False

    def __init__(self, outputs: Any, labels: Any, cascade: Cascade) -> None:
        if labels is None:
            raise InstanceError("labels must be recorded for regret to be known, got none")
        self.outputs = _table(outputs)
        self.labels = _table(labels)
        self.cascade = cascade
        # Rows (label, outputs…) of indices into the classes.
        self._codes, classes = coded_outcomes(self.labels, self.outputs, cascade.n_stages)
        self.instance = Instance._build(self._codes, np.ones(len(self)), classes, cascade)
        _check_common_values(self.instance)

    def __len__(self) -> int:
        return len(self.outputs)

    def __repr__(self) -> str:
        return f"Recording({len(self)} cases, {self.cascade.n_stages} stages)"

    @staticmethod
    def from_csv(
        path: str | Path,
        cascade: Cascade,
        *,
        label: str = "y",
        tests: Sequence[str] | None = None,
    ) -> Recording:
        """Read a file with one column per test and one for the label; `open_log` lists the formats.

        Texts of numbers become numbers, so that ``1`` and ``1.0`` are the same answer.

        Parameters
        ----------
        path
            The file, CSV or any other that an audit reads.
        cascade
            The tests and what they cost.
        label
            The column of the right answer.
        tests
            The columns of the tests, in order; by default all but the label's.
        """
        log = open_log(path, tests=tests)
        names = log.columns
        if tests is None:
            if label not in names and all(_NUMBER.fullmatch(name) for name in names):
                raise InstanceError(f"{path} must start with a header, got {', '.join(names)}")
            known_name(f"label of {path}", label, names, InstanceError)
            log = open_log(log, tests=[name for name in names if name != label])
        if label in log.columns:
            raise InstanceError(f"tests of {path} must not hold the label, got {label!r}")
        if len(log.columns) != cascade.n_stages:
            raise InstanceError(
                f"tests of {path} must be {cascade.n_stages} columns, one per stage, "
                f"got {len(log.columns)}: {', '.join(log.columns)}"
            )
        columns = [*log.columns, label]
        rows = log.rows(label)
        for number, row in enumerate(rows, start=1):
            if None in row:
                raise InstanceError(
                    f"answers must not be missing, got none for {columns[row.index(None)]!r} "
                    f"in row {number} of {path}: leave the row out, or write a value such as "
                    "'none' that counts as a wrong answer"
                )
        answers = np.array([[*map(_answer, row)] for row in rows], dtype=object)
        if not len(answers):
            raise InstanceError(f"{path} must have at least one row under its header, got none")
        return Recording(answers[:, :-1], answers[:, -1], cascade)


def _table(values: Any) -> Any:
    """Return a read-only copy: an array keeps its type, other tables become arrays of objects."""
    kind = values.dtype if isinstance(values, np.ndarray) else object
    try:
        return read_only(np.array(values, dtype=kind))
    except (TypeError, ValueError):
        raise InstanceError("outputs and labels must be rectangular tables") from None


def _check_common_values(instance: Instance) -> None:
    """Refuse labels and outputs without common values: no answer could be right."""
    if not np.isin(instance.outputs, instance.labels).any():
        outputs, labels = (
            [instance.classes[c] for c in np.unique(codes)[:5]]
            for codes in (instance.outputs, instance.labels)
        )
        raise InstanceError(
            f"outputs and labels must share a coding, got outputs {outputs} and labels {labels}"
        )


def _answer(value: Hashable) -> Hashable:
    """Return a number for the text of one, and every other value as it is."""
    text = value.strip() if isinstance(value, str) else ""
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text or value
