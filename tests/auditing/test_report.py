"""The report as a whole: what it advises in telling logs, and how it is written."""

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import Ordered
from stopwise.auditing.advice import Certainty, NextStep, WarningKind
from stopwise.auditing.rules import Rule
from stopwise.errors import InputError
from tests.auditing.worlds import NAMES, draw, frame_of

CASCADE = sw.Cascade([6, 16, 24], mistake_cost=200, names=NAMES)


def test_a_report_is_written_whole_or_not_at_all(tmp_path, monkeypatch):
    report = sw.audit(frame_of()[1], CASCADE)
    path = tmp_path / "report.html"
    report.save(path)
    assert path.read_text(encoding="utf-8") == report.to_html()
    before = path.read_bytes()

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save(path)
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_bytes() == before
    with pytest.raises(InputError, match="does not exist"):
        report.save(tmp_path / "nowhere" / "report.html")


def test_it_is_a_guess_which_side_is_right_where_a_later_test_disagrees_with_all_others():
    _, frame = frame_of(rates=(0.09, 0.04, 0.35))
    cascade = sw.Cascade([6, 40, 200], 2_000, NAMES)
    report = sw.audit(frame, cascade)
    assert (report.advice.stage, report.advice.certainty) == (1, Certainty.GUESS)
    assert [w.tests for w in report.advice.warnings if w.kind is WarningKind.OUTLIER] == [(2,)]


def test_a_first_test_that_disagrees_with_all_others_is_a_weak_one():
    _, frame = frame_of(rates=(0.35, 0.09, 0.04))
    for assumptions in ([], [Ordered()]):
        report = sw.audit(frame, sw.Cascade([6, 40, 400], 2_000, NAMES), assumptions=assumptions)
        assert (report.advice.stage, report.advice.certainty) == (1, Certainty.LIKELY)
        assert not report.advice.warnings


def test_as_many_more_labels_are_asked_for_as_the_report_says_may_settle_it():
    labels, frame = frame_of()
    for n_labels in (20, 200):  # most of them of cases on which the tests agree
        report = sw.audit(frame, CASCADE, labels=frame.assign(label=labels)[:n_labels])
        advice, n_known = report.advice, report.facts.n_disputed_labelled
        assert len(report.facts.labels.possible_stages) > 1
        fair = [o.n_labels for o in advice.outlooks if o.chance >= 0.25]
        assert (advice.next_step, advice.n_next) == (NextStep.LABEL, n_known + fair[0])
        assert f"label {fair[0]} more cases: --plan-labels {n_known + fair[0]}" in report.summary()
        assert "a number of labels that was fixed beforehand" in report.to_html()


def test_thousands_of_free_answers_take_seconds():
    _, outputs = draw(np.random.default_rng(2), 6_000, (0.3, 0.2), n_classes=3_000)
    frame = pd.DataFrame(outputs, columns=["a", "b"]).map("answer {}".format)
    report = sw.audit(frame, sw.Cascade([0.1, 0.1], names=["a", "b"]))
    (choice,) = (c for c in report.facts.choices if c.rule is Rule.BELIEF)
    assert choice.stage is None
    assert report.facts.table.n_classes > 2_000


@pytest.mark.parametrize("n_tests", [3, 4])
def test_a_first_test_in_words_of_its_own_is_no_answer(n_tests):
    """A score in buckets may come first: to stop there is a mistake, and the others decide."""
    names = ["score", "a", "b", "c"][:n_tests]
    _, frame = frame_of(n=900, rates=(0.3, 0.25, 0.2, 0.1)[:n_tests], names=names)
    score = frame.pop("score").map({0: "low", 1: "high"})
    rest = sw.audit(frame, sw.Cascade([2] * (n_tests - 1), 100, names[1:]))
    frame.insert(0, "score", score)
    report = sw.audit(frame, sw.Cascade([1] + [2] * (n_tests - 1), 100, names))
    assert report.advice.stage == rest.advice.stage + 1
    assert [w.kind for w in report.advice.warnings].count(WarningKind.OWN_WORDS) == 1
    assert report.facts.error_bounds[0].low == pytest.approx(1)
    believed = report.facts.belief.error_rates
    assert np.isnan(believed).all() if n_tests == 3 else believed[0] == pytest.approx(1)


