"""Recorded and made-up cases on which rules that learn beliefs are compared."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import stopwise as sw
from stopwise.beliefs import stage_costs
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

    def sample(self, n: int, seed: int) -> World:
        """Return ``n`` cases drawn from these, with replacement."""
        rows = np.random.default_rng([seed, n]).integers(len(self.labels), size=n)
        return replace(self, outputs=self.outputs[rows], labels=self.labels[rows])

    def table(self) -> PatternTable:
        """Return the counted outputs."""
        rows, counts = zip(*Counter(map(tuple, self.outputs.tolist())).items(), strict=True)
        cascade = sw.Cascade(costs=self.shares.tolist())
        return PatternTable.from_rows(rows, counts, cascade)

    def planned(self, n: int, seed: int) -> list[tuple[list[int], int]]:
        """Return labelled cases drawn among those in which tests disagree."""
        rng = np.random.default_rng([seed, n])
        (differ,) = np.nonzero((self.outputs != self.outputs[:, :1]).any(axis=1))
        return self._labelled(rng.choice(differ, min(n, len(differ)), replace=False))

    def at_random(self, n: int, seed: int) -> list[tuple[list[int], int]]:
        """Return labelled cases drawn among all."""
        return self._labelled(np.random.default_rng([seed, n]).permutation(len(self.labels))[:n])

    def _labelled(self, rows: np.ndarray) -> list[tuple[list[int], int]]:
        return [(self.outputs[i].tolist(), int(self.labels[i])) for i in rows]

    def regret_of_advice(self, model: sw.LatentClasses) -> float:
        """Return the mean regret of the advised single stage over 41 prices."""
        believed = stage_costs(model, model.table, sw.Cascade(costs=[0.0] * self.n_tests))
        regrets = []
        for scale in np.geomspace(0.01, 10, 41):
            C = np.cumsum(self.shares * scale)
            totals = C + self.errors
            regrets.append(totals[np.argmin(believed + C)] - totals.min())
        return float(np.mean(regrets))


def recorded(path: Path, step_costs: list[float]) -> World:
    """Read a file with header y,s1,...,sK."""
    with path.open(newline="") as file:
        rows = [row for row in csv.reader(file) if row][1:]
    code = {value: c for c, value in enumerate(sorted({y for row in rows for y in row[1:]}))}
    table = np.array([[code.setdefault(y, len(code)) for y in row] for row in rows])
    if table.shape[1] != len(step_costs) + 1:
        raise SystemExit(f"--step-costs must be {table.shape[1] - 1} numbers, got {step_costs}")
    return World(path.name, table[:, 1:], table[:, 0], np.array(step_costs) / sum(step_costs))


def of_kind(kind: str, seed: int, n: int = 4_000) -> World:
    """Draw a world of one of the `KINDS`: error rates, prices and the order of tests at random."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    K = int(rng.integers(3, 6))
    M = {"many values": 12, "class imbalance": 2, "asymmetric errors": 2}.get(kind) or int(
        rng.choice([2, 2, 4])
    )
    prior = rng.dirichlet(np.full(M, 8.0))
    if kind == "class imbalance":
        prior = np.array([0.94, 0.06])
    right = rng.choice(M, n, p=prior)
    errors = np.sort(rng.uniform(0.03, 0.4, K))[::-1][:, None] * np.ones(M)
    if kind == "one bad test":
        errors[rng.integers(1, K)] = 1 - 1 / M
    elif kind == "asymmetric errors":
        errors *= rng.permuted(np.tile([0.3, 1.7], (K, 1)), axis=1)
    chances = errors[:, right].T
    if kind == "shared difficulty":
        hard = rng.random(n) < 0.3
        chances = np.where(hard[:, None], np.minimum(2.4 * chances, 0.8), 0.4 * chances)
    if kind == "early exit":
        outputs = _early_exits(rng, right, K, M)
    else:
        wrong = (right[:, None] + rng.integers(1, M, (n, K))) % M
        outputs = np.where(rng.random((n, K)) < chances, wrong, right[:, None])
    if kind == "copies":
        original, copy = np.sort(rng.choice(K, 2, replace=False))
        same = rng.random(n) < 0.8
        outputs[same, copy] = outputs[same, original]
    costs = np.cumsum(rng.uniform(0.2, 1.0, K))
    return World(f"{kind} {seed}", outputs, right, costs / costs.sum())


KINDS = (
    "independent",
    "early exit",
    "shared difficulty",
    "one bad test",
    "copies",
    "many values",
    "asymmetric errors",
    "class imbalance",
)


def _early_exits(rng: np.random.Generator, right: np.ndarray, K: int, M: int) -> np.ndarray:
    """Return what exits say that add evidence to that of the exit before, at a random pace."""
    clues = rng.normal(0.0, 1.0, (len(right), K, M))
    clues[np.arange(len(right)), :, right] += rng.uniform(0.5, 1.5, K)
    clues *= rng.uniform(0.5, 1.5, K)[:, None]
    return np.asarray(np.cumsum(clues, axis=1).argmax(axis=2))
