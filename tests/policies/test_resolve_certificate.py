"""The certificate of Resolve."""

import math

import numpy as np
import pytest

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.theory.divergence import bernoulli_kl
from tests.policies.helpers import draw_cases, play, resolve_told


def test_a_certificate_says_what_the_choice_rests_on():
    policy = resolve_told([0, 0.1, 0.2], {(0, 0, 0): 70, (0, 1, 1): 25, (0, 1, 0): 5, (0, 1): 100})
    certificate = policy.certificate()
    assert certificate.stage == policy.recommend() == 1
    deeper, passed = certificate.comparisons
    assert (deeper.shallow, deeper.deep, deeper.n_seen, deeper.pays) == (1, 2, 100, False)
    assert (deeper.disagreement, deeper.price) == (0.05, pytest.approx(0.2))
    assert deeper.evidence == pytest.approx(100 * bernoulli_kl(0.05, 0.2))
    assert deeper.confidence == pytest.approx(0.99684, abs=1e-5)  # 1 - 3 / E, three pairs
    assert (passed.shallow, passed.deep, passed.n_seen, passed.pays) == (0, 1, 200, True)
    assert passed.disagreement == 130 / 200
    assert passed.evidence == pytest.approx(200 * bernoulli_kl(0.65, 0.1))
    assert certificate.settled == (deeper, passed)
    assert certificate.open == ()
    assert str(certificate) == (
        "stage 2: 2 decided, 0 leaning, 0 open at confidence 0.95\n"
        "  2 -> 3 does not pay (decided): disagreement 0.0500 against price 0.2000 in 100 cases, "
        f"confidence {deeper.confidence:.4f}\n"
        "  1 -> 2 pays (decided): disagreement 0.6500 against price 0.1000 in 200 cases, "
        "confidence 1.0000"
    )


def test_a_certificate_says_what_is_open():
    policy = resolve_told([0, 0.1, 0.2], {(0, 0, 0): 11, (0, 0, 1): 2, (0,): 500})
    certificate = policy.certificate()
    assert certificate.stage == 0
    x = math.log(1024 / 13)
    assert 13 * bernoulli_kl(2 / 13, 0.3) < x + math.log(1 + x) / 2
    assert [(c.shallow, c.deep, c.is_settled) for c in certificate.comparisons] == [
        (0, 1, False),
        (0, 2, False),
    ]
    assert certificate.settled == ()
    assert (
        "1 -> 3 does not pay (open): disagreement 0.1538 against price 0.3000 in 13 cases"
        in str(certificate)
    )
    assert str(certificate).startswith("stage 1: 0 decided, 0 leaning, 2 open at")


def test_a_certificate_is_settled_exactly_when_nothing_is_bought():
    rng = np.random.default_rng(6)
    kinds = set()
    for seed in range(40):
        policy = sw.Resolve(Cascade([0.0, *(rng.random(2) * 0.4)]))
        play(policy, draw_cases(3, 60 + seed, seed))
        certificate = policy.certificate()
        later = [c for c in certificate.comparisons if c.shallow == certificate.stage]
        if not all(c.is_settled for c in later):
            assert policy.ask() > certificate.stage
        elif not certificate.open:
            assert policy.ask() == certificate.stage
        kinds.add(bool(certificate.open))
    assert kinds == {False, True}


def test_a_certificate_of_nothing():
    policy = sw.Resolve(Cascade([0, 0.3, 0.8]))
    certificate = policy.certificate()
    nearer, dearer = certificate.comparisons
    assert certificate.open == (nearer,)
    assert (nearer.n_seen, nearer.evidence, nearer.confidence) == (0, 0.0, 0.0)
    assert math.isnan(nearer.disagreement)
    assert (dearer.evidence, dearer.confidence, dearer.is_settled) == (math.inf, 1.0, True)
    assert sw.Resolve(Cascade([0.3])).certificate().comparisons == ()


def test_a_certificate_within_the_indifference_does_not_say_that_it_pays():
    policy = resolve_told([0, 0.1], {(0, 0): 8_900, (0, 1): 1_100}, indifference=0.05)
    (comparison,) = policy.certificate().comparisons
    assert not comparison.pays
    assert comparison.is_settled
    assert comparison.evidence == pytest.approx(10_000 * bernoulli_kl(0.11, 0.15))
    assert "1 -> 2 does not pay (decided): disagreement 0.1100 against price 0.1000" in str(
        policy.certificate()
    )


def test_the_confidence_of_a_wrong_comparison_is_seldom_high():
    """If the disagreement is at the price, data of confidence 1 - δ have a chance of at most δ."""
    rng = np.random.default_rng(0)
    high = 0
    for d in rng.binomial(200, 0.3, size=400).tolist():
        policy = resolve_told(
            [0, 0.3], {row: n for row, n in {(0, 1): d, (0, 0): 200 - d}.items() if n}
        )
        (comparison,) = policy.certificate().comparisons
        high += comparison.confidence > 0.99 and not comparison.pays
    # At most 4 are expected; 20 or more have a chance below 1e-6.
    assert high < 20
