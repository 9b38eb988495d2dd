"""Logs with hidden labels, and slow, plain computations to compare the audit with."""

from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
from scipy.optimize import linprog

from stopwise.auditing.assumptions import LabelSpace
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable

NAMES = ["history", "insulin", "all"]


def draw(rng, n_cases, rates, *, n_classes=2):
    """Labels and outputs: each test errs at its rate, independently, evenly over the others."""
    labels = rng.integers(0, n_classes, n_cases)
    wrong = rng.random((n_cases, len(rates))) < np.asarray(rates)
    shift = rng.integers(1, n_classes, (n_cases, len(rates)))
    outputs = np.where(wrong, (labels[:, None] + shift) % n_classes, labels[:, None])
    return labels, outputs


def frame_of(seed=0, n=3_000, rates=(0.35, 0.2, 0.1), n_classes=2, names=NAMES):
    """Labels, and the outputs as a table."""
    labels, outputs = draw(np.random.default_rng(seed), n, rates, n_classes=n_classes)
    return labels, pd.DataFrame(outputs, columns=names)


def labelled(outputs, labels, cases):
    """Some cases with their labels: outputs, label and how often."""
    told = Counter((tuple(outputs[c].tolist()), labels[c].item()) for c in cases)
    return [(row, label, n) for (row, label), n in told.items()]


def histogram_of(outputs, cascade):
    """The histogram by counting tuples one by one; None where an output is missing."""
    counted = Counter(map(tuple, outputs.tolist() if hasattr(outputs, "tolist") else outputs))
    return PatternTable.from_rows(counted.keys(), counted.values(), cascade)


def law_of(outputs, cascade):
    h = histogram_of(outputs, cascade)
    return PatternTable(h.codes, h.probabilities, h.classes, cascade)


def random_law(rng, n_stages, n_classes, n_patterns, *, missing=0.0):
    rows = rng.integers(0, n_classes, (n_patterns, n_stages)).astype(object)
    rows[rng.random(rows.shape) < missing] = None
    rows[:n_classes, 0] = range(n_classes)  # every class occurs
    return law_of(rows.repeat(rng.integers(1, 9, n_patterns), axis=0), Cascade([0.1] * n_stages))


ANY_SEEN = LabelSpace()


def highs_bound(law, direction, *, conditions=(), space=ANY_SEEN, prevalence=()):
    """The largest direction · γ by one programme over pattern, label and completion.

    ``conditions`` are (row over γ, limit); ``prevalence`` (value, low, high). Every missing output
    is spelled out as right or wrong, every label as itself: nothing is grouped or simplified.
    """
    K = law.cascade.n_stages
    values = [v for v in law.classes if v not in space.never_right]
    labels = [*values, *(["a value no test gives"] if space.unseen else [])]
    columns, owners, label_of = [], [], []
    for s, row in enumerate(law.codes.tolist()):
        holes = [k for k in range(K) if row[k] < 0]
        for y in labels:
            loss = np.array([row[k] >= 0 and law.classes[row[k]] != y for k in range(K)], float)
            for wrong in product((0.0, 1.0), repeat=len(holes)):
                full = loss.copy()
                full[holes] = wrong
                columns.append(full)
                owners.append(s)
                label_of.append(y)
    columns = np.array(columns)
    sums = np.zeros((len(law.codes), len(columns)))
    sums[owners, np.arange(len(columns))] = 1
    rows = [columns @ np.asarray(row, float) for row, _ in conditions]
    limits = [limit for _, limit in conditions]
    for value, low, high in prevalence:
        has = np.array([y == value for y in label_of], float)
        rows += [has, -has]
        limits += [high, -low]
    found = linprog(
        -(columns @ np.asarray(direction, float)),
        A_ub=np.array(rows) if rows else None,
        b_ub=limits or None,
        A_eq=sums,
        b_eq=law.probabilities,
        method="highs",
    )
    return None if found.status == 2 else -found.fun


ORDER = {
    K: [([float(k == j + 1) - float(k == j) for k in range(K)], 0.0) for j in range(K - 1)]
    for K in range(2, 8)
}
