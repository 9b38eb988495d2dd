import numpy as np

from paper.monitoring import SideObservationBandit, gaps_of, own_rewards
from tests.strategies import hoeffding


def test_rounding_does_not_part_equal_arms():
    bandit = SideObservationBandit((0.3, 0.0), (0.1 + 0.2, 0.0), own_rewards(2))
    assert bandit.means[0] != bandit.means[1]
    assert bandit.gaps.tolist() == [0, 0]
    assert bandit.best_action == 0


class Loss:
    """The smallest problem that is not a bandit: nothing is shown."""

    n_actions = 3

    def expected_reward(self, action):
        return -[2.0, 0.5, 1.0][action]

    def feedback(self, action, rng):
        return ()


def test_gaps_of_any_problem_are_from_the_greatest_reward():
    assert gaps_of(Loss()).tolist() == [1.5, 0, 0.5]


def test_feedback_is_the_shown_rewards_in_order():
    graph = ((0,), (2, 0), (2,))
    bandit = SideObservationBandit((0, 0.5, 1), (0.25, 0, 2), graph)
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert bandit.feedback(1, rng).tolist() == [-1, -0.25]


def test_feedback_has_the_means_and_independent_arms():
    bandit = SideObservationBandit((0.2, 0.7), (0, 0.1), ((0,), (0, 1)))
    rng = np.random.default_rng(1)
    n = 20_000
    draws = np.array([bandit.feedback(1, rng) for _ in range(n)])
    margin = hoeffding(n, events=3)
    np.testing.assert_allclose(draws.mean(axis=0), bandit.means, atol=margin)
    coins = draws + np.array(bandit.offsets) > 0.5
    assert abs(coins.all(axis=1).mean() - 0.2 * 0.7) < margin
