"""Bandits with side observations, on graphs that are no cascade."""

import math

import numpy as np
import pytest

from paper.monitoring import own_rewards
from paper.side_observation import SideObservationPolicy, general_plan

STAR = ((0,), (1,), (2,), (0, 1, 2, 3))
# Arm k shows the next one and not itself.
RING = ((1,), (2,), (3,), (0,))


def run(policy, graph, chances, horizon, seed):
    rng = np.random.default_rng(seed)
    arms = []
    for coins in rng.random((horizon, len(chances))) < chances:
        arm = policy.ask()
        policy.tell(arm, coins[list(graph[arm])].astype(float).tolist())
        arms.append(arm)
    return arms


@pytest.mark.parametrize(
    ("graph", "chances"),
    [
        (STAR, (0.3, 0.8, 0.5, 0.1)),
        (RING, (0.1, 0.3, 0.9, 0.4)),
        (own_rewards(2), (0.2, 0.7)),
        (((0, 1), (0, 1, 2), (2,)), (0.2, 0.1, 0.9)),
    ],
    ids=["star", "ring", "bandit", "mixed"],
)
def test_it_finds_the_best_arm_of_a_graph(graph, chances):
    policy = SideObservationPolicy(graph, alpha=0.3)
    arms = run(policy, graph, chances, 700, 0)
    best = int(np.argmax(chances))
    assert policy.ask() == best
    assert np.mean(np.array(arms[-200:]) == best) > 0.85


def choose(observed, means=(0.0, 0.5), plays=(5, 5), t=11, n_explored=0, **given):
    """The arm, and whether it is played to explore."""
    graph = given.pop("graph", ((0,), (0, 1)))
    return SideObservationPolicy(graph, **given).choose(means, observed, plays, t, n_explored)


def test_what_was_never_seen_is_seen_first():
    """By the arm that shows the most of it; such rounds do not count as exploration."""
    assert choose((0, 0)) == (1, False)
    assert choose((0, 0, 0, 0), graph=STAR) == (3, False)
    assert choose((1, 0, 1, 1), graph=STAR) == (1, False)
    assert choose((1, 1, 1, 0), graph=RING) == (2, False)


def test_the_best_arm_is_played_once_all_is_informed():
    """Both gaps demand 2σ²/.25 = 2 views per unit of rate; the rate is 4α ln t."""
    alpha, t = 0.1, 50
    needed = math.ceil(4 * alpha * math.log(t) * 2)
    assert choose((needed, needed), alpha=alpha, t=t) == (1, False)
    assert choose((needed, needed - 1), alpha=alpha, t=t)[1]


def test_an_arm_that_is_starved_is_seen_whatever_the_plan():
    """Seen less than β(n_e) / K times: here β(10⁴) = 50."""
    starved = {"means": (0.5, 0.0), "plays": (1, 24), "t": 10**6}
    assert choose((25, 24), n_explored=10**4, **starved) == (1, True)
    # Otherwise the plan: arm 1 is cheapest but shows itself alone, so u* = (0, 2).
    assert choose((25, 25), n_explored=10**4, **starved) == (1, True)
    lacking = choose((900, 20), means=(0.5, 0.4), plays=(880, 20), t=10**6)
    assert lacking == (1, True)


def test_the_last_of_the_least_seen_arms_is_shown():
    """Line 10 of Algorithm 1 plays K, not a stage that shows as rare a test as K."""
    path = ((0,), (0, 1), (0, 1, 2))
    choice = choose(
        (900, 3, 3), means=(0.0, 0.1, 0.2), plays=(897, 0, 3), n_explored=10**6, graph=path
    )
    assert choice == (2, True)


@pytest.mark.parametrize("observed", [(5, 5), (9, 5)])
def test_all_tied_means_explore(observed):
    assert choose(observed, means=(0.5, 0.5)) == (1, True)


def test_the_plan_is_followed_in_order():
    """The first arm that has been played less than u*·rate."""
    graph = own_rewards(3)
    given = {"means": (0.0, 0.1, 0.4), "t": 100, "graph": graph, "alpha": 2.1}
    rate = 4 * 2.1 * math.log(100)
    enough = [math.ceil(rate * 0.5 / gap**2) for gap in (0.4, 0.3, 0.3)]
    for k in range(3):
        plays = [n - (i >= k) for i, n in enumerate(enough)]
        choice = choose(plays, plays=plays, n_explored=10, **given)
        assert choice == (k, True)
    assert not choose(enough, plays=enough, n_explored=10, **given)[1]


def test_late_plays_count():
    """What other arms showed is taken in as well, whoever played them."""
    policy = SideObservationPolicy(own_rewards(2), alpha=1e-3)
    for _ in range(10):
        policy.tell(0, [0.0])
        policy.tell(1, [1.0])
    assert policy.ask() == 1


def test_the_general_plan_plays_an_optimal_action_as_rarely_as_can_be():
    # Action 0 is free: the first linear program has no reason to spare it.
    graph = ((0, 1), (0, 1), (2,))
    demands, gaps = [4, 9, 3], [0.0, 0.5, 0.2]
    assert general_plan(demands, gaps, graph) == pytest.approx([9, 0, 3])
    # With large demands and small gaps the order of the two aims does not blur.
    huge, tiny = [4e6, 9e6, 3e6], [0.0, 5e-5, 2e-5]
    assert general_plan(huge, tiny, graph) == pytest.approx([9e6, 0, 3e6], rel=1e-6)


@pytest.mark.parametrize("order", [(1, 2), (2, 1)])
def test_of_equally_costly_actions_the_one_that_spares_the_optimal_action_is_played(order):
    # Action 0 is optimal; of the two others, at the same gap, one shows action 0 as well.
    shown = {1: (1,), 2: (0, 1)}
    graph = ((0,), shown[order[0]], shown[order[1]])
    u = general_plan([5, 5, 0], [0.0, 0.1, 0.1], graph)
    assert u[0] == pytest.approx(0)
    assert sum(u) == pytest.approx(5)


def test_an_optimal_action_is_spared_even_by_more_plays_of_others():
    # Actions 1, 2, 3 are in demand. Action 1 shows all three for 3 / 4; three others one each for
    # 1 / 4, and one of them shows action 0 as well.
    graph = ((0,), (1, 2, 3), (0, 1), (2,), (3,))
    u = general_plan([1, 1, 1, 1, 0], [0.0, 0.75, 0.25, 0.25, 0.25], graph)
    assert u == pytest.approx([0, 0, 1, 1, 1])


@pytest.mark.parametrize("all_in_one", [0, 1, 2])
def test_optimal_actions_together_are_spared(all_in_one):
    rows = [(0, 1, 2) if k == all_in_one else (k,) for k in range(3)]
    u = general_plan([1, 1, 1], [0.0, 0.0, 0.0], tuple(rows))
    assert u == pytest.approx([float(k == all_in_one) for k in range(3)])


@pytest.mark.parametrize(
    ("demands", "neighbours", "plays"),
    [
        ([3, 1, 2], ((0,), (1,), (2,)), [3, 1, 2]),  # an ordinary bandit
        ([0, 0], ((0,), (1,)), [0, 0]),
        ([3, 1], ((1,), (0,)), [1, 3]),  # an action need not show itself
        ([3, 0], ((0,), (0,)), [3, 0]),
    ],
)
def test_small_graphs_by_hand(demands, neighbours, plays):
    gaps = [0.0, 0.1, 0.2][: len(demands)]
    assert general_plan(demands, gaps, neighbours) == pytest.approx(plays)
