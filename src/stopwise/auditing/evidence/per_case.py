"""What deciding after each output would save against one stopping point for all cases."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

import numpy as np

from stopwise.beliefs.model import LatentClasses
from stopwise.beliefs.prefix_tree import ToldCases
from stopwise.beliefs.stopping_rule import stopping_rule
from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import PatternTable

MAX_SIZE = 5_000  # patterns times classes: rules and intervals of more take too long
MAX_PREFIXES = 24  # before the last test, for a rule that is short enough to show


@dataclass(frozen=True)
class PrefixDecision:
    """What to do after some outputs, given as codes: stop or go on; and the share of such cases."""

    outputs: tuple[int, ...]
    stops: bool
    share: float


@dataclass(frozen=True)
class PerCase:
    """The best rule that decides after each output, as the model believes.

    ``cost`` is what it is expected to cost in mistakes per case, fees included; ``saved`` how much
    less that is than with the best stage for all; ``rule`` what it does after each prefix that it
    reaches, empty where these are too many to show.
    """

    cost: float
    saved: float
    rule: tuple[PrefixDecision, ...]


def per_case_rule(model: LatentClasses, table: PatternTable) -> PerCase | None:
    """Return the rule for a chain of tests that all ran; ``None`` for trees, gaps, large tables.

    ``saved`` compares with the best stage by the model's own rates, without the hedge of
    `stage_costs`, since the rule has none either.
    """
    cascade = table.cascade
    is_whole = table.is_complete and not table.agreement_only
    if not cascade.is_chain or not is_whole or len(table.codes) * table.n_classes > MAX_SIZE:
        return None
    C = cascade.cumulative_costs
    steps = np.diff(C, prepend=0.0)
    codes = model.recode(table)
    levels = stopping_rule(model, ToldCases.complete(codes, table.weights), steps)
    shares = _shares(codes, table.probabilities)
    cost = float(C[0]) + sum(
        shares.get(tuple(row), 0.0) * float(value)
        for row, value in zip(levels[0].level.codes.tolist(), levels[0].values, strict=True)
    )
    stops = {
        tuple(row): bool(stop)
        for level in levels
        for row, stop in zip(level.level.codes.tolist(), level.stops, strict=True)
    }
    rule = [
        PrefixDecision(prefix, stops[prefix], shares[prefix])
        for prefix in sorted(shares, key=lambda p: (len(p), p))
        if not any(stops[prefix[:n]] for n in range(1, len(prefix)))
    ]
    saved = float((model.error_rates + C).min()) - cost
    n_shown = sum(len(decision.outputs) < len(C) for decision in rule)
    return PerCase(cost, saved, tuple(rule) if n_shown <= MAX_PREFIXES else ())


def _shares(codes: IntArray, probabilities: FloatArray) -> dict[tuple[int, ...], float]:
    """Return the share of cases that begin with each prefix."""
    shares: dict[tuple[int, ...], float] = defaultdict(float)
    for row, share in zip(codes.tolist(), probabilities.tolist(), strict=True):
        for n in range(1, len(row) + 1):
            shares[tuple(row[:n])] += share
    return shares
