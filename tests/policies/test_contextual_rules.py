"""The rules, against the formulas of their docstrings written out in NumPy."""

import math

import numpy as np
import pytest
from scipy.special import expit, logit

import stopwise as sw
from paper.contexts_data import learn
from tests.policies.contextual_helpers import draw_cases, pairs_world, play

CASCADE = sw.Cascade([0.0, 0.12, 0.05, 0.2])


def bounds(policy, context):
    """Estimates in log odds and widths for each pair, in NumPy, from the saved state."""
    model = policy.to_state()["statistics"]["model"]
    x = (np.array(context) - model["centre"]) / model["scale"]
    x = np.concatenate([[1.0], np.clip(x, -10, 10)])
    b = policy.exploration * math.log(1 + (policy.n_rounds + 1))
    K = policy.cascade.n_stages
    z, w = np.zeros((K, K)), np.zeros((K, K))
    for j in range(K):
        for i in range(j):
            p = j * (j - 1) // 2 + i
            z[i, j] = np.dot(model["theta"][p], x)
            w[i, j] = math.sqrt(b * x @ np.array(model["inverse"][p]) @ x)
    return z, w


def optimistic(policy, context):
    C, K = policy.cascade.cumulative_costs, policy.cascade.n_stages
    z, w = bounds(policy, context)
    for i in range(K):
        if all(C[j] - C[i] >= expit(z[i, j] + w[i, j]) for j in range(i + 1, K)):
            return i
    raise AssertionError("the last stage has nothing to cover")


def resolving(policy, context):
    C, K = policy.cascade.cumulative_costs, policy.cascade.n_stages
    z, w = bounds(policy, context)
    for i in range(K):
        later = range(i + 1, K)
        if any(C[j] - C[i] < expit(z[i, j] - w[i, j]) for j in later):
            continue
        undecided = [j for j in later if C[j] - C[i] < expit(z[i, j] + w[i, j])]
        return max(undecided, default=i)
    raise AssertionError("the last stage cannot be refuted")


RULES = [(sw.ContextualWeakDominance, optimistic), (sw.ContextualResolve, resolving)]


@pytest.mark.parametrize(("make", "rule"), RULES)
@pytest.mark.parametrize("exploration", [0.02, 0.5])
def test_asks_follow_the_formula(make, rule, exploration):
    policy = make(CASCADE, 3, exploration=exploration, warm_up=10)
    cases = draw_cases(4, 3, 500, 0)
    seen = set()
    for n, (outputs, context) in enumerate(cases):
        stage = policy.ask(context)
        if n >= 10:
            assert stage == rule(policy, context)
            seen.add(stage)
        policy.tell(outputs[: stage + 1], context)
    assert len(seen) >= 3


@pytest.mark.parametrize("make", [make for make, _ in RULES])
def test_recommending_is_asking_without_a_bonus(make):
    policy = make(CASCADE, 3, warm_up=10)
    cases = draw_cases(4, 3, 300, 1)
    play(policy, cases)
    C = CASCADE.cumulative_costs
    for _, context in cases[:50]:
        p = policy.disagreement(context)
        z, _ = bounds(policy, context)
        np.testing.assert_allclose(np.triu(p, 1), np.triu(expit(z), 1))
        assert np.array_equal(p, p.T)
        first = next(i for i in range(4) if all(C[j] - C[i] >= p[i, j] for j in range(i + 1, 4)))
        assert policy.recommend(context) == first


