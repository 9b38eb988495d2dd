"""Numbers that one can read of rare events, and gaps said as they are."""

import math
import re

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import ErrsWithin
from stopwise.auditing.telling.headline import headline
from stopwise.auditing.telling.numbers import amount, count, figure, percent
from tests.auditing.worlds import draw

ABC = ["a", "b", "c"]


@pytest.fixture(scope="module")
def rare():
    rng = np.random.default_rng(1)
    labels = rng.random(200_000) < 0.001
    outputs = {t: labels ^ (rng.random(200_000) < e)
               for t, e in (("kw", 0.0005), ("clf", 0.0002), ("llm", 0.0001))}  # fmt: skip
    return pd.DataFrame(outputs)


@pytest.mark.parametrize("costs", [(0, 1e-4, 1e-4), (0, 5e-4, 6e-4), (0, 7e-4, 1e-4), (1e-8,) * 3])
@pytest.mark.parametrize("mistake_cost", [1, 40])
def test_rare_events_are_not_rounded_away(rare, costs, mistake_cost):
    paid = [c * mistake_cost for c in costs]
    report = sw.audit(rare, sw.Cascade(paid, mistake_cost, list(rare)))
    text, lines = report.summary(), headline(report)
    assert not re.search(r"\b[01] (answers|mistakes)|\d[eE]-?\d|cases are few", text)
    assert not re.search(r">-?0\.0<|\b0\.0+ %|\d[eE]-\d", report.to_html())
    assert set(re.findall(r"(?:in|per) (1[0,]+)\b", " ".join(lines))) == {"100,000"}
    stage = report.recommended_stage
    for pair in report.verdict.pairs:
        if pair.shallow == stage and f"to '{list(rare)[pair.deep]}'" in lines[1]:
            said = re.search(r"changes (\S+) answers in 100,000", lines[1])
            assert int(said[1]) == pytest.approx(1e5 * pair.disagreement, abs=0.5)
    if not report.is_known:
        worst = amount(1e5 * report.worst_regrets[stage] * mistake_cost)
        if mistake_cost == 1:
            worst = f"{count(1e5 * report.worst_regrets[stage])} mistakes"
        assert f"it costs at most {worst}" in lines[3]


def test_numbers_keep_two_digits_and_one_is_singular():
    shares = (0.5, 0.0999999999, 0.009999999999, 1.6e-7, 1.0, 0.0, math.nan)
    said = ["50.0 %", "10.00 %", "1.00 %", "0.000016 %", "100 %", "0 %", "unknown"]
    assert [percent(share) for share in shares] == said
    assert [amount(x) for x in (1234.4, 99.96, 0.333333, 1.5e-5)] == [
        "1,234",
        "100",
        "0.333",
        "0.000015",
    ]
    assert figure(math.inf) == "∞"
    frame = pd.DataFrame({"a": [0, 1] * 500, "b": [0, 1] * 499 + [0, 0]})
    report = sw.audit(frame, sw.Cascade([0.001, 0.001], names=["a", "b"]))
    assert "changes 10 answers in 10,000 and costs as much as 10 mistakes" in headline(report)[1]
    frame = pd.DataFrame({"a": [0, 1] * 75, "b": [0, 1] * 75})
    same = sw.audit(frame, sw.Cascade([1, 1], 6, ["a", "b"]))
    assert "changes no answers in 1,000" in same.summary()
    assert "ratio ∞" in same.summary()


