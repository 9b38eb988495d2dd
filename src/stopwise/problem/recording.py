"""Recorded cases as a world to learn in: a table of outputs, with the labels beside it."""

from __future__ import annotations

import csv
import re
from collections.abc import Hashable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import Cascade, read_only
from stopwise.checks import known_name
from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


class Recording:
    """A table of recorded outputs, one row a case, from which rows are drawn with replacement.

    This is how Section 7 runs its online learners on real data. Drawing rows with replacement is
    drawing from the empirical law, so everything true of a recording is told by its `instance`.

    Parameters
    ----------
    outputs
        What the tests said; shape (n, K). Any hashable values, none missing.
    labels
        The right answers, shape (n,), or ``None`` if there are none: then there is no regret.
    cascade
        The tests and what they cost.

    >>> recording = Recording([[0, 0], [0, 1], [1, 1]], [0, 1, 1], Cascade(costs=[0, 0.1]))
    >>> recording.instance.best_stage
    1
    """

    def __init__(self, outputs: Any, labels: Any, cascade: Cascade) -> None:
        shown = _table(outputs)
        if shown.ndim != 2 or shown.shape[1] != cascade.n_stages or not len(shown):
            raise InstanceError(
                f"outputs must have shape (n, {cascade.n_stages}) with n >= 1, got {shown.shape}"
            )
        self.outputs = shown
        self.labels = None if labels is None else _table(labels)
        self.cascade = cascade
        if self.labels is not None:
            if self.labels.shape != (len(shown),):
                raise InstanceError(
                    f"labels must have one entry for each of the {len(shown)} rows, "
                    f"got shape {self.labels.shape}"
                )
            _check_common_values(self.instance)

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
        label: str | None = "y",
        tests: Sequence[str] | None = None,
    ) -> Recording:
        """Read a CSV file with a header, one column a test and one with the label.

        Numbers are taken as numbers, so that ``1`` and ``1.0`` are the same answer.

        Parameters
        ----------
        path
            The file, in UTF-8.
        cascade
            The tests and what they cost.
        label
            The column of the right answer; ``None`` if there is none.
        tests
            The columns of the tests, in order; by default all but the label's.
        """
        header, rows = _read(Path(path), label)
        if label is not None:
            known_name(f"label of {path}", label, header, InstanceError)
        columns = [name for name in header if name != label] if tests is None else list(tests)
        _check_columns(columns, header, label, path)
        if len(columns) != cascade.n_stages:
            raise InstanceError(
                f"tests of {path} must be {cascade.n_stages} columns, one a stage, "
                f"got {len(columns)}: {', '.join(columns)}"
            )
        outputs = np.array([_answers(row, columns) for row in rows], dtype=object)
        labels = None if label is None else [_answers(row, [label])[0] for row in rows]
        return cls(outputs, labels, cascade)


class _Row(NamedTuple):
    place: str
    fields: dict[str, str]


def _table(values: Any) -> Any:
    """Return a read-only copy: an array as it is, else objects, where 1 beside "a" is no text."""
    kind = values.dtype if isinstance(values, np.ndarray) else object
    try:
        return read_only(np.array(values, dtype=kind))
    except (TypeError, ValueError):
        raise InstanceError("outputs and labels must be rectangular tables") from None


def _check_common_values(instance: Instance) -> None:
    """Refuse answers that can never be right: labels in one coding and outputs in another."""
    if not np.isin(instance.outputs, instance.labels).any():
        said, true = (
            [instance.classes[c] for c in np.unique(codes)[:5]]
            for codes in (instance.outputs, instance.labels)
        )
        raise InstanceError(
            f"outputs and labels must share a coding, got outputs {said} and labels {true}"
        )


def _read(path: Path, label: str | None) -> tuple[list[str], list[_Row]]:
    """Return the header and the rows."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as lines:
            reader = csv.reader(lines, strict=True)
            numbered = [(reader.line_num, fields) for fields in reader if fields]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InstanceError(f"{path} must be a CSV file in UTF-8: {error}") from error
    if not numbered:
        raise InstanceError(f"{path} must have a header and at least one row, got an empty file")
    header = [name.strip() for name in numbered[0][1]]
    if label not in header and all(_NUMBER.fullmatch(name) for name in header):
        raise InstanceError(f"{path} must start with a header, got numbers: {', '.join(header)}")
    if len(numbered) == 1:
        raise InstanceError(f"{path} must have at least one row under its header, got none")
    rows = []
    for line, fields in numbered[1:]:
        place = f"{path}, line {line}"
        if len(fields) != len(header):
            raise InstanceError(
                f"rows must have {len(header)} fields, got {len(fields)} at {place}"
            )
        rows.append(_Row(place, dict(zip(header, fields, strict=True))))
    return header, rows


def _check_columns(
    columns: list[str], header: list[str], label: str | None, path: str | Path
) -> None:
    for name in columns:
        known_name(f"tests of {path}", name, header, InstanceError)
        if name == label:
            raise InstanceError(f"tests of {path} must not hold the label, got {name!r}")
    for name in [*columns, *([] if label is None else [label])]:
        if not name or header.count(name) > 1:
            raise InstanceError(
                f"columns of {path} must have a name each, got {name!r} {header.count(name)} times"
            )


def _answers(row: _Row, columns: Sequence[str]) -> list[Hashable]:
    answers = [_answer(row.fields[name].strip()) for name in columns]
    if "" in answers:
        raise InstanceError(
            f"answers must not be missing, got none for {columns[answers.index('')]!r} at "
            f"{row.place}: give a missing answer a name of its own"
        )
    return answers


def _answer(text: str) -> Hashable:
    if _WHOLE.fullmatch(text):
        return int(text)
    return float(text) if _NUMBER.fullmatch(text) else text