def test_thompson_draws_with_the_posterior():
    """The share of asks that stop is the chance that a normal is below the price's log odds."""
    policy = sw.ContextualThompson(sw.Cascade([0, 0.2]), 2, seed=3, exploration=1.7, warm_up=0)
    rng = np.random.default_rng(0)
    for _ in range(40):
        policy.tell([0, int(rng.random() < 0.25)], rng.normal(size=2))
    model, x = policy.to_state()["statistics"]["model"], np.array([1.0, 0.4, -0.3])
    mean = np.dot(model["theta"][0], x)
    deviation = math.sqrt(1.7 * x @ np.array(model["inverse"][0]) @ x)
    from scipy.stats import norm

    chance, n = norm.cdf((math.log(0.2 / 0.8) - mean) / deviation), 20_000
    assert 0.05 < chance < 0.95
    stops = np.mean(np.array(policy.ask_many([[0.4, -0.3]] * n)) == 0)
    # 4.9 deviations: false-alarm rate 1e-6
    assert abs(stops - chance) < 4.9 * math.sqrt(chance * (1 - chance) / n)


def test_a_pair_never_seen_is_never_covered():
    for make in (sw.ContextualWeakDominance, sw.ContextualResolve):
        policy = make(sw.Cascade([0, 0.999]), 1, warm_up=0)
        assert policy.ask([0.0]) == policy.recommend([0.0]) == 1
        for _ in range(50):
            policy.tell([0], [0.0])  # shows nothing of test 2
        assert policy.ask([0.0]) == 1


def test_a_free_test_is_always_taken_and_a_dear_one_never():
    for make in (sw.ContextualWeakDominance, sw.ContextualResolve):
        free, dear = make(sw.Cascade([0, 0.0]), 1), make(sw.Cascade([0, 1.0]), 1)
        for k in range(200):
            free.tell([0, 0], [k % 3])
            dear.tell([0, 1], [k % 3])
        assert free.ask([1]) == 1
        assert dear.ask([1]) == 0


def test_an_undecided_round_of_resolve_shows_what_is_undecided():
    """Whatever was told: either nothing is open at the stage played, or it shows an open pair."""
    policy = sw.ContextualResolve(CASCADE, 2, warm_up=10)
    rng = np.random.default_rng(2)
    for n, (outputs, context) in enumerate(draw_cases(4, 2, 600, 3)):
        stage = policy.ask(context)
        if n >= 10:
            z, w = bounds(policy, context)
            limit = policy._model.limits
            open_ = {
                (i, j): abs(limit[j * (j - 1) // 2 + i] - z[i, j]) <= w[i, j]
                for j in range(4)
                for i in range(j)
            }
            shows = any(open_[i, stage] for i in range(stage))
            settled = not any(open_[stage, j] for j in range(stage + 1, 4))
            assert shows or settled
        policy.tell(outputs[: rng.integers(1, 5)], context)  # told whatever somebody played


@pytest.mark.parametrize("make", [make for make, _ in RULES])
def test_regret_is_sublinear_where_pairs_are_logistic(make):
    world = pairs_world(2)
    trace = sw.simulate(
        world, lambda c: make(c, 2), horizon=40_000, replications=4, seed=1, checkpoints=[4000]
    )
    early, late = trace.mean_regret()
    assert late < 5 * early  # ten times as long
    fixed = sw.simulate(world, sw.Resolve, horizon=40_000, replications=2, seed=1)
    assert late < 0.3 * fixed.mean_regret()[-1]


def test_widths_are_standard_deviations():
    """Squared errors of the log odds over xᵀH⁻¹x: about 1, a little less by regularisation."""
    world = pairs_world(2)
    contexts = world.draw_contexts(200, np.random.default_rng(5))
    truth = world.disagreement(contexts)
    ratios = []
    for seed in range(12):
        policy = learn(world, sw.ContextualResolve(world.cascade, 2), rounds=2000, seed=seed)
        model = policy.to_state()["statistics"]["model"]
        scaled = (contexts - model["centre"]) / np.array(model["scale"])
        X = np.column_stack([np.ones(len(contexts)), scaled])
        for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
            off = X @ model["theta"][p] - logit(truth[:, i, j])
            variance = np.einsum("na,ab,nb->n", X, np.array(model["inverse"][p]), X)
            ratios.append((off**2 / variance).mean())
    # 36 means, each of about three independent squares of normals: deviation about .14.
    assert 0.4 < np.mean(ratios) < 1.6
