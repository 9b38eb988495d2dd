"""What is said of a report: short, plain, and on a page that needs nothing else."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing.telling.numbers import amount
from stopwise.auditing.telling.price_drawing import price_map_svg
from stopwise.auditing.telling.svg import colour
from stopwise.reading import open_log
from tests.auditing.worlds import NAMES, frame_of

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
    for count in report.histogram.weights.tolist():
        assert f">{count:,} (" in page


def test_names_and_values_cannot_break_the_page():
    rows = [("<b>", "x&y"), ("x&y", "x&y"), ("<b>", "<b>")] * 9
    names = ["<script>alert(1)</script>", 'a"b']
    report = sw.audit(pd.DataFrame(rows, columns=names), sw.Cascade([1, 2], names=names))
    assert "<script" not in report.to_html()
    assert "<b>" not in report.to_html()


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
    assert "2 values ('x y', 'z')" in text


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


@pytest.mark.parametrize(
    ("n_tests", "name", "n_cases", "has_legend"),
    [(12, "model {}", 3_000, True), (2, "t{}" * 50, 3_000, True), (2, "{}", 10**6, False)],
)
def test_bands_without_room_for_a_name_have_a_legend(n_tests, name, n_cases, has_legend):
    """Where some name has no room all colours are named below, each with its own colour."""
    names = [name.replace("{}", str(k)) for k in range(n_tests)]
    _, frame = frame_of(3, 3_000, np.linspace(0.45, 0.02, n_tests), 2, names)
    cascade = sw.Cascade([0.01 * 1.4**k for k in range(n_tests)], 1, names)
    counted = open_log(frame, cascade).table()
    many = replace(counted, counts=counted.weights * (n_cases // 3_000))
    report = sw.audit(many, cascade)
    drawn = price_map_svg(report.prices, cascade, blind="open")
    bands = re.findall(r'width="([^"]+)" height="32" fill="([^"]+)"><title>(.*?): [^:<]*<', drawn)
    squares = re.findall(r'height="14" fill="([^"]+)"/><text [^>]*>(.*?)</text>', drawn)
    narrow = [w for width, _, w in bands if w in names and float(width) <= 7 * len(w)]
    assert bool(squares) == bool(narrow) == has_legend
    if has_legend:
        assert {(fill, words[:59]) for _, fill, words in bands} == {(f, w[:59]) for f, w in squares}
    stages = {(fill, words) for _, fill, words in bands if words in names}
    assert len({fill for fill, _ in stages}) == len(stages)


def test_a_dozen_tests_have_colours_of_their_own():
    assert len({colour(k) for k in range(12)} | {colour(None)}) == 13
