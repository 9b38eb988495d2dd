"""Side by side: the stage that each rule would choose, and the most it could cost."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from stopwise.auditing.bounds.regrets import minimax_stage
from stopwise.cascade import Cascade, FloatArray
from stopwise.disagreement import sound_stage


class Rule(Enum):
    """A rule that chooses a stage from a log without labels."""

    STRONG_DOMINANCE = "strong dominance"
    WEAK_DOMINANCE = "weak dominance"
    MINIMAX = "minimax regret"
    BELIEF = "belief"
    LAST = "always the last"


@dataclass(frozen=True)
class Choice:
    """What one rule chooses: ``stage`` is ``None`` where it has no answer."""

    rule: Rule
    stage: int | None
    worst_regret: float | None


def choices(
    disagreement: FloatArray, believed: FloatArray, regrets: FloatArray, cascade: Cascade
) -> tuple[Choice, ...]:
    """Return what each rule chooses, with the worst-case regret of its choice.

    ``believed`` are error rates under a model, NaN where it has none.
    """
    total = believed + cascade.cumulative_costs
    picked: dict[Rule, int | None] = {
        Rule.STRONG_DOMINANCE: strong_dominance_stage(disagreement, cascade),
        Rule.WEAK_DOMINANCE: sound_stage(disagreement, cascade),
        Rule.MINIMAX: minimax_stage(regrets),
        Rule.BELIEF: None if np.isnan(total).any() else int(np.argmin(total)),
        Rule.LAST: cascade.n_stages - 1,
    }
    return tuple(
        Choice(rule, stage, None if stage is None else float(regrets[stage]))
        for rule, stage in picked.items()
    )


def strong_dominance_stage(disagreement: FloatArray, cascade: Cascade) -> int | None:
    """Return the stage of least C_k - P(Y^1 ≠ Y^k): the best one under strong dominance."""
    total = cascade.cumulative_costs - disagreement[0]
    return None if np.isnan(total).any() else int(np.argmin(total))
