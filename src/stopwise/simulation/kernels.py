"""Compiled play: what `play_events` does, in machine code, and round by round where that is asked.

One kernel for all policies and worlds: what differs is in `tables`, so that it is compiled once.
Its rules are the functions that the policies run in Python.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from stopwise.policies.optimism import optimistic_choice
from stopwise.policies.resolution import resolving_choice
from stopwise.policies.strong_dominance import cascade_choice
from stopwise.policies.thompson import sampled_choice
from stopwise.simulation.draws import binomial, pick
from stopwise.simulation.tables import (
    RESOLVE,
    STRONG_DOMINANCE,
    SUPERVISED,
    THOMPSON,
    Learner,
    Rows,
)

# Up to so many rounds are added row by row, more by how often each row came up.
FEW = 8
# Drawing how often a case came up takes about as long as drawing so many rounds.
ROUNDS_A_COUNT = 8


def play(
    learner: Learner,
    rows: Rows,
    checkpoints: Any,
    jumps: bool,
    sources: Any,
    given: Any,
    played: Any,
    stages: Any,
) -> None:
    """Play on from what the learner knows, which is changed, up to the last checkpoint.

    Parameters
    ----------
    learner, rows
        Who plays, and in which world. Rounds are counted from the learner's first.
    checkpoints
        The numbers of rounds at which to look, increasing.
    jumps
        Whether to draw what a stretch shows as counts where that is cheaper than round by round.
    sources
        A source for the rows, one number a round, and a source for everything else.
    given
        The row of each round; empty if they are to be drawn.
    played
        To be filled: for each checkpoint how often each stage was played and, last, how many of
        the answers were wrong.
    stages
        To be filled with the stage of each round, as far as it has room.
    """
    seen, sums = learner.seen, learner.sums
    adds, is_wrong, source = rows.adds, rows.is_wrong, sources[1]
    counts = np.zeros(len(adds), dtype=np.int64)
    new = np.zeros(adds.shape[1])
    totals = np.zeros(played.shape[1], dtype=np.int64)
    t = learner.n_rounds
    for c in range(len(checkpoints)):
        while t < checkpoints[c]:
            stage, certain, explores = choose(learner, t, source)
            rounds = min(certain, checkpoints[c] - t)
            learner.stopped[stage] += rounds
            learner.explored[0] += rounds * explores
            first, last = rows.starts[stage], rows.starts[stage + 1]
            if jumps and rounds > ROUNDS_A_COUNT * (last - first):
                shares, examples = rows.shares[first:last], rows.examples[first:last]
                wrong = jump(shares, examples, adds, is_wrong[:, stage], new, stage, rounds, source)
            elif rounds <= FEW:
                wrong = 0
                for s in range(t, t + rounds):
                    row = row_at(given, sources[0, 0], sources[0, 1], s, rows.keep, rows.ends)
                    add(adds[row], new, stage, 1)
                    wrong += is_wrong[row, stage]
            else:
                count(counts, given, sources[0], t, rounds, rows.keep, rows.ends)
                wrong = total(counts, rows.alike[stage], adds, is_wrong[:, stage], new, stage)
            settle(new, seen, sums, stage, rounds)
            for s in range(t, min(t + rounds, len(stages))):
                stages[s] = stage
            totals[stage] += rounds
            totals[-1] += wrong
            t += rounds
        for k in range(len(totals)):
            played[c, k] = totals[k]


def choose(learner: Learner, t: int, source: Any) -> tuple[int, int, int]:
    """Return the stage to play after ``t`` rounds, for how many rounds that is certain, and 1 or 0.

    1 where Algorithm 1 explores.
    """
    prices, seen, sums, setting = learner.prices, learner.seen, learner.sums, learner.setting
    if learner.rule == THOMPSON:
        return sampled_choice(prices, seen, sums, source), 1, 0
    if learner.rule == STRONG_DOMINANCE:
        stage, explores, rounds = choose_strong(learner, t)
        return stage, rounds, int(explores)
    if learner.rule == RESOLVE:
        stage, rounds = resolving_choice(prices, seen, sums, t, setting)
    else:
        swing = 1 if learner.rule == SUPERVISED else 0
        stage, rounds = optimistic_choice(prices, seen, sums, t + 1, setting, swing)
    return stage, rounds, 0


def choose_strong(learner: Learner, t: int) -> tuple[int, bool, int]:
    """Return the stage of Algorithm 1 after ``t`` rounds, whether it explores, and for how long."""
    observed = [learner.seen[k, 0] for k in range(len(learner.seen))]
    means = [
        learner.sums[k, 0] / max(observed[k], 1) - learner.costs[k] for k in range(len(observed))
    ]
    forced = learner.beta[0] * learner.explored[0] ** learner.beta[1]
    stopped, parents = learner.stopped, learner.parents
    return cascade_choice(means, observed, stopped, t + 1, learner.setting, forced, parents)


def row_at(given: Any, state: Any, step: Any, t: int, keep: Any, ends: Any) -> Any:
    """Return the row of round ``t``."""
    if len(given) > 0:
        return np.uint64(given[t])
    return pick(state, step, t, keep, ends)


def count(counts: Any, given: Any, source: Any, t: int, rounds: int, keep: Any, ends: Any) -> None:
    """Count the rows of ``rounds`` rounds from ``t`` on."""
    state, step = source[0], source[1]
    if len(given) > 0:
        for s in range(t, t + rounds):
            counts[given[s]] += 1
    else:
        for s in range(t, t + rounds):
            counts[pick(state, step, s, keep, ends)] += 1


def total(counts: Any, alike: Any, adds: Any, is_wrong: Any, new: Any, stage: int) -> int:
    """Add what was counted and begin to count anew; return how many answers were wrong."""
    for row in range(len(counts)):
        if alike[row] != row:
            counts[alike[row]] += counts[row]
            counts[row] = 0
    wrong = 0
    for row in range(len(counts)):
        if counts[row] > 0:
            add(adds[row], new, stage, counts[row])
            wrong += counts[row] * is_wrong[row]
            counts[row] = 0
    return wrong


def jump(
    shares: Any,
    examples: Any,
    adds: Any,
    is_wrong: Any,
    new: Any,
    stage: int,
    rounds: int,
    source: Any,
) -> int:
    """Draw how often each case comes up in ``rounds`` rounds, and add that."""
    wrong = 0
    for case in range(len(shares)):
        times = binomial(source, rounds, shares[case])
        if times > 0:
            add(adds[examples[case]], new, stage, times)
            wrong += times * is_wrong[examples[case]]
            rounds -= times
    return wrong


def add(row: Any, new: Any, stage: int, times: int) -> None:
    """Add what a row shows at ``stage``, pair by pair."""
    weight = float(times)  # machines multiply floats faster than whole numbers
    for k in range(stage * (stage + 1) // 2):
        new[k] += weight * row[k]


def settle(new: Any, seen: Any, sums: Any, stage: int, rounds: int) -> None:
    """Move what is new into the tables."""
    k = 0
    for j in range(stage + 1):
        for i in range(j):
            sums[j, i] += np.int64(new[k])
            seen[j, i] += rounds
            new[k] = 0.0
            k += 1
        seen[j, j] += rounds
