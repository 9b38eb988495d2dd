"""Logs of routers, which stop cases by what they saw: what such a log tells, and what it does not.

The router runs two tests, and the others where these differ or by chance.
"""

from __future__ import annotations

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses, stage_costs
from stopwise.cascade import Cascade
from tests.beliefs.worlds import independent, table_of


def routed(seed, accuracies, n_classes, *, explored, n=5_000):
    rng = np.random.default_rng(seed)
    outputs, labels = independent(rng, n, accuracies, n_classes)
    stops = (outputs[:, 0] == outputs[:, 1]) & (rng.random(n) >= explored)
    errors = (outputs != labels[:, None]).mean(axis=0)
    return np.where(stops[:, None] & (np.arange(outputs.shape[1]) > 1), -1, outputs), errors


@pytest.mark.parametrize(
    ("accuracies", "n_classes", "explored"),
    [
        ([0.7, 0.8, 0.9], 2, 0.1),
        ([0.7, 0.8, 0.85, 0.9], 2, 0.1),
        ([0.7, 0.8, 0.9], 5, 0.1),
        ([0.7, 0.8, 0.9], 5, 0.0),
    ],
)
def test_a_router_that_explores_or_many_values_tell_error_rates(accuracies, n_classes, explored):
    for seed in range(4):
        outputs, errors = routed(seed, accuracies, n_classes, explored=explored)
        model = LatentClasses.fit(table_of(outputs))
        assert model.is_identified
        assert not model.misfit.is_refuted
        assert np.abs(model.error_rates - errors).max() < 0.05


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_stage_costs_what_it_would_if_all_tests_had_run(n_classes):
    """That the router runs the last test where others differ does not make these look worse."""
    outputs, errors = routed(0, [0.8, 0.92, 0.97], n_classes, explored=0.1, n=20_000)
    complete, _ = routed(0, [0.8, 0.92, 0.97], n_classes, explored=1.0, n=20_000)
    cascade = Cascade(costs=[0.01, 0.11, 0.2])
    tables = [table_of(outputs), table_of(complete)]
    costs = [stage_costs(LatentClasses.fit(table), table, cascade) for table in tables]
    assert costs[0] == pytest.approx(costs[1], abs=0.01)
    assert costs[0] == pytest.approx(errors + cascade.cumulative_costs, abs=0.02)


def test_with_two_values_a_router_that_never_explores_tells_no_error_rates():
    model = LatentClasses.fit(table_of(routed(0, [0.7, 0.8, 0.9], 2, explored=0.0)[0]))
    assert not model.is_identified
    assert model.error_intervals.tolist() == [[0, 1]] * 3
    assert "a third test was never run" in model.explain()


def test_errors_that_tests_share_show_in_the_log_of_a_router():
    outputs, _ = routed(0, [0.7, 0.8, 0.85, 0.9], 5, explored=0.1)
    copied = np.where(np.random.default_rng(1).random(5_000) < 0.5, outputs[:, 2], outputs[:, 3])
    model = LatentClasses.fit(table_of(np.column_stack([outputs[:, :3], copied])))
    noticed = model.complexity.n_levels > 1 or model.misfit.is_refuted or not model.is_settled
    assert noticed or not model.is_identified


@pytest.mark.parametrize("tests", [(0, 0, 1), (0, 1, 0), (0, 1, 1)])
def test_a_test_and_its_copy_are_one_wherever_they_stand(tests):
    outputs, _ = independent(np.random.default_rng(0), 2_000, [0.8, 0.9])
    model = LatentClasses.fit(table_of(outputs[:, tests]))
    assert not model.is_identified
    assert "no copies" in model.explain()
