"""Worlds whose right answers are known: tests that err independently, or together on hard cases."""

from __future__ import annotations

import numpy as np

from stopwise.beliefs.prefix_tree import ToldCases
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable


def independent(rng, n, accuracies, n_classes=2):
    """Cases of tests with one accuracy each that err independently and evenly."""
    return with_difficulty(rng, n, [accuracies], n_classes)


def with_difficulty(rng, n, accuracies, n_classes=2):
    """Cases of as many levels of difficulty, equally often, as there are lists of accuracies."""
    labels = rng.integers(0, n_classes, n)
    right = np.array(accuracies)[rng.integers(0, len(accuracies), n)]
    wrong = (labels[:, None] + rng.integers(1, n_classes, right.shape)) % n_classes
    return np.where(rng.random(right.shape) < right, labels[:, None], wrong), labels


def table_of(outputs):
    """Return the table of cases; -1 is a missing output."""
    rows = [[None if y < 0 else int(y) for y in row] for row in outputs]
    return PatternTable.from_rows(rows, [1] * len(rows), Cascade(costs=[1] * len(rows[0])))


def labelled(outputs, labels, cases):
    """Return some of the cases with their labels."""
    return [(outputs[i].tolist(), int(labels[i])) for i in cases]


def law(prior, confusion):
    """Return the exact law of outputs of independent tests; ``confusion[k][a][b]``."""
    K, M = len(confusion), len(prior)
    codes = np.indices((M,) * K).reshape(K, -1).T
    chances = [
        prior[a] * np.prod([np.array(confusion[k])[a, codes[:, k]] for k in range(K)], axis=0)
        for a in range(M)
    ]
    return PatternTable(codes, np.sum(chances, axis=0), tuple(range(M)), Cascade(costs=[1] * K))


def distinct_cases(codes):
    """Return cases that stopped where outputs are -1, without labels."""
    rows, times = np.unique(codes, axis=0, return_counts=True)
    return ToldCases(rows, (rows != -1).sum(axis=1), times.astype(float), np.zeros(len(rows)))
