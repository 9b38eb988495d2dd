"""Algorithm 1 of the paper: a bandit algorithm, used through the reduction of Section 5."""

from __future__ import annotations

from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import SettingError, StateError
from stopwise.policies.base import Policy, Told
from stopwise.policies.side_observation import Choice, SideObservations
from stopwise.theory.bounds import PowerLaw
from stopwise.theory.monitoring import FeedbackGraph
from stopwise.theory.plan import cheapest_plan


class StrongDominance(Policy):
    """Learn as if stopping at k earned 1{Y^1 ≠ Y^k} - C_k, which shows the path to k.

    Under strong dominance those rewards rank the stages as cost + error does, so the algorithm
    for bandits with side observations, `SideObservations`, finds the best stage (Algorithm 1).

    How many rounds were spent exploring depends on the order of events; two learners therefore
    cannot be merged, and tells that come late count towards the phase in which they are told.

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
    _tallies = False

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
        self._rule = SideObservations(
            FeedbackGraph.of(cascade),
            alpha=alpha,
            beta=beta,
            plan=lambda demands, gaps: cheapest_plan(demands, gaps, cascade),
        )
        self.alpha = self._rule.alpha
        self.beta = beta
        self.literal = bool(literal)
        self._offsets = cascade.cumulative_costs.tolist()
        self._n_explored = 0
        self._explores = False
        self._printed = [0.0] * cascade.n_stages

    def tell(self, outputs: Any) -> None:
        """Take in the outputs of one case; the phase it counts towards is that of the next `ask`."""
        self._take(*self._checked(outputs), 1)

    def recommend(self) -> int:
        """Return the arm with the best estimate."""
        self._settle()
        means = self._means()
        return means.index(max(means))

    def merge(self, other: Policy) -> StrongDominance:
        """Refuse: exploring rounds of two learners do not add up to those of one."""
        raise StateError(f"{type(self).__name__} keeps a count that is not additive: no merge")

    def _means(self) -> list[float]:
        """Return the mean reward of each arm, 1{Y^1 ≠ Y^k} - C_k; an unseen one counts as agreed."""
        if self.literal:
            return [p - c for p, c in zip(self._printed, self._offsets, strict=True)]
        shares = [
            row[0] / n[0] if n[0] else 0.0
            for row, n in zip(self._counts.disagreed, self._counts.seen, strict=True)
        ]
        return [p - c for p, c in zip(shares, self._offsets, strict=True)]

    def _decide(self) -> tuple[int, int]:
        choice = self._choose()
        self._explores = choice.explores
        # At stage 1 nothing new is shown and the estimates stay; elsewhere any case can move them.
        still = choice.arm == 0 and not choice.explores and not self.literal
        return choice.arm, choice.rounds if still else 1

    def _choose(self) -> Choice:
        observed = [row[0] for row in self._counts.seen]
        t = self._counts.n_rounds + 1
        return self._rule.choose(self._means(), observed, self._counts.stopped, t, self._n_explored)

    def _take(self, stage: int, told: Told, times: int) -> None:
        while times > 0:
            self.ask()
            step = min(times, self._left) if stage == self._stage else 1
            self._n_explored += step * self._explores
            super()._take(stage, told, step)
            times -= step

    def _absorb(self, stage: int, told: Told, times: int) -> None:
        for _ in range(times if self.literal else 0):
            t = self._counts.n_rounds + 1
            for k, output in enumerate(told):
                if output is None or told[0] is None:
                    continue
                self._printed[k] += (float(output != told[0]) - self._printed[k]) / t
            super()._absorb(stage, told, 1)
        if not self.literal:
            super()._absorb(stage, told, times)

    def _described(self) -> dict[str, Any]:
        described = super()._described()
        beta = {"scale": self.beta.scale, "exponent": self.beta.exponent}
        return {**described, "settings": {**described["settings"], "beta": beta}}

    @classmethod
    def _rebuilt(cls, state: dict[str, Any]) -> StrongDominance:
        settings = {**state["settings"], "beta": PowerLaw(**state["settings"]["beta"])}
        return super()._rebuilt({**state, "settings": settings})

    def _extra_state(self) -> dict[str, Any]:
        return {"n_explored": self._n_explored, "printed": list(self._printed)}

    def _restore_extra(self, state: dict[str, Any]) -> None:
        self._n_explored = whole_number("n_explored", state["n_explored"], StateError, least=0)
        printed = [float(p) for p in state["printed"]]
        if len(printed) != self.cascade.n_stages or not all(0 <= p <= 1 for p in printed):
            raise StateError(f"printed must have a share for each stage, got {state['printed']!r}")
        self._printed = printed
