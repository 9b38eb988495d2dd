"""Every faster way has the law of the plain loop over ask and tell.

Each test compares two samples of runs, by the share of rounds at every stage and by the regret. Its
false-alarm rate is `FALSE_ALARM`, over all its comparisons: of means by the empirical Bernstein
bound of Maurer and Pontil (2009), of laws by Kolmogorov and Smirnov, whose test is conservative for
values with ties.

Stepping in a kernel is the loop itself, stage by stage (test_kernels), wherever nothing is drawn
to decide; so thousands of steps are what the slower ways are compared with: 1,200 runs against
8,000 find whatever 2,000 against 2,000 would.
"""

import math

import numpy as np
import pytest
from scipy import stats

import stopwise as sw
from paper.random_instances import random_neither
from stopwise.policies.compiled_rule import declared_rule
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.events import EventPlay
from stopwise.simulation.world import World
from tests.policies.helpers import FACTORIES
from tests.simulation.oracle import play_rounds

FALSE_ALARM = 1e-6
R = 2000
WORLDS = {
    "relaxed": relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])),
    "first stage best": nested_errors(sw.Cascade(costs=[0, 0.35, 0.1])),
    "not dominant": random_neither(np.random.default_rng(8), 4),
}
DECIDING = [
    "Resolve",
    "Resolve-indifferent",
    "Supervised-eager",
    "WeakDominance",
    "WeakDominance-eager",
]


def oracle(name, instance, horizon, runs):
    stops = []
    for r in range(runs):
        policy = FACTORIES[name](instance.cascade)
        policy.reseed(10**6 + r)
        stages = play_rounds(policy, *instance.sample(horizon, r))
        stops.append(np.bincount(stages, minlength=instance.cascade.n_stages))
    return np.array(stops)


def events(name, instance, horizon, runs=R):
    world = World(instance, labelled=name.startswith("Supervised"))
    stops = []
    for r in range(runs):
        policy = FACTORIES[name](instance.cascade)
        policy.reseed(10**6 + r)
        played = EventPlay(policy, np.random.default_rng(r)).play(world, np.array([horizon]))
        stops.append(played.stops[-1])
    return np.array(stops)


def kernel(name, instance, horizon, *, jumps, runs=R):
    world = World(instance, labelled=name.startswith("Supervised"))
    rule = declared_rule(FACTORIES[name](instance.cascade))
    seeds = range(runs) if jumps else range(runs, 2 * runs)
    plays = [CompiledPlay(rule, np.random.default_rng(seed), jumps=jumps) for seed in seeds]
    return np.array([play.play(world, np.array([horizon])).stops[-1] for play in plays])


def stray(shares, alarm):
    """How far the mean of values in [0, 1] may be from its expectation."""
    n, log = len(shares), math.log(4 / alarm)
    return math.sqrt(2 * shares.var(ddof=1) * log / n) + 7 * log / (3 * (n - 1))


def assert_same_law(stops, others, instance, horizon):
    alarm = FALSE_ALARM / (2 * instance.cascade.n_stages + 2)
    pairs = [(stops[:, k] / horizon, others[:, k] / horizon) for k in range(stops.shape[1])]
    worst = horizon * max(instance.gaps.max(), 1e-300)
    pairs.append((stops @ instance.gaps / worst, others @ instance.gaps / worst))
    for one, other in pairs:
        assert abs(one.mean() - other.mean()) <= stray(one, alarm) + stray(other, alarm)
        # Rounded, so that sums of gaps in another order are still ties.
        assert stats.ks_2samp(one.round(9), other.round(9), method="asymp").pvalue >= alarm


@pytest.mark.parametrize("world", WORLDS)
@pytest.mark.parametrize("name", DECIDING)
def test_jumping_has_the_law_of_stepping(name, world):
    instance, horizon = WORLDS[world], 5000
    jumped = kernel(name, instance, horizon, jumps=True)
    assert_same_law(jumped, kernel(name, instance, horizon, jumps=False), instance, horizon)


@pytest.mark.parametrize(
    ("name", "horizon"),
    [
        ("Resolve", 80),
        ("StrongDominance", 40),
        ("Supervised-eager", 80),
        ("Thompson", 50),
        ("WeakDominance-eager", 100),
    ],
)
def test_events_have_the_law_of_stepping(name, horizon):
    instance = WORLDS["relaxed"]
    stepped = kernel(name, instance, horizon, jumps=False, runs=4 * R)
    assert_same_law(events(name, instance, horizon, 1200), stepped, instance, horizon)
    if name == "Thompson":  # which draws other numbers in a kernel than in the loop
        slow = oracle(name, instance, horizon, 1200)
        assert_same_law(slow, stepped, instance, horizon)
        jumped = kernel(name, instance, horizon, jumps=True, runs=4 * R)
        assert_same_law(slow, jumped, instance, horizon)


def test_events_have_the_law_of_the_loop():
    """Of a policy without a kernel."""
    name, instance, horizon = "ExploreThenCommit", WORLDS["relaxed"], 100
    slow = oracle(name, instance, horizon, 1200)
    assert_same_law(events(name, instance, horizon, 4 * R), slow, instance, horizon)


@pytest.mark.parametrize("name", ["Resolve", "WeakDominance-eager", "Supervised-eager"])
@pytest.mark.slow
def test_long_stretches_of_events_have_the_law_of_stepping(name):
    instance, horizon = WORLDS["relaxed"], 5000
    stepped = kernel(name, instance, horizon, jumps=False)
    assert_same_law(events(name, instance, horizon), stepped, instance, horizon)


def test_another_law_is_noticed():
    instance, horizon = WORLDS["relaxed"], 5000
    one = kernel("WeakDominance-eager", instance, horizon, jumps=True)
    dearer = instance.with_cascade(sw.Cascade(costs=[0, 0.1, 0.26]))
    other = kernel("WeakDominance-eager", dearer, horizon, jumps=True)
    with pytest.raises(AssertionError):
        assert_same_law(one, other, instance, horizon)
