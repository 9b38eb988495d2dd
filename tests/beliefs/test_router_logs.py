"""Logs of routers, which stop cases by what they saw: what they tell and what they do not."""

from __future__ import annotations

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses, stage_costs
from stopwise.cascade import Cascade
from tests.beliefs.worlds import independent, routed, table_of


@pytest.mark.parametrize(
    ("accuracies", "n_classes", "explored", "stops_at"),
    [
        ([0.7, 0.8, 0.9], 2, 0.1, None),
        ([0.7, 0.8, 0.85, 0.9], 2, 0.1, None),
        ([0.7, 0.8, 0.9], 5, 0.1, None),
        ([0.7, 0.8, 0.9], 5, 0.0, None),
        ([0.65, 0.75, 0.85, 0.95], 2, 0.1, 0),
        ([0.65, 0.75, 0.85, 0.95], 4, 0.1, 0),
    ],
)
def test_a_router_that_explores_or_many_values_tell_error_rates(
    accuracies, n_classes, explored, stops_at
):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        outputs, labels = independent(rng, 5_000, accuracies, n_classes)
        log = routed(rng, outputs, explored=explored, stops_at=stops_at)
        model = LatentClasses.fit(table_of(log))
        assert model.is_identified
        assert not model.misfit.is_refuted
        errors = (outputs != labels[:, None]).mean(axis=0)
        assert np.abs(model.error_rates - errors).max() < 0.05


@pytest.mark.parametrize("n_classes", [2, 5])
def test_a_stage_costs_what_it_would_if_all_tests_had_run(n_classes):
    """That the router runs the last test where others differ does not make these look worse."""
    rng = np.random.default_rng(0)
    outputs, labels = independent(rng, 20_000, [0.8, 0.92, 0.97], n_classes)
    errors = (outputs != labels[:, None]).mean(axis=0)
    cascade = Cascade(costs=[0.01, 0.11, 0.2])
    tables = [table_of(routed(rng, outputs, explored=0.1)), table_of(outputs)]
    costs = [stage_costs(LatentClasses.fit(table), table, cascade) for table in tables]
    assert costs[0] == pytest.approx(costs[1], abs=0.01)
    assert costs[0] == pytest.approx(errors + cascade.cumulative_costs, abs=0.02)


def test_with_two_values_a_router_that_never_explores_tells_no_error_rates():
    rng = np.random.default_rng(0)
    outputs, _ = independent(rng, 5_000, [0.7, 0.8, 0.9])
    model = LatentClasses.fit(table_of(routed(rng, outputs, explored=0)))
    assert not model.is_identified
    assert model.error_intervals.tolist() == [[0, 1]] * 3
    assert "a third test was never run" in model.explain()


def test_errors_that_tests_share_show_in_the_log_of_a_router():
    rng = np.random.default_rng(0)
    outputs, _ = independent(rng, 5_000, [0.7, 0.8, 0.85, 0.9], 5)
    is_copy = rng.random(5_000) < 0.5
    outputs[is_copy, 3] = outputs[is_copy, 2]
    model = LatentClasses.fit(table_of(routed(rng, outputs)))
    noticed = model.complexity.n_levels > 1 or model.misfit.is_refuted or not model.is_settled
    assert noticed or not model.is_identified


@pytest.mark.parametrize("tests", [(0, 0, 1), (0, 1, 0), (0, 1, 1)])
def test_a_test_and_its_copy_are_one_wherever_they_stand(tests):
    outputs, _ = independent(np.random.default_rng(0), 2_000, [0.8, 0.9])
    model = LatentClasses.fit(table_of(outputs[:, tests]))
    assert not model.is_identified
    assert "do not copy each other" in model.explain()
