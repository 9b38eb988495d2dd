"""Algorithm 2, round by round, against a transcription that knows nothing of the library."""

import math
from fractions import Fraction

import numpy as np
import pytest

import stopwise as sw
from paper.random_instances import random_costs, random_instance, random_weak
from stopwise.cascade import Cascade
from stopwise.problem.families import nested_errors, relaxed_errors
from tests.policies.helpers import play, sample_cases


def algorithm_2(C, stream, exploration=1.5):
    """The stages that the paper's pseudo-code plays; sensors and rounds from 1, as printed.

    Averages are fractions, so that the only rounding is that of U against C_j - C_i. Line 3 is
    mended: n_i(1) = 1 for all i, since playing K shows them all.
    """
    K = len(C)
    C = [None, *C]
    played = []
    for t, Y in enumerate(([None, *row] for row in stream), start=1):
        if t == 1:
            I = K  # line 1  # noqa: E741
            gamma = {
                (i, j): Fraction(int(Y[i] != Y[j]))
                for i in range(1, K + 1)
                for j in range(i + 1, K + 1)
            }  # line 2
            n = [None] + [1] * K  # line 3
        else:
            U = {
                (i, j): float(gamma[i, j]) + math.sqrt(exploration * math.log(t) / n[j])
                for i, j in gamma
            }  # line 5
            S = [
                i for i in range(1, K) if all(C[j] - C[i] >= U[i, j] for j in range(i + 1, K + 1))
            ]  # line 6
            I = min([*S, K])  # line 7  # noqa: E741
            for i in range(1, I + 1):  # lines 9 and 10
                n[i] += 1
            for j in range(1, I + 1):  # line 11
                for i in range(1, j):
                    step = Fraction(1, n[j])
                    gamma[i, j] = (1 - step) * gamma[i, j] + step * int(Y[j] != Y[i])
        played.append(I - 1)
    return played


def assert_plays_algorithm_2(instance, horizon, seed, **settings):
    cases = sample_cases(instance, horizon, seed)
    C = instance.cascade.cumulative_costs.tolist()
    expected = algorithm_2(C, [case.outputs for case in cases], **settings)
    policy = sw.WeakDominance(instance.cascade, **settings)
    assert play(policy, cases) == expected
    return set(expected)


@pytest.mark.parametrize("n_stages", [2, 3, 4, 5])
def test_it_plays_algorithm_2(n_stages):
    rng = np.random.default_rng(n_stages)
    seen = set()
    for seed in range(20):
        instance = (
            random_weak(rng, n_stages)
            if seed % 2
            else random_instance(
                rng, random_costs(rng, n_stages), n_classes=int(rng.integers(2, 4))
            )
        )
        seen |= assert_plays_algorithm_2(instance, 300, seed)
    assert len(seen) > 1


@pytest.mark.parametrize("n_stages", [3, 5])
def test_it_plays_algorithm_2_for_long(n_stages):
    rng = np.random.default_rng(10 + n_stages)
    for seed in range(2):
        assert_plays_algorithm_2(random_weak(rng, n_stages), 5_000, seed)
    costs = [0, 0.35, 0.1, 0.3, 0.3][:n_stages]
    rates = [0.4, 0.1, 0.05, 0.02, 0.0][:n_stages]
    assert len(assert_plays_algorithm_2(nested_errors(Cascade(costs), rates), 5_000, 0)) > 1


@pytest.mark.parametrize("exploration", [0.01, 0.3, 6.0])
def test_exploration_takes_the_place_of_the_printed_constant(exploration):
    for seed in range(5):
        instance = relaxed_errors(Cascade([0, 0.3, 0.5]))
        assert_plays_algorithm_2(instance, 1_000, seed, exploration=exploration)


def test_prices_in_eighths():
    """Prices and shares that can be equal: an observed share at its price is never a bound."""
    rng = np.random.default_rng(5)
    for seed in range(20):
        cascade = Cascade(rng.integers(0, 5, size=3) / 4)
        assert_plays_algorithm_2(random_instance(rng, cascade), 400, seed)


def test_it_recommends_what_the_averages_say():
    policy = sw.WeakDominance(Cascade([0, 0.25, 0.25]))
    assert policy.recommend() == 2  # nothing is known
    policy.tell_many({(0, 0, 0): 3, (0, 1, 1): 1})
    assert policy.recommend() == 0  # p̂ = 1/4 at a price of 1/4
    assert policy.ask() == 2
    policy.tell([0, 1, 1])
    assert policy.recommend() == 1
    policy.tell_many({(0, 1, 0): 4})
    assert policy.recommend() == 2
