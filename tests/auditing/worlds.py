"""Logs with hidden labels, and their histograms."""

from collections import Counter

import numpy as np
import pandas as pd

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
