"""Algorithm 2 with labels: the comparison of Section 7."""

from __future__ import annotations

from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.counts import PairCounts
from stopwise.errors import OutputsError, SettingError, StateError
from stopwise.outputs import Told, check_label
from stopwise.policies.base import Case, Policy
from stopwise.policies.compiled_rule import CompiledRule, Tables, pair_tables
from stopwise.policies.walk import best_by_averages, optimistic_rule


class Supervised(Policy):
    """Algorithm 2 with the observed drop in error in place of the observed disagreement.

    U_ij = (γ̂_i - γ̂_j) + sqrt(exploration · ln t / n_ij), with both error rates over the n_ij cases
    that showed i and j. It sees the label of every case, so it shows what labels would be worth. It
    counts right and wrong answers, not outputs.

    Parameters
    ----------
    cascade
        The tests and their prices.
    exploration
        1.5 in the paper.

    >>> policy = Supervised(Cascade(costs=[0.0, 0.9]))
    >>> for _ in range(20):
    ...     policy.tell([1, 1][: policy.ask() + 1], label=1)
    >>> policy.ask()
    0
    """

    settings = ("exploration",)
    takes_totals = False  # how often outputs disagreed does not say which were right
    needs_label = True

    def __init__(self, cascade: Cascade, *, exploration: float = 1.5) -> None:
        super().__init__(cascade)
        self.exploration = finite_number("exploration", exploration, SettingError, zero=False)
        self._rule = optimistic_rule(cascade)
        self._rule_settings = [self.exploration, 1.0]
        # Cases in which the deeper test was right where the other was wrong, counted as disagreed.
        self._stored["mended"] = PairCounts(cascade)

    def compiled_rule(self) -> CompiledRule:
        """Return the rule as simulations compile it."""
        sums = 2 * self._statistics["mended"].n_disagreed - self._counts.n_disagreed
        tables = pair_tables(self, self._rule_settings, sums=sums)
        return CompiledRule(self._rule, tables, self.n_rounds, counts_errors=True)

    def _recommend(self) -> int:
        return best_by_averages(self.cascade, self._tables())

    def _decide(self) -> tuple[int, int]:
        return self._rule(self._tables(self._rule_settings), self._counts.n_rounds, None)

    def _tables(self, settings: Any = ()) -> Tables:
        """Return the tables; their sums are how much oftener i was wrong than j."""
        rows = zip(self._statistics["mended"].disagreed, self._counts.disagreed, strict=True)
        sums = [[2 * m - d for m, d in zip(*row, strict=True)] for row in rows]
        return super()._tables(settings)._replace(sums=sums)

    def _checked(self, outputs: Any, *, stage: int | None = None, label: Any = None) -> Case:
        """Return the stage and, in place of each output, whether it was right."""
        stage, outputs = self._checked_outputs(outputs, stage)
        if label is None:
            raise OutputsError("label must be given: this learner is told the right answer")
        right = check_label(label)
        return stage, tuple(None if y is None else bool(y == right) for y in outputs)

    def _read_statistic(self, name: str, saved: Any) -> PairCounts:
        return PairCounts.from_state(saved, self.cascade, counts_disagreement=name == "pairs")

    def _read(self, statistics: Any) -> dict[str, Any]:
        tables = super()._read(statistics)
        pairs, corrections = tables["pairs"], tables["mended"]
        if corrections.stopped != pairs.stopped:
            raise StateError("mended must be of the same cases as the pairs")
        if (corrections.n_disagreed > pairs.n_disagreed).any():
            raise StateError("mended must be at most what disagreed, for each pair")
        return tables

    def _absorb(self, stage: int, outputs: Told, times: int) -> None:
        super()._absorb(stage, outputs, times)
        corrections = [
            [times * (x is False and y is True) for x in outputs[:b]] for b, y in enumerate(outputs)
        ]
        self._stored["mended"].add_totals(stage, times, corrections)
