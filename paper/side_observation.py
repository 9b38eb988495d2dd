"""Bandits with side observations: the algorithm that Section 5's reduction brings to cascades."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from paper.monitoring import FeedbackGraph
from stopwise.cascade import TOLERANCE
from stopwise.policies import exploration_phases as phases
from stopwise.theory.bounds import PowerLaw
from stopwise.theory.plan import Numbers, raw_demands

Plan = Callable[[list[float], list[float]], list[float]]


class SideObservationPolicy:
    """Wu, György and Szepesvári (2015), Algorithm 1: ask for an arm, tell the rewards it showed.

    In round t, with rate 4α ln t: if every arm was seen as often as the estimated gaps demand,
    times the rate, play the best arm. Else explore: an arm that shows the one seen least, if that
    was seen less than β(n_e) / K times in n_e exploring rounds; else an arm that the plan u* of
    the estimated gaps, times the rate, wants played more often.

    Parameters
    ----------
    graph
        What each arm shows.
    alpha
        The rate of exploration, > 2 in theory.
    beta
        How much of the exploration is forced.
    plan
        Demands and gaps to plays; by default a linear program for any graph.

    >>> policy = SideObservationPolicy(((0,), (0, 1)))
    >>> policy.ask()
    1
    >>> policy.tell(1, [0.2, 0.9])
    """

    def __init__(
        self,
        graph: FeedbackGraph,
        *,
        alpha: float = 2.1,
        beta: PowerLaw = PowerLaw(),  # noqa: B008  # frozen
        plan: Plan | None = None,
    ) -> None:
        self.graph = graph
        self.alpha = alpha
        self.beta = beta
        self._plan = plan or (lambda demands, gaps: general_plan(demands, gaps, graph))
        self._totals = [0.0] * len(graph)
        self._observed = [0] * len(graph)
        self._plays = [0] * len(graph)
        self._n_explored = 0

    def ask(self) -> int:
        """Return the arm to play."""
        return self._choose_now()[0]

    def tell(self, arm: int, rewards: Sequence[float]) -> None:
        """Take in the rewards that ``arm`` showed, in the order of the graph's row."""
        _, explores = self._choose_now()
        self._n_explored += explores
        self._plays[arm] += 1
        for k, reward in zip(self.graph[arm], rewards, strict=True):
            self._totals[k] += reward
            self._observed[k] += 1

    def _choose_now(self) -> tuple[int, bool]:
        means = [s / n if n else 0.0 for s, n in zip(self._totals, self._observed, strict=True)]
        t = sum(self._plays) + 1
        return self.choose(means, self._observed, self._plays, t, self._n_explored)

    def choose(
        self,
        means: Sequence[float],
        observed: Sequence[int],
        plays: Sequence[int],
        t: int,
        n_explored: int,
    ) -> tuple[int, bool]:
        """Return the arm to play in round ``t``, and whether that explores."""
        K = len(self.graph)
        unseen = {k for k in range(K) if observed[k] == 0}
        if unseen:
            return max(range(K), key=lambda k: len(unseen.intersection(self.graph[k]))), False
        top = max(means)
        gaps = [top - mean for mean in means]
        demands = raw_demands(gaps)
        rate = 4 * self.alpha * math.log(t)
        least = phases.least_seen(observed)
        # The phase, or the arm that has to be seen.
        step = phases.phase(observed, demands, rate, self.beta(n_explored) / K, least)
        if step == phases.EXPLOIT:
            return gaps.index(0.0), False
        if step == phases.PLAN:
            arm = phases.first_lacking(plays, self._plan(demands, gaps), rate)
            return (arm if arm >= 0 else self._arm_showing(least)), True
        return self._arm_showing(step), True

    def _arm_showing(self, arm: int) -> int:
        """Return the first arm that shows ``arm``."""
        return next(k for k, row in enumerate(self.graph) if arm in row)


def general_plan(demands: Numbers, gaps: Numbers, graph: FeedbackGraph) -> list[float]:
    """Return `cheapest_plan` for any feedback graph, by linear programming.

    min ⟨u, Δ⟩ over u >= 0 with Σ {u_k : j ∈ N(k)} >= b_j; among the minimisers one with the fewest
    plays of all optimal actions together. Demands must be finite, and each met by some action.

    >>> star = ((0,), (1,), (0, 1, 2))
    >>> general_plan([10, 10, 2], [0.0, 0.3, 0.2], star)
    [0.0, 0.0, 10.0]
    """
    from scipy.optimize import linprog

    K = len(graph)
    b, prices = np.asarray(demands, dtype=float), np.asarray(gaps, dtype=float)
    shows = np.zeros((K, K))
    for k, row in enumerate(graph):
        shows[list(row), k] = 1.0
    # In units of the largest entry, so that the solver's absolute tolerances are relative ones.
    unit = b.max() or 1.0
    first = linprog(prices / (prices.max() or 1.0), A_ub=-shows, b_ub=-b / unit, method="highs")
    assert first.status == 0, first.message
    # The minimisers, by complementary slackness: priced actions idle, priced demands just met.
    idle, tight = first.lower.marginals > 1e-9, first.ineqlin.marginals < -1e-9
    second = linprog(
        np.where(prices <= TOLERANCE, 1.0, 0.0),
        A_ub=-shows[~tight],
        b_ub=-b[~tight] / unit,
        A_eq=shows[tight],
        b_eq=b[tight] / unit,
        bounds=[(0, 0) if none else (0, None) for none in idle],
        method="highs",
    )
    assert second.x is not None, second.message
    return [float(u) for u in np.maximum(second.x, 0.0) * unit]
