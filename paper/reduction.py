"""Section 5: choosing a stage without labels is a bandit problem with side observations.

Under strong dominance (and binary outputs) γ_root - γ_k = P(Y^root ≠ Y^k), so the unseen total
cost γ_k + C_k and the seen reward 1{Y^root ≠ Y^k} - C_k add up to γ_root, the same for every k:
both problems have the same gaps, and the same plays cost the same regret in both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from paper.monitoring import SideObservationBandit
from stopwise.cascade import TOLERANCE, Cascade, FloatArray
from stopwise.errors import InstanceError, OutputsError
from stopwise.outputs import check_outputs
from stopwise.problem.families import PREVALENCE, nested_errors
from stopwise.problem.instance import Instance


def to_bandit(instance: Instance) -> SideObservationBandit:
    """Return f(θ): the bandit whose arm k earns 1{Y^root ≠ Y^k} - C_k and shows the path to k.

    Its arms are independent by definition, which the outputs of the tests are not. For a strongly
    dominant instance with binary outputs its gaps are those of the instance (Proposition 9).

    >>> bandit = to_bandit(nested_errors(Cascade(costs=[0, 0.1, 0.1])))
    >>> bandit.best_action, bandit.gaps
    (1, array([0.2 , 0.  , 0.05]))
    """
    cascade = instance.cascade
    return SideObservationBandit(
        tuple(np.minimum(instance.disagreement[0], 1.0).tolist()),  # a sum of shares, rounded
        tuple(cascade.cumulative_costs.tolist()),
        cascade.paths,
    )


def to_instance(
    bandit: SideObservationBandit, cascade: Cascade, *, prevalence: float = PREVALENCE
) -> Instance:
    """Return g(bandit): a strongly dominant instance that `to_bandit` takes back to ``bandit``.

    The root errs with γ_root = max p and test k with γ_root - p_k. Defined on f(Θ_SD), that is,
    where p is 0 at the root and does not fall along any path (before Proposition 10).

    Parameters
    ----------
    bandit
        With the offsets and the feedback graph of ``cascade``.
    cascade
        A chain or a tree.
    prevalence
        P(Y = 1), on which the bandit does not depend.

    >>> cascade = Cascade(costs=[0, 0.1, 0.1])
    >>> bandit = SideObservationBandit((0, 0.3, 0.4), (0, 0.1, 0.2), cascade.paths)
    >>> to_instance(bandit, cascade).error_rates
    array([0.4, 0.1, 0. ])
    """
    if bandit.graph != cascade.paths:
        raise InstanceError("graph of the bandit must be that of the cascade: each stage's path")
    C = cascade.cumulative_costs
    p = bandit.probabilities
    if p[0] > TOLERANCE:
        raise InstanceError(f"probabilities must be 0 at the root, got {p[0]!r} at stage 1")
    rates: list[float] = []
    for k, parent in enumerate(cascade.parents):
        if abs(bandit.offsets[k] - C[k]) > TOLERANCE:
            raise InstanceError(
                "offsets must be the cumulative costs of the cascade, "
                f"got {float(bandit.offsets[k])!r} instead of {float(C[k])!r} at stage {k + 1}"
            )
        if parent is not None and p[k] < p[parent] - TOLERANCE:
            raise InstanceError(
                "probabilities must not fall along a path, "
                f"got {p[parent]!r} at stage {parent + 1} and {p[k]!r} at stage {k + 1}"
            )
        rate = max(p) - p[k]
        rates.append(rate if parent is None else min(rate, rates[parent]))
    return nested_errors(cascade, rates, prevalence=prevalence)


def bandit_feedback(
    outputs: Sequence[Any] | FloatArray, cascade: Cascade, stage: int | None = None
) -> FloatArray:
    """Return V: the rewards 1{Y^root ≠ Y^k} - C_k of the tests on the path to ``stage``.

    What a bandit policy is told when it is used to choose stages. In a chain the number of outputs
    tells the stage.

    >>> bandit_feedback(["no", "yes"], Cascade(costs=[0, 0.25, 0.1]))
    array([0.  , 0.75])
    """
    played, values = check_outputs(outputs, cascade, stage)
    path = cascade.paths[played]
    if None in values:
        node = path[values.index(None)]
        raise OutputsError(
            f"outputs must not be missing, got None at stage {node + 1} ({cascade.names[node]!r})"
        )
    differs = np.array([float(y != values[0]) for y in values])
    return differs - cascade.cumulative_costs[list(path)]


def sensor_feedback(
    rewards: Iterable[float], cascade: Cascade, stage: int | None = None
) -> tuple[int, ...]:
    """Return W: the outputs B^k = reward + C_k, 0 or 1, of the tests on the path to ``stage``.

    What a policy for stages is told when it is used on a bandit: outputs that disagree with the
    root (taken to say 0) just where the coin of arm k fell on 1. Section 5 prints the rewards as
    B + C; `bandit_feedback` of the result gives them back.

    >>> sensor_feedback([0.0, 0.75], Cascade(costs=[0, 0.25, 0.1]))
    (0, 1)
    """
    played, values = check_outputs(np.asarray(rewards, dtype=np.float64), cascade, stage)
    path = cascade.paths[played]
    coins = np.array(values) + cascade.cumulative_costs[list(path)]
    outputs = np.rint(coins)
    for node, coin, output in zip(path, coins.tolist(), outputs.tolist(), strict=True):
        if output not in (0, 1) or abs(coin - output) > TOLERANCE:
            raise OutputsError(
                f"rewards plus cumulative costs must be 0 or 1, got {coin!r} "
                f"at stage {node + 1} ({cascade.names[node]!r})"
            )
    return tuple(int(output) for output in outputs)


@dataclass(frozen=True)
class SensorSelection:
    """An instance as a `PartialMonitoring` problem: it earns -(γ_k + C_k) and shows outputs only.

    >>> problem = SensorSelection(nested_errors(Cascade(costs=[0, 0.1, 0.1])))
    >>> problem.expected_reward(1)
    -0.2
    >>> len(problem.feedback(1, np.random.default_rng(0)))
    2
    """

    instance: Instance

    @property
    def n_actions(self) -> int:
        """The number of stages."""
        return self.instance.cascade.n_stages

    def expected_reward(self, action: int) -> float:
        """Return the expected total cost of stopping at ``action``, as a reward."""
        return -float(self.instance.total_costs[action])

    def feedback(self, action: int, rng: np.random.Generator) -> tuple[int, ...]:
        """Draw a case and return the outputs on the path to ``action``, as codes."""
        _, outputs = self.instance.sample(1, rng)
        return tuple(outputs[0, list(self.instance.cascade.paths[action])].tolist())
