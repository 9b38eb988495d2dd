"""Section 2's problems: actions with unknown rewards, of which a play shows some part or none."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import numpy as np

from stopwise.cascade import TOLERANCE, FloatArray, read_only

Feedback_co = TypeVar("Feedback_co", covariant=True)
FeedbackGraph = tuple[tuple[int, ...], ...]
"""For each action the actions whose rewards it shows, N(k); in a cascade the path to it."""


class PartialMonitoring(Protocol[Feedback_co]):
    """A stochastic partial monitoring problem: what a play earns and what it shows are two things.

    Playing action a earns r(a) on average and shows a draw from p(·; a); the reward need not be
    part of what is shown (Section 2).
    """

    @property
    def n_actions(self) -> int:
        """The number of actions."""

    def expected_reward(self, action: int) -> float:
        """Return what ``action`` earns on average, r(a)."""

    def feedback(self, action: int, rng: np.random.Generator) -> Feedback_co:
        """Draw what one play of ``action`` shows."""


def gaps_of(problem: PartialMonitoring[object]) -> FloatArray:
    """Return how much less each action earns than the best one: Δ_a = max r - r(a) >= 0."""
    rewards = np.array([problem.expected_reward(a) for a in range(problem.n_actions)])
    gaps = rewards.max() - rewards
    gaps[gaps <= TOLERANCE] = 0.0
    return read_only(gaps)


def own_rewards(n_actions: int) -> FeedbackGraph:
    """Return the graph of an ordinary bandit: a play shows its own reward only.

    >>> own_rewards(3)
    ((0,), (1,), (2,))
    """
    return tuple((k,) for k in range(n_actions))


@dataclass(frozen=True)
class SideObservationBandit:
    """A bandit with side observations whose rewards are shifted coins: arm k earns B_k - C_k.

    B_k is 1 with probability p_k, independently of the other arms, so arm k earns p_k - C_k on
    average and the arm to play maximises that. (Section 5 calls 1{Y^k ≠ Y^1} - C_k a cost; it is a
    reward.) With `own_rewards` it is an ordinary bandit.

    Parameters
    ----------
    probabilities
        p_k for each arm, in [0, 1].
    offsets
        C_k for each arm, finite.
    graph
        Which arms each arm shows.

    >>> bandit = SideObservationBandit((0, 0.3, 0.35), (0, 0.1, 0.2), own_rewards(3))
    >>> bandit.best_action, bandit.gaps
    (1, array([0.2 , 0.  , 0.05]))
    >>> bandit.feedback(1, np.random.default_rng(0))
    array([-0.1])
    """

    probabilities: tuple[float, ...]
    offsets: tuple[float, ...]
    graph: FeedbackGraph

    @property
    def n_actions(self) -> int:
        """The number of arms."""
        return len(self.probabilities)

    @cached_property
    def means(self) -> FloatArray:
        """What each arm earns on average: p_k - C_k."""
        return read_only(np.array(self.probabilities) - np.array(self.offsets))

    @cached_property
    def gaps(self) -> FloatArray:
        """How much less each arm earns than the best one (Δ_k); 0 at the best."""
        return gaps_of(self)

    @property
    def best_action(self) -> int:
        """The first arm of greatest mean reward."""
        return int(np.argmin(self.gaps))

    def expected_reward(self, action: int) -> float:
        """Return what ``action`` earns on average."""
        return float(self.means[action])

    def feedback(self, action: int, rng: np.random.Generator) -> FloatArray:
        """Draw the rewards of the arms that ``action`` shows, in the order of the graph."""
        arms = self.graph[action]
        draws = rng.random(len(arms))
        p, C = self.probabilities, self.offsets
        return np.array([float(u < p[j]) - C[j] for u, j in zip(draws, arms, strict=True)])
