"""Theorem 3 of the paper, and what is claimed of trees and of stages that pay."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from paper.random_instances import (
    random_costs,
    random_instance,
    random_tree,
)
from stopwise.cascade import Cascade
from stopwise.problem.families import (
    indistinguishable_pair,
)
from stopwise.problem.instance import Instance
from tests.problem.laws import first_acceptable, of_two_or_three_classes, sound
from tests.strategies import instances, seeds

# Theorem 3: uniform learnability


@settings(max_examples=60)
@given(st.data())
def test_weak_dominance_is_learnable_uniformly(data):
    """A slack of r costs at most 2 r a round, whatever the weakly dominant instance.

    Let |p̂ - p| <= r and take the first i with C_j - C_i >= p̂_ij - r for all j > i. The best stage
    i* passes, so i <= i*; and then C_i* - C_i >= p_ii* - 2 r >= γ_i - γ_i* - 2 r. Exploring
    n^(2/3) rounds with r of order n^(-1/3) thus has regret of order n^(2/3) (up to logarithms) on
    all of Θ_WD at once: Theorem 3's linear lower bound cannot be right.
    """
    drawn = data.draw(of_two_or_three_classes(stages=(1, 4)))
    instance = drawn.instance
    assume(instance.is_weakly_dominant())
    r = data.draw(st.sampled_from([0.0, 0.01, 0.1, 0.3]))
    noise = np.random.default_rng(data.draw(seeds)).uniform(-r, r, size=instance.disagreement.shape)
    if data.draw(st.booleans()):
        noise = np.where(noise > 0, r, -r)
    chosen = first_acceptable(instance.disagreement + noise, instance.cascade, r + 1e-12)
    assert chosen <= instance.best_stage
    assert instance.gaps[chosen] <= 2 * r + 1e-9


def worst_regret(n, price):
    """The exact worst regret over Θ_WD, K = 2, of exploring f rounds and stopping with slack.

    With p <= price stage 1 is best and stage 2 worse by at most the price; with p > price (and in
    Θ_WD) stage 2 is best and stage 1 worse by at most p - price.
    """
    f = math.ceil(n ** (2 / 3))
    slack = math.sqrt(math.log(n) / f)
    p = np.linspace(0, 1, 20_001)
    goes_on = binom.sf(math.floor(f * (price + slack)), f, p)
    low = (f + (n - f) * goes_on) * price
    high = (n - f) * (1 - goes_on) * (p - price)
    return np.where(p <= price, low, high).max()


@pytest.mark.parametrize("price", [0.1, 0.25, 0.6])
def test_theorem_3_is_false_the_minimax_regret_is_sublinear(price):
    """Exact for two stages: a thousand times more rounds, a good hundred times more regret."""
    horizons = [10**3, 10**6, 10**9]
    regrets = [worst_regret(n, price) for n in horizons]
    for n, regret in zip(horizons, regrets, strict=True):
        assert regret <= 3 * n ** (2 / 3) * math.sqrt(math.log(n))
    for before, after in pairwise(regrets):
        assert after / before < 200
    assert regrets[-1] / horizons[-1] < 0.01


@pytest.mark.parametrize("epsilon", [1e-4, 1e-2, 0.1])
def test_the_pair_of_theorem_3_forces_no_linear_regret(epsilon):
    """Stopping at stage 1 for ever costs nothing in θ and ε a round in θ': small if ε is."""
    first, second = indistinguishable_pair(epsilon)
    assert first.gaps[0] == 0
    assert second.gaps[0] == pytest.approx(epsilon)


