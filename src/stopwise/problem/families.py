"""The instances that the paper names: Section 7's synthetic ones and those of its proofs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise, product

from stopwise.cascade import Cascade
from stopwise.errors import InstanceError
from stopwise.problem.instance import Instance

# Section 7: P(Y = 1) and the error rates of the three synthetic channels.
PREVALENCE = 0.7
ERROR_RATES = (0.4, 0.1, 0.05)
MAX_STAGES = 18  # of relaxed errors: the number of patterns doubles with each stage


def nested_errors(
    cascade: Cascade, error_rates: Sequence[float] = ERROR_RATES, *, prevalence: float = PREVALENCE
) -> Instance:
    """Return the strongly dominant instance with the given error rates, on a chain or a tree.

    One uniform U decides for all tests: Y^k is wrong where U < γ_k, so a right answer stays right.
    Section 7's synthetic data, with its values by default.

    >>> instance = nested_errors(Cascade(costs=[0, 0.1, 0.1]))
    >>> instance.is_strongly_dominant(), instance.best_stage
    (True, 1)
    """
    rates = _checked_rates(error_rates, cascade)
    _check_probability("prevalence", prevalence)
    cuts = sorted({0.0, 1.0, *rates})
    patterns, weights = [], []
    for low, high in pairwise(cuts):
        wrong = [low < rate for rate in rates]
        for label, share in ((0, 1 - prevalence), (1, prevalence)):
            patterns.append((label, *(1 - label if w else label for w in wrong)))
            weights.append((high - low) * share)
    return Instance.from_patterns(patterns, weights, cascade)


def relaxed_errors(
    cascade: Cascade,
    error_rates: Sequence[float] = ERROR_RATES,
    *,
    slip: float = 0.1,
    prevalence: float = PREVALENCE,
) -> Instance:
    """Return Section 7's relaxed instance: `nested_errors`, but right answers may become wrong.

    Where test 1 is right each later test errs with probability ``slip``, independently: the error
    rates of the later tests rise by ``slip * (1 - γ_1)``. On a tree test 1 is the root.

    >>> relaxed_errors(Cascade(costs=[0, 0.1, 0.25])).error_rates
    array([0.4 , 0.16, 0.11])
    """
    if cascade.n_stages > MAX_STAGES:
        raise InstanceError(
            f"cascade must have at most {MAX_STAGES} stages: 2^(K-1) patterns, "
            f"got {cascade.n_stages}"
        )
    _check_probability("slip", slip)
    base = nested_errors(cascade, error_rates, prevalence=prevalence)
    patterns, weights = [], []
    for label, outputs, weight in zip(
        base.labels.tolist(), base.outputs.tolist(), base.probabilities, strict=True
    ):
        first, later = outputs[0], outputs[1:]
        chance = slip if first == label else 0.0
        for slips in product((False, True), repeat=len(later)):
            noisy = [1 - label if s else y for s, y in zip(slips, later, strict=True)]
            patterns.append((label, first, *noisy))
            weights.append(weight * math.prod(chance if s else 1 - chance for s in slips))
    return Instance.from_patterns(patterns, weights, cascade)


def dominance_sweep(
    ratio: float,
    *,
    total_cost: float = 0.3,
    error_rates: Sequence[float] = ERROR_RATES,
    slip: float = 0.1,
) -> Instance:
    """Return the relaxed three-test instance with dominance ratio ``ratio`` (ρ), stage 2 best.

    The first test is free and all three cost ``total_cost``: C_3 - C_2 = ρ P(Y^2 ≠ Y^3). Weak
    dominance holds exactly for ρ >= 1 (the sweep of Section 7's second figure).

    >>> round(dominance_sweep(0.8).dominance_ratio(), 12)
    0.8
    """
    free = relaxed_errors(Cascade(costs=[0, 0, 0]), error_rates, slip=slip)
    last = ratio * float(free.disagreement[1, 2])
    if not 0 <= last <= total_cost:
        raise InstanceError(
            f"ratio must leave 0 <= c_3 <= total_cost = {total_cost!r}, got c_3 = {last!r}"
        )
    instance = free.with_cascade(Cascade(costs=[0, total_cost - last, last]))
    if instance.optimal_stages != (1,):
        raise InstanceError(
            "ratio and total_cost must make stage 2 the only best one, got total costs "
            f"{instance.total_costs.tolist()} at ratio {ratio!r}"
        )
    return instance


def indistinguishable_pair(epsilon: float) -> tuple[Instance, Instance]:
    """Return θ and θ' of Theorem 3: output laws within ε, yet different best stages.

    θ prefers stage 1 by 1/4, θ' prefers stage 2 by ε; both are weakly dominant. With the
    third table's misprint corrected: θ'(0, 0, 1) is 3/8.
    """
    if not 0 < epsilon < 3 / 8:
        raise InstanceError(f"epsilon must lie in (0, 3/8), got {epsilon!r}")
    cascade = Cascade(costs=[0, 1 / 4])
    # Rows are (Y, Y^1, Y^2).
    rows = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0)]
    first = Instance.from_patterns(rows, [3 / 8, 3 / 8, 1 / 8, 1 / 8], cascade)
    second = Instance.from_patterns(rows, [3 / 8 - epsilon, 3 / 8, 2 / 8 + epsilon, 0], cascade)
    return first, second


def split_optimum() -> Instance:
    """Return the footnote's example: stages 1 and 3 are best, stage 2 between them is not."""
    return nested_errors(Cascade(costs=[0, 0.1, 0.2]), [0.3, 0.25, 0.0])


def costly_middle(margin: float) -> Instance:
    """Return three tests of which the second seems cheap to try and is not.

    Stage 1 is best. Going on to stage 2 costs 1/2, which exceeds the disagreement by ``margin``
    only, yet it corrects nothing: its gap is 1/2. Stage 3 has a gap of 2 ``margin`` and also shows
    test 2.
    """
    if not 0 < margin < 1 / 4:
        raise InstanceError(f"margin must lie in (0, 1/4), got {margin!r}")
    apart = 1 / 2 - margin
    rows = [(0, 1, 0, 0), (0, 0, 1, 0), (0, 1, 1, 0), (0, 0, 0, 0)]
    weights = [apart / 2, apart / 2, 1 / 4, 3 / 4 - apart]
    last = apart / 2 + 1 / 4 + 2 * margin - 1 / 2
    return Instance.from_patterns(rows, weights, Cascade(costs=[0, 1 / 2, last]))


def complement(cascade: Cascade, *, prevalence: float = 0.5) -> Instance:
    """Return the example after Theorem 2: Y^1 is a fair coin and Y^2 its opposite.

    Both err half the time whatever the label, but they always disagree: with 0 < c_2 < 1 stage 1
    is best and the sound stage of the outputs is 2.
    """
    if cascade.n_stages != 2 or not cascade.is_chain:
        raise InstanceError(f"cascade must be a chain of 2 stages, got {cascade!r}")
    _check_probability("prevalence", prevalence)
    rows = [(y, coin, 1 - coin) for y in (0, 1) for coin in (0, 1)]
    weights = [(prevalence if y else 1 - prevalence) / 2 for y, _, _ in rows]
    return Instance.from_patterns(rows, weights, cascade)


def _checked_rates(error_rates: Sequence[float], cascade: Cascade) -> list[float]:
    try:
        rates = [float(rate) for rate in error_rates]
    except (TypeError, ValueError):
        raise InstanceError(f"error_rates must be numbers, got {error_rates!r}") from None
    if len(rates) != cascade.n_stages:
        raise InstanceError(
            f"error_rates must have one entry per stage, got {len(rates)} for {cascade.n_stages}"
        )
    for k, (rate, parent) in enumerate(zip(rates, cascade.parents, strict=True)):
        _check_probability(f"error_rates at stage {k + 1}", rate)
        if parent is not None and rate > rates[parent]:
            raise InstanceError(
                "error_rates must not rise along a path, "
                f"got {rates[parent]!r} at stage {parent + 1} and {rate!r} at stage {k + 1}"
            )
    return rates


def _check_probability(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise InstanceError(f"{name} must lie in [0, 1], got {value!r}")
