"""What the theory promises: regret of Algorithm 1 in finite time and in the limit."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.theory.plan import COIN_SIGMA2, Numbers, expected_regret, exploration_plan


@dataclass(frozen=True)
class PowerLaw:
    """How much of n exploring rounds is forced: β(n) = a n^b (after Corollary 5).

    Non-decreasing, at most n / 2 for whole n, subadditive and o(n), as Theorem 4 and its
    corollary ask.

    Parameters
    ----------
    scale
        a, in (0, 1/2].
    exponent
        b, in (0, 1).

    >>> PowerLaw()(100)
    5.0
    """

    scale: float = 0.5
    exponent: float = 0.5

    def __post_init__(self) -> None:
        if not 0 < self.scale <= 0.5:
            raise SettingError(f"scale must lie in (0, 1/2], got {self.scale!r}")
        if not 0 < self.exponent < 1:
            raise SettingError(f"exponent must lie in (0, 1), got {self.exponent!r}")

    def __call__(self, n: float) -> float:
        """Return β(n)."""
        return float(self.scale * n**self.exponent)


def asymptotic_constant(gaps: Numbers, cascade: Cascade, alpha: float) -> float:
    """Return what the regret of Algorithm 1 is at most per log T in the limit (Corollary 5).

    4α min {⟨u, Δ⟩ : u ∈ C(γ)}.

    >>> asymptotic_constant([0.25, 0.0, 0.5], Cascade(costs=[0, 0.1, 0.1]), alpha=2.5)
    10.0
    """
    return 4 * _checked_alpha(alpha) * expected_regret(gaps, exploration_plan(gaps, cascade))


def plan_within(gaps: Numbers, cascade: Cascade, epsilon: float) -> list[float]:
    """Return a bound on the plan of any γ' within ε of γ: u*_i(γ, ε) = sup u*_i(γ').

    If ‖γ' - γ‖∞ <= ε, the difference of two total costs changes by at most 2ε, and so does each
    gap. In the plan of γ' stage i gets b'_i minus what the tests below it demand (see
    `exploration_plan`). If that is positive, each test k below i demands less than i, so i and the
    best stage o not below i both beat k: with Δ_o the smallest gap of a stage not below i,
    max(Δ_i, Δ_o) <= Δ_k + 2ε. Then one of i and o is best and has to be distinguished from the
    other: b'_i <= 2σ² / (max(Δ_i, Δ_o) - 2ε)², infinite if the two can tie, while each such k
    demands at least 2σ² / (Δ_k + 2ε)².

    It tends to `exploration_plan` as ε → 0 wherever one stage alone is best.

    Parameters
    ----------
    gaps
        Δ_k for each stage, >= 0; at least one is 0.
    cascade
        A chain or a tree.
    epsilon
        ε > 0, how far an error rate may be off.

    >>> plan_within([0.25, 0.0, 0.5], Cascade(costs=[0, 0.1, 0.1]), epsilon=1 / 32)
    [0.0, 12.64..., 2.61...]
    >>> plan_within([0.25, 0.0, 0.5], Cascade(costs=[0, 0.1, 0.1]), epsilon=1 / 8)
    [0.0, inf, 8.0]
    """
    if not 0 < epsilon < math.inf:
        raise SettingError(f"epsilon must be > 0 and finite, got {epsilon!r}")
    exploration_plan(gaps, cascade)  # it checks the gaps
    least = [2 * COIN_SIGMA2 / (float(gap) + 2 * epsilon) ** 2 for gap in gaps]
    # Demands add up along a subtree as in any plan.
    below = [0.0] * cascade.n_stages
    for j, parent in reversed(list(enumerate(cascade.parents))):
        if parent is not None:
            below[parent] += max(least[j], below[j])
    return [
        max(_most_demanded(i, gaps, cascade, epsilon) - below[i], 0.0)
        for i in range(cascade.n_stages)
    ]


def _most_demanded(stage: int, gaps: Numbers, cascade: Cascade, epsilon: float) -> float:
    """Return sup b'_i over the γ' in which stage i is played at all."""
    under = cascade.descendants[stage]
    others = [gap for k, gap in enumerate(gaps) if k != stage and k not in under]
    far = max(gaps[stage], min(others, default=math.inf))
    if far > min((gaps[k] for k in under), default=math.inf) + 2 * epsilon:
        return 0.0
    if far <= 2 * epsilon:
        return math.inf
    return float(2 * COIN_SIGMA2 / (far - 2 * epsilon) ** 2)


def finite_time_bound(
    gaps: Numbers,
    cascade: Cascade,
    *,
    horizon: int,
    alpha: float,
    epsilon: float,
    beta: Callable[[float], float] = PowerLaw(),  # noqa: B008  # frozen
) -> float:
    """Return what the regret of Algorithm 1 is at most after T rounds (Theorem 4).

    (2K + 2 + 4K / (α - 2)) + 4K Σ_{s=0}^T exp(-β(s) ε² / (2Kσ²)) + 2 β(4α log T Σ u_i + K)
    + 4α log T Σ u_i Δ_i with u = u*(γ, ε) as bounded by `plan_within`.

    Two repairs. The theorem prints 8ε² / (2K) in the exponent, where Corollary 5 and Hoeffding's
    inequality have ε² / (2Kσ²) = 4ε² / (2K), as here. And the first three terms count rounds, so
    where a gap exceeds 1 they are multiplied by the largest. The bound says something only for
    large T: the sum alone exceeds T until β(T) ε² is well above K.

    Parameters
    ----------
    gaps, cascade
        As in `plan_within`.
    horizon
        T >= 1.
    alpha
        α > 2, the exploration rate of Algorithm 1.
    epsilon
        ε > 0, free: each gives a bound. It is infinite unless 2ε is below the smallest gap.
    beta
        β, the forced exploration of Algorithm 1; non-decreasing.

    >>> chain = Cascade(costs=[0, 0.4])
    >>> round(finite_time_bound([0.5, 0.0], chain, horizon=10**5, alpha=3, epsilon=0.2))
    39576
    """
    if not horizon >= 1:
        raise SettingError(f"horizon must be >= 1, got {horizon!r}")
    K, log_rate = cascade.n_stages, 4 * _checked_alpha(alpha) * math.log(horizon)
    u = plan_within(gaps, cascade, epsilon)
    plays = [log_rate * n if log_rate > 0 else 0.0 for n in u]  # with T = 1 none, even of infinite
    rate = epsilon**2 / (2 * K * COIN_SIGMA2)
    chance_sum = math.fsum(math.exp(-rate * beta(s)) for s in range(horizon + 1))
    rounds = 2 * K + 2 + 4 * K / (alpha - 2) + 4 * K * chance_sum + 2 * beta(sum(plays) + K)
    return max(1.0, *map(float, gaps)) * rounds + expected_regret(gaps, plays)


def _checked_alpha(alpha: float) -> float:
    if not 2 < alpha < math.inf:
        raise SettingError(f"alpha must be > 2 and finite, got {alpha!r}")
    return alpha
