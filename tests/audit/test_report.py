"""The report: short, plain, complete, and every number in it computed a second time."""

import json
import math
import re

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.audit import ErrsWithin, Ordered
from stopwise.audit.compare import choices, dawid_skene_error_rates, strong_dominance_stage
from stopwise.audit.evidence.sequences import BettingSequence
from stopwise.audit.histogram import Histogram
from stopwise.audit.telling.words import amount
from stopwise.errors import AssumptionError, InputError, LogError, SettingError
from tests.audit.worlds import ORDER, draw, highs_bound, law_of

NAMES = ["history", "insulin", "all"]


def frame_of(seed=0, n=3_000, rates=(0.35, 0.2, 0.1), n_classes=2, names=NAMES):
    labels, outputs = draw(np.random.default_rng(seed), n, rates, n_classes=n_classes)
    return labels, pd.DataFrame(outputs, columns=names)


@pytest.fixture(scope="module")
def world():
    labels, frame = frame_of()
    cascade = sw.Cascade([6, 16, 24], mistake_cost=200, names=NAMES)
    return labels, frame, cascade, sw.audit(frame, cascade, assumptions=[Ordered()], n_planned=40)


def test_every_number_of_the_json_report_is_computed_a_second_time(world):
    _, frame, cascade, report = world
    told = json.loads(report.to_json())
    outputs = frame.to_numpy()
    n = len(outputs)
    C = np.array([6, 22, 46]) / 200
    p = np.array([[(outputs[:, i] != outputs[:, j]).mean() for j in range(3)] for i in range(3)])
    np.testing.assert_allclose(told["log"]["disagreement"], p)
    assert told["log"]["n_cases"] == n
    assert sum(told["log"]["counts"]) == n
    for row, count in zip(told["log"]["patterns"], told["log"]["counts"], strict=True):
        assert (outputs == row).all(axis=1).sum() == count
    sequence = BettingSequence(0.05 / 3 / 3)  # disagreement, dominance, labels; three pairs
    for pair in told["verdict"]["pairs"]:
        i, j = pair["shallow"], pair["deep"]
        interval = sequence.interval(round(p[i, j] * n), n)
        assert pair["disagreement"] == pytest.approx(p[i, j])
        assert pair["price"] == pytest.approx(C[j] - C[i])
        assert (pair["interval"]["low"], pair["interval"]["high"]) == (interval.low, interval.high)
        price = float(C[j] - C[i])
        assert pair["settled"] == int(price >= interval.high) - int(price < interval.low)
    flips = sum((row[:-1] != row[1:]).sum() > 1 for row in outputs)
    assert told["strong_dominance"]["n_contradicting"] == flips
    law, unit = law_of(outputs, cascade), np.eye(3)
    most = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            most[i, j] = highs_bound(law, unit[i] - unit[j], conditions=ORDER[3])
    np.testing.assert_allclose(told["largest_differences"], most, atol=1e-8)
    for k, bounds in enumerate(told["error_bounds"]):
        low = -highs_bound(law, -unit[k], conditions=ORDER[3])
        high = highs_bound(law, unit[k], conditions=ORDER[3])
        assert (bounds["low"], bounds["high"]) == pytest.approx((low, high), abs=1e-8)
    regrets = [max(most[k, j] + C[k] - C[j] for j in range(3)) for k in range(3)]
    np.testing.assert_allclose(told["worst_regrets"], regrets, atol=1e-8)
    assert told["minimax_stage"] == int(np.argmin(regrets))
    assert told["guarantee"] == pytest.approx(min(regrets), abs=1e-8)
    assert told["is_known"] == (min(regrets) <= 1e-9)
    sound = sw.sound_stage(p, cascade)
    assert told["verdict"]["stage"] == sound
    stages = {choice["rule"]: choice["stage"] for choice in told["choices"]}
    assert stages["weak dominance"] == sound
    assert stages["strong dominance"] == int(np.argmin(C - p[0]))
    assert stages["minimax regret"] == int(np.argmin(regrets))
    assert stages["always the last"] == 2
    for choice in told["choices"]:
        if choice["stage"] is not None:
            assert choice["worst_regret"] == pytest.approx(regrets[choice["stage"]], abs=1e-8)
    assert sum(group["n_labels"] for group in told["plan"]["groups"]) == 40
    assert len(told["planned_cases"]) == 40


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
    log = Histogram.from_rows([[0, None], [1, None]], [3, 1], sw.Cascade([0.1, 0.1]))
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


