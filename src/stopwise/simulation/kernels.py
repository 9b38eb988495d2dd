"""Compiled play: round by round, or from decision to decision as in `events`.

Each kernel is compiled once for each rule, which replaces ``choose``. Kernels allocate nothing,
because numba takes long to compile that.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from stopwise.policies.compiled_rule import Tables
from stopwise.policies.pair_models import Model, learn_case
from stopwise.simulation.draws import pick

# Up to this many rounds are added row by row; of more, the rows are counted first.
FEW = 8
# Drawing the count of a case takes about as long as drawing this many rounds.
ROUNDS_A_COUNT = 8


# The rule of a policy is compiled in its place.
choose: Any = None


class Rows(NamedTuple):
    """The patterns of a world: what each adds to the sums, and tables to draw them from."""

    adds: Any  # what each row adds to ``sums[j, i]``, by j, then i < j; shape (rows, K (K - 1) / 2)
    is_wrong: Any  # whether its answer at each stage is wrong; shape (rows, K)
    # The alias table of the rows. If it is empty, round t has row t.
    keep: Any
    ends: Any
    alike: Any  # for each stage and row the first row that shows the same there; shape (K, rows)
    starts: Any  # stage k shows the cases ``starts[k]`` to ``starts[k + 1] - 1``
    examples: Any  # for each of these cases a row that shows it
    shares: Any  # the chance of each, given that it is none of those before it in the same stage


def pair_columns(values: Any, counts_errors: bool) -> Any:
    """Return for each row and pair i < j, by j then i, the difference or whether they disagree."""
    j, i = np.tril_indices(values.shape[1], -1)
    table = values[:, i] - values[:, j] if counts_errors else values[:, i] != values[:, j]
    return np.ascontiguousarray(table.astype(np.int8))


class Run(NamedTuple):
    """One replication in one world."""

    key: Any  # of the generator of rows, which draws one number per round
    n_before: int  # how many cases the policy was told before the first round
    labelled: bool  # whether wrong answers are counted
    # Whether to draw the counts of the cases of a stretch where that is cheaper than each round.
    jumps: bool
    above: Any  # 1 where i is above j, so that a case that shows j shows ``[j, i]``; shape (K, K)
    # Work space for the counts of rows and for what is added to the sums; zeros between calls.
    counts: Any
    new: Any


def play_rounds(
    tables: Tables, rows: Rows, run: Run, first: int, ends: Any, rng: Any, played: Any, stages: Any
) -> None:
    """Play a rule that decides anew in nearly every round, on a chain or a tree.

    Parameters
    ----------
    tables
        What the rule knows; changed.
    rows, run
        The patterns and the replication.
    first
        How many rounds were played before.
    ends
        The rounds after which to note what was played, increasing; play stops after the last.
    rng
        Draws all but the rows.
    played
        For each of ``ends``, how often each stage was played since the one before and, last, how
        many answers were wrong; zeros before the call. Shape (ends, K + 1).
    stages
        Receives the stage of each round, as far as it is long enough.
    """
    seen, sums, stopped, parents = tables.seen, tables.sums, tables.stopped, tables.parents
    adds, is_wrong, keep, others = rows.adds, rows.is_wrong, rows.keep, rows.ends
    state, step, above, n_before = run.key[0], run.key[1], run.above, run.n_before
    is_random, n_stages, t = len(keep) > 0, len(stopped), first
    for c in range(len(ends)):
        while t < ends[c]:
            stage, certain = choose(tables, n_before + t, rng)
            until = min(t + certain, ends[c])
            stopped[stage] += until - t
            played[c, stage] += until - t
            if stage == 0 and not run.labelled:  # the root alone shows no pair
                seen[0, 0] += until - t
                t = until
            while t < until:
                row = pick(state, step, t, keep, others) if is_random else np.uint64(t)
                show(adds, row, above, parents, seen, sums, stage)
                played[c, n_stages] += is_wrong[row, stage]
                if t < len(stages):
                    stages[t] = stage
                t += 1


def play(
    tables: Tables, rows: Rows, run: Run, first: int, ends: Any, rng: Any, played: Any, stages: Any
) -> None:
    """Play a rule on a chain that is certain for many rounds at a time; see `play_rounds`."""
    stopped = tables.stopped
    n_stages, t = len(stopped), first
    for c in range(len(ends)):
        while t < ends[c]:
            stage, certain = choose(tables, run.n_before + t, rng)
            rounds = min(certain, ends[c] - t)
            stopped[stage] += rounds
            played[c, stage] += rounds
            played[c, n_stages] += stretch(tables, rows, run, stage, t, rounds, rng)
            for s in range(t, min(t + rounds, len(stages))):
                stages[s] = stage
            t += rounds


def stretch(
    tables: Tables, rows: Rows, run: Run, stage: int, first: int, rounds: int, rng: Any
) -> int:
    """Add what ``rounds`` rounds at ``stage`` show; return how many answers were wrong."""
    seen, sums, counts, state, step = tables.seen, tables.sums, run.counts, run.key[0], run.key[1]
    adds, is_wrong, keep, others = rows.adds, rows.is_wrong, rows.keep, rows.ends
    is_random, wrong = len(keep) > 0, 0
    if rounds <= FEW or not is_random:
        for t in range(first, first + rounds):
            row = pick(state, step, t, keep, others) if is_random else np.uint64(t)
            show(adds, row, run.above, tables.parents, seen, sums, stage)
            wrong += is_wrong[row, stage]
        return wrong
    begin, end = rows.starts[stage], rows.starts[stage + 1]
    if run.jumps and rounds > ROUNDS_A_COUNT * (end - begin):
        jump(counts, rows.examples, rows.shares, begin, end, rounds, rng)
    else:
        for t in range(first, first + rounds):
            counts[pick(state, step, t, keep, others)] += 1
    wrong += total(counts, rows.alike, adds, is_wrong, run.new, stage)
    settle(run.new, seen, sums, stage, rounds)
    return wrong


def jump(
    counts: Any, examples: Any, shares: Any, begin: int, end: int, rounds: int, rng: Any
) -> None:
    """Draw how often each of the cases from ``begin`` to ``end`` comes up in ``rounds`` rounds."""
    for case in range(begin, end):
        times = rounds if shares[case] >= 1 else rng.binomial(rounds, shares[case])
        counts[examples[case]] += times
        rounds -= times
        if rounds == 0:
            break


def total(counts: Any, alike: Any, adds: Any, is_wrong: Any, new: Any, stage: int) -> int:
    """Add what the counted rows show to ``new`` and clear the counts; return the wrong answers."""
    for row in range(len(counts)):
        if alike[stage, row] != row:
            counts[alike[stage, row]] += counts[row]
            counts[row] = 0
    wrong = 0
    for row in range(len(counts)):
        if counts[row] > 0:
            weight = float(counts[row])  # machines multiply floats faster than whole numbers
            for k in range(stage * (stage + 1) // 2):
                new[k] += weight * adds[row, k]
            wrong += counts[row] * is_wrong[row, stage]
            counts[row] = 0
    return wrong


def settle(new: Any, seen: Any, sums: Any, stage: int, rounds: int) -> None:
    """Move what ``rounds`` rounds added into the tables, and clear it."""
    k = 0
    for j in range(stage + 1):
        for i in range(j):
            sums[j, i] += np.int64(new[k])
            seen[j, i] += rounds
            new[k] = 0.0
            k += 1
        seen[j, j] += rounds


def show(adds: Any, row: Any, above: Any, parents: Any, seen: Any, sums: Any, stage: int) -> None:
    """Add what a row shows at ``stage``: the pairs on the path to it."""
    j = stage
    while j > 0:
        first = j * (j - 1) // 2
        for i in range(j):
            sums[j, i] += adds[row, first + i] * above[j, i]
            seen[j, i] += above[j, i]
        seen[j, j] += 1
        j = parents[j]
    seen[0, 0] += 1


def play_in_context(
    kind: int,
    model: Model,
    n_stages: int,
    exploration: float,
    contexts: Any,
    disagreed: Any,
    rng: Any,
    stages: Any,
) -> None:
    """Play case after case and update the model, whose scale is fixed by now.

    ``contexts`` are features, (n, d); ``disagreed`` is 1 for each case and pair of tests that
    disagree, whether shown or not, (n, P); ``stages`` receives the stage of each case, (n,).
    """
    for n in range(len(contexts)):
        context = contexts[n]
        stage = choose(kind, model, n_stages, context, exploration, rng)
        n_pairs = stage * (stage + 1) // 2
        learn_case(model, context, disagreed[n, :n_pairs])
        stages[n] = stage
