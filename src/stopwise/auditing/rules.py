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
    disagreement: FloatArray, error_rates: FloatArray, regrets: FloatArray, cascade: Cascade
) -> tuple[Choice, ...]:
    """Return what each rule chooses, with the worst-case regret of its choice.

    ``error_rates`` are those of a model, NaN where there is none. Under strong dominance the best
    stage is that of least C_k - P(Y^1 ≠ Y^k).
    """
    C = cascade.cumulative_costs
    stages: dict[Rule, int | None] = {
        Rule.STRONG_DOMINANCE: _cheapest(C - disagreement[0]),
        Rule.WEAK_DOMINANCE: sound_stage(disagreement, cascade),
        Rule.MINIMAX: minimax_stage(regrets),
        Rule.BELIEF: _cheapest(error_rates + C),
        Rule.LAST: cascade.n_stages - 1,
    }
    return tuple(
        Choice(rule, stage, None if stage is None else float(regrets[stage]))
        for rule, stage in stages.items()
    )


def _cheapest(total: FloatArray) -> int | None:
    return None if np.isnan(total).any() else int(np.argmin(total))
