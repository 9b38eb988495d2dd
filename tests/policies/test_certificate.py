"""Certificates: what the choice rests on, and that confidence is right however often one looks."""

import json
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stopwise as sw
from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.policies.certificate import Status, confidence_in
from stopwise.theory.divergence import bernoulli_kl, log_e_value
from tests.policies.helpers import draw_cases, play, resolve_told


@given(n=st.integers(0, 60), q=st.floats(0.01, 0.99))
def test_an_e_value_has_mean_one_if_the_chance_is_right(n, q):
    weights = [math.comb(n, d) * q**d * (1 - q) ** (n - d) for d in range(n + 1)]
    mean = sum(w * math.exp(log_e_value(n, d, q)) for d, w in enumerate(weights))
    assert mean == pytest.approx(1)


@pytest.mark.parametrize(("p", "price"), [(0.19, 0.2), (0.21, 0.2), (0.2, 0.2), (0.02, 0.01)])
def test_what_is_decided_is_wrong_no_more_often_than_promised(p, price):
    """600 runs, looked at after every one of 2,000 cases, with the truth close to the price.

    At the promised 5 % more than 49 wrong runs have a chance of 1e-4.
    """
    rng = np.random.default_rng(3)
    wrong = 0
    for _ in range(600):
        d = np.cumsum(rng.random(2_000) < p)
        n = np.arange(1, 2_001)
        # Where the e-value cannot be large it need not be computed: kl <= (p - q)² / (q (1 - q)).
        far = n * (d / n - price) ** 2 / (price * (1 - price)) > math.log(20)
        side = d > n * price if p <= price else d <= n * price
        for k in np.flatnonzero(far & side):
            if confidence_in(int(n[k]), int(d[k]), price, 1) >= 0.95:
                wrong += 1
                break
    assert wrong <= 49


def test_a_policy_under_continuous_monitoring_keeps_its_promise():
    """120 runs of three tests near the edge, the certificate read after every 40 cases.

    At the promised 20 % more than 41 wrong runs have a chance of 1e-4; by the evidence that the
    policy acts on, about a third of the runs are settled on the wrong side at some time.
    """
    costs, rates = [0, 0.1, 0.1], [0.11, 0.09]  # what tests 2 and 3 change
    truth = {(0, 1): True, (1, 2): False}
    rng = np.random.default_rng(4)
    wrong = hasty = 0
    for _ in range(120):
        policy, erred, rash = sw.Resolve(Cascade(costs)), False, False
        for _ in range(100):
            flips = np.cumsum(rng.random((40, 2)) < rates, axis=1) % 2
            stage = policy.ask()
            policy.tell_many(Counter((0, *row)[: stage + 1] for row in flips.tolist()))
            for c in policy.certificate(confidence=0.8).comparisons:
                differs = truth.get((c.shallow, c.deep), c.pays) != c.pays
                erred |= differs and c.status is Status.DECIDED
                rash |= differs and c.is_settled
        wrong += erred
        hasty += rash
    assert wrong <= 41
    assert hasty > 20


def test_what_is_settled_for_now_is_not_sold_as_sure():
    """Near the price a comparison was "settled" with a confidence of 0.0027."""
    certificate = resolve_told([0, 0.2], {(0, 0): 808, (0, 1): 192}).certificate()
    (comparison,) = certificate.comparisons
    assert comparison.is_settled
    assert comparison.confidence == 0.0
    assert comparison.status is certificate.status is Status.LEANING
    sure = resolve_told([0, 0.2], {(0, 0): 460, (0, 1): 40})
    assert sure.certificate().status is Status.DECIDED
    assert sure.certificate(confidence=1 - 1e-12).status is Status.LEANING


def test_without_cases_the_disagreement_is_unknown():
    text = str(sw.Resolve(sw.Cascade([0, 1], 20)).certificate())
    assert "disagreement unknown against price 0.0500 in 0 cases" in text


def test_missing_outputs_are_in_it():
    policy = resolve_told([0, 0.2], {(0, 0): 300, (0, 1): 10, (0, None): 90})
    certificate = policy.certificate()
    (comparison,) = certificate.comparisons
    assert certificate.missing == pytest.approx((0.0, 90 / 400))
    assert (comparison.n_seen, comparison.n_missing) == (310, 90)
    assert comparison.status is Status.DECIDED
    assert comparison.confidence_with_gaps < 0.95 < comparison.confidence
    assert "missing by chance" in str(certificate)
    few = resolve_told([0, 0.2], {(0, 0): 300, (0, 1): 10, (0, None): 2}).certificate()
    assert few.warnings == ()  # it holds whatever was missing


@pytest.mark.parametrize("cases", [{}, {(0, 1, 1): 3, (0, 0): 50}, {(None, None, None): 4}])
def test_it_is_valid_json(cases):
    certificate = resolve_told([0, 0.3, 0.9], cases).certificate()
    text = json.dumps(certificate.to_dict(), allow_nan=False)
    assert json.loads(text)["stage"] == certificate.stage


def test_on_a_tree_the_way_taken_is_uncertain_too():
    tree = Cascade([0, 0.1, 0.1], parents=[None, 0, 0])
    cases = {((0, 1), 1): 60, ((0, 0), 1): 40, ((0, 1), 2): 40, ((0, 0), 2): 60}
    policy = sw.Resolve(tree)
    policy.tell_many(cases)
    rival = next(c for c in policy.certificate().comparisons if c.deep == 2)
    assert rival.status is not Status.DECIDED  # 0.6 against 0.4 in a hundred cases each
    policy.tell_many({case: 10 * times for case, times in cases.items()})
    rival = next(c for c in policy.certificate().comparisons if c.deep == 2)
    assert rival.status is Status.DECIDED


@pytest.mark.parametrize("bad", [0, 1, 1.5, -0.1, math.nan, "much", None])
def test_a_confidence_lies_between_0_and_1(bad):
    with pytest.raises(SettingError, match="confidence must"):
        resolve_told([0, 0.1], {}).certificate(confidence=bad)


# What it says


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
    assert 13 * bernoulli_kl(2 / 13, 0.3) < x + math.log(1 + x) / 4
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


def test_a_test_on_another_branch_that_was_never_seen_is_not_decided():
    policy = sw.Resolve(Cascade([0, 0.1, 0.2], parents=[None, 0, 0]))
    policy.tell([0, 1], stage=1)
    (rival,) = [c for c in policy.certificate().comparisons if c.deep == 2]
    assert (rival.n_seen, rival.confidence) == (0, 0.0)
    assert rival.status is not Status.DECIDED


def test_a_zone_of_indifference_is_named():
    policy = sw.Resolve(Cascade([0, 0.1]), indifference=0.05)
    policy.tell_totals(1, 3000, [[], [345]])
    (comparison,) = policy.certificate().comparisons
    assert comparison.status is Status.DECIDED
    assert comparison.indifference == 0.05
    assert "price 0.1000 with 0.0500 of indifference" in str(comparison)
