"""How often to stop at each stage so that every test is seen often enough, at the least regret.

Arguments are any sequences of one number per stage, results are lists of floats, since a policy
needs a plan before every case.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from stopwise.cascade import TOLERANCE, Cascade, FloatArray
from stopwise.errors import SettingError

# A coin is 1/4-sub-Gaussian whatever its chance.
COIN_SIGMA2 = 0.25

Numbers = Sequence[float] | FloatArray


def observation_counts(plays: Numbers, cascade: Cascade) -> list[float]:
    """Return how often each test is seen, m_j(u): the plays of j and of everything below it.

    In a chain m_j = u_j + … + u_K (Section 6 prints u_1 + … + u_j, a misprint).

    >>> observation_counts([1, 2, 4], Cascade(costs=[0, 1, 1]))
    [7.0, 6.0, 4.0]
    """
    seen = _checked("plays", plays, cascade.n_stages)
    for j, parent in reversed(list(enumerate(cascade.parents))):
        if parent is not None:
            seen[parent] += seen[j]
    return seen


def exploration_plan(gaps: Numbers, cascade: Cascade) -> list[float]:
    """Return u*(γ): the plays of least regret that distinguish the best stage from the others.

    It is `cheapest_plan` for `raw_demands`. Since a smaller gap demands more, what j lacks
    is always played at j itself, and every optimal stage is played as rarely as in any plan of
    least regret (Section 6's "u*_k = min u_k").

    >>> exploration_plan([0.25, 0.0, 0.5], Cascade(costs=[0, 0.1, 0.1]))
    [0.0, 6.0, 2.0]
    """
    prices = _checked("gaps", gaps, cascade.n_stages)
    return cheapest_plan(raw_demands(prices), prices, cascade)


def is_informative(plays: Numbers, gaps: Numbers, cascade: Cascade) -> bool:
    """Whether ``plays`` show every test as often as demanded: m(u) >= b, that is u ∈ C(γ).

    Up to rounding, so that plays of at least `exploration_plan` at every stage are informative.

    >>> is_informative([0, 6, 2], [0.25, 0.0, 0.5], Cascade(costs=[0, 0.1, 0.1]))
    True
    """
    demands = raw_demands(_checked("gaps", gaps, cascade.n_stages))
    seen = observation_counts(plays, cascade)
    # Twice the tolerance of the plan itself, so that the plan always passes.
    return all(m >= b * (1 - 2 * TOLERANCE) for m, b in zip(seen, demands, strict=True))


def expected_regret(gaps: Numbers, plays: Numbers) -> float:
    """Return how much less ``plays`` earn than as many plays of the best action: Σ Δ_a plays_a.

    Plays may be fractional or infinite; an action without a gap costs nothing however often it is
    played.

    >>> expected_regret([0.2, 0.0, 0.05], [1, math.inf, 4])
    0.4
    """
    return math.fsum(float(gap) * float(n) for gap, n in zip(gaps, plays, strict=True) if gap > 0)


# What is not checked any more. A simulation compiles the loops that write into lists or arrays of
# the caller. The first entry of ``parents`` is not used; every other is an earlier index.


def raw_demands(gaps: Sequence[float]) -> list[float]:
    """Return how often each test has to be seen to distinguish the best stage from the others.

    b_j = 2σ² / (Δ*_j)² with Δ* the smallest positive gap and Δ*_j = max(Δ_j, Δ*) (Section 6), and
    σ² = 1/4, since outputs agree or disagree.
    With no positive gap nothing can be decided and every demand is infinite. A single stage has no
    rival and demands nothing. Gaps up to rounding (1e-12) count as zero.

    >>> raw_demands([0.5, 0.0, 0.25])
    [2.0, 8.0, 8.0]
    """
    demands = [0.0] * len(gaps)
    write_demands(gaps, demands)
    return demands


def write_demands(gaps: Any, demands: Any) -> None:
    """Write `raw_demands` into ``demands``."""
    smallest = math.inf
    for k in range(len(gaps)):
        if TOLERANCE < gaps[k] < smallest:
            smallest = gaps[k]
    unknown = math.inf if len(gaps) > 1 else 0.0
    for k in range(len(gaps)):
        gap = max(gaps[k], smallest)
        demands[k] = 2 * COIN_SIGMA2 / (gap * gap) if smallest < math.inf else unknown


def cheapest_plan(demands: Numbers, gaps: Numbers, cascade: Cascade) -> list[float]:
    """Return the plays u of least regret ⟨u, Δ⟩ that show test j at least b_j times, for every j.

    From the leaves to the root: what b_j exceeds the plays below j is played at the cheapest stage
    of j's subtree, at the first if several are. O(K), in place of Section 6's linear program. An
    infinite demand makes some plays infinite.

    Among the plans of least regret this one has the fewest plays, and the fewest plays of all
    optimal stages together; so if one stage is optimal, it is played as rarely as possible. (If
    several are, they may not all have their minimum at once; in `exploration_plan` they do.)

    >>> cheapest_plan([50, 200, 90], [0.2, 0.0, 0.05], Cascade(costs=[0, 0.1, 0.1]))
    [0.0, 110.0, 90.0]
    """
    K = len(demands)
    plays = [0.0] * K
    write_plan(demands, gaps, cascade.parents, plays, [0.0] * K, [0.0] * K)
    return plays


def write_plan(demands: Any, gaps: Any, parents: Any, plays: Any, seen: Any, cheapest: Any) -> None:
    """Write `cheapest_plan` into ``plays``; ``seen`` and ``cheapest`` are work space."""
    K = len(demands)
    for j in range(K):
        plays[j] = seen[j] = 0.0
        cheapest[j] = j  # the first cheapest stage among j and the subtrees already walked
    for j in range(K - 1, -1, -1):
        best = int(cheapest[j])
        if seen[j] < demands[j] * (1 - TOLERANCE):
            plays[best] += demands[j] - seen[j]
            seen[j] = demands[j]
        if j > 0:
            above = parents[j]
            seen[above] += seen[j]
            rival = int(cheapest[above])
            if gaps[best] < gaps[rival] or (gaps[best] == gaps[rival] and best < rival):
                cheapest[above] = best


def _checked(name: str, values: Numbers, n: int) -> list[float]:
    numbers = list(map(float, values))
    if len(numbers) != n:
        raise SettingError(f"{name} must have one entry per stage, got {len(numbers)} for {n}")
    for k, value in enumerate(numbers):
        if not value >= 0:
            raise SettingError(f"{name} must be >= 0, got {value!r} at stage {k + 1}")
    return numbers
