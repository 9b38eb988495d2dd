"""The truth with contexts: laws, gaps, dominance, recordings."""

import numpy as np
import pytest
from hypothesis import given, settings
from scipy.special import expit

import stopwise as sw
from stopwise.errors import CascadeError, InstanceError
from stopwise.problem.contextual_laws import (
    LogisticPairs,
    NestedErrors,
)
from tests.policies.contextual_helpers import nested_world, pairs_world
from tests.strategies import seeds


def instance_at(world, context):
    """The plain instance that a world is given one context."""
    chances = world.law.chances(np.array([context]))[0]
    rows = np.array(world.law.is_wrong)
    patterns = [(y, *(row ^ y)) for y in (0, 1) for row in rows]
    return sw.Instance.from_patterns(patterns, np.tile(chances / 2, 2), world.cascade)


@pytest.mark.parametrize("world", [pairs_world(), nested_world(), nested_world(5, 3, seed=3)])
def test_everything_is_that_of_the_instance_given_the_context(world):
    contexts = world.draw_contexts(40, np.random.default_rng(0))
    for k, x in enumerate(contexts):
        truth = instance_at(world, x)
        np.testing.assert_allclose(world.error_rates(contexts)[k], truth.error_rates)
        np.testing.assert_allclose(world.total_costs(contexts)[k], truth.total_costs)
        np.testing.assert_allclose(world.gaps(contexts)[k], truth.gaps, atol=1e-12)
        np.testing.assert_allclose(world.disagreement(contexts)[k], truth.disagreement, atol=1e-12)
        assert world.best_stages(contexts)[k] == truth.best_stage
        assert world.is_weakly_dominant(contexts)[k] == truth.is_weakly_dominant()


@given(seed=seeds)
@settings(max_examples=30)
def test_all_pairs_are_exactly_logistic(seed):
    rng = np.random.default_rng(seed)
    u, w = rng.normal(size=3) * 0.4, rng.normal(size=3) * 0.1
    u[0], w[0] = -2.0, 0.0
    theta = np.array([u + w, u + np.log([2, 1, 1]), u - w])
    law = LogisticPairs(theta, last_error=0.1)
    world = sw.ContextualInstance(law, sw.Cascade([0, 0.1, 0.1]))
    contexts = rng.uniform(-1, 1, size=(30, 2))
    p = world.disagreement(contexts)
    for (i, j), row in zip([(0, 1), (0, 2), (1, 2)], theta, strict=True):
        np.testing.assert_allclose(p[:, i, j], expit(row[0] + contexts @ row[1:]), atol=1e-12)
    errors = world.error_rates(contexts)
    np.testing.assert_allclose(errors, 0.1 + 0.8 * p[:, :, 2], atol=1e-12)


def test_two_tests():
    law = LogisticPairs([[-1.0, 0.5]], last_error=0.2)
    world = sw.ContextualInstance(law, sw.Cascade([0, 0.1]))
    np.testing.assert_allclose(world.disagreement([[0.4]])[0, 0, 1], expit(-0.8))
    np.testing.assert_allclose(world.error_rates([[0.4]])[0], [0.2 + 0.6 * expit(-0.8), 0.2])


def test_nested_errors_are_strongly_dominant_and_neighbours_logistic():
    theta = np.array([[-1.5, 0.7], [-2.5, -0.4]])
    law = NestedErrors(theta, last_error=0.05)
    world = sw.ContextualInstance(law, sw.Cascade([0, 0.2, 0.2]))
    contexts = np.linspace(-1, 1, 9)[:, None]
    p, errors = world.disagreement(contexts), world.error_rates(contexts)
    steps = expit(theta[:, 0] + contexts * theta[:, 1])
    np.testing.assert_allclose(p[:, [0, 1], [1, 2]], steps)
    np.testing.assert_allclose(p[:, 0, 2], steps.sum(axis=1))
    np.testing.assert_allclose(errors[:, 2], 0.05)
    for i in range(3):
        for j in range(i, 3):
            np.testing.assert_allclose(errors[:, i] - errors[:, j], p[:, i, j], atol=1e-12)
    for x in contexts:
        assert instance_at(world, x).is_strongly_dominant()
    assert world.is_weakly_dominant(contexts).all()


