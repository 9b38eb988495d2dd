"""The limit under weak dominance against brute force over laws on a grid, and its edges."""

import math
from itertools import product

import numpy as np
import pytest
from scipy.optimize import linprog

from paper.random_instances import random_weak
from stopwise.cascade import Cascade
from stopwise.disagreement import dominated_pairs
from stopwise.errors import SettingError
from stopwise.problem.families import nested_errors, relaxed_errors
from stopwise.problem.instance import Instance
from stopwise.theory.divergence import bernoulli_kl
from stopwise.theory.plan import cheapest_plan, expected_regret
from stopwise.theory.regret_limit import weak_dominance_limit

BITS = [(0, 0, 0), (0, 0, 1), (0, 1, 0), (0, 1, 1)]  # who agrees with whom among three binary tests


def limit(instance, *, by_agreement=True):
    law, gaps, best = instance.output_law, instance.gaps, instance.best_stage
    return weak_dominance_limit(law, gaps, best, by_agreement=by_agreement)


def by_brute_force(instance, grid=120):
    """The same plan, demanded for the laws of a grid alone, so a little less.

    A law is a = p_12 and how often test 3 differs from test 2 where 1 and 2 agree, and where they
    do not: of the last the value nearest to the truth that makes the other stage best.
    """
    best, C = instance.best_stage, instance.cascade.cumulative_costs
    law = dict.fromkeys(BITS, 0.0)
    for row, p in zip(instance.outputs.tolist(), instance.probabilities.tolist(), strict=True):
        law[tuple(y ^ row[0] for y in row)] += p
    agree = law[0, 0, 0] + law[0, 0, 1]
    truth = law[0, 0, 1] / agree, law[0, 1, 0] / (1 - agree)
    steps = np.linspace(0.001, 0.999, grid).tolist()
    shares = [1 - agree] if best else [*steps, 1 - agree, C[1] - C[0]]
    rows = []
    for a, h0 in product(shares, [*steps, truth[0]]):
        left = (1 - a) * h0
        # p_23 = left + a h and p_13 = left + a (1 - h), each on its side of the price.
        ways = [((C[2] - C[1] - left) / a, 1 - (C[2] - C[0] - left) / a)]
        if best == 0 and a >= C[1] - C[0]:
            ways.append((0.0, (C[2] - C[1] - left) / a))
        for least, most in ways:
            low, high = max(least, 0.0), min(most, 1.0)
            if low <= high:
                second = bernoulli_kl(1 - agree, a)
                third = agree * bernoulli_kl(truth[0], h0)
                third += (1 - agree) * bernoulli_kl(truth[1], min(max(truth[1], low), high))
                if third < math.inf:
                    rows.append([second, second + third])
    demands = np.array(rows)[:, 1 if best else 0 :]
    costs = instance.gaps[best + 1 :]
    return linprog(costs, -demands, -np.ones(len(demands)), method="highs").fun


@pytest.mark.parametrize("p", [0.05, 0.2, 0.35])
def test_two_tests_by_hand(p):
    instance = nested_errors(Cascade(costs=[0, 0.4]), [p + 0.1, 0.1])
    assert limit(instance) == pytest.approx((0.4 - p) / bernoulli_kl(p, 0.4), rel=1e-3)
    last = instance.with_cascade(Cascade(costs=[0, p / 2]))
    assert limit(last) == 0  # nothing lies beyond


@pytest.mark.parametrize(
    "instance",
    [
        nested_errors(Cascade(costs=[0, 0.1, 0.1])),
        relaxed_errors(Cascade(costs=[0, 0.1, 0.25])),
        nested_errors(Cascade(costs=[0, 0.35, 0.1])),
        relaxed_errors(Cascade(costs=[0, 0.45, 0.2])),
    ],
    ids=["second best", "second, relaxed", "first best", "first, relaxed"],
)
def test_three_tests_by_brute_force(instance):
    exact = limit(instance)
    assert 0.97 * exact <= by_brute_force(instance) <= 1.001 * exact


