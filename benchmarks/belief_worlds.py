"""Recorded and made-up cases on which rules that learn beliefs are compared."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import stopwise as sw
from stopwise.patterns import PatternTable


@dataclass(frozen=True)
class World:
    """Recorded outputs and right answers as codes of classes, and the shares of the costs."""

    name: str
    outputs: np.ndarray
    labels: np.ndarray
    shares: np.ndarray

    @property
    def n_tests(self) -> int:
        return self.outputs.shape[1]

    @property
    def errors(self) -> np.ndarray:
        return (self.outputs != self.labels[:, None]).mean(axis=0)

    def table(self) -> PatternTable:
        """Return the counted outputs."""
        rows, counts = zip(*Counter(map(tuple, self.outputs.tolist())).items(), strict=True)
        cascade = sw.Cascade(costs=self.shares.tolist())
        return PatternTable.from_rows(rows, counts, cascade)

    def planned(self, n: int, seed: int) -> list[tuple[list[int], int]]:
        """Return labelled cases drawn among those in which tests disagree."""
        rng = np.random.default_rng([seed, n])
        (differ,) = np.nonzero((self.outputs != self.outputs[:, :1]).any(axis=1))
        chosen = rng.choice(differ, min(n, len(differ)), replace=False)
        return [(self.outputs[i].tolist(), int(self.labels[i])) for i in chosen]

    def at_random(self, n: int, seed: int) -> list[tuple[list[int], int]]:
        """Return labelled cases drawn among all."""
        chosen = np.random.default_rng([seed, n]).permutation(len(self.labels))[:n]
        return [(self.outputs[i].tolist(), int(self.labels[i])) for i in chosen]


def recorded(path: Path, step_costs: list[float]) -> World:
    """Read a file with header y,s1,...,sK."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    code = {value: c for c, value in enumerate(sorted({y for row in rows for y in row[1:]}))}
    table = np.array([[code.setdefault(y, len(code)) for y in row] for row in rows])
    if table.shape[1] != len(step_costs) + 1:
        raise SystemExit(f"--step-costs must be {table.shape[1] - 1} numbers, got {step_costs}")
    return World(path.name, table[:, 1:], table[:, 0], np.array(step_costs) / sum(step_costs))


def made_up(seed: int, *, n_tests: int, n_classes: int, dependence: float) -> World:
    """Draw a world in which some cases are hard for all tests and share a wrong answer."""
    rng = np.random.default_rng(seed)
    n = 8_000
    right = rng.choice(n_classes, n, p=rng.dirichlet(np.full(n_classes, 5.0)))
    is_hard = rng.random(n) < 0.3
    shared = (right + rng.integers(1, n_classes, n)) % n_classes
    outputs = np.empty((n, n_tests), dtype=np.int64)
    for k, error in enumerate(np.sort(rng.uniform(0.03, 0.45, n_tests))[::-1]):
        hard = min(0.95, error * (1 + 2 * dependence))
        easy = max(0.0, (error - 0.3 * hard) / 0.7)
        errs = rng.random(n) < np.where(is_hard, hard, easy)
        own = (right + rng.integers(1, n_classes, n)) % n_classes
        wrong = np.where(rng.random(n) < dependence, shared, own)
        outputs[:, k] = np.where(errs, wrong, right)
    costs = np.cumsum(rng.uniform(0.2, 1.0, n_tests))
    name = f"made up {seed}: {n_tests} tests, {n_classes} values, dependence {dependence}"
    return World(name, outputs, right, costs / costs.sum())