def test_weak_dominance_can_be_asked_for():
    free = pairs_world()
    free = sw.ContextualInstance(free.law, free.cascade)
    rng = np.random.default_rng(0)
    assert 0.5 < free.is_weakly_dominant(free.draw_contexts(2000, rng)).mean() < 1
    world = pairs_world()
    contexts = world.draw_contexts(2000, rng)
    assert world.is_weakly_dominant(contexts).all()
    assert set(world.best_stages(contexts)) == {0, 1, 2}
    with pytest.raises(InstanceError, match="some contexts must be weakly dominant"):
        sw.ContextualInstance(
            LogisticPairs([[-0.4, 0.0], [-0.2, 0.0], [-0.2, 0.0]], last_error=0.4),
            sw.Cascade([0, 0.2, 0.2]),
            only_weakly_dominant=True,
        )


def test_cases_come_with_their_chances():
    """False-alarm rate 1e-6 an entry: 4.9 deviations."""
    world, n = pairs_world(2), 40_000
    cases = world.draw(n, np.random.default_rng(2))
    wrong = cases.outputs != cases.labels[:, None]
    expected = world.error_rates(cases.contexts)
    off = np.abs((wrong - expected).mean(axis=0))
    assert np.all(off < 4.9 * np.sqrt((expected * (1 - expected)).mean(axis=0) / n))
    for i in range(3):
        for j in range(i + 1, 3):
            p = world.disagreement(cases.contexts)[:, i, j]
            differs = cases.outputs[:, i] != cases.outputs[:, j]
            assert abs((differs - p).mean()) < 4.9 * np.sqrt((p * (1 - p)).mean() / n)
    assert abs(cases.labels.mean() - 0.5) < 4.9 * 0.5 / np.sqrt(n)
    np.testing.assert_array_equal(cases.gaps, world.gaps(cases.contexts))
    again = world.draw(n, np.random.default_rng(2))
    np.testing.assert_array_equal(again.outputs, cases.outputs)


def test_average_gaps_and_the_best_fixed_stage():
    world = pairs_world()
    contexts = world.draw_contexts(50_000, np.random.default_rng(9))
    np.testing.assert_allclose(world.average_gaps, world.gaps(contexts).mean(axis=0), atol=0.004)
    assert world.best_fixed_stage == world.average_gaps.argmin()
    assert world.average_gaps.min() > 0.01


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: LogisticPairs([[0.0, 1.0]] * 2), "1 or 3 rows"),
        (lambda: NestedErrors([]), "not empty"),
        (lambda: NestedErrors([["a"]]), "table of numbers"),
        (lambda: NestedErrors([[np.nan, 0.0]]), "finite"),
        (lambda: NestedErrors([[0.0, 0.0]], last_error=1.5), "last_error"),
        (lambda: LogisticPairs([[0.0, 0.0]], last_error=0.5), "last_error"),
        (lambda: NestedErrors([[-2.0]]), "a constant and a feature or more"),
        (lambda: build(NestedErrors([[0.0, 0.0], [0.5, 0.0]]), 3), "sum to at most 1"),
        (lambda: build(NestedErrors([[-3.0, 1, 1, 1], [-3.1, 1, 1, 1]]), 3), "context .1.0, 1.0"),
        (lambda: build(LogisticPairs([[-3.0, 0], [0.0, 0], [-3.0, 0]]), 3), "triangle"),
        (lambda: build(NestedErrors([[-2.0, 0.0]]), 3), "3 tests, got 2"),
        (lambda: build(NestedErrors([[-2.0, 0.0]]), 2, parents=[None, 0, 0]), "chain"),
    ],
)
def test_what_is_no_law_is_refused(make, match):
    with pytest.raises(InstanceError, match=match):
        make()


def build(law, n_stages, parents=None):
    n = n_stages if parents is None else len(parents)
    cascade = sw.Cascade([0.1] * n, parents=parents)
    return sw.ContextualInstance(law, cascade)


