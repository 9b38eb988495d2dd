"""Logs with hidden labels, and their histograms."""

from collections import Counter

import numpy as np
import pandas as pd

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
    counts = Counter((tuple(outputs[c].tolist()), labels[c].item()) for c in cases)
    return [(row, label, n) for (row, label), n in counts.items()]


def histogram_of(outputs, cascade):
    """The histogram by counting tuples one by one; None where an output is missing."""
    counts = Counter(map(tuple, outputs.tolist() if hasattr(outputs, "tolist") else outputs))
    return PatternTable.from_rows(counts.keys(), counts.values(), cascade)


def law_of(outputs, cascade):
    h = histogram_of(outputs, cascade)
    return PatternTable(h.codes, h.probabilities, h.classes, cascade)


def random_rows(rng, n_stages, n_classes, n_patterns, *, missing=0.0):
    rows = rng.integers(0, n_classes, (n_patterns, n_stages)).astype(object)
    rows[rng.random(rows.shape) < missing] = None
    rows[:n_classes, 0] = range(n_classes)  # every class occurs
    return rows.repeat(rng.integers(1, 9, n_patterns), axis=0)


def random_law(rng, n_stages, n_classes, n_patterns):
    rows = random_rows(rng, n_stages, n_classes, n_patterns)
    return law_of(rows, Cascade([0.1] * n_stages))
