"""What a simulation draws from: the patterns of an instance, as far as each stage shows them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.patterns import agreement_of_rows
from stopwise.policies.base import Policy
from stopwise.problem.instance import Instance
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.draws import alias_table
from stopwise.simulation.events import EventPlay
from stopwise.simulation.kernels import Rows, pair_columns


@dataclass(eq=False)
class View:
    """What playing one stage can show: its distinct cases and how often each comes up.

    Cases with the same agreement among outputs are one case: no policy here looks at more.
    """

    stage: int  # the stage played
    # The distinct cases, one per row: for each output the place where its value occurs first. The
    # label is at place 0 of a row, or left out if nobody asks for it.
    outputs: IntArray
    labels: IntArray
    probabilities: FloatArray  # the chance of each
    examples: IntArray  # for each case the index of a pattern of the instance that shows it
    of_pattern: IntArray  # for each pattern of the instance the case that it shows

    def __post_init__(self) -> None:
        self.wrong = (self.outputs[:, -1] != self.labels).astype(np.int64)
        length = self.outputs.shape[1]
        self._rows = [slice(b * (b - 1) // 2, b * (b + 1) // 2) for b in range(length)]
        self._outputs = [tuple(row) for row in self.outputs.tolist()]
        self._labels = self.labels.tolist()

    @cached_property
    def pairs(self) -> FloatArray:
        """The `pair_columns`, as floats so that counts of many cases are one matrix product."""
        return np.asarray(pair_columns(self.outputs, counts_errors=False), dtype=np.float64)

    def tell_cases(self, policy: Policy, cases: IntArray) -> None:
        """Tell a few cases."""
        if policy.takes_totals:
            self._tell_totals(policy, len(cases), self.pairs[cases].sum(axis=0))
            return
        for case in cases.tolist():
            self._tell(policy, case, 1)

    def tell_counts(self, policy: Policy, counts: IntArray, times: int) -> None:
        """Tell many cases by how often each came up, ``times`` in all."""
        if policy.takes_totals:
            # For a large product BLAS would start threads, which takes longer than the product.
            is_small = self.pairs.size < 100_000
            totals = counts @ self.pairs if is_small else np.einsum("c,cp->p", counts, self.pairs)
            self._tell_totals(policy, times, totals)
            return
        for case in np.flatnonzero(counts).tolist():
            self._tell(policy, case, int(counts[case]))

    def _tell(self, policy: Policy, case: int, times: int) -> None:
        label = self._labels[case] if policy.needs_label else None
        policy._take(policy._checked(self._outputs[case], stage=self.stage, label=label), times)

    def _tell_totals(self, policy: Policy, times: int, totals: FloatArray) -> None:
        whole = totals.astype(np.int64).tolist()
        policy._take_totals(self.stage, times, [whole[row] for row in self._rows])


class World:
    """An instance prepared for drawing, many cases at a time or one by one.

    ``labelled`` says whether labels are used: to tell a policy that needs them, or to count wrong
    answers.
    """

    stops_give_regret = True

    def __init__(self, instance: Instance, *, labelled: bool = False) -> None:
        self.instance = instance
        self.cascade = instance.cascade
        self.gaps = instance.gaps
        self.labelled = labelled
        self._views: dict[int, View] = {}
        self._rows: dict[bool, Rows] = {}

    def player(self, policy: Policy, rule: Any, rng: np.random.Generator) -> Any:
        """Return what plays one replication here: a kernel if there is a compiled rule."""
        if rule is not None:
            return CompiledPlay(rule, rng)
        return EventPlay(policy.reseeded(rng.spawn(1)[0]), rng)

    def view(self, stage: int) -> View:
        """Return what playing ``stage`` can show."""
        if stage not in self._views:
            self._views[stage] = self._cut(stage)
        return self._views[stage]

    def rows(self, *, counts_errors: bool) -> Rows:
        """Return the tables of the kernels, for sums of disagreements or of errors."""
        if counts_errors not in self._rows:
            self._rows[counts_errors] = self._tables(counts_errors)
        return self._rows[counts_errors]

    def _tables(self, counts_errors: bool) -> Rows:
        alike, starts, examples, shares = [], [0], [], []
        for stage in range(self.cascade.n_stages):
            view = self.view(stage)
            order = np.argsort(-view.probabilities, kind="stable")
            chances = view.probabilities[order]
            remaining = np.cumsum(chances[::-1])[::-1]
            alike.append(view.examples[view.of_pattern])
            starts.append(starts[-1] + len(order))
            examples.append(view.examples[order])
            shares.append(np.append(chances[:-1] / remaining[:-1], 1.0))
        is_wrong = (~self.instance.is_right).astype(np.int8)
        return Rows(
            pair_columns(is_wrong if counts_errors else self.instance.outputs, counts_errors),
            is_wrong,
            *alias_table(self.instance.probabilities),
            np.array(alike),
            np.array(starts),
            np.concatenate(examples),
            np.concatenate(shares),
        )

    def _cut(self, stage: int) -> View:
        table = self.instance.outputs[:, list(self.cascade.paths[stage])]
        if self.labelled:
            table = np.column_stack([self.instance.labels, table])
        rows, examples, of_pattern = np.unique(
            agreement_of_rows(table), axis=0, return_index=True, return_inverse=True
        )
        of_pattern = of_pattern.reshape(-1)
        chances = np.bincount(of_pattern, weights=self.instance.probabilities)
        outputs, labels = rows[:, 1:] if self.labelled else rows, np.zeros_like(rows[:, 0])
        return View(stage, outputs, labels, chances / chances.sum(), examples, of_pattern)
