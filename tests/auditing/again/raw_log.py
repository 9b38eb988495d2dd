"""A log with every row in sight, and what an audit of it is told."""

from dataclasses import dataclass

import numpy as np
import pandas as pd

import stopwise as sw
from stopwise.auditing import MissingAtRandom, NeverRight, UnseenLabel
from tests.auditing.worlds import draw

WORDS = np.array(["no", "perhaps", "yes"], dtype=object)


@dataclass(frozen=True, eq=False)
class RawLog:
    """Rows of outputs, None where one is missing, and all that an audit of them was told."""

    rows: tuple
    costs: tuple
    mistake_cost: float = 1
    names: tuple = ("a", "b", "c")
    parents: tuple | None = None
    assumptions: tuple = ()
    never_right: tuple = ()
    unshared: tuple = ()  # what the first test alone says
    unseen: bool = False
    at_random: bool = False
    labels: tuple = ()  # (number of the row, label)
    n_planned: int = 0
    confidence: float = 0.95

    @property
    def no_answers(self):
        return (*self.never_right, *self.unshared)

    def frame(self):
        return pd.DataFrame(list(self.rows), columns=list(self.names), dtype=object)

    def label_frame(self):
        if not self.labels:
            return None
        rows, labels = zip(*self.labels, strict=True)
        return self.frame().iloc[list(rows)].assign(label=labels)

    def assumed(self):
        """Everything that the audit takes for granted, in order."""
        return [
            *self.assumptions,
            *([NeverRight(*self.never_right)] if self.never_right else []),
            *([UnseenLabel()] if self.unseen else []),
            *([MissingAtRandom()] if self.at_random else []),
        ]

    def audit(self):
        return sw.audit(
            self.frame(),
            sw.Cascade(self.costs, self.mistake_cost, self.names, self.parents),
            assumptions=self.assumed(),
            labels=self.label_frame(),
            n_planned=self.n_planned,
            confidence=self.confidence,
        )


def rows_of(outputs, missing=None):
    rows = outputs.astype(object)
    if missing is not None:
        rows[missing] = None
    return tuple(map(tuple, rows.tolist()))


def labels_at(rows, labels):
    """The labels of some rows, by the number of the row."""
    values = labels.tolist()
    return tuple((int(r), values[r]) for r in rows)


def drawn(seed, n_cases, rates=(0.35, 0.2, 0.1), n_classes=2):
    rng = np.random.default_rng(seed)
    return (rng, *draw(rng, n_cases, rates, n_classes=n_classes))
