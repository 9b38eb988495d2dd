"""Play a policy that counts pairs with a kernel into which its rule is compiled."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from stopwise.cascade import IntArray
from stopwise.policies.compiled_rule import NOTHING, CompiledRule
from stopwise.problem.contextual_instance import ContextualCases
from stopwise.simulation import kernels
from stopwise.simulation.compiled import kernel
from stopwise.simulation.draws import row_key
from stopwise.simulation.job import Played

if TYPE_CHECKING:  # a world makes its player
    from stopwise.simulation.world import World

# Microseconds that a decision takes in Python, and each pair that it shows in addition. A rule that
# is certain for many rounds at a time hardly ever makes more decisions than this.
DECISION, PAIR, MOST_DECISIONS = 12, 2, 1000
# A kernel that decides in each round returns after this many, so that Ctrl-C is noticed.
LONGEST_CALL = 500_000
_NO_STAGES = np.zeros(0, dtype=np.int64)


class CompiledPlay:
    """One replication; the kernel lets other threads run.

    The policy itself is not changed. With ``jumps`` play goes from decision to decision, otherwise
    round by round.
    """

    def __init__(self, rule: CompiledRule, rng: np.random.Generator, *, jumps: bool = True) -> None:
        self._rule = rule
        self._tables = rule.tables.copy()
        # table[j, i]: 1 where i is above j
        self._above = (rule.tables.branches.T != NOTHING).astype(np.int64)
        self._key = row_key(rng)
        self._rng = rng
        self._jumps = jumps
        parents = rule.tables.parents
        is_chain = np.array_equal(parents, np.arange(-1, len(parents) - 1))
        self._steps = rule.each_round or not is_chain
        self.n_rounds = 0

    def play(self, world: World, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        rows = world.rows(counts_errors=self._rule.counts_errors)
        first = self.n_rounds
        played = self._advance(rows, self._rule.n_rounds, first, first + ends, world.labelled)
        self.n_rounds += int(ends[-1])
        stops = played[:, :-1]
        return Played(stops, played[:, -1], stops @ world.instance.gaps)

    def stages(self, cases: ContextualCases) -> IntArray:
        """Return the stage played in each of the given cases, which follow each other."""
        outputs, labels = cases.outputs, cases.labels
        is_wrong = (outputs != labels[:, None]).astype(np.int8)
        errors = self._rule.counts_errors
        K = outputs.shape[1]
        rows = kernels.Rows(
            kernels.pair_columns(is_wrong if errors else outputs, errors),
            is_wrong,
            np.zeros(0),
            np.zeros((0, 2), dtype=np.uint64),
            np.zeros((K, 0), dtype=np.int64),
            np.zeros(K + 1, dtype=np.int64),
            np.zeros(0, dtype=np.int64),
            np.zeros(0),
        )
        stages = np.zeros(len(labels), dtype=np.int64)
        n_before = self._rule.n_rounds + self.n_rounds
        self._advance(rows, n_before, 0, np.array([len(labels)]), True, stages)
        self.n_rounds += len(labels)
        return stages

    def _advance(
        self,
        rows: kernels.Rows,
        n_before: int,
        first: int,
        ends: IntArray,
        labelled: bool,
        stages: IntArray = _NO_STAGES,
    ) -> IntArray:
        rounds = int(ends[-1]) - first
        decisions = rounds if self._steps else min(rounds, MOST_DECISIONS)
        play = kernels.play_rounds if self._steps else kernels.play
        work = decisions * (DECISION + PAIR * rows.adds.shape[1])
        run_kernel = kernel(play, self._rule.choose, work)
        longest = LONGEST_CALL if self._steps else int(ends[-1])
        cuts = np.array(
            [
                cut
                for start, end in pairwise([first, *ends.tolist()])
                for cut in (*range(start + longest, end, longest), end)
            ]
        )
        played = np.zeros((len(cuts), len(self._tables.stopped) + 1), dtype=np.int64)
        counts, new = np.zeros(len(rows.adds), dtype=np.int64), np.zeros(rows.adds.shape[1])
        run = kernels.Run(self._key, n_before, labelled, self._jumps, self._above, counts, new)
        n_done = 0
        while n_done < len(cuts):
            until = int(np.searchsorted(cuts, first + longest, side="right"))
            part = slice(n_done, until)
            run_kernel(self._tables, rows, run, first, cuts[part], self._rng, played[part], stages)
            first, n_done = int(cuts[until - 1]), until
        return np.cumsum(played, axis=0)[np.searchsorted(cuts, ends)]
