"""The online logistic regression: each formula against an independent computation."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.special import expit, logit

import stopwise as sw
from stopwise.policies.logistic import (
    chance,
    dot,
    learn,
    log_odds,
    spread,
    step_size,
    step_sizes,
)
from stopwise.policies.pair_models import CUT

numbers = st.floats(-30, 30)


@given(z=st.floats(-800, 800))
def test_chance_is_the_logistic_function(z):
    assert chance(z) == pytest.approx(expit(z), rel=1e-12, abs=1e-300)


@given(p=st.floats(-0.5, 1.5))
def test_log_odds_is_its_inverse(p):
    assert log_odds(p) == pytest.approx(logit(min(max(p, 0.0), 1.0)))


@given(z=numbers, q=st.floats(0, 1e6), y=st.integers(0, 1))
def test_a_step_solves_its_equation(z, q, y):
    s = step_size(z, q, y)
    assert abs(s - (y - expit(z + s * q))) <= 1e-9
    assert min(0, y - expit(z)) - 1e-9 <= s <= max(0, y - expit(z)) + 1e-9


@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("seed", range(5))
def test_learning_a_case_minimises_its_loss_near_what_is_known(seed, y):
    rng = np.random.default_rng(seed)
    D = 4
    root = rng.normal(size=(D, D))
    H = root @ root.T + 0.1 * np.eye(D)
    before, x = rng.normal(size=D), rng.normal(size=D)

    def loss(theta):
        z = theta @ x
        return 0.5 * (theta - before) @ H @ (theta - before) + np.logaddexp(0, z) - y * z

    best = minimize(loss, before, method="BFGS", options={"gtol": 1e-9}).x
    theta, inverse = before.tolist(), np.linalg.inv(H).tolist()
    learn(theta, inverse, x.tolist(), [0.0] * D, y)
    np.testing.assert_allclose(theta, best, atol=1e-5)
    p = expit(np.dot(theta, x))
    np.testing.assert_allclose(inverse, np.linalg.inv(H + p * (1 - p) * np.outer(x, x)), rtol=1e-8)


def test_dot_and_spread():
    rng = np.random.default_rng(0)
    A, x, y = rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
    A = A @ A.T
    assert dot(x.tolist(), y.tolist()) == pytest.approx(x @ y)
    assert spread(A.tolist(), x.tolist()) == pytest.approx(x @ A @ x)
    assert spread((-A).tolist(), x.tolist()) == 0.0


def learned(n, seed, **settings):
    """A policy told n cases of two tests with logistic disagreement, and the truth."""
    rng = np.random.default_rng(seed)
    theta = np.array([-1.5, 1.0, -0.7, 0.0])
    contexts = rng.normal(size=(n, 3))
    y = rng.random(n) < expit(theta[0] + contexts @ theta[1:])
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 3, warm_up=0, **settings)
    for x, differs in zip(contexts.tolist(), y.tolist(), strict=True):
        policy.tell([0, int(differs)], x)
    return policy, theta, contexts, y


def test_one_pass_is_about_as_good_as_maximum_likelihood():
    """Squared errors in the metric of the information, over 40 data sets: within a tenth."""
    online, batch = [], []
    for seed in range(40):
        policy, truth, contexts, y = learned(1500, seed)
        X = np.column_stack([np.ones(len(y)), contexts])

        def loss(theta, X=X, y=y):
            z = X @ theta
            return np.logaddexp(0, z).sum() - z[y].sum() + 0.5 * theta @ theta

        best = minimize(loss, np.zeros(4), method="BFGS").x
        p = expit(X @ truth)
        H = (X * (p * (1 - p))[:, None]).T @ X
        online.append((policy._model.theta[0] - truth) @ H @ (policy._model.theta[0] - truth))
        batch.append((best - truth) @ H @ (best - truth))
    assert np.mean(online) == pytest.approx(np.mean(batch), rel=0.1)
    # Chi-squared with 4 degrees of freedom has mean 4; 40 of them have deviation .45.
    assert np.mean(online) == pytest.approx(4, abs=4.9 * 0.45)


def test_rounding_does_not_pile_up():
    """After many cases the updated inverse is still symmetric, positive and near the exact one."""
    rng = np.random.default_rng(0)
    theta, D = [0.0] * 3, 3
    inverse = np.eye(D).tolist()
    H = np.eye(D)
    for _ in range(20_000):
        x = [1.0, *rng.normal(size=2).tolist()]
        learn(theta, inverse, x, [0.0] * D, int(rng.random() < 0.1))
        p = expit(np.dot(theta, x))
        H += p * (1 - p) * np.outer(x, x)
    np.testing.assert_allclose(inverse, np.linalg.inv(H), rtol=1e-6)
    assert np.linalg.eigvalsh(inverse).min() > 0


@pytest.mark.parametrize("regularisation", [0.1, 1.0, 5.0])
def test_regularisation_is_what_is_known_before_the_first_case(regularisation):
    policy = sw.ContextualWeakDominance(
        sw.Cascade([0, 0.2]), 2, warm_up=0, regularisation=regularisation
    )
    np.testing.assert_allclose(policy._model.inverse, [np.eye(3) / regularisation])
    policy.tell([0, 1], [0.5, -1.0])
    x = np.array([1.0, 0.5, -1.0])
    (theta,) = np.array(policy._model.theta)
    # The gradient of λ|θ|²/2 + ln(1 + exp(-θ·x)) vanishes.
    np.testing.assert_allclose(regularisation * theta, (1 - expit(theta @ x)) * x, atol=1e-8)


def test_agreement_for_ever_brings_the_bound_down():
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.05]), 1, warm_up=0, exploration=2.0)
    for k in range(3000):
        policy.tell([0, 0], [math.sin(k)])
    assert policy.ask([0.3]) == 0
    assert policy.disagreement([0.3])[0, 1] < 0.01


# The scale of the features


def test_units_do_not_matter():
    """Shifted and rescaled features give the same stages and the same estimates."""
    rng = np.random.default_rng(3)
    contexts = rng.normal(size=(400, 2))
    y = (rng.random(400) < expit(2 * contexts[:, 0] - 1)).tolist()
    shift, unit = np.array([300.0, -2e5]), np.array([0.001, 7e6])
    one, other = (sw.ContextualResolve(sw.Cascade([0, 0.2]), 2) for _ in range(2))
    for x, differs in zip(contexts, y, strict=True):
        stage = one.ask(x)
        assert other.ask(shift + unit * x) == stage
        one.tell([0, int(differs)][: stage + 1], x)
        other.tell([0, int(differs)][: stage + 1], shift + unit * x)
    for x in contexts[:20]:
        np.testing.assert_allclose(
            one.disagreement(x), other.disagreement(shift + unit * x), atol=1e-6
        )


def test_the_scale_is_that_of_the_warm_up_and_stays():
    rng = np.random.default_rng(4)
    contexts = rng.normal(5, 3, size=(200, 2))
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=40)
    for n, x in enumerate(contexts):
        policy.tell([0, 0], x)
        if n >= 39:
            model = policy.to_state()["statistics"]["model"]
            np.testing.assert_allclose(model["centre"], contexts[:40].mean(axis=0))
            np.testing.assert_allclose(model["scale"], contexts[:40].std(axis=0))


def test_without_a_constant_feature_nothing_is_shifted():
    rng = np.random.default_rng(8)
    contexts = rng.normal(2, 3, size=(300, 2))
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=40, intercept=False)
    for x in contexts:
        policy.tell([0, int(rng.random() < expit(x[0]))], x)
    model = policy.to_state()["statistics"]["model"]
    assert model["centre"] == [0.0, 0.0]
    np.testing.assert_allclose(model["scale"], np.sqrt((contexts[:40] ** 2).mean(axis=0)))
    assert policy.disagreement([0.0, 0.0])[0, 1] == 0.5
    assert policy.disagreement([1.0, 0.0])[0, 1] == pytest.approx(expit(1), abs=0.1)


def test_cases_of_the_warm_up_are_learned_from():
    rng = np.random.default_rng(5)
    cases = [([0, int(rng.random() < 0.3)], rng.normal(size=2)) for _ in range(60)]
    warmed = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=60)
    warmed.tell_many(cases)
    contexts = np.array([x for _, x in cases])
    known = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=0)
    scaled = (contexts - contexts.mean(axis=0)) / contexts.std(axis=0)
    known.tell_many([(outputs, x) for (outputs, _), x in zip(cases, scaled, strict=True)])
    np.testing.assert_allclose(warmed._model.theta, known._model.theta, atol=1e-9)
    assert warmed._model.seen == known._model.seen == [60]


def test_a_constant_feature_and_a_wild_one_do_no_harm():
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=30)
    rng = np.random.default_rng(6)
    for k in range(200):
        constant = 0.3 if k % 2 else 0.1 + 0.2  # but for rounding
        policy.tell([0, int(rng.random() < 0.05)], [constant, 1e90 if k == 150 else rng.normal()])
    assert policy.n_cut == 1
    assert np.all(np.isfinite(policy._model.theta))
    assert policy._model.scale[0] == pytest.approx(0.3)  # its size


def test_a_feature_that_moves_only_after_the_warm_up_is_learned_from():
    policy = sw.ContextualWeakDominance(sw.Cascade([0, 0.2]), 2, warm_up=30)
    rng = np.random.default_rng(7)

    def truth(x):
        return 1 / (1 + np.exp(-(x - 35_000) / 4_000))

    for k in range(6_000):
        x = 30_000.0 if k < 30 else rng.normal(30_000, 5_000)
        policy.tell([0, int(rng.random() < truth(x))], [x, 0.0 if k < 30 else float(k % 2)])
    assert policy.n_cut == 0
    assert list(policy._model.scale) == [30_000.0, 1.0]
    for x in (26_000, 31_000, 42_000):
        assert policy.disagreement([x, 0])[0, 1] == pytest.approx(truth(x), abs=0.05)
    assert policy.recommend([0.3, 0.0]) == 0
    policy.ask([0.3, 1e90])
    assert policy._model.x[2] == CUT


@pytest.mark.parametrize("largest", [0.01, 1.0, 3.9, 50.0])
def test_steps_of_many_pairs_are_those_of_each(largest):
    rng = np.random.default_rng(4)
    z, q = rng.normal(0, 4, 60), rng.uniform(0, largest, 60)
    y = rng.integers(2, size=60)
    each = [step_size(*row) for row in zip(z.tolist(), q.tolist(), y.tolist(), strict=True)]
    steps, slopes = step_sizes(z, q, y)
    np.testing.assert_allclose(steps, each, atol=1e-9)
    p = np.array([chance(z[k] + q[k] * each[k]) for k in range(60)])
    np.testing.assert_allclose(slopes, p * (1 - p), atol=1e-9)
