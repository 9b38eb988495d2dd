"""Compiled play with contexts: the rules and updates of the contextual policies, round by round."""

from __future__ import annotations

from typing import Any

from stopwise.policies.contextual_rules import (
    covered_stage,
    growing_bonus,
    resolving_stage,
)
from stopwise.policies.pair_models import UNSEEN, Model, absorb

# The rules that are compiled.
OPTIMISTIC, RESOLVING, SAMPLED = 0, 1, 2


def play_cases(
    rule: int,
    model: Model,
    exploration: float,
    contexts: Any,
    disagreed: Any,
    pairs: Any,
    source: Any,
    stages: Any,
) -> None:
    """Play case after case on from what the model knows, which is changed.

    Parameters
    ----------
    rule, model, exploration
        Who plays.
    contexts
        The features of the cases; shape (n, d).
    disagreed
        For each case and pair 1 where all its outputs would show disagreement; shape (n, P).
    pairs
        Room for what a case shows; shape (P,).
    source
        Where random numbers come from.
    stages
        To be filled with the stage of each case; shape (n,).
    """
    n_stages = 1
    while n_stages * (n_stages - 1) // 2 < len(pairs):
        n_stages += 1
    for n in range(len(contexts)):
        context = contexts[n]
        bonus = growing_bonus(exploration, model.counts[0])
        if rule == RESOLVING:
            stage = resolving_stage(model, n_stages, context, bonus)
        else:
            width = exploration if rule == SAMPLED else bonus
            stage = covered_stage(model, n_stages, context, width, rule == SAMPLED, source)
        shown = stage * (stage + 1) // 2
        for p in range(len(pairs)):
            pairs[p] = disagreed[n, p] if p < shown else UNSEEN
        absorb(model, context, pairs)
        stages[n] = stage
