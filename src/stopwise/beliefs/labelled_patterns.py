"""Cases whose right answer is known, as a user gives them."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.beliefs.cases import MOST_CASES
from stopwise.cascade import FloatArray, IntArray
from stopwise.checks import whole_number
from stopwise.errors import InputError, OutputsError
from stopwise.outputs import looks_like, outputs_in_order, present
from stopwise.patterns import MISSING, agreement


@dataclass(frozen=True, eq=False)
class LabelledPatterns:
    """Labelled cases, counted."""

    codes: IntArray  # what the tests said, -1 where there is no output; shape (L, K)
    labels: IntArray  # the right answers; shape (L,)
    weights: FloatArray  # how many cases; shape (L,)

    @classmethod
    def from_rows(
        cls,
        rows: Iterable[Sequence[Any]],
        values: Sequence[Hashable],
        n_tests: int,
        *,
        by_agreement: bool = False,
    ) -> tuple[LabelledPatterns, tuple[Hashable, ...]]:
        """Return cases given as ``(outputs, label)`` or ``(outputs, label, times)``, and classes.

        The classes are the ``values``, then what is new in ``rows``. By agreement, outputs and
        labels are replaced by the first test that gave them; a label that no test gave is a class
        of its own.

        >>> cases, classes = LabelledPatterns.from_rows([(["a", None], "b", 2)], ["a"], 2)
        >>> cases.codes, cases.labels, classes
        (array([[ 0, -1]]), array([1]), ('a', 'b'))
        >>> rows = [(["x", "y", "x"], "x"), ([None, "y", "y"], "z")]
        >>> cases, classes = LabelledPatterns.from_rows(rows, [0, 1, 2], 3, by_agreement=True)
        >>> cases.codes.tolist(), classes[cases.labels[1]]
        ([[0, 1, 0], [-1, 1, 1]], 'none of them')
        """
        code: dict[Hashable, int] = {None: MISSING}
        for value in values:
            code[value] = len(code) - 1
        spelling = {} if by_agreement else {looks_like(value): value for value in values}
        total: dict[tuple[tuple[int, ...], int], int] = {}
        for place, row in enumerate(rows, start=1):
            outputs, label, times = _check_row(row, n_tests, place)
            for value in (*outputs, label):
                if value not in code and looks_like(value) in spelling:
                    raise OutputsError(
                        "labels and their outputs must be written as in the table, "
                        f"{spelling[looks_like(value)]!r}, got {value!r} at {place}"
                    )
            if by_agreement:
                label = outputs.index(label) if label in outputs else "none of them"
                outputs = agreement(outputs)
            codes = tuple(code.setdefault(y, len(code) - 1) for y in outputs)
            key = (codes, code.setdefault(label, len(code) - 1))
            total[key] = total.get(key, 0) + times
        cases = cls(
            np.array([codes for codes, _ in total], dtype=np.int64).reshape(-1, n_tests),
            np.array([label for _, label in total], dtype=np.int64),
            np.array(list(total.values()), dtype=np.float64),
        )
        return cases, tuple(code)[1:]

    @cached_property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.weights.sum())


def _check_row(row: Any, n_tests: int, place: int) -> tuple[tuple[Hashable, ...], Hashable, int]:
    if not isinstance(row, Sequence) or len(row) not in {2, 3}:
        raise OutputsError(
            f"labels must be (outputs, label) or (outputs, label, times), got {row!r} at {place}"
        )
    outputs, label = row[0], row[1]
    times = whole_number(f"times of label {place}", row[2], OutputsError, least=0) if row[2:] else 1
    if times > MOST_CASES:
        raise OutputsError(f"times of label {place} must be <= {MOST_CASES:.0f}, got {times!r:.50}")
    try:
        values = tuple(map(present, outputs_in_order(outputs)))
        answer = present(label)
    except InputError as error:
        raise OutputsError(f"{error}, in label {place}") from None
    n = len(values)
    if n != n_tests:
        raise OutputsError(
            f"outputs of a label must be {n_tests}, None where missing, got {n} at {place}"
        )
    if answer is None:
        raise OutputsError(f"labels must not be missing, got {label!r} at {place}")
    return values, answer, times
