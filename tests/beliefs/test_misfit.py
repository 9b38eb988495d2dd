"""The test of independence raises few false alarms and finds what it should."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from tests.beliefs.worlds import independent, table_of, with_difficulty


def p_values(n_tables, n, accuracies, n_classes):
    rng = np.random.default_rng(n)
    return np.array(
        [
            LatentClasses.fit(
                table_of(independent(rng, n, accuracies, n_classes)[0])
            ).misfit.p_value
            for _ in range(n_tables)
        ]
    )


def test_few_independent_worlds_are_refuted():
    """Of 25 at a level of 20 %, more than 12 are in one run of a thousand."""
    assert (p_values(25, 400, [0.65, 0.7, 0.8, 0.85], 2) < 0.2).sum() <= 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("n", "accuracies", "n_classes"),
    [
        (600, [0.65, 0.7, 0.8, 0.85], 2),
        (1_000, [0.6, 0.7, 0.75, 0.8, 0.85], 3),
        (1_500, [0.6, 0.7, 0.8], 5),
    ],
)
def test_false_alarms_are_as_rare_as_the_level_says(n, accuracies, n_classes):
    """Of 100 at a level of 5 %, more than 13 are in one run of a thousand."""
    assert (p_values(100, n, accuracies, n_classes) < 0.05).sum() <= 13


@pytest.mark.parametrize("n_classes", [2, 9])
def test_very_many_cases_cost_no_more_than_their_patterns(n_classes):
    """Drawn case by case, as many as these fill any memory."""
    outputs, _ = independent(np.random.default_rng(2), 2_000, [0.65, 0.7, 0.8, 0.85], n_classes)
    table = table_of(outputs)
    many = replace(table, weights=table.weights * 10**9)
    assert LatentClasses.fit(many).misfit.is_testable


def test_three_tests_with_two_values_cannot_be_refuted():
    rng = np.random.default_rng(0)
    outputs, _ = independent(rng, 2_000, [0.6, 0.7, 0.8])
    outputs[:, 2] = np.where(rng.random(2_000) < 0.2, outputs[:, 0], outputs[:, 2])
    model = LatentClasses.fit(table_of(outputs))
    assert not model.misfit.is_testable
    assert not model.misfit.is_refuted
    assert "This table cannot refute" in model.explain()


def with_a_copy(seed, n, accuracies, n_classes, share, pair):
    """Return a table in which one test of a pair copies the other in a share of the cases."""
    rng = np.random.default_rng(seed)
    outputs, labels = independent(rng, n, accuracies, n_classes)
    copied, (original, copy) = rng.random(n) < share, pair
    outputs[copied, copy] = outputs[copied, original]
    return outputs, (outputs != labels[:, None]).mean(axis=0)


def test_errors_that_two_tests_share_are_explained_by_the_pair():
    """Five standard errors of a rate of 0.1 in 4,000 cases are 0.024."""
    outputs, truth = with_a_copy(0, 4_000, [0.9] * 4, 2, 0.8, (0, 1))
    model = LatentClasses.fit(table_of(outputs))
    assert model.complexity.pair == (0, 1)
    assert np.abs(model.error_rates - truth).max() < 0.024
    assert not model.misfit.is_refuted
    assert "test 1 and test 2 err together" in model.explain()


@pytest.mark.parametrize("seed", range(6))
def test_an_explanation_that_cannot_be_told_from_others_is_not_trusted(seed):
    """Tests 1 and 2 copy each other, or 3 and 4 err together where the first two are right."""
    outputs, truth = with_a_copy(seed, 4_000, [0.7, 0.75, 0.8, 0.85], 2, 0.8, (0, 1))
    model = LatentClasses.fit(table_of(outputs))
    assert np.abs(model.error_rates - truth).max() < 0.05
    assert not model.misfit.is_testable
    assert "as well, with other rates. Without labels this belief is not to be" in model.explain()
    assert (
        "not to be trusted" not in LatentClasses.fit(model.table, labels=[([0] * 4, 0)]).explain()
    )


def test_difficulty_that_leaves_nothing_to_test_is_not_trusted():
    outputs, _ = with_difficulty(np.random.default_rng(0), 4_000, [[0.95] * 4, [0.6] * 4])
    model = LatentClasses.fit(table_of(outputs))
    assert not model.misfit.is_testable
    assert "nothing is left to test the model by. Without labels this belief" in model.explain()


def test_a_model_that_is_refuted_is_not_trusted():
    outputs, _ = with_a_copy(0, 4_000, [0.7, 0.75, 0.8, 0.85], 4, 0.8, (0, 2))
    model = LatentClasses.fit(table_of(outputs))
    assert model.misfit.is_refuted
    assert model.misfit.pairs[0].excess > 0
    assert "depend on each other most" in model.explain()
    assert "not to be trusted" in model.explain()


def test_intervals_cover_the_truth_where_the_model_holds():
    """Of 60 intervals at 95 %, fewer than 51 cover in one run of a thousand."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(20):
        outputs, _ = independent(rng, 1_500, [0.65, 0.75, 0.85], 3)
        low, high = LatentClasses.fit(table_of(outputs)).error_intervals.T
        truth = np.array([0.35, 0.25, 0.15])
        covered += int(((low <= truth) & (truth <= high)).sum())
    assert covered >= 51
