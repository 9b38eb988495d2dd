"""Compiled play on trees: round by round, since what is shown depends on the branch.

Arguments and tables are those of `kernels.play`; the rules are the walks that the policies run.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from stopwise.policies.optimism import NOTHING
from stopwise.policies.thompson import sampled_walk
from stopwise.policies.tree_resolution import resolving_walk
from stopwise.policies.walk import optimistic_walk
from stopwise.simulation.kernels import choose_strong, row_at
from stopwise.simulation.tables import RESOLVE, STRONG_DOMINANCE, THOMPSON, Learner, Rows


def play_tree(
    learner: Learner,
    rows: Rows,
    checkpoints: Any,
    jumps: bool,
    sources: Any,
    given: Any,
    played: Any,
    stages: Any,
) -> None:
    """Play on from what the learner knows, which is changed; ``jumps`` has no effect."""
    totals = np.zeros(played.shape[1], dtype=np.int64)
    t = learner.n_rounds
    for c in range(len(checkpoints)):
        while t < checkpoints[c]:
            stage, explores = choose_on_tree(learner, t, sources[1])
            row = row_at(given, sources[0, 0], sources[0, 1], t, rows.keep, rows.ends)
            learner.stopped[stage] += 1
            learner.explored[0] += explores
            show(rows.adds[row], learner.branches, learner.seen, learner.sums, stage)
            if t < len(stages):
                stages[t] = stage
            totals[stage] += 1
            totals[-1] += rows.is_wrong[row, stage]
            t += 1
        for k in range(len(totals)):
            played[c, k] = totals[k]


def choose_on_tree(learner: Learner, t: int, source: Any) -> tuple[int, int]:
    """Return the stage to play after ``t`` rounds, and 1 where Algorithm 1 explores, else 0."""
    branches, prices, setting = learner.branches, learner.prices, learner.setting
    seen, sums = learner.seen, learner.sums
    if learner.rule == STRONG_DOMINANCE:
        stage, explores, _ = choose_strong(learner, t)
        return stage, int(explores)
    if learner.rule == THOMPSON:
        return sampled_walk(branches, prices, seen, sums, source), 0
    if learner.rule == RESOLVE:
        return resolving_walk(branches, prices, seen, sums, t, setting), 0
    return optimistic_walk(branches, prices, seen, sums, setting * math.log(t + 1)), 0


def show(row: Any, branches: Any, seen: Any, sums: Any, stage: int) -> None:
    """Add what a row shows at ``stage``: the pairs on the path to it."""
    for j in range(stage + 1):
        if j != stage and branches[j, stage] == NOTHING:
            continue
        for i in range(j):
            if branches[i, j] != NOTHING:
                sums[j, i] += row[j * (j - 1) // 2 + i]
                seen[j, i] += 1
        seen[j, j] += 1
