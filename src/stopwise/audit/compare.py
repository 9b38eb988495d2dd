"""Side by side: the stage that each rule would choose, and the most it could cost."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from stopwise.audit.histogram import MISSING, Histogram
from stopwise.audit.prices import minimax_stage
from stopwise.cascade import Cascade, FloatArray, IntArray
from stopwise.disagreement import sound_stage

MAX_TASKS = 5_000


@dataclass(frozen=True)
class Choice:
    """What one rule chooses: ``stage`` is ``None`` where it has no answer."""

    rule: str
    stage: int | None
    worst_regret: float | None
    note: str = ""


def choices(histogram: Histogram, regrets: FloatArray, cascade: Cascade) -> tuple[Choice, ...]:
    """Return what each rule chooses, with the worst-case regret of its choice."""
    picked: list[tuple[str, int | None, str]] = [
        ("strong dominance", strong_dominance_stage(histogram.disagreement, cascade), ""),
        ("weak dominance", sound_stage(histogram.disagreement, cascade), ""),
        ("minimax regret", minimax_stage(regrets), ""),
        _dawid_skene_choice(histogram, cascade),
        ("always the last", cascade.n_stages - 1, ""),
    ]
    return tuple(
        Choice(rule, stage, None if stage is None else float(regrets[stage]), note)
        for rule, stage, note in picked
    )


def strong_dominance_stage(disagreement: FloatArray, cascade: Cascade) -> int | None:
    """Return the stage of least C_k - P(Y^1 ≠ Y^k): the best one under strong dominance."""
    total = cascade.cumulative_costs - disagreement[0]
    return None if np.isnan(total).any() else int(np.argmin(total))


def _dawid_skene_choice(histogram: Histogram, cascade: Cascade) -> tuple[str, int | None, str]:
    rule = "Dawid–Skene"
    try:
        rates = dawid_skene_error_rates(histogram)
    except ImportError:
        return rule, None, "needs crowd-kit"
    return rule, int(np.argmin(rates + cascade.cumulative_costs)), "trusts its model of errors"


def dawid_skene_error_rates(histogram: Histogram) -> FloatArray:
    """Return the error rates that Dawid and Skene's model of independent errors fits.

    Logs of more than 5,000 cases are scaled down, pattern by pattern.
    """
    import pandas as pd

    with warnings.catch_warnings():  # of what pandas will change under crowd-kit
        warnings.simplefilter("ignore")
        from crowdkit.aggregation import DawidSkene

    times = _scaled(histogram.counts, MAX_TASKS)
    rows = np.repeat(histogram.patterns, times, axis=0)
    task, worker = np.nonzero(rows != MISSING)
    answers = pd.DataFrame({"task": task, "worker": worker, "label": rows[task, worker]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model: Any = DawidSkene(n_iter=100).fit(answers)
    chances = model.probas_.reindex(range(len(rows))).fillna(0.0)
    table = chances.reindex(columns=range(histogram.n_classes), fill_value=0.0).to_numpy()
    right = np.where(rows == MISSING, np.nan, np.take_along_axis(table, np.maximum(rows, 0), 1))
    return np.asarray(1 - np.nanmean(right, axis=0))


def _scaled(counts: IntArray, most: int) -> IntArray:
    total = int(counts.sum())
    if total <= most:
        return counts
    edges = np.rint(np.cumsum(counts) * (most / total)).astype(np.int64)
    return np.asarray(np.diff(edges, prepend=0))
