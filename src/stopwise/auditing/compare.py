"""Side by side: the stage that each rule would choose, and the most it could cost."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from stopwise.auditing.bounds.regrets import minimax_stage
from stopwise.cascade import Cascade, FloatArray
from stopwise.disagreement import sound_stage
from stopwise.patterns import PatternTable
from stopwise.theory.dawid_skene import dawid_skene

# Enough for the stage; an audit must not wait for the last digit.
MAX_PATTERNS, MAX_STEPS = 5_000, 300
MAX_CLASSES = 100  # each test has a table of classes by classes
ITS_MODEL = "trusts its model of errors"
TWO_TESTS = "a guess: with two tests many error rates fit its model"


@dataclass(frozen=True)
class Choice:
    """What one rule chooses: ``stage`` is ``None`` where it has no answer."""

    rule: str
    stage: int | None
    worst_regret: float | None
    note: str = ""


def choices(
    histogram: PatternTable,
    disagreement: FloatArray,
    regrets: FloatArray,
    cascade: Cascade,
    *,
    strong_is_refuted: bool,
) -> tuple[Choice, ...]:
    """Return what each rule chooses, with the worst-case regret of its choice."""
    refuted = "this log refutes it" if strong_is_refuted else ""
    picked: list[tuple[str, int | None, str]] = [
        ("strong dominance", strong_dominance_stage(disagreement, cascade), refuted),
        ("weak dominance", sound_stage(disagreement, cascade), ""),
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


def _dawid_skene_choice(histogram: PatternTable, cascade: Cascade) -> tuple[str, int | None, str]:
    if histogram.n_classes > MAX_CLASSES:
        return "Dawid–Skene", None, f"is not fitted to more than {MAX_CLASSES} values"
    total = dawid_skene_error_rates(histogram) + cascade.cumulative_costs
    stage = None if np.isnan(total).any() else int(np.argmin(total))
    return "Dawid–Skene", stage, TWO_TESTS if histogram.n_stages == 2 else ITS_MODEL


def dawid_skene_error_rates(histogram: PatternTable) -> FloatArray:
    """Return the error rates that Dawid and Skene's model of independent errors fits.

    Of more than 5,000 patterns it takes the most frequent; NaN for a test that none of them shows.
    """
    most = np.argsort(-histogram.weights, kind="stable")[:MAX_PATTERNS]
    fitted = dawid_skene(histogram.codes[most], histogram.weights[most], max_steps=MAX_STEPS)
    return fitted.error_rates
