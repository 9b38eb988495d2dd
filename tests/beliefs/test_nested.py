"""Tests that look nested: outputs do not tell error rates, and the model says so."""

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses, stage_costs
from stopwise.beliefs.em import Design
from stopwise.beliefs.explain import NESTED, TOO_FEW_TESTS
from stopwise.beliefs.nested import chain_logs
from stopwise.cascade import Cascade
from tests.beliefs.worlds import independent, labelled, routed, table_of


def chain(rng, n, keeps, n_classes=3):
    """Cases of tests that keep the answer of the next one with these chances; the last is right."""
    right = rng.integers(0, n_classes, n)
    columns = [right]
    for keep in reversed(keeps):
        other = (columns[-1] + rng.integers(1, n_classes, n)) % n_classes
        columns.append(np.where(rng.random(n) < keep, columns[-1], other))
    return np.column_stack(columns[::-1]), right


def test_a_chain_predicts_itself():
    """Against its own law, written out; the fit has 20,000 cases and 21 numbers."""
    outputs, _ = chain(np.random.default_rng(0), 20_000, [0.7, 0.9])
    table = table_of(outputs)
    logs = chain_logs(Design(table.codes, 3), table.weights[:, None].astype(float), np.ones(1))
    same = table.codes[:, :-1] == table.codes[:, 1:]
    steps = np.where(same, [0.7, 0.9], [0.15, 0.05])
    expected = np.log(steps.prod(axis=1) / 3)
    assert table.weights @ (logs[:, 0] - expected) / 20_000 == pytest.approx(0, abs=2e-3)
    assert np.exp(logs).sum() == pytest.approx(1)


def test_a_gap_leaves_its_test_out_of_the_chain():
    codes = np.array([[0, 0, 0], [1, 1, 1], [0, -1, 1], [1, -1, 0], [-1, 0, -1]])
    weights = np.array([[6.0], [4.0], [2.0], [3.0], [1.0]])
    logs = chain_logs(Design(codes, 2), weights, np.array([1e-9]))
    assert np.exp(logs[2:4, 0]) == pytest.approx([2 / 15, 3 / 15], rel=0.05)
    assert np.exp(logs[4, 0]) == pytest.approx(7 / 11, rel=0.05)


@pytest.mark.parametrize("keeps", [[0.6, 0.85], [0.5, 0.8, 0.9]])
def test_where_tests_look_nested_the_later_is_right(keeps):
    outputs, right = chain(np.random.default_rng(1), 3_000, keeps)
    table = table_of(outputs)
    model = LatentClasses.fit(table)
    assert not model.is_identified
    assert NESTED in model.explain()
    assert TOO_FEW_TESTS not in model.explain()
    assert model.error_rates == pytest.approx((outputs != right[:, None]).mean(axis=0), abs=0.01)
    assert model.error_intervals.tolist() == [[0, 1]] * len(table.codes.T)
    free = Cascade([0.0] * len(table.codes.T))
    assert np.argmin(stage_costs(model, table, free)) == len(keeps)


def test_labels_still_tell_who_is_right():
    outputs, _ = chain(np.random.default_rng(2), 3_000, [0.6, 0.8])
    right = outputs[:, 1]  # the test in the middle, against the fallback
    cases = np.flatnonzero(outputs[:, 1] != outputs[:, 2])[:200]
    model = LatentClasses.fit(table_of(outputs), labels=labelled(outputs, right, cases))
    assert model.error_rates[1] < 0.03 < model.error_rates[2]


@pytest.mark.parametrize("n_classes", [2, 3, 8])
def test_independent_tests_do_not_look_nested(n_classes):
    outputs, _ = independent(np.random.default_rng(3), 3_000, [0.6, 0.7, 0.8], n_classes)
    assert LatentClasses.fit(table_of(outputs)).is_identified


def test_nested_tests_look_nested_in_the_log_of_a_router():
    rng = np.random.default_rng(5)
    outputs, _ = chain(rng, 8_000, [0.6, 0.85])
    assert not LatentClasses.fit(table_of(routed(rng, outputs, stops_at=0))).is_identified
