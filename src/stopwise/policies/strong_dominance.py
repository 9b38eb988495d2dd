"""Algorithm 1 of the paper: a bandit algorithm, used through the reduction of Section 5."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np

from stopwise.cascade import Cascade
from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError, StateError
from stopwise.outputs import Told
from stopwise.policies.base import Case, Policy
from stopwise.policies.compiled_rule import CompiledRule, Tables, pair_tables
from stopwise.policies.exploration_phases import (
    EXPLOIT,
    PLAN,
    first_lacking,
    informed_for,
    least_seen,
    phase,
)
from stopwise.theory.bounds import PowerLaw
from stopwise.theory.plan import write_demands, write_plan


class StrongDominance(Policy):
    """Learn as if stopping at k earned 1{Y^1 ≠ Y^k} - C_k, which shows the path to k.

    Under strong dominance those rewards rank the stages as cost + error does, so the algorithm
    for bandits with side observations finds the best stage (Algorithm 1).

    The number of exploring rounds depends on the order of events. Therefore two learners cannot be
    merged, and a late tell counts towards the phase in which it is told.

    Parameters
    ----------
    cascade
        The tests and their prices.
    alpha
        The rate of exploration; the theory asks for more than 2.
    beta
        How much of the exploration is forced, β(n) = a n^b.
    literal
        The estimate as printed, with step 1/t in place of 1/n. It is biased and can lock onto a
        wrong stage; for the record only.

    >>> policy = StrongDominance(Cascade(costs=[0.0, 0.1, 0.1]))
    >>> policy.tell([0, 1, 1])
    >>> policy.ask()
    2
    """

    settings = ("alpha", "beta", "literal")
    takes_totals = False  # phases of exploration depend on the order of cases
    merge_refusal = "exploring rounds of two learners do not add up"

    def __init__(
        self,
        cascade: Cascade,
        *,
        alpha: float = 2.1,
        beta: PowerLaw = PowerLaw(),  # noqa: B008  # frozen
        literal: bool = False,
    ) -> None:
        super().__init__(cascade)
        if not isinstance(beta, PowerLaw):
            raise SettingError(f"beta must be a PowerLaw, got {beta!r}")
        self.alpha = finite_number("alpha", alpha, SettingError, zero=False)
        self.beta = beta
        if not isinstance(literal, bool):
            raise SettingError(f"literal must be True or False, got {literal!r}")
        self.literal = literal
        self._offsets = cascade.cumulative_costs.tolist()
        self._n_explored = 0
        self._explores = False
        self._printed = [0.0] * cascade.n_stages

    def _recommend(self) -> int:
        means = self._means()
        return means.index(max(means))

    @property
    def n_explored(self) -> int:
        """The number of exploring rounds so far."""
        return self._n_explored

    def _means(self) -> list[float]:
        """Return the mean of each reward 1{Y^1 ≠ Y^k} - C_k, taken as -C_k where none was seen."""
        if self.literal:
            return [p - c for p, c in zip(self._printed, self._offsets, strict=True)]
        rows = zip(self._counts.disagreed, self._counts.seen, self._offsets, strict=True)
        return [(d[0] / n[0] if n[0] else 0.0) - c for d, n, c in rows]

    def compiled_rule(self) -> CompiledRule:
        """Return the rule as simulations compile it."""
        counts, beta, n_explored = self.counts, self.beta, self._n_explored
        memory = np.zeros((1, 9, self.cascade.n_stages))
        memory[0, 1], memory[0, 6] = counts.n_seen[:, 0], self._offsets
        memory[0, 7], memory[0, 8] = counts.n_disagreed[:, 0], self._printed
        settings = [self.alpha, beta.scale, beta.exponent, n_explored, 0, self.n_rounds]
        settings += [beta(n_explored), self.literal]
        tables = pair_tables(self, settings, memory=memory)
        return CompiledRule(_choose, tables, self.n_rounds, each_round=True)

    def _decide(self) -> tuple[int, int]:
        counts = self._counts
        room = [[0.0] * self.cascade.n_stages for _ in range(4)]
        arm, self._explores, rounds = cascade_choice(
            [self._means(), [row[0] for row in counts.seen], *room],
            counts.stopped,
            counts.n_rounds + 1,
            self.alpha,
            self.beta(self._n_explored),
            self.cascade.parents,
        )
        return arm, 1 if self.literal else rounds

    def _take(self, case: Case, times: int) -> None:
        while times > 0:
            self.ask()
            step = min(times, self._inbox.left) if case[0] == self._inbox.stage else 1
            self._n_explored += step * self._explores
            super()._take(case, step)
            times -= step

    def _absorb(self, stage: int, outputs: Told, times: int) -> None:
        if not self.literal:
            super()._absorb(stage, outputs, times)
            return
        for _ in range(times):
            t = self._counts.n_rounds + 1
            for k, output in zip(self.cascade.paths[stage], outputs, strict=True):
                if output is not None and outputs[0] is not None:
                    self._printed[k] += (float(output != outputs[0]) - self._printed[k]) / t
            super()._absorb(stage, outputs, 1)

    def _described(self) -> dict[str, Any]:
        described = super()._described()
        beta = {"scale": self.beta.scale, "exponent": self.beta.exponent}
        return {**described, "settings": {**described["settings"], "beta": beta}}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> Self:
        settings = state["settings"]
        beta = PowerLaw(**settings["beta"])
        return super()._rebuilt({**state, "settings": {**settings, "beta": beta}})

    def _extra_state(self) -> dict[str, Any]:
        return {"n_explored": self._n_explored, "printed": list(self._printed)}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        self._n_explored = whole_number("n_explored", state["n_explored"], StateError, least=0)
        printed = [float(p) for p in state["printed"]]
        if len(printed) != self.cascade.n_stages or not all(0 <= p <= 1 for p in printed):
            raise StateError(f"printed must have a share for each stage, got {state['printed']!r}")
        self._printed = printed


def cascade_choice(
    room: Any, plays: Any, t: int, alpha: float, forced: float, parents: Any
) -> tuple[int, bool, int]:
    """Return the stage to play in round ``t``, whether to explore, and for how long at least.

    The bandit algorithm where playing a stage shows the path to it: the first stage to show test k
    is k itself, and the plan needs no linear program. ``forced`` is β(n_e). ``room`` has six rows:
    the means, which become gaps, how often each test was seen, and four to work in.
    """
    gaps, observed, demands, plan = room[0], room[1], room[2], room[3]
    K = len(gaps)
    least = least_seen(observed)
    if observed[least] == 0:
        return _most_unseen(observed, parents), False, 1
    best, top = 0, gaps[0]
    for k in range(K):
        if gaps[k] > top:
            best, top = k, gaps[k]
    for k in range(K):
        gaps[k] = top - gaps[k]
    write_demands(gaps, demands)
    rate = 4 * alpha * math.log(t)
    arm = phase(observed, demands, rate, forced / K, least)
    if arm == EXPLOIT:
        # At the root nothing new is shown and the estimates stay; elsewhere any case changes them.
        return best, False, informed_for(observed, demands, alpha, t) if best == 0 else 1
    if arm == PLAN:
        write_plan(demands, gaps, parents, plan, room[4], room[5])
        stage = first_lacking(plays, plan, rate)
        return stage if stage >= 0 else least, True, 1
    return arm, True, 1


def _choose(tables: Tables, n_rounds: int, rng: Any) -> tuple[int, int]:
    """Same as `StrongDominance._decide`.

    The settings are α, the two of β, the exploring rounds n_e, whether the last decision explores,
    when it was made, β(n_e), and whether the estimate is the printed one. Then the memory keeps the
    disagreements up to the last decision and the estimates, and a decision is for one round.
    """
    settings, room = tables.settings, tables.memory[0]
    is_literal = settings[7] > 0
    if settings[4] > 0 and n_rounds > settings[5]:
        settings[3] += n_rounds - settings[5]
        settings[6] = settings[1] * settings[3] ** settings[2]
    for k in range(len(tables.stopped)):
        seen, total = tables.seen[k, 0], tables.sums[k, 0]
        if is_literal:
            if seen > room[1, k]:
                room[8, k] += (total - room[7, k] - room[8, k]) / n_rounds
            room[7, k] = total
        else:
            room[8, k] = total / max(seen, 1)
        room[0, k], room[1, k] = room[8, k] - room[6, k], seen
    stage, explores, rounds = cascade_choice(
        room, tables.stopped, n_rounds + 1, settings[0], settings[6], tables.parents
    )
    settings[4], settings[5] = (1.0 if explores else 0.0), n_rounds
    return stage, 1 if is_literal else rounds


def _most_unseen(observed: Any, parents: Any) -> int:
    """Return the first stage that shows the most tests that were never seen."""
    best, most = 0, 0
    for stage in range(len(observed)):
        node, unseen = stage, int(observed[stage] == 0)
        while node > 0:
            node = parents[node]
            unseen += int(observed[node] == 0)
        if unseen > most:
            best, most = stage, unseen
    return best