def test_gaps_at_the_end_and_in_between_are_told_apart():
    frame = pd.DataFrame([[0, 0, 1], [1, 1, 0], [0, 1, 1]] * 40, columns=ABC).astype("Int64")
    frame.loc[:6, "c"] = pd.NA
    frame.loc[:2, "b"] = pd.NA
    frame.loc[50:53, "b"] = pd.NA
    report = sw.audit(frame, sw.Cascade([1, 1, 1], 25, ABC))
    assert (report.missing.n_incomplete, report.missing.n_prefix) == (11, 7)
    for text in (report.summary(), report.to_html()):
        assert "11 of 120 cases lack an output: in 7 all tests from some point on, as if" in text
        assert "if somebody stopped early; in 4 a test gave nothing though a later one ran" in text
    between = sw.audit(frame[7:], sw.Cascade([1, 1, 1], 25, ABC)).summary()
    assert (
        "Missing: 4 of 113 cases lack an output: a test gave nothing though a later one ran."
        in between
    )
    assert "stopped early" not in between


@pytest.fixture(scope="module")
def hidden_gaps():
    """A log whose third test is skipped mostly where it changes nothing, as no output shows."""
    rng = np.random.default_rng(2)
    _, outputs = draw(rng, 20_000, (0.16, 0.1, 0.03))
    frame = pd.DataFrame(outputs, columns=ABC).astype("Int64")
    truth = (frame.b != frame.c).mean()
    frame.loc[(rng.random(20_000) < 0.8) & (frame.a == frame.c), "c"] = pd.NA
    return frame, truth


def test_an_adjusted_share_comes_with_its_condition_and_its_range(hidden_gaps):
    frame, truth = hidden_gaps
    report = sw.audit(frame, sw.Cascade([1, 2, 4], 25, ABC))
    assert report.recommended_stage == 1
    line = headline(report)[1]
    low, high, middle = map(int, re.search(r"from (\d+) to (\d+); about (\d+), if nothing but the "
                                           r"outputs shown decided", line).groups())  # fmt: skip
    both = frame.dropna()
    apart = (both.b != both.c).sum()
    assert low == round(1000 * apart / len(frame))
    assert high == round(1000 * (apart + frame.c.isna().sum()) / len(frame))
    assert low <= 1000 * truth <= high
    assert middle == round(1000 * report.missing.pair(1, 2).adjusted)
    assert "cannot be known without labels" in headline(report)[2]
    assert "run all tests on some cases drawn at random" in headline(report)[4]
    page = report.to_html()
    assert "look at the adjusted" not in page
    assert "right if gaps depend on nothing but the outputs shown" in " ".join(page.split())
    assert "adjusted (right if gaps depend on nothing but the outputs shown)" in report.summary()


