"""The least regret per ln T that a learner under weak dominance can have: cutting planes."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice, product
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.errors import SettingError
from stopwise.patterns import PatternTable, agreement
from stopwise.theory.plan import Numbers

Pattern = tuple[int, ...]
MAX_PATTERNS = 3_000  # for which the limit is computed
PRECISION = 1e-4  # the share of the required information that may be missing
MAX_ROUNDS = 200
# Prefixes that are rarer tell nothing within any horizon; their tangents are too steep to solve.
NEGLIGIBLE = 1e-9
OPTIMAL, INFEASIBLE = 0, 2  # SciPy's codes for how a linear programme ended
# Where -ln p is first replaced by its tangents, as multiples of the probability p has in truth.
FIRST_TANGENTS = (0.02, 0.2, 0.5, 0.8, 1.0, 1.25, 2.0, 5.0)


def weak_dominance_limit(
    law: PatternTable, gaps: Numbers, best: int, *, by_agreement: bool = False
) -> float:
    """Return c(θ): no learner that is consistent under weak dominance has less than c ln T regret.

    c = min ⟨u, Δ⟩ over u >= 0 with Σ_k u_k KL(P_1..k ‖ P'_1..k) >= 1 for every law P' of the
    outputs in which another stage is best under weak dominance while the outputs up to the best
    stage keep their law. (Any other P' would be noticed at no regret, by playing the best stage.)

    With suitable labels stage j is best under weak dominance in P' exactly if it pays from every
    earlier stage and no later one pays from it; that requires a j beyond the best stage. Both the
    plan u and the most deceptive P' come from linear programmes: u meets the conditions of the P'
    so far, and -ln p is replaced by its tangents, for each probability p of a prefix.

    Parameters
    ----------
    law
        The law of complete outputs of a chain.
    gaps
        Δ_k for each stage, >= 0.
    best
        The best stage.
    by_agreement
        Whether to return the limit of learners that use only the pattern of agreement, as `Resolve`
        does. The answers themselves may contain more information, so this limit is at least as
        high.

    >>> from stopwise.cascade import Cascade
    >>> rows, cascade = [[0, 0], [0, 1], [1, 1]], Cascade(costs=[0, 0.4])
    >>> law = PatternTable.from_rows(rows, [40, 20, 40], cascade)
    >>> round(weak_dominance_limit(law, [0.0, 0.2], 0), 2)
    1.55
    >>> round(weak_dominance_limit(law, [0.0, 0.2], 0, by_agreement=True), 2)  # Δ / kl(.2, .4)
    2.19
    """
    cascade = law.cascade
    if not cascade.is_chain or not law.is_complete:
        raise SettingError(f"law must be of complete outputs of a chain, got {law!r}")
    K = cascade.n_stages
    rivals = [_Rival(law, best, j, by_agreement) for j in range(best + 1, K)]
    costs = np.array(gaps, dtype=np.float64)[best + 1 :]
    plan: FloatArray = np.ones(len(costs))
    cuts: list[FloatArray] = []
    for _ in range(MAX_ROUNDS):
        nearest = [rival.nearest(plan) for rival in rivals]
        new_cuts = [cut for cut in nearest if cut is not None]
        if not new_cuts:
            return 0.0  # no law makes another stage best
        if any(cut.max() <= PRECISION**2 for cut in new_cuts):
            return math.inf  # on the edge: the other law looks the same
        missed_cuts = [cut for cut in new_cuts if not cuts or plan @ cut < 1 - PRECISION]
        if not missed_cuts:
            return float(costs @ plan)
        cuts += missed_cuts
        plan = _minimise(costs, -np.array(cuts), -np.ones(len(cuts)))
    raise SettingError(f"law must let the limit converge, got {law!r}")


class _Rival:
    """The laws in which stage ``rival`` is best; `nearest` finds the hardest to tell from P."""

    def __init__(self, law: PatternTable, best: int, rival: int, by_agreement: bool) -> None:
        K, C = law.n_stages, law.cascade.cumulative_costs
        n_classes = max(law.n_classes, 2)
        all_patterns = (
            _agreements(K, n_classes) if by_agreement else product(range(n_classes), repeat=K)
        )
        patterns = list(islice(all_patterns, MAX_PATTERNS + 1))
        if len(patterns) > MAX_PATTERNS:
            raise SettingError(f"law must have at most {MAX_PATTERNS} patterns, got more")
        chances: dict[Pattern, float] = defaultdict(float)
        for row, chance in zip(law.codes.tolist(), law.probabilities.tolist(), strict=True):
            pattern = agreement(row) if by_agreement else tuple(row)
            for k in range(K):
                chances[pattern[: k + 1]] += chance
        prefixes = [s for s in chances if len(s) > best + 1 and chances[s] > NEGLIGIBLE]
        self.depths = np.array([len(s) - best - 2 for s in prefixes])
        self.chances = np.array([chances[s] for s in prefixes])
        self.n_deeper = K - 1 - best
        self._members = _memberships(prefixes, patterns)
        fixed_prefixes = sorted({s[: best + 1] for s in patterns})
        self._sums = _memberships(fixed_prefixes, patterns)
        self._totals = np.array([chances.get(s, 0.0) for s in fixed_prefixes])
        codes = np.array(patterns)
        self._differs = np.array(
            [(codes[:, m] != codes[:, rival]) * (1.0 if m > rival else -1.0) for m in range(K)]
        )[[m for m in range(K) if m != rival]]
        # p_jl <= C_l - C_j for later l, -p_mj <= C_m - C_j for earlier m.
        self._bars = np.array([C[m] - C[rival] for m in range(K) if m != rival])
        self._tangents = [
            (s, point)
            for s, p in enumerate(self.chances.tolist())
            for point in sorted({min(p * factor, 1.0) for factor in FIRST_TANGENTS})
        ]

    def nearest(self, plan: FloatArray) -> FloatArray | None:
        """Return the information of a play at each stage against the worst P', None without P'."""
        weights = self.chances * plan[self.depths]
        entropy = float(weights @ np.log(self.chances))
        for _ in range(MAX_ROUNDS):
            solution = self._solve(weights)
            if solution is None:
                return None
            q = np.maximum(self._members @ solution[: self._members.shape[1]], 1e-12)
            bounds = solution[self._members.shape[1] :]
            error = -np.log(q) - bounds
            if weights @ error <= PRECISION / 4 * max(1.0, entropy + weights @ bounds):
                break
            self._tangents += [
                (s, float(q[s])) for s in np.flatnonzero(weights * error > 0).tolist()
            ]
        ratios = self.chances * np.log(self.chances / q)
        return np.maximum(np.bincount(self.depths, ratios, self.n_deeper), 0.0)

    def _solve(self, weights: FloatArray) -> FloatArray | None:
        """Minimise Σ w_s b_s over laws, with b_s above all tangents of -ln p_s so far."""
        n, S = self._members.shape[1], len(self.chances)
        places = np.array([s for s, _ in self._tangents])
        points = np.array([point for _, point in self._tangents])
        rows = np.zeros((len(points), n + S))  # 1 - ln x - p / x <= b
        rows[:, :n] = -self._members[places] / points[:, None]
        rows[np.arange(len(points)), n + places] = -1.0
        rivals = np.hstack([self._differs, np.zeros((len(self._differs), S))])
        solution: FloatArray | None = _minimise(
            np.concatenate([np.zeros(n), weights]),
            np.vstack([rows, rivals]),
            np.concatenate([np.log(points) - 1, self._bars]),
            np.hstack([self._sums, np.zeros((len(self._sums), S))]),
            self._totals,
        )
        return solution


def _agreements(n_stages: int, n_classes: int) -> Iterator[Pattern]:
    """Yield who can agree with whom, in the form of `agreement`."""
    if n_stages == 1:
        yield (0,)
        return
    for s in _agreements(n_stages - 1, n_classes):
        places = sorted(set(s))
        for y in places if len(places) == n_classes else [*places, n_stages - 1]:
            yield (*s, y)


def _memberships(prefixes: list[Pattern], patterns: list[Pattern]) -> FloatArray:
    """Return 1 where a pattern begins with a prefix; shape (prefixes, patterns)."""
    return np.array([[float(s[: len(prefix)] == prefix) for s in patterns] for prefix in prefixes])


def _minimise(
    costs: FloatArray, rows: FloatArray, limits: FloatArray, sums: Any = None, totals: Any = None
) -> Any:
    """Return the x >= 0 that minimises costs·x with rows·x <= limits, None if there is none."""
    from scipy.optimize import linprog

    solution = linprog(costs, rows, limits, sums, totals, method="highs")
    if solution.status not in (OPTIMAL, INFEASIBLE):
        raise SettingError(f"law must let the limit be computed: {solution.message}")
    return solution.x