STATISTICS = r"confiden|interval|regret|dominan|ratio|margin|probab|%|estimat|signific"


@pytest.mark.parametrize("seed", range(30))
def test_the_summary_is_short_and_begins_plainly(seed):
    rng = np.random.default_rng(seed)
    K, M = int(rng.integers(2, 9)), int(rng.integers(2, 6))
    names = [f"test number {k}" for k in range(K)]
    labels, frame = frame_of(
        seed, int(rng.choice([40, 400, 4_000])), rng.uniform(0.05, 0.5, K), M, names
    )
    if seed % 3 == 0:
        frame = frame.astype("Int64").mask(rng.random(frame.shape) < 0.2)
    cascade = sw.Cascade(rng.uniform(0, 0.3, K).tolist(), float(rng.choice([1, 50])), names)
    told = frame.assign(label=labels)[:60] if seed % 2 else None
    report = sw.audit(
        frame, cascade, labels=told, n_planned=30 if seed % 4 < 2 else 0, unseen_label=seed % 5 == 0
    )
    lines = report.summary().splitlines()
    assert len(lines) <= 25
    for line in lines[:5]:
        assert line
        assert not re.search(STATISTICS, line.replace("test number", ""), re.IGNORECASE), line
    assert all("error" not in line.casefold() for line in lines)
    assert f"'{names[report.recommended_stage]}'" in lines[0]
    page = report.to_html()
    assert page.startswith("<!doctype html>")
    assert not re.search(r"\b(nan|inf)\b", page)
    json.loads(report.to_json())


def test_the_page_needs_nothing_else_and_holds_every_part(world):
    *_, report = world
    page = report.to_html()
    assert not re.search(
        r"https?://(?!www\.w3\.org)|<script|<link|src=|@import|url\((?!#hatch)", page
    )
    for part in ("The price map", "What the tests said", "What disagreement says", "Side by side",
                 "What the right answers can still be", "Which cases to label"):  # fmt: skip
        assert part in page
    assert page.count("<svg") == 6
    for name in NAMES:
        assert name in page


def test_long_tables_are_folded_and_large_camps_not_named():
    names = [f"t{k}" for k in range(7)]
    _, frame = frame_of(1, 2_000, np.linspace(0.3, 0.1, 7), names=names)
    report = sw.audit(frame, sw.Cascade([0.01] * 7, names=names), n_planned=20)
    page = report.to_html()
    assert page.count("<details><summary>All 21 pairs</summary>") >= 2
    assert page.count("<details>") == page.count("</details>")
    assert any(group.describe(report.cascade) == "t0 against all others"
               for group in report.plan.groups)  # fmt: skip


def test_the_page_shows_the_numbers_of_the_report(world):
    *_, report = world
    page = report.to_html()
    for pair in report.verdict.pairs:
        assert f"<td>{100 * pair.disagreement:.1f} %</td>" in page
        assert f"<td>{100 * pair.margin:+.2f}</td>" in page
    for count in report.histogram.counts.tolist():
        assert f">{count:,} (" in page


def test_names_and_values_cannot_break_the_page():
    rows = [("<b>", "x&y"), ("x&y", "x&y"), ("<b>", "<b>")] * 9
    names = ["<script>alert(1)</script>", 'a"b']
    report = sw.audit(pd.DataFrame(rows, columns=names), sw.Cascade([1, 2], names=names))
    assert "<script" not in report.to_html()
    assert "<b>" not in report.to_html()


