"""The words: short, plain, escaped, and nothing from elsewhere."""

import re

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import ErrsWithin, MissingAtRandom
from stopwise.auditing.advice import Basis, Certainty, NextStep, Payoff, WarningKind
from stopwise.auditing.words import steps, wording
from stopwise.auditing.words.main_sections import labels_value
from tests.auditing.worlds import frame_of

JARGON = r"sound|dominan|minimax|flip|regret|ratio|margin|posterior|latent|nan\b|inf\b"


@pytest.mark.parametrize(
    ("table", "kinds"),
    [
        (wording.CERTAINTY, Certainty),
        (wording.BASIS, Basis),
        (wording.TITLE, NextStep),
        (wording.NEXT, NextStep),
        (steps.STEP, Payoff),
        (steps.SHORT_STEP, Payoff),
        (wording.WARNING, WarningKind),
    ],
)
def test_every_kind_has_its_words(table, kinds):
    assert set(table) == set(kinds)


@pytest.mark.parametrize("seed", range(6))
def test_the_terminal_is_short_and_plain(seed):
    rng = np.random.default_rng(seed)
    K, M = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    names = [f"test number {k}" for k in range(K)]
    _, frame = frame_of(seed, int(rng.choice([20, 400])), rng.uniform(0.05, 0.5, K), M, names)
    if seed % 3 == 0:
        frame = frame.astype("Int64").mask(rng.random(frame.shape) < 0.2)
    report = sw.audit(frame, sw.Cascade(rng.uniform(0, 9, K).tolist(), 50, names))
    lines = report.summary().splitlines()
    assert len(lines) <= 10
    assert all(len(line) <= 96 for line in lines)
    assert not re.search(JARGON, report.summary(), re.IGNORECASE)
    main, _, _ = report.to_html().partition("<details>")
    assert not re.search(JARGON, re.sub(r"<style>.*?</style>|<[^>]*>", " ", main, flags=re.DOTALL))


def test_names_and_values_cannot_break_the_page():
    rows = [("<b>", "x&y"), ("x&y", "x&y"), ("<b>", "<b>")] * 9
    names = ["<script>alert(1)</script>", 'a" onload="alert(1)']
    report = sw.audit(pd.DataFrame(rows, columns=names), sw.Cascade([1, 2], 9, names=names))
    page = report.to_html()
    assert "<script" not in page
    assert "<b>" not in page.replace('<div class="row"><b>', "")
    assert '" onload' not in page
    assert not re.search(r"https?:|<link|src=|@import|url\(", page)


def test_control_characters_never_reach_a_terminal():
    frame = pd.DataFrame({"a\x1b[2J": ["x\ny", "z", "z"] * 9, "b": ["x\ny", "z", "x\ny"] * 9})
    text = sw.audit(frame, sw.Cascade([1, 1], 6, list(frame))).summary(details=True)
    assert "\x1b" not in text
    assert "'x y'" in text


def test_a_constant_first_test_is_a_stage_and_is_mentioned():
    rows = [("no", "no"), ("no", "yes"), ("no", "no"), ("no", "no")] * 50
    report = sw.audit(pd.DataFrame(rows, columns=["a", "b"]), sw.Cascade([0, 1], 9, ["a", "b"]))
    assert "'a' always says 'no'" in report.summary()


def test_labels_make_nothing_sure():
    """What takes labels to know is likely, in every part of the page."""
    truth, frame = frame_of(3, 2_000, (0.4, 0.1), 2, ["a", "b"])
    labels = frame.assign(label=truth)[frame.a != frame.b]
    report = sw.audit(frame, sw.Cascade([1, 2], 20, ["a", "b"]), labels=labels)
    assert report.advice.certainty is Certainty.LIKELY
    page, _, _ = report.to_html().partition("For statisticians")
    assert "is worth it, by the labels" in page
    assert "It pays, by the labels" in page
    assert page.count("for sure") == page.count("(for sure)") + 1  # and what that means
    assert {band.certainty for band in report.advice.prices} == {
        Certainty.PROVEN, Certainty.LIKELY
    }  # fmt: skip


def test_labels_that_are_given_move_up_and_more_are_priced():
    truth, frame = frame_of(3, 2_000, (0.3, 0.2, 0.15))
    disputed = frame.nunique(axis=1) > 1
    cascade = sw.Cascade([6, 40, 90], 1_000, list(frame))
    labels = frame.assign(label=truth)[disputed][:30]
    for report in (sw.audit(frame, cascade), sw.audit(frame, cascade, labels=labels)):
        titles = re.findall(r"<h2>(.*?)</h2>", report.to_html())
        more = "" if report.facts.labels is None else "more "
        place = titles.index(f"What {more}labels would buy")
        assert place == (len(titles) - 1 if not more else 2)
        assert ("What your labels say" in titles) == bool(more)


