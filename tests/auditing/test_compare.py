"""Side by side: what each rule would choose."""

import numpy as np

import stopwise as sw
from stopwise.auditing.compare import choices, dawid_skene_error_rates, strong_dominance_stage
from stopwise.patterns import PatternTable
from tests.auditing.worlds import NAMES, frame_of


def test_dawid_and_skene_choose_by_the_rates_they_fit():
    labels, frame = frame_of(seed=3, n=30_000, rates=(0.3, 0.2, 0.1))
    cascade = sw.Cascade([0.01, 0.02, 0.3], names=NAMES)
    report = sw.audit(frame, cascade)
    fitted = dawid_skene_error_rates(report.histogram)
    truth = (frame.to_numpy() != labels[:, None]).mean(axis=0)
    np.testing.assert_allclose(fitted, truth, atol=0.02)
    (choice,) = (c for c in report.choices if c.rule == "Dawid–Skene")
    assert choice.stage == int(np.argmin(fitted + cascade.cumulative_costs))


def test_dawid_and_skene_have_no_answer_where_a_test_was_never_run():
    log = PatternTable.from_rows([[0, None], [1, None]], [3, 1], sw.Cascade([0.1, 0.1]))
    assert np.isnan(dawid_skene_error_rates(log)).tolist() == [False, True]
    (choice,) = (
        c
        for c in choices(log, log.disagreement, np.zeros(2), log.cascade, strong_is_refuted=False)
        if c.rule == "Dawid–Skene"
    )
    assert choice.stage is None


def test_strong_dominance_has_no_answer_where_a_pair_was_never_seen():
    p = np.array([[0, np.nan], [np.nan, 0]])
    assert strong_dominance_stage(p, sw.Cascade([1, 2])) is None


def test_side_by_side_says_that_strong_dominance_is_refuted():
    rows = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 0, 0]] * 200)
    (strong, *_) = sw.audit(rows, sw.Cascade([0.1] * 3)).choices
    assert (strong.rule, strong.note) == ("strong dominance", "this log refutes it")
    (strong, *_) = sw.audit(rows[rows[:, 1] == rows[:, 2]], sw.Cascade([0.1] * 3)).choices
    assert strong.note == ""