def test_the_pair_of_theorem_3_forces_regret_of_order_two_thirds():
    """Two-point bound: to tell θ from θ', stage 2 has to be played, at 1/4 per round in θ.

    With m = E_θ[plays of stage 2]: R(θ) = m / 4 and R(θ) + R(θ') >= (ε n / 4) exp(-m kl)
    (Bretagnolle and Huber), so the worse of both is at least the least over m of the larger of
    m / 4 and half of that. The best ε is of order n^(-1/3).
    """

    def bound(n):
        best = 0.0
        for epsilon in np.geomspace(1e-5, 0.24, 60):
            a, b = 1 / 4, 1 / 4 + epsilon
            kl = a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))
            m = np.geomspace(1e-2, n, 2000)
            worse = np.maximum(m / 4, epsilon * n / 8 * np.exp(-m * kl))
            best = max(best, worse.min())
        return best

    growth = [math.log(bound(1000 * n) / bound(n), 1000) for n in (10**4, 10**6)]
    assert growth == pytest.approx([2 / 3, 2 / 3], abs=0.02)
    # And the rule above stays above it, as it must.
    for n in (10**4, 10**6):
        assert worst_regret(n, 0.25) > bound(n)


# Trees


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_selector_is_sound_on_weakly_dominant_trees(n_classes):
    """Random trees, laws and costs for which the definition holds: hundreds, not chains."""
    rng = np.random.default_rng(4)
    inside = inner = outside = 0
    for _ in range(600):
        K = int(rng.integers(4, 6))
        tree = random_tree(rng, K)
        target = int(rng.integers(K))
        # Rows of label and outputs; one node is often right, cheap to reach, and the rest is dear.
        table = rng.integers(n_classes, size=(8, K + 1))
        right = rng.random(8) < rng.uniform(0.6, 1)
        table[right, 0] = table[right, 1 + target]
        law = Instance.from_patterns(table.tolist(), rng.dirichlet(np.ones(8)), tree)
        near = [law.disagreement[parent or 0, k] for k, parent in enumerate(tree.parents)]
        dear = [
            rng.uniform(0, 1) if k in tree.path(target) else rng.uniform(0.9, 2) for k in range(K)
        ]
        instance = law.with_cascade(Cascade(np.multiply(near, dear), parents=tree.parents))
        weak = instance.is_weakly_dominant()  # as defined: see test_instance
        outside += not weak
        if weak and not tree.is_chain:
            inside += 1
            inner += instance.best_stage > 0
            assert sound(instance) == instance.best_stage
    assert inside > 250
    assert inner > 120
    assert outside > 30


@settings(max_examples=60)
@given(of_two_or_three_classes(stages=(2, 5), tree=True))
def test_the_selector_is_sound_on_trees_with_ties(drawn):
    instance = drawn.instance
    if instance.is_weakly_dominant():
        assert sound(instance) == instance.best_stage


def test_a_chain_written_as_a_tree_is_the_chain():
    rng = np.random.default_rng(6)
    for _ in range(200):
        chain = random_instance(rng, random_costs(rng, 4))
        as_tree = chain.with_cascade(Cascade(chain.cascade.prices, parents=[None, 0, 1, 2]))
        assert sound(as_tree) == sound(chain)
        assert as_tree.is_weakly_dominant() == chain.is_weakly_dominant()
        assert as_tree.dominance_ratio() == pytest.approx(chain.dominance_ratio())


# The stages that pay from every earlier one


def paying_stages(drawn):
    """U, and the first stage from which no later one pays."""
    p, C, K = drawn.p, drawn.paid, drawn.n_stages
    pays = {(i, j): p[i, j] > C[j] - C[i] for i in range(K) for j in range(i + 1, K)}
    U = [j for j in range(K) if all(pays[i, j] for i in range(j))]
    first = next(i for i in range(K) if not any(pays[i, j] for j in range(i + 1, K)))
    return U, first


@settings(max_examples=60)
@given(st.data(), st.integers(2, 3))
def test_the_best_stage_pays_from_every_earlier_one(data, n_classes):
    """Whatever the labels and the order: best is in U, and best <= last of U <= first to stop at.

    Under weak dominance all three are equal.
    """
    drawn = data.draw(instances(stages=(1, 5), n_classes=n_classes))
    U, first = paying_stages(drawn)
    total_costs = drawn.errors + drawn.paid
    best = int(np.argmin(total_costs))
    assert best in U
    assert best <= U[-1] <= first
    later = range(best + 1, drawn.n_stages)
    if all(drawn.paid[j] - drawn.paid[best] >= drawn.p[best, j] for j in later):
        assert best == U[-1] == first
