"""Thompson sampling: its draws have the law of the posterior."""

import numpy as np
import pytest
from scipy import stats

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors
from tests.policies.helpers import play, sample_cases
from tests.strategies import FALSE_ALARM, hoeffding


def draw(seed, told, steps=16):
    """The disagreement that a learner draws, found from the prices at which it stops at stage 1."""
    low, high = 0.0, 1.0
    for _ in range(steps):
        price = (low + high) / 2
        policy = sw.Thompson(Cascade([0, price]), seed=seed)
        policy.tell_many(told)
        low, high = (low, price) if policy.ask() == 0 else (price, high)
    return (low + high) / 2


@pytest.mark.parametrize(("n", "d"), [(0, 0), (1, 0), (7, 3), (50, 48)])
def test_a_draw_has_the_law_of_the_posterior(n, d):
    told = {outputs: times for outputs, times in {(0, 0): n - d, (0, 1): d}.items() if times}
    sample = [draw(seed, told) for seed in range(400)]
    assert stats.kstest(sample, stats.beta(1 + d, 1 + n - d).cdf).pvalue > FALSE_ALARM


def test_the_stages_have_the_law_of_the_rule():
    """All pairs are drawn apart: P(stage 1) is a product, and so on."""
    policy = sw.Thompson(Cascade([0, 0.45, 0.2]), seed=3)
    policy.tell_many({(0, 0, 0): 4, (0, 1, 1): 2, (0, 1, 0): 1, (0, 1): 3})

    def below(i, j):
        n, d = policy.counts.n_seen[i, j], policy.counts.n_disagreed[i, j]
        C = policy.cascade.cumulative_costs
        return stats.beta(1 + d, 1 + n - d).cdf(C[j] - C[i])

    first = below(0, 1) * below(0, 2)
    second = (1 - first) * below(1, 2)
    n = 20_000
    shares = np.bincount(policy.ask_many(n), minlength=3) / n
    np.testing.assert_allclose(shares, [first, second, 1 - first - second], atol=hoeffding(n, 3))
    assert min(shares) > 4 * hoeffding(n, 3) > 0


@pytest.mark.parametrize(("price", "stage"), [(1.0, 0), (0.0, 2)])
def test_prices_of_one_are_never_paid_and_free_tests_are_run(price, stage):
    assert set(sw.Thompson(Cascade([0, price, price]), seed=0).ask_many(100)) == {stage}


def test_a_seed_fixes_the_run():
    cascade = Cascade([0, 0.2, 0.2])
    runs = [sw.Thompson(cascade, seed=seed).ask_many(200) for seed in (5, 5, 6)]
    assert runs[0] == runs[1] != runs[2]
    assert sw.Thompson(cascade, seed=np.random.default_rng(5)).ask_many(200) == runs[0]


def test_a_new_seed_forgets_nothing_else():
    cascade = Cascade([0, 0.2, 0.2])
    policy, fresh = sw.Thompson(cascade, seed=1), sw.Thompson(cascade, seed=2)
    play(policy, sample_cases(nested_errors(cascade), 30, 0))
    before = policy.counts
    policy.reseed(2)
    assert policy.counts == before
    fresh.tell_many({(0, 0, 0): 1})
    other = sw.policy_from_state({**fresh.to_state(), "statistics": {"pairs": before.to_state()}})
    assert policy.ask_many(100) == other.ask_many(100)


@pytest.mark.parametrize("make", [sw.Resolve, sw.WeakDominance, sw.StrongDominance])
def test_a_policy_that_does_not_draw_has_no_seed(make):
    policy = make(Cascade([0, 0.2]))
    before = policy.to_state()
    policy.reseed(3)
    assert policy.to_state() == before