def test_contexts_of_another_shape_are_refused():
    world = pairs_world()
    for bad, match in (
        ([0.0, 0.0, 0.0], r"contexts must be a finite table, .* got shape \(3,\)"),
        ([[0.0, 0.0]], r"shape \(n, 3\), got \(1, 2\)"),
        ([[0.0, 0.0, np.nan]], "contexts must be finite, .* got nan at row 1, column 3"),
        ([[0.0] * 3, [None] * 3], "contexts must be finite, .* got nan at row 2, column 1"),
        ([[0.0, -1e308, 0.0]], r"at most 1e\+100 in size, got -1e\+308 at row 1, column 2"),
        ([["a", "b", "c"]], "contexts must be a table of numbers"),
        ([[0.0, 0.0, 0.0], [0.0]], "contexts must be a table of numbers"),
        ([[10**400, 0.0, 0.0]], "contexts must be a table of numbers"),
    ):
        for method in (world.gaps, world.best_stages, world.is_weakly_dominant):
            with pytest.raises(InstanceError, match=match):
                method(bad)
    assert world.gaps(np.zeros((0, 3))).shape == (0, 3)


def test_parts_of_another_kind_are_refused():
    law, cascade = NestedErrors([[-2.0, 1.0]]), sw.Cascade([0, 0.1])
    with pytest.raises(CascadeError, match="cascade must be a Cascade"):
        sw.ContextualInstance(law, [0, 0.1])
    for bad in ("nested", None, cascade):
        with pytest.raises(InstanceError, match="law must be NestedErrors or LogisticPairs"):
            sw.ContextualInstance(bad, cascade)
    with pytest.raises(InstanceError, match=r"theta must be finite, at most 1e\+100 in size"):
        NestedErrors([[-2.0, 1e300]])


# Recordings

CASCADE = sw.Cascade([0.0, 0.2])


def recorded(n=100, seed=0, **settings):
    rng = np.random.default_rng(seed)
    labels = rng.integers(2, size=n)
    group = rng.integers(2, size=n)
    first = labels ^ (rng.random(n) < np.where(group == 1, 0.45, 0.05))
    features = group[:, None] * 1.0
    outputs = np.column_stack([first, labels])
    return sw.ContextualRecording(outputs, labels, features, CASCADE, **settings), group


def test_regret_is_against_the_best_fixed_stage():
    world, _ = recorded()
    costs = (world.outputs != world.labels[:, None]) + CASCADE.cumulative_costs
    best = costs.mean(axis=0).argmin()
    assert world.best_fixed_stage == best == world.instance.best_stage
    np.testing.assert_allclose(world.row_costs, costs)
    np.testing.assert_allclose(world.average_gaps, costs.mean(axis=0) - costs.mean(axis=0).min())
    cases = world.draw(1000, np.random.default_rng(1))
    assert cases.gaps.min() < 0
    wrong = cases.outputs != cases.labels[:, None]
    paid = wrong + CASCADE.cumulative_costs
    np.testing.assert_allclose(cases.gaps, paid - paid[:, [best]])


def test_regret_per_context_where_features_take_few_values():
    world, group = recorded(per_context=True)
    for g in (0, 1):
        means = world.row_costs[group == g].mean(axis=0)
        drawn = world.draw(500, np.random.default_rng(2))
        rows = drawn.contexts[:, 0] == g
        expected = np.tile(means - means.min(), (rows.sum(), 1))
        np.testing.assert_allclose(drawn.gaps[rows], expected)
    assert world.average_gaps.min() > 0
    with pytest.raises(InstanceError, match="few values"):
        recorded(30, per_context=True)


def test_rows_stay_together():
    rng = np.random.default_rng(0)
    outputs, labels = rng.integers(2, size=(50, 2)), rng.integers(2, size=50)
    world = sw.ContextualRecording(outputs, labels, np.arange(50.0)[:, None], CASCADE)
    cases = world.draw(300, rng)
    rows = cases.contexts[:, 0].astype(int)
    np.testing.assert_array_equal(cases.outputs, outputs[rows])
    np.testing.assert_array_equal(cases.labels, labels[rows])


def test_text_outputs_and_bad_features():
    world = sw.ContextualRecording(
        [["a", "b"], ["b", "b"], ["a", "a"]], ["b", "b", "a"], [[1], [2], [3]], CASCADE
    )
    assert world.row_costs[:, 0].tolist() == [1.0, 0.0, 0.0]
    for features, match in [
        ([[1], [2]], "shape"),
        ([1, 2, 3], "shape"),
        ([[1], [np.nan], [3]], "finite.*row 2, column 1"),
        ([[1], [1e165], [3]], r"at most 1e\+100 in size"),
        ([["x"], [1], [2]], "numbers"),
    ]:
        with pytest.raises(InstanceError, match=match):
            sw.ContextualRecording([[0, 0]] * 3, [0, 0, 1], features, CASCADE)
