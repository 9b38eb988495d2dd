"""Tables that say little have an answer, and what is wrong is refused with its place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from stopwise.beliefs import LatentClasses
from stopwise.cascade import Cascade
from stopwise.errors import LogError, OutputsError, SettingError
from stopwise.patterns import PatternTable
from tests.beliefs.worlds import table_of

DEGENERATE = {
    "one case": [[0, 1, 0]],
    "all agree": [[0, 0, 0]] * 5 + [[1, 1, 1]] * 4,
    "one value": [[0, 0, 0]] * 3,
    "a constant test": [[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1], [0, 1, 1]],
    "equal tests": [[0, 0, 1], [1, 1, 1], [0, 0, 0], [1, 1, 0], [1, 1, 1]],
    "all differ": [[0, 1, 2], [1, 2, 0], [2, 0, 1]],
    "one test": [[0], [1], [1]],
    "one output a case": [[0, -1, -1], [-1, 1, -1], [-1, -1, 0]],
    "always opposite": [[0, 1, 0], [1, 0, 1]] * 20,
    "one class, with gaps": [[0, -1, 0], [0, 0, -1], [-1, 0, 0]] * 3,
}


@pytest.mark.parametrize("rows", DEGENERATE.values(), ids=list(DEGENERATE))
def test_degenerate_tables_have_an_answer(rows):
    table = table_of(np.array(rows))
    first = [None if y < 0 else y for y in rows[0]]
    for labels in (None, [([None] * len(first), 0)], [(first, 1, 3)]):
        model = LatentClasses.fit(table, labels=labels)
        assert np.isfinite(model.posterior(table.codes)).all()
        assert np.isfinite(model.error_rates).all()
        assert np.isfinite(model.error_intervals).all()
        assert (np.ptp(model.error_intervals, axis=1) > 0).all()
        assert np.isfinite(model.confusion).all()
        assert 0 <= model.misfit.p_value <= 1
        assert len(table.classes) > 2 or not model.misfit.is_testable  # of three tests at most
        assert model.explain()


def test_a_test_that_ran_in_no_case_but_a_labelled_one_was_never_run():
    table = PatternTable.from_rows([[None, 1, 1], [0, 0, None]], [0, 1_000], Cascade([0.1] * 3))
    model = LatentClasses.fit(table, labels=[([0, 0, 1], 0)])
    assert model.error_intervals[2].tolist() == [0, 1]
    assert "test 3: never run" in model.explain()


def test_counts_that_floats_cannot_add_have_an_answer():
    table = replace(table_of(np.array([[1, 0, 2], [3, 2, -1]])), weights=np.array([2**53, 10]))
    model = LatentClasses.fit(table)
    assert model.n_cases == 2**53 + 10
    np.testing.assert_allclose(model.confusion.sum(axis=2), 1)
    assert sum(model.belief([1, 0]).values()) == pytest.approx(1)


TABLE = table_of(np.array([[0, 0, 1], [1, 1, 1], [0, 1, 0], [0, 0, 0]]))


@pytest.mark.parametrize(
    ("table", "settings", "error", "words"),
    [
        ([[0, 1]], {}, LogError, "must be a PatternTable, got list"),
        (
            replace(TABLE, codes=TABLE.codes[:0], weights=np.zeros(0)),
            {},
            LogError,
            "at least one pattern",
        ),
        (
            replace(TABLE, weights=np.zeros(len(TABLE.codes))),
            {},
            LogError,
            "at least one case, got patterns of weight 0",
        ),
        (TABLE, {"start": 3}, SettingError, "start must be .* got 3"),
        (TABLE, {"seed": "x"}, SettingError, "seed must be"),
        (TABLE, {"labels": 5}, OutputsError, "with their label, got 5"),
    ],
)
def test_bad_tables_and_settings_are_refused(table, settings, error, words):
    with pytest.raises(error, match=words):
        LatentClasses.fit(table, **settings)


@pytest.mark.parametrize("table", [TABLE, TABLE.by_agreement()], ids=["values", "agreement"])
@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([0], r"\(outputs, label\) .* at 2"),
        (([0, 1], 1), "must be 3, None where missing, got 2 at 2"),
        (([0, 1, 1], None), "must not be missing, got None at 2"),
        (([0, 1, 1], 1, -2), "times of label 2 must be a whole number >= 0, got -2"),
        (("010", 1), "a sequence .*, in label 2"),
        (({0, 1, 2}, 1), "a sequence .*, in label 2"),
        (([0, 1, 1], [1]), r"got \[1\], in label 2"),
        ((3, 1), "got 3, in label 2"),
        (None, "got None at 2"),
        (([0, 1, 1], 1, 10**400), "times of label 2 must be <= 500000000"),
    ],
)
def test_a_bad_label_is_refused_with_its_place(table, row, words):
    with pytest.raises(OutputsError, match=words):
        LatentClasses.fit(table, labels=[([0, 1, 1], 1), row])


@pytest.mark.parametrize(
    ("outputs", "words"),
    [
        ([5], "among 0, 1, got 5 at test 1"),
        ([0] * 4, "at most 3, got 4"),
        (3, "a sequence .* got 3"),
        ("010", "a sequence .* got '010'"),
        ({0, 1}, "a sequence"),
    ],
)
def test_no_belief_follows_from_bad_outputs(outputs, words):
    with pytest.raises(OutputsError, match=words):
        LatentClasses.fit(TABLE).belief(outputs)