def test_labels_of_other_disagreements_do_not_end_the_asking_for_labels():
    """Labels settled that 'a' is bad; 'b' and 'c' still disagree where nobody has labelled."""
    truth, frame = frame_of(n=2_000, rates=(0.4, 0.05, 0.04), names=["a", "b", "c"])
    labels = frame.assign(label=truth)[(frame.b == frame.c) & (frame.a != frame.b)][:600]
    report = sw.audit(frame, sw.Cascade([1, 1, 1], 100, list(frame)), labels=labels)
    assert report.facts.labels.n_telling > report.facts.n_disputed > 0
    assert report.facts.n_disputed_labelled == 0
    assert report.advice.next_step is NextStep.LABEL
    assert f"label {report.advice.outlooks[0].n_labels} more cases" in report.summary()


def test_a_test_that_disagrees_with_all_others_is_named_though_no_stage_may_end_there():
    _, frame = frame_of(rates=(0.12, 0.08, 0.02))
    frame = frame.assign(coin=np.random.default_rng(1).integers(0, 2, len(frame)))
    frame = frame[[NAMES[0], NAMES[1], "coin", NAMES[2]]]
    report = sw.audit(frame, sw.Cascade([1, 1, 1, 1], 100, list(frame)))
    assert report.advice.stage != 2
    assert [w.tests for w in report.advice.warnings if w.kind is WarningKind.OUTLIER] == [(2,)]


@pytest.mark.parametrize("n_labels", [1, 5, 20])
def test_a_few_labels_that_say_little_make_no_guess_likely(n_labels):
    """Half of what the second test changes are corrections, too few to pay for it."""
    truth, frame = frame_of(n_labels, 2_000, (0.2, 0.2), names=["a", "b"])
    disputed = frame.assign(label=truth)[frame.a != frame.b]
    for seed in range(10):
        labels = disputed.sample(n_labels, random_state=seed)
        report = sw.audit(frame, sw.Cascade([1, 5], 60, list(frame)), labels=labels)
        assert report.advice.certainty is Certainty.GUESS or report.advice.stage == 0


def test_coin_flips_make_nothing_likely():
    for seed in range(10):
        flips = np.random.default_rng(seed).integers(0, 2, (300, 3))
        assert sw.audit(flips, sw.Cascade([1, 2, 3], 50)).advice.certainty is Certainty.GUESS


def test_an_estimate_outside_of_what_is_assumed_is_not_likely():
    """The last test is alone right, which the user knows and the model does not."""
    rng = np.random.default_rng(0)
    right, noise = rng.integers(0, 2, 4_000), rng.random((4_000, 5))
    wrong = noise[:, :4] < [0.05, 0.05, 0.05, 0.03]
    wrong[:, :3] ^= noise[:, 4:] < 0.4  # an error that the first three share
    outputs = right[:, None] ^ wrong
    report = sw.audit(outputs, sw.Cascade([1, 5, 5, 5], 100), assumptions=[Ordered()])
    low = report.facts.error_bounds[0].low
    assert report.facts.belief.error_rates[0] < low
    assert report.advice.certainty is not Certainty.LIKELY


def test_a_test_that_hardly_ran_is_not_said_to_disagree_with_all_others():
    _, frame = frame_of(rates=(0.1, 0.5, 0.05))
    cascade = sw.Cascade([1, 1, 1], 100, list(frame))
    for n_runs, n_warnings in ((len(frame), 1), (29, 0)):
        some = frame.astype("Int64")
        some.loc[n_runs:, "insulin"] = None
        kinds = [warning.kind for warning in sw.audit(some, cascade).advice.warnings]
        assert kinds.count(WarningKind.OUTLIER) == n_warnings
