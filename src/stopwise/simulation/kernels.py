"""Compiled play: what `events` does, in machine code, and round by round where that is asked.

Each kernel is compiled anew for each rule: the rule is what ``choose`` is then.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stopwise.policies.compiled_rule import Tables
from stopwise.policies.optimism import NOTHING
from stopwise.policies.pair_models import UNSEEN, Model, absorb
from stopwise.simulation.draws import pick

# Up to so many rounds are added row by row, more by how often each row came up.
FEW = 8
# Drawing how often a case came up takes about as long as drawing so many rounds.
ROUNDS_A_COUNT = 8


# Where this stands, the rule of a policy is compiled.
choose: Any = None


class Rows(NamedTuple):
    """The patterns of a world: what each adds to the sums, and tables to draw them from."""

    adds: Any  # what each row adds to ``sums[j, i]``, by j, then i < j; shape (rows, K (K - 1) / 2)
    is_wrong: Any  # whether its answer at each stage is wrong; shape (rows, K)
    # The alias table of the rows. If it is empty the row of round t is row t.
    keep: Any
    ends: Any
    alike: Any  # for each stage and row the first row that looks like it; shape (K, rows)
    starts: Any  # stage k shows the cases ``starts[k]`` to ``starts[k + 1] - 1``
    examples: Any  # for each of these cases a row that looks like it
    shares: Any  # the chance of each, given that none of those before it in the same stage came up


class Run(NamedTuple):
    """One replication."""

    is_chain: bool  # whether the tests are a chain
    # Whether to draw what a stretch shows as counts where that is cheaper than round by round.
    jumps: bool
    known: int  # how many cases the policy knew before the first round
    key: Any  # where rows come from, one number a round
    totals: Any  # how often each stage was played so far and, last, how many answers were wrong


def play(
    tables: Tables,
    rows: Rows,
    run: Run,
    first: int,
    ends: Any,
    rng: Any,
    played: Any,
    stages: Any,
) -> None:
    """Play on from what the tables hold, which is changed, up to the last of ``ends``.

    ``first`` rounds were played before; ``rng`` draws all but the rows. ``played`` is filled with
    the totals at each of ``ends``, which increase, and ``stages`` with the stage of each round, as
    far as it has room.
    """
    is_chain, jumps, known, key, totals = run
    adds, is_wrong, keep, others, alike, starts, examples, shares = rows
    seen, sums, stopped, branches = tables.seen, tables.sums, tables.stopped, tables.branches
    counts = np.zeros(len(adds), dtype=np.int64)
    new = np.zeros(adds.shape[1])
    drawn = len(keep) > 0
    state, step = key[0], key[1]
    t = first
    for c in range(len(ends)):
        while t < ends[c]:
            stage, certain = choose(tables, known + t, rng)
            rounds = min(certain, ends[c] - t)
            begin, end = starts[stage], starts[stage + 1]
            wrong = 0
            if rounds <= FEW or not (is_chain and drawn):
                for s in range(t, t + rounds):
                    row = pick(state, step, s, keep, others) if drawn else np.uint64(s)
                    show(adds, row, is_chain, branches, seen, sums, stage)
                    wrong += is_wrong[row, stage]
            else:
                if jumps and rounds > ROUNDS_A_COUNT * (end - begin):
                    jump(counts, examples[begin:end], shares[begin:end], rounds, rng)
                else:
                    for s in range(t, t + rounds):
                        counts[pick(state, step, s, keep, others)] += 1
                wrong = total(counts, alike, adds, is_wrong, new, stage)
                settle(new, seen, sums, stage, rounds)
            stopped[stage] += rounds
            for s in range(t, min(t + rounds, len(stages))):
                stages[s] = stage
            totals[stage] += rounds
            totals[-1] += wrong
            t += rounds
        for k in range(len(totals)):
            played[c, k] = totals[k]


def jump(counts: Any, examples: Any, shares: Any, rounds: int, rng: Any) -> None:
    """Draw how often each case comes up in ``rounds`` rounds."""
    for case in range(len(shares)):
        times = rounds if shares[case] >= 1 else rng.binomial(rounds, shares[case])
        counts[examples[case]] += times
        rounds -= times
        if rounds == 0:
            break


def total(counts: Any, alike: Any, adds: Any, is_wrong: Any, new: Any, stage: int) -> int:
    """Add what was counted and begin to count anew; return how many answers were wrong."""
    for row in range(len(counts)):
        if alike[stage, row] != row:
            counts[alike[stage, row]] += counts[row]
            counts[row] = 0
    wrong = 0
    for row in range(len(counts)):
        if counts[row] > 0:
            add(adds, row, new, stage, counts[row])
            wrong += counts[row] * is_wrong[row, stage]
            counts[row] = 0
    return wrong


def add(adds: Any, row: Any, new: Any, stage: int, times: int) -> None:
    """Add what a row shows at ``stage`` of a chain, pair by pair."""
    weight = float(times)  # machines multiply floats faster than whole numbers
    for k in range(stage * (stage + 1) // 2):
        new[k] += weight * adds[row, k]


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


def show(
    adds: Any, row: Any, is_chain: bool, branches: Any, seen: Any, sums: Any, stage: int
) -> None:
    """Add what a row shows at ``stage``: the pairs on the path to it."""
    for j in range(stage + 1):
        first = j * (j - 1) // 2
        if is_chain:
            for i in range(j):
                sums[j, i] += adds[row, first + i]
                seen[j, i] += 1
        elif j == stage or branches[j, stage] != NOTHING:
            for i in range(j):
                if branches[i, j] != NOTHING:
                    sums[j, i] += adds[row, first + i]
                    seen[j, i] += 1
        else:
            continue
        seen[j, j] += 1


def play_in_context(
    model: Model, exploration: float, contexts: Any, disagreed: Any, rng: Any, stages: Any
) -> None:
    """Play case after case on from what the model knows, which is changed.

    ``contexts`` are features, (n, d), ``disagreed`` is 1 for each case and pair where all its
    outputs would show disagreement, (n, P), and ``stages`` is filled with the stage of each case,
    (n,).
    """
    pairs = np.zeros(disagreed.shape[1], dtype=np.int8)
    n_stages = 1
    while n_stages * (n_stages - 1) // 2 < len(pairs):
        n_stages += 1
    for n in range(len(contexts)):
        stage = choose(model, n_stages, contexts[n], exploration, rng)
        shown = stage * (stage + 1) // 2
        for p in range(len(pairs)):
            pairs[p] = disagreed[n, p] if p < shown else UNSEEN
        absorb(model, contexts[n], pairs)
        stages[n] = stage
