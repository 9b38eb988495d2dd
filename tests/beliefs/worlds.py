"""Worlds whose right answers are known, and what is best in them, written out."""

from __future__ import annotations

from itertools import product

import numpy as np

from stopwise.beliefs import LatentClasses
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


def routed(rng, outputs, *, explored=0.1, stops_at=None):
    """Return the log of a router that stops cases, but for a share that it runs to the end.

    It stops after two tests if these agree, and after test 1 if that says ``stops_at``.
    """
    n, K = outputs.shape
    lengths = np.where(outputs[:, 0] == outputs[:, 1], 2, K)
    lengths[outputs[:, 0] == stops_at] = 1
    lengths[rng.random(n) < explored] = K
    return np.where(np.arange(K) < lengths[:, None], outputs, -1)


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


def fitted_world(seed, *, n=400, K=3, M=2):
    """Return a model of random cases, some of them stopped early by an output, and the cases."""
    rng = np.random.default_rng(seed)
    outputs, _ = independent(rng, n, np.sort(rng.uniform(0.55, 0.95, K)), M)
    lengths = np.where((outputs[:, 0] == 0) & (rng.random(n) < 0.5), 1, K)
    cases = distinct_cases(np.where(np.arange(K) < lengths[:, None], outputs, -1))
    table = PatternTable(
        cases.codes, cases.weights.astype(int), tuple(range(M)), Cascade(costs=[1] * K)
    )
    return LatentClasses.fit(table), cases


def least(law, beliefs, costs, answer, *, in_order=False):
    """Return for each state the least cost + error and the error of stopping, by recursion.

    A state has -1 for each test that was not run; in order, the first of these is run next.
    """
    K, M = law.ndim, law.shape[0]
    states = {}

    def value(z):
        if z in states:
            return states[z][0]
        rows = [
            s
            for s in product(range(M), repeat=K)
            if all(a in (-1, b) for a, b in zip(z, s, strict=True))
        ]
        chance = sum(law[s] for s in rows)
        belief = sum(law[s] * beliefs[s] for s in rows) / chance
        run = [k for k in range(K) if z[k] != -1]
        error = np.inf
        if run:
            error = 1 - (belief.max() if answer == "believed" else belief[z[run[-1]]])
        best = error
        left = [j for j in range(K) if z[j] == -1]
        for j in left[:1] if in_order else left:
            ahead = 0.0
            for y in range(M):
                after = (*z[:j], y, *z[j + 1 :])
                p = sum(law[s] for s in rows if s[j] == y) / chance
                ahead += p * value(after)
            best = min(best, costs[j] + ahead)
        states[z] = best, error
        return best

    value((-1,) * K)
    return states
