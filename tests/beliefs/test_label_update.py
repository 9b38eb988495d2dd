"""Labels move a belief to the truth, wherever they were drawn, and neighbours with it."""

from __future__ import annotations

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from stopwise.cascade import Cascade
from stopwise.errors import OutputsError
from stopwise.patterns import PatternTable
from tests.beliefs.worlds import independent, labelled, table_of

CODES = np.indices((2, 2, 2)).reshape(3, -1).T
COUNTS = np.array([400, 12, 60, 25, 30, 55, 15, 400])
TABLE = PatternTable(CODES, COUNTS, (0, 1), Cascade(costs=[1, 1, 1]))
# How often 1 is right after each pattern: nothing like what the model believes.
TRUTH = np.array([0.3, 0.9, 0.8, 0.1, 0.7, 0.2, 0.6, 0.4])


def labels_of(times, chances=TRUTH):
    """Return labels in exactly the true shares or others, so many for each pattern."""
    return [
        (row, label, round(n * share))
        for row, chance, n in zip(CODES.tolist(), chances, times, strict=True)
        for label, share in ((1, chance), (0, 1 - chance))
    ]


@pytest.mark.parametrize(
    "times", [[10] * 8, [1_000] * 8, [5_000, 200, 9_000, 200, 200, 800, 200, 200]]
)
def test_as_labels_grow_the_belief_tends_to_the_truth_whatever_the_model_says(times):
    """The prior is worth three labels: with n labels at most 3 / (n + 3) is left of it."""
    model, n = LatentClasses.fit(TABLE, labels=labels_of(times)), min(times)
    assert model.n_labels == sum(times)
    assert np.abs(model.posterior(CODES)[:, 1] - TRUTH).max() <= 3 / (n + 3) + 0.5 / n


def test_no_label_changes_nothing():
    plain = LatentClasses.fit(TABLE)
    for labels in ([], [([0, 0, 1], 1, 0)]):
        model = LatentClasses.fit(TABLE, labels=labels)
        assert model.update is None
        assert np.array_equal(model.posterior(CODES), plain.posterior(CODES))


def test_labels_of_one_pattern_move_others_that_agree_alike():
    """With three values: labels where test 3 alone is right speak for it with other values too."""
    rng = np.random.default_rng(0)
    outputs, _ = independent(rng, 3_000, [0.8, 0.8, 0.7], 3)
    table = table_of(outputs)
    seen, other = [0, 0, 1], [2, 2, 0]
    before = LatentClasses.fit(table).belief(other)[0]
    after = LatentClasses.fit(table, labels=[(seen, 1, 10)]).belief(other)[0]
    assert after > before + 0.3


def test_fifty_labels_help_with_twelve_tests():
    """Most patterns of twelve tests have no label; the error of twelve rates still shrinks."""
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 2, 4_000)
    clues = rng.normal(0.35 * (2 * labels - 1)[:, None], 1.0, (4_000, 12))
    outputs = (np.cumsum(clues, axis=1) > 0).astype(int)  # each test knows what those before know
    table = table_of(outputs)
    truth = (outputs != labels[:, None]).mean(axis=0)

    def off(rates):  # only differences of error rates choose a stage
        return np.abs((rates - rates.mean()) - (truth - truth.mean())).mean()

    plain = LatentClasses.fit(table)
    disputed = np.flatnonzero(np.ptp(outputs, axis=1))
    distances = []
    for _ in range(5):
        fifty = labelled(outputs, labels, rng.choice(disputed, 50))
        distances.append(off(LatentClasses.fit(table, labels=fifty, start=plain).error_rates))
    assert np.mean(distances) < 0.6 * off(plain.error_rates)


def test_a_label_that_no_test_ever_gave_is_a_class_of_its_own():
    model = LatentClasses.fit(TABLE, labels=[([0, 1, 0], "neither", 40)])
    assert model.classes == (0, 1, "neither")
    assert model.belief([0, 1, 0])["neither"] > 0.85
    assert model.belief([1, 1, 1])["neither"] < 0.01
    assert np.isfinite(model.error_intervals).all()
    assert "40 labels" in model.explain()