def test_a_report_is_written_whole_or_not_at_all(world, tmp_path, monkeypatch):
    *_, report = world
    report.save(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == report.to_html()
    before = (tmp_path / "report.html").read_bytes()

    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr("pathlib.Path.replace", fail)
    with pytest.raises(OSError, match="disk full"):
        report.save(tmp_path / "report.html")
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_bytes() == before


def test_labels_are_used_throughout(world):
    labels, frame, cascade, _ = world
    told = frame.assign(label=labels)
    with_labels = sw.audit(frame, cascade, labels=told)
    without = sw.audit(frame, cascade)
    errors = (frame.to_numpy() != labels[:, None]).mean(axis=0)
    assert with_labels.recommended_stage == int(np.argmin(errors + cascade.cumulative_costs))
    assert (with_labels.largest_differences <= without.largest_differences + 1e-9).all()
    assert with_labels.guarantee < without.guarantee
    for i in range(3):
        for j in range(3):
            assert errors[i] - errors[j] <= with_labels.largest_differences[i, j] + 1e-9


def test_more_labels_are_asked_for_as_a_plan_of_their_own(world):
    labels, frame, cascade, _ = world
    report = sw.audit(frame, cascade, labels=frame.assign(label=labels)[:20])
    assert len(report.labels.possible_stages) > 1
    assert "--plan-labels 80) and hand in its cases alone" in report.summary().splitlines()[4]
    assert "a number of labels that was fixed beforehand" in report.to_html()


def test_a_histogram_can_be_audited(world):
    _, frame, cascade, report = world
    again = sw.audit(report.histogram, cascade, assumptions=[Ordered()])
    assert again.worst_regrets.tolist() == report.worst_regrets.tolist()
    counted = frame.value_counts()
    histogram = Histogram.from_rows(counted.index, counted.to_numpy(), cascade)
    assert sw.audit(histogram, cascade).verdict == report.verdict


def test_a_histogram_is_audited_at_the_prices_of_the_audit(world):
    report = world[-1]
    given, dear = report.cascade, sw.Cascade(report.cascade.prices, 40, report.cascade.names)
    again = sw.audit(report.histogram, dear)
    assert given.mistake_cost != 40
    assert again.cascade.mistake_cost == again.to_dict()["cascade"]["mistake_cost"] == 40
    assert again.worst_regrets.tolist() == pytest.approx(
        [max(again.largest_differences[k] + dear.cumulative_costs[k] - dear.cumulative_costs)
         for k in range(dear.n_stages)]
    )  # fmt: skip
    with pytest.raises(LogError, match="got 3 tests for 2"):
        sw.audit(report.histogram, sw.Cascade([1, 2]))


def test_counts_kept_case_by_case_can_be_audited(world):
    _, frame, cascade, _ = world
    counts = sw.PatternCounts(cascade)
    for row in frame.to_numpy().tolist():
        counts.add(row)
    found, expected = sw.audit(counts, cascade).to_dict(), sw.audit(frame, cascade).to_dict()
    assert found.pop("source") != expected.pop("source")
    assert found == expected
    few = sw.PatternCounts(cascade, max_patterns=2)
    for row in frame.to_numpy().tolist():
        few.add(row)
    with pytest.raises(LogError, match="must hold every pattern"):
        sw.audit(few, cascade)


def test_thousands_of_free_answers_take_seconds():
    _, outputs = draw(np.random.default_rng(2), 6_000, (0.3, 0.2), n_classes=3_000)
    frame = pd.DataFrame(outputs, columns=["a", "b"]).map("answer {}".format)
    report = sw.audit(frame, sw.Cascade([0.1, 0.1], names=["a", "b"]))
    (choice,) = (c for c in report.choices if c.rule == "Dawid–Skene")
    assert (choice.stage, choice.note) == (None, "is not fitted to more than 100 values")
    assert report.histogram.n_classes > 2_000


def test_missing_outputs_widen_the_bounds_unless_taken_to_be_random():
    _, frame = frame_of(seed=8)
    cascade = sw.Cascade([6, 16, 24], 200, NAMES)
    gaps = frame.astype("Int64")
    gaps.loc[::4, "all"] = pd.NA
    complete, wide = sw.audit(frame, cascade), sw.audit(gaps, cascade)
    narrow = sw.audit(gaps, cascade, missing_at_random=True)
    assert wide.missing is not None
    assert complete.missing is None
    assert (wide.largest_differences >= complete.largest_differences - 1e-9).all()
    assert narrow.guarantee < wide.guarantee
    np.testing.assert_allclose(narrow.largest_differences, complete.largest_differences, atol=0.03)
    assert "Missing: in 750 cases" in wide.summary()


def test_ends_of_the_map_are_no_findings(world):
    *_, report = world
    text = report.summary()
    for band in (*report.prices.sound, *report.prices.known):
        if band.high >= report.prices.high:
            assert f"to {amount(band.high)}" not in text
            assert f"above {amount(band.low)}" in text
    first = report.prices.sound[0]
    assert f"'{NAMES[first.value[1]]}' up to {amount(first.high)}" in text


def test_with_labels_nothing_is_said_of_methods_without(world):
    labels, frame, cascade, report = world
    told = sw.audit(frame, cascade, labels=frame.assign(label=labels)[:60])
    assert any(band.value is None for band in told.prices.known)
    for text in (told.summary(), told.to_html()):
        assert "without labels can know" not in text
        assert "These labels do not settle the best stage" in text or "<html" in text
    assert "every value inside is reached" not in told.to_html()
    assert "every value inside is reached" in report.to_html()
    assert "without labels can know" in report.to_html()


def test_the_first_lines_say_for_how_many_cases_they_hold():
    frame = pd.DataFrame({"a": [0, 1, 0], "b": [0, 1, 1]})
    report = sw.audit(frame, sw.Cascade([1, 1], 6, ["a", "b"]))
    assert "in these 3 cases it costs at most" in report.summary().splitlines()[3]


def test_an_output_with_a_line_break_keeps_to_its_line():
    frame = pd.DataFrame({"a": ["x\ny", "z", "z"], "b": ["x\ny", "z", "x\ny"]})
    text = sw.audit(frame, sw.Cascade([1, 1], 6, ["a", "b"])).summary()
    assert "2 values (x y, z)" in text


def test_a_report_into_no_folder_is_refused(world, tmp_path):
    with pytest.raises(InputError, match="must go into a directory"):
        world[-1].save(tmp_path / "nowhere" / "report.html")


def test_two_columns_with_one_name_are_refused():
    frame = pd.DataFrame([[0, 1, 1], [1, 0, 1]], columns=["a", "a", "b"])
    with pytest.raises(LogError, match="columns must have different names, got a twice"):
        sw.audit(frame, sw.Cascade([1, 1], names=["a", "b"]))


def test_trees_are_audited():
    _, frame = frame_of(seed=2, rates=(0.4, 0.2, 0.1), names=["root", "left", "right"])
    tree = sw.Cascade([0.01, 0.3, 0.2], names=["root", "left", "right"], parents=[None, 0, 0])
    report = sw.audit(frame, tree, assumptions=[Ordered()])
    assert {(p.shallow, p.deep) for p in report.verdict.pairs} == {(0, 1), (0, 2)}
    p = report.histogram.disagreement
    assert report.verdict.stage == sw.sound_stage(p, tree)
    report.to_html()
    report.summary()


def test_settings_are_checked(world):
    _, frame, cascade, _ = world
    with pytest.raises(LogError, match="at least two tests"):
        sw.audit(frame, sw.Cascade([1], names=["all"]))
    with pytest.raises(SettingError, match="confidence"):
        sw.audit(frame, cascade, confidence=1)
    with pytest.raises(SettingError, match="n_planned"):
        sw.audit(frame, cascade, n_planned=-1)
    with pytest.raises(SettingError, match="never_right must be outputs in the log, got 'abstain'"):
        sw.audit(frame, cascade, never_right=["abstain"])
    with pytest.raises(AssumptionError, match="at once"):
        sw.audit(frame, cascade, assumptions=[ErrsWithin("all", 0.0), ErrsWithin("history", 0.0)])


def test_undecided_says_how_many_cases(world):
    rows = [(0, 0)] * 88 + [(1, 1)] * 4 + [(0, 1)] * 8
    frame = pd.DataFrame(rows, columns=["a", "b"])
    report = sw.audit(frame, sw.Cascade([0, 0.12], names=["a", "b"]))
    assert report.verdict.finding.value == "undecided"
    assert math.isfinite(report.verdict.n_more)
    assert f"about {report.verdict.n_more:,.0f} more cases would settle it" in report.summary()


def test_a_high_confidence_is_not_rounded_up():
    report = sw.audit(np.array([[0, 1], [1, 0]] * 50), sw.Cascade([0.1, 0.2]), confidence=0.999)
    assert "(99.9 % confidence, at any time)" in report.summary()
    assert "with 99.9 % confidence" in report.to_html()


def test_side_by_side_says_that_strong_dominance_is_refuted():
    rows = np.array([[0, 0, 0], [0, 1, 0], [1, 1, 1], [1, 0, 0]] * 200)
    (strong, *_) = sw.audit(rows, sw.Cascade([0.1] * 3)).choices
    assert (strong.rule, strong.note) == ("strong dominance", "this log refutes it")
    (strong, *_) = sw.audit(rows[rows[:, 1] == rows[:, 2]], sw.Cascade([0.1] * 3)).choices
    assert strong.note == ""
