"""Every policy that learns finds the best stage."""

from functools import partial

import numpy as np
import pytest

import stopwise as sw
from stopwise.problem.families import nested_errors, relaxed_errors
from tests.policies.helpers import play, sample_cases

Thompson = partial(sw.Thompson, seed=0)
RUNS = [
    (sw.WeakDominance, nested_errors, (0, 0.1, 0.2), 20_000),
    (partial(sw.StrongDominance, alpha=0.5), nested_errors, (0, 0.1, 0.4), 10_000),
    (Thompson, nested_errors, (0, 0.1, 0.1), 5_000),
    (Thompson, nested_errors, (0, 0.2, 0.02), 5_000),
    (sw.Supervised, nested_errors, (0, 0.1, 0.2), 20_000),
    (partial(sw.ExploreThenCommit, rounds=150), nested_errors, (0, 0.1, 0.1), 2_000),
    (sw.Resolve, nested_errors, (0, 0.1, 0.1), 20_000),
    (sw.Resolve, nested_errors, (0, 0.35, 0.1), 20_000),
    (sw.Resolve, nested_errors, (0, 0.2, 0.02), 20_000),
    (sw.Resolve, relaxed_errors, (0, 0.1, 0.25), 20_000),
    (sw.Resolve, relaxed_errors, (0, 0.45, 0.2), 20_000),
]


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize(("make", "family", "costs", "horizon"), RUNS)
def test_it_finds_the_best_stage(make, family, costs, horizon, seed):
    instance = family(sw.Cascade(costs))
    policy = make(instance.cascade)
    stages = np.array(play(policy, sample_cases(instance, horizon, seed)))
    assert policy.recommend() == instance.best_stage
    late = stages[-max(horizon // 10, 1_000) :]
    assert np.mean(late == instance.best_stage) > 0.9
    assert instance.gaps[stages].mean() < 0.1 * np.sort(instance.gaps)[1]
