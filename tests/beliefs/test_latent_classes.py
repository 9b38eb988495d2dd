"""The model finds what it supposes, and says so where it cannot."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stopwise.beliefs import LatentClasses, stage_costs
from stopwise.beliefs.hidden import Hidden
from stopwise.cascade import Cascade
from stopwise.errors import LogError
from stopwise.patterns import PatternTable, agreement
from tests.beliefs.worlds import independent, labelled, law, table_of, with_difficulty

ASYMMETRIC = [
    [[0.9, 0.1], [0.4, 0.6]],
    [[0.7, 0.3], [0.1, 0.9]],
    [[0.8, 0.2], [0.25, 0.75]],
]


def test_the_law_of_independent_tests_gives_back_its_parameters():
    model = LatentClasses.fit(law([0.6, 0.4], ASYMMETRIC))
    assert model.prior == pytest.approx([0.6, 0.4], abs=2e-3)
    assert model.confusion == pytest.approx(np.array(ASYMMETRIC), abs=2e-3)
    assert model.has_converged
    assert math.isinf(model.n_cases)
    assert (np.ptp(model.error_intervals, axis=1) == 0).all()


def test_belief_is_by_the_rule_of_bayes():
    model = LatentClasses.fit(law([0.6, 0.4], ASYMMETRIC))
    chances = [model.prior[a] * model.confusion[0, a, 1] * model.confusion[2, a, 0] for a in (0, 1)]
    assert model.belief([1, None, 0])[1] == pytest.approx(chances[1] / sum(chances))
    assert list(model.belief([]).values()) == pytest.approx(model.prior.tolist())


@pytest.mark.parametrize(("n_classes", "n"), [(2, 20_000), (5, 8_000), (12, 4_000)])
def test_error_rates_are_found_in_a_sample(n_classes, n):
    """Within five standard errors: a false alarm in about one of a million runs."""
    rng = np.random.default_rng(n)
    outputs, labels = independent(rng, n, [0.6, 0.7, 0.85], n_classes)
    model = LatentClasses.fit(table_of(outputs))
    spread = np.maximum(np.ptp(model.error_intervals, axis=1) / (2 * 1.96), 1 / n)
    truth = (outputs != labels[:, None]).mean(axis=0)
    assert (np.abs(model.error_rates - truth) < 5 * spread).all()
    assert model.n_cases == n


def test_a_test_that_never_ran_has_no_rate_and_no_finite_cost():
    rng = np.random.default_rng(2)
    outputs, _ = independent(rng, 500, [0.7, 0.8, 0.9, 0.9])
    outputs[:, 3] = -1
    table = table_of(outputs)
    model = LatentClasses.fit(table)
    assert np.isnan(model.error_rates).tolist() == [False, False, False, True]
    assert np.isinf(stage_costs(model, table, table.cascade)).tolist() == [False] * 3 + [True]


def test_stage_costs_are_prices_and_expected_mistakes():
    rng = np.random.default_rng(3)
    outputs, labels = independent(rng, 400, [0.7, 0.8, 0.9])
    table, cascade = table_of(outputs), Cascade(costs=[0.1, 0.2, 0.3])
    nine = labelled(outputs, labels, range(9))
    for model, hedge in (
        (LatentClasses.fit(table), 0.15),
        (LatentClasses.fit(table, labels=nine), 0.15 / 4),
    ):
        by_hand = np.zeros(3)
        for row in outputs.tolist():
            belief = model.belief(row)
            by_hand += [(1 - hedge) * (1 - belief[y]) + hedge * (y != row[-1]) for y in row]
        expected = by_hand / 400 + [0.1, 0.3, 0.6]
        assert stage_costs(model, table, cascade) == pytest.approx(expected)
    with pytest.raises(LogError, match="same tests, got 3, 3 and 2"):
        stage_costs(model, table, Cascade(costs=[1, 2]))


def test_a_warm_start_ends_where_a_cold_one_does():
    rng = np.random.default_rng(4)
    outputs, _ = independent(rng, 3_000, [0.6, 0.7, 0.8, 0.9], 3)
    first = LatentClasses.fit(table_of(outputs[:1_000]))
    cold = LatentClasses.fit(table_of(outputs))
    warm = LatentClasses.fit(table_of(outputs), start=first)
    assert warm.complexity == first.complexity == cold.complexity
    assert warm.error_rates == pytest.approx(cold.error_rates, abs=1e-3)
    copies = table_of(outputs[:, [0, 0, 1, 1]])
    assert not LatentClasses.fit(copies, start=first).is_identified


@pytest.mark.parametrize("values", ["xy", "0y"])
def test_values_that_an_earlier_fit_does_not_know_are_told_apart(values):
    rows, counts = ["000", "001", "010", "011", "100", "111"], [99, 12, 9, 11, 8, 90]
    first = LatentClasses.fit(PatternTable.from_rows(rows, counts, Cascade(costs=[1] * 3)))
    other = [row.translate(str.maketrans("01", values)) for row in rows]
    table = PatternTable.from_rows(other, counts, Cascade(costs=[1] * 3))
    warm = LatentClasses.fit(table, start=first)
    assert warm.error_rates == pytest.approx(first.error_rates, abs=0.01)


def test_names_of_classes_follow_the_outputs():
    """A start in which all is named the wrong way round ends with the right names."""
    table = law([0.6, 0.4], ASYMMETRIC)
    model = LatentClasses.fit(table)
    hidden = Hidden.of(model.hidden.levels[:, ::-1], model.hidden.tests[:, :, :, ::-1])
    swapped = replace(model, hidden=hidden)
    assert (swapped.confusion[:, 0, 0] < 0.5).all()
    again = LatentClasses.fit(replace(table), start=swapped)
    assert again.confusion == pytest.approx(model.confusion, abs=1e-3)


def test_errors_that_depend_on_the_answer_are_let_free_only_where_it_shows():
    rng = np.random.default_rng(5)
    labels = rng.integers(0, 2, 20_000)
    right = np.where(labels[:, None] == 1, [0.95, 0.9, 0.9], [0.55, 0.65, 0.8])
    outputs = np.where(rng.random(right.shape) < right, labels[:, None], 1 - labels[:, None])
    assert LatentClasses.fit(table_of(outputs)).complexity.share < 0.5
    same, _ = independent(rng, 2_000, [0.6, 0.7, 0.8], 8)
    assert LatentClasses.fit(table_of(same)).complexity.share > 0.5


def test_difficulty_is_added_where_tests_err_together():
    """Five standard errors of an error rate of one quarter in 8,000 cases are 0.024."""
    rng = np.random.default_rng(6)
    hard = [0.5, 0.5, 0.55, 0.6, 0.65, 0.6]
    outputs, labels = with_difficulty(rng, 8_000, [[0.95] * 6, hard], 4)
    model = LatentClasses.fit(table_of(outputs))
    assert model.complexity.n_levels == 2
    assert model.hidden.levels.sum(axis=1) == pytest.approx([0.5, 0.5], abs=0.1)
    truth = (outputs != labels[:, None]).mean(axis=0)
    assert np.abs(model.error_rates - truth).max() < 0.024


@pytest.mark.parametrize("seed", [3, 10, 16, 33])
def test_levels_of_difficulty_do_not_stand_in_for_answers(seed):
    """Worlds in which one answer at two levels predicts as well as two answers at one.

    Five standard errors of an error rate of a half in 3,000 cases are 0.046.
    """
    rng = np.random.default_rng(seed)
    sizes = np.sort(rng.uniform(0.03, 0.4, 4))[::-1, None]
    rates = sizes * rng.permuted([[0.3, 1.7]] * 4, axis=1)
    labels = rng.integers(0, 2, 3_000)
    wrong = rates[:, labels].T
    outputs = np.where(rng.random(wrong.shape) < wrong, 1 - labels[:, None], labels[:, None])
    model = LatentClasses.fit(table_of(outputs))
    assert np.abs(model.error_rates - wrong.mean(axis=0)).max() < 0.046


def test_two_tests_do_not_identify_the_model():
    rng = np.random.default_rng(7)
    outputs, _ = independent(rng, 1_000, [0.7, 0.9])
    table = table_of(outputs)
    model = LatentClasses.fit(table)
    assert not model.is_identified
    differ = (outputs[:, 0] != outputs[:, 1]).mean()
    assert model.error_rates == pytest.approx([differ, 0.0], abs=0.01)
    assert model.error_intervals.tolist() == [[0, 1], [0, 1]]
    assert model.belief([0, 1])[1] > 0.98
    assert not model.misfit.is_testable
    assert "the later one is assumed to be right" in model.explain()
    text = LatentClasses.fit(table, labels=[([0, 1], 0)]).explain()
    assert "1,000 cases and 1 label; 2 answers" in text
    assert "labels decide which is right" in text


outputs_of_three = st.lists(
    st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=3, max_size=3).filter(
        lambda row: max(row) >= 0
    ),
    min_size=1,
    max_size=40,
)


@settings(max_examples=40, deadline=None)
@given(outputs_of_three)
def test_beliefs_are_probabilities_whatever_the_table(rows):
    table = table_of(np.array(rows))
    model = LatentClasses.fit(table)
    chances = model.posterior(table.codes)
    assert chances.min() >= 0
    assert chances.sum(axis=1) == pytest.approx(1)
    assert model.confusion.sum(axis=2) == pytest.approx(1)
    assert model.prior.sum() == pytest.approx(1)
    rates = model.error_rates[~np.isnan(model.error_rates)]
    assert ((rates >= 0) & (rates <= 1)).all()


@settings(max_examples=15, deadline=None)
@given(outputs_of_three, st.randoms(use_true_random=False))
def test_the_order_of_cases_does_not_matter(rows, random):
    mixed = random.sample(rows, len(rows))
    one, other = (LatentClasses.fit(table_of(np.array(r))) for r in (rows, mixed))
    assert np.array_equal(one.posterior(one.table.codes), other.posterior(one.table.codes))


def test_a_table_of_agreement_is_enough_for_one_accuracy_a_test():
    """Errors of 40 values seldom meet, which four made-up ones cannot know: 0.05 and not 0.02."""
    rng = np.random.default_rng(8)
    outputs, labels = independent(rng, 5_000, [0.5, 0.6, 0.7, 0.8], 40)
    rows = [agreement(row) for row in outputs.tolist()]
    table = PatternTable.from_rows(rows, [1] * 5_000, Cascade(costs=[1] * 4))
    table = replace(table, agreement_only=True)
    truth = (outputs != labels[:, None]).mean(axis=0)
    assert np.abs(LatentClasses.fit(table).error_rates - truth).max() < 0.05
    model = LatentClasses.fit(table, labels=labelled(outputs, labels, range(200)))
    assert model.classes[-1] == "none of them"
    assert np.abs(model.error_rates - truth).max() < 0.06