def test_what_nothing_like_a_gap_fills_stays_open_whatever_is_assumed_of_gaps():
    rng = np.random.default_rng(3)
    _, outputs = draw(rng, 4_000, (0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=ABC[:2]).astype("Int64")
    frame.loc[frame.a == 0, "b"] = pd.NA  # nobody went on after 0
    cascade = sw.Cascade([1, 8], 20, ABC[:2])
    report = sw.audit(frame, cascade, missing_at_random=True)
    lines = headline(report)
    (pair,) = report.verdict.pairs
    low, high = 1000 * pair.interval.low, 1000 * pair.interval.high
    assert math.isnan(pair.disagreement)
    assert "was not left to chance, so this log cannot tell" in lines[0]
    assert f"changes {low:.0f} to {high:.0f} answers in 1,000" in lines[1]
    assert lines[1].endswith(": what is missing leaves it open.")
    assert "run all tests on some cases drawn at random" in lines[4]


@pytest.fixture(scope="module")
def by_a_coin():
    rng = np.random.default_rng(4)
    labels, outputs = draw(rng, 4_000, (0.1, 0.1))
    frame = pd.DataFrame(outputs, columns=ABC[:2]).astype("Int64")
    frame.loc[rng.random(4_000) < 0.5, "b"] = pd.NA
    return frame, frame.assign(label=labels)[:150]


CHANCE, ASSUMED = "if tests were skipped by chance", "if tests were skipped as you assume"


def verdict_line(report):
    (line,) = (x for x in report.summary().splitlines() if x.startswith("Verdict: "))
    return line


def test_that_tests_were_skipped_by_chance_is_said_wherever_it_counts(by_a_coin):
    frame, told = by_a_coin
    cascade = sw.Cascade([0, 0.3], 1, ABC[:2])
    plain, labelled = sw.audit(frame, cascade), sw.audit(frame, cascade, labels=told[:40])
    sound = f"Verdict: 'a' is sound under weak dominance, {CHANCE} (95 %"
    for report in (plain, labelled):
        assert headline(report)[1].endswith(f": it cannot pay, {CHANCE}.")
        assert verdict_line(report).startswith(sound)
        assert f"is sound under weak dominance, {CHANCE}." in report.to_html()
    assert headline(plain)[0].endswith(f", {CHANCE}.")
    assert headline(labelled)[0].endswith(f" suggest that it is cheapest, {CHANCE}.")
    assert f"weak dominance: holds, {CHANCE}." in labelled.summary()
    assert f"Weak dominance: holds, {CHANCE}." in labelled.to_html()
    neither = sw.audit(frame, sw.Cascade([0, 0.4], 5, ABC[:2]))
    assert headline(neither)[0].endswith(f"believable and {CHANCE[3:]}.")


def test_what_was_assumed_of_gaps_is_said_instead(by_a_coin):
    frame, told = by_a_coin
    cascade = sw.Cascade([0, 0.15], 1, ABC[:2])
    report = sw.audit(frame, cascade, labels=told, missing_at_random=True)
    assert report.ground is None
    assert headline(report)[0].endswith(f" suggest that it is cheapest, {ASSUMED}.")
    report = sw.audit(frame, sw.Cascade([0, 0.4], 1, ABC[:2]), missing_at_random=True)
    assert f", {ASSUMED} (95 %" in verdict_line(report)
    assert headline(report)[1].endswith(": given what you assume it cannot pay.")
    assert CHANCE not in report.summary()


def test_what_holds_whatever_was_skipped_has_no_such_condition(by_a_coin):
    frame, told = by_a_coin
    known = sw.audit(frame, sw.Cascade([0, 0.9], 1, ABC[:2]))
    assert known.is_known
    assert headline(known)[1].endswith(": it cannot pay.")
    assert CHANCE not in " ".join(headline(known))
    whole = frame.dropna()
    labels = told.dropna()
    report = sw.audit(whole, sw.Cascade([0, 0.4], 1, ABC[:2]), labels=labels)
    assert "skipped" not in report.summary()
    given = sw.audit(frame, sw.Cascade([0, 0.4], 1, ABC[:2]), assumptions=[ErrsWithin("a", 0.2)])
    assert headline(given)[1].endswith(": given what you assume it cannot pay.")


def test_labels_where_outputs_decided_rest_on_these_alone():
    rng = np.random.default_rng(5)
    labels, outputs = draw(rng, 4_000, (0.3, 0.1))
    frame = pd.DataFrame(outputs, columns=ABC[:2]).astype("Int64")
    frame.loc[(frame.a == 1) & (rng.random(4_000) < 0.7), "b"] = pd.NA
    told = frame.assign(label=labels)[:150]
    report = sw.audit(frame, sw.Cascade([0, 0.05], 1, ABC[:2]), labels=told)
    assert report.missing.biased_pairs == ((0, 1),)
    assert headline(report)[0].endswith(
        "suggest that it is cheapest, if nothing but the outputs shown decided who was tested."
    )
    assert "by chance" not in " ".join(headline(report))


def test_tests_that_never_ran_together_may_change_anything():
    rng = np.random.default_rng(21)
    _, outputs = draw(rng, 600, (0.3, 0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=ABC).astype(object)
    early = rng.random(600) < 0.6
    frame.loc[early, "c"] = None
    frame.loc[~early, "a"] = None
    frame.loc[early & (outputs[:, 0] == 0) & (rng.random(600) < 0.6), "b"] = None
    report = sw.audit(frame, sw.Cascade([1, 22, 1], 40, ABC))
    assert headline(report)[1].endswith("It changes anything from 0 to 1,000.")