@pytest.mark.parametrize(("prevalence", "slip"), [(0.5, 0.0), (0.2, 0.0), (0.3, 0.1)])
def test_two_tests_whose_answers_are_seen(prevalence, slip):
    """The answers of test 1 keep their law; each has its own chance h of being changed."""
    price = 0.4
    instance = relaxed_errors(
        Cascade(costs=[0, price]), [0.3, 0.05], slip=slip, prevalence=prevalence
    )
    law = instance.output_law
    chance = np.array([law.probabilities[law.codes[:, 0] == y].sum() for y in (0, 1)])
    changed = law.codes[:, 0] != law.codes[:, 1]
    h = [law.probabilities[(law.codes[:, 0] == y) & changed].sum() / chance[y] for y in (0, 1)]
    information = math.inf
    for first in np.linspace(1e-6, 1, 20_001, endpoint=False).tolist():
        second = (price - chance[0] * first) / chance[1]
        if 0 < second < 1:
            new = [bernoulli_kl(h[0], first), bernoulli_kl(h[1], second)]
            information = min(information, float(chance @ new))
    assert limit(instance, by_agreement=False) == pytest.approx(
        instance.gaps[1] / information, rel=2e-3
    )


def test_answers_tell_no_less_than_agreement():
    for seed in range(8):
        instance = random_weak(np.random.default_rng(seed), 3)
        assert limit(instance, by_agreement=False) <= limit(instance) * (1 + 2e-4)
    instance = nested_errors(Cascade(costs=[0, 0.1, 0.1]))
    assert limit(instance, by_agreement=False) < 0.95 * limit(instance)


def test_a_pattern_that_hardly_ever_comes_up_does_not_matter():
    """Its tangents are so steep that no linear programme with them can be solved."""
    rows = [(0, 0, 0), (0, 0, 1), (1, 1, 0)]  # the label, then the outputs
    limits = []
    for rare in (0.0, 1e-40):
        law = Instance.from_patterns(rows, [0.8, 0.2, rare], Cascade(costs=[0, 0.4]))
        limits.append(limit(law, by_agreement=False))
    assert limits == pytest.approx([0.6 / bernoulli_kl(0.2, 0.4)] * 2, rel=1e-3)


def test_it_is_at_most_what_pairs_alone_take():
    """Ruling out every pair rules out every law in which another stage is best."""
    below = 0
    for seed in range(12):
        instance = random_weak(np.random.default_rng(seed), 4)
        cascade, demands = instance.cascade, [0.0] * 4
        for i, j in dominated_pairs(cascade, instance.best_stage):
            price = cascade.cumulative_costs[j] - cascade.cumulative_costs[i]
            kl = bernoulli_kl(instance.disagreement[i, j], price)
            demands[j] = max(demands[j], 0.0 if price >= 1 else 1 / kl if kl else math.inf)
        most = expected_regret(instance.gaps, cheapest_plan(demands, instance.gaps, cascade))
        exact = limit(instance)
        assert 0 <= exact <= most * (1 + 1e-3) or most == math.inf
        below += exact < 0.95 * most
    assert below  # sometimes another comparison is the cheaper one


def test_the_edge_and_what_it_refuses():
    edge = nested_errors(Cascade(costs=[0, 0.2]), [0.3, 0.1])
    assert weak_dominance_limit(edge.output_law, [0.0, 0.1], 0) == math.inf
    dear = nested_errors(Cascade(costs=[0, 1.5]), [0.3, 0.1])
    assert limit(dear) == 0
    tree = nested_errors(Cascade(costs=[0, 0.1, 0.1], parents=[None, 0, 0]))
    with pytest.raises(SettingError, match="law must be of complete outputs of a chain"):
        limit(tree)
    long = nested_errors(Cascade(costs=[0.01] * 14), np.linspace(0.4, 0.1, 14).tolist())
    with pytest.raises(SettingError, match="at most 3000 patterns"):
        weak_dominance_limit(long.output_law, long.gaps, 0)