def test_outputs_of_labels_may_be_missing():
    few = [([0, None, None], 1, 30)]
    model = LatentClasses.fit(TABLE, labels=few)
    assert model.belief([0])[1] > 0.8
    assert "(outputs, label" not in repr(model)


def test_labels_may_be_changed_without_another_fit():
    first = LatentClasses.fit(TABLE, labels=[([0, 1, 0], "neither", 40)])
    rows = labels_of([3, 1, 4, 1, 5, 9, 2, 6])
    again = LatentClasses.fit(TABLE, labels=rows, start=first)
    anew = LatentClasses.fit(TABLE, labels=rows)
    assert again.classes == (0, 1)
    assert again.posterior(CODES) == pytest.approx(anew.posterior(CODES), abs=1e-9)


def test_the_order_of_labels_does_not_matter():
    rows = labels_of([3, 1, 4, 1, 5, 9, 2, 6])
    one, other = (LatentClasses.fit(TABLE, labels=r) for r in (rows, rows[::-1]))
    assert one.posterior(CODES) == pytest.approx(other.posterior(CODES), abs=1e-9)


def test_labels_narrow_the_intervals_of_two_tests():
    """Two tests say nothing about error rates; with labels something is known."""
    rng = np.random.default_rng(2)
    outputs, labels = independent(rng, 2_000, [0.7, 0.9])
    model = LatentClasses.fit(table_of(outputs), labels=labelled(outputs, labels, range(400)))
    truth = (outputs != labels[:, None]).mean(axis=0)
    assert (np.ptp(model.error_intervals, axis=1) < 0.15).all()
    # Five standard errors of a rate of 0.3 in 400 cases.
    assert np.abs(model.error_rates - truth).max() < 5 * np.sqrt(0.21 / 400)


def test_labels_that_bear_the_model_out_make_it_count_for_more():
    """One label against a belief moves it by a tenth, or by little if many others agree."""
    plain = LatentClasses.fit(TABLE).posterior(CODES)[:, 1]
    agreeing = labels_of([200] * 7 + [0], plain)
    one = [([1, 1, 1], 0)]
    alone, among = (
        LatentClasses.fit(TABLE, labels=labels).belief([1, 1, 1])[0]
        for labels in (one, agreeing + one)
    )
    assert alone > 0.09
    assert among < 0.05


def test_where_all_tests_agree_the_belief_stays_while_only_disagreements_are_labelled():
    lone = [([0, 1, 1], 0, 9), ([1, 0, 1], 0, 9), ([1, 1, 0], 0, 9), ([1, 0, 0], 1, 9)]
    plain, labelled = (LatentClasses.fit(TABLE, labels=rows) for rows in ([], lone))
    agree = np.array([[0, 0, 0], [1, 1, 1], [-1, 1, -1]])
    assert np.allclose(labelled.posterior(agree), plain.posterior(agree), rtol=0, atol=1e-9)
    against = LatentClasses.fit(TABLE, labels=[([1, 1, 1], 0, 200)])
    assert against.belief([1, 1, 1])[0] > 0.95


def test_a_label_that_only_looks_like_an_output_is_refused():
    outputs, _ = independent(np.random.default_rng(0), 100, [0.7, 0.8, 0.9])
    for other in (((0, 0, 1), "1"), ((0, 0, "1"), 1)):
        with pytest.raises(OutputsError, match="written as in the table, 1, got '1' at 2"):
            LatentClasses.fit(table_of(outputs), labels=[((0, 0, 1), 1), other])


def test_one_label_against_the_belief_does_not_overturn_it():
    before, after = (LatentClasses.fit(TABLE, labels=rows) for rows in ([], [([0, 1, 1], 0)]))
    assert before.belief([0, 1, 1])[0] < 0.1
    assert before.belief([0, 1, 1])[0] + 0.05 < after.belief([0, 1, 1])[0] < 0.5