def test_where_a_mistake_is_the_unit_a_price_is_said_once():
    _, frame = frame_of(2, 300)
    page = sw.audit(frame, sw.Cascade([0.01, 0.02, 0.05], names=list(frame))).to_html()
    rows = re.findall(r"Changes [^<]*", page)
    assert len(rows) == 2
    assert all("costs as much as" in row and row.count("as much as") == 1 for row in rows)


def test_a_log_with_gaps_says_why_there_is_no_rule_per_case():
    _, frame = frame_of(0, 400)
    frame = frame.astype("Int64").mask(np.random.default_rng(0).random(frame.shape) < 0.2)
    page = sw.audit(frame, sw.Cascade([1, 2, 3], 50, list(frame))).to_html()
    assert "Some outputs are missing, so we cannot estimate" in page


def test_where_labels_do_not_help_the_page_does_not_ask_for_them():
    _, frame = frame_of(4, 900)
    frame = frame.astype("Int64")
    frame.loc[frame.history == frame.insulin, "all"] = pd.NA
    report = sw.audit(frame, sw.Cascade([1, 2, 30], 100, list(frame)))
    assert report.advice.next_step is NextStep.RUN_ALL_TESTS
    page, _, _ = report.to_html().partition("For statisticians")
    assert "maybe; needs all tests" in page
    assert "needs labels" not in page


def test_what_a_guess_counts_on_is_true_of_more_than_two_values_too():
    """The second test corrects three answers for each that it spoils, and does not pay."""
    kinds = {("x", "x", "x"): 400, ("x", "y", "y"): 225, ("x", "y", "x"): 75, ("x", "y", "z"): 300}
    rows = [row for row, times in kinds.items() for _ in range(times)]
    rows += [("y", "z", "z"), ("z", "z", "z")] * 50
    frame = pd.DataFrame(rows, columns=["a", "b", "right"])
    costs = {k: 25 * k / 100 + (frame[t] != frame.right).mean() for k, t in enumerate("ab")}
    report = sw.audit(frame[["a", "b"]], sw.Cascade([0, 25], 100, ["a", "b"]))
    assert report.advice.stage == 1
    assert costs[0] < costs[1]
    assert "corrects more answers than it spoils, by half of those" in report.summary()
    two = sw.audit(frame[["a", "b"]].replace("z", "x"), sw.Cascade([0, 25], 100, ["a", "b"]))
    assert "corrects three answers for each one that it spoils" in two.summary()


def test_what_is_said_to_be_saved_for_certain_is_net_of_mistakes():
    """Of 24 in fees, the quarter of answers that may be corrections is worth 15."""
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]] * 50)
    words = " ".join(sw.audit(rows, sw.Cascade([6, 24], 60)).summary().split())
    assert "saves 24,000 in fees per 1,000 cases, and certainly 9,000 or more net" in words
    words = " ".join(sw.audit(rows, sw.Cascade([6, 15], 60)).summary().split())
    assert "saves 15,000 in fees per 1,000 cases; certainly it cannot pay" in words


def test_bounds_are_called_sharp_only_where_they_are():
    truth, frame = frame_of(3, 900, (0.3, 0.2, 0.1))
    cascade = sw.Cascade([1, 2, 30], 100, list(frame))
    routed = frame.astype("Int64")
    routed.loc[(frame.history == frame.insulin) & (frame.index % 5 > 0), "all"] = pd.NA
    labels, random = frame.assign(label=truth)[:60], [MissingAtRandom()]
    said = {
        "Sharp bounds for the cases in this log.": sw.audit(frame, cascade, assumptions=random),
        "by the intervals of labels: they": sw.audit(frame, cascade, labels=labels),
        "by the intervals of gaps at random: they hold with 90 % confidence": sw.audit(
            routed, cascade, assumptions=random, confidence=0.9
        ),
    }
    for words, report in said.items():
        text = " ".join(report.summary(details=True).split())
        assert [each for each in said if each in text] == [words]


def test_what_labels_say_is_what_they_say_without_the_model():
    truth, frame = frame_of(3, 900, (0.3, 0.2, 0.1))
    labels = frame.assign(label=truth)[frame.nunique(axis=1) > 1][:40]
    report = sw.audit(frame, sw.Cascade([1, 2, 30], 100, list(frame)), labels=labels)
    estimates = [1_000 * report.facts.labels.estimates[k, k + 1] for k in range(2)]
    assert abs(estimates[1] - 1_000 * report.advice.steps[1].avoided) > 5
    section, *_ = labels_value(report)
    assert [float(row[1]) for row in section.rows] == pytest.approx(estimates, abs=0.5)


def test_a_free_test_is_not_said_to_save_nothing_for_certain():
    rows = np.array([[0, 0], [1, 1], [0, 1]] * 40)
    copies = sw.audit(rows[:, [0, 0]], sw.Cascade([1, 0], 100)).summary()
    assert (
        "Skipping 'test 2' makes no difference: it costs nothing and changes no answers." in copies
    )
    worse = sw.audit(rows, sw.Cascade([1, 0], 100), assumptions=[ErrsWithin("test 1", 0)]).summary()
    assert "costs nothing; given what is known it avoids no mistakes" in worse
