"""Every number of the summary against the rows of the log, and no number beside these."""

import csv
import io
import json
import sys

import pytest

from stopwise import cli
from tests.audit.again import logs
from tests.audit.again.facts import RULES, again, chosen, groups, told, words
from tests.audit.again.said import Said
from tests.audit.again.sentences import assert_said, join, shows


def expected(name):
    """The sentences of a summary, line by line."""
    a, report = again(name), told(name)
    said = Said(a, report)
    found, values = said.finding()
    return [
        *said.headline(),
        ("", []),
        log_line(a),
        *said.missing(),
        (f"Verdict: {found} ({{n}} % confidence, at any time).",
         [*values, 100 * a.log.confidence]),
        *said.pairs(),
        said.strong(),
        ("Bounds below hold for the cases in the log and assume: {x}.",
         ["; ".join(words(a)) or "nothing"]),
        bounds_line(said),
        regret_line(said),
        choices_line(said),
        *price_lines(said),
        *label_lines(said),
    ]  # fmt: skip


def log_line(a):
    blank = len(a.log.rows) - a.n
    return (
        "Log: a table in memory, {n} cases, {n} tests, {n} patterns of {n} values ({x})"
        + (", {n} without any output left out." if blank else "."),
        [a.n, a.K, len(a.counts), len(a.classes), ", ".join(map(str, a.classes)),
         *([blank] if blank else [])],
    )  # fmt: skip


def bounds_line(said):
    a = said.a
    text, values = join(
        ("{s} {n} % to {n} %", [said.name(k), *said.percent(*a.error_bounds[k])]) for k in a.stages
    )
    return f"  Wrong answers: {text}.", values


def regret_line(said):
    a = said.a
    text, values = join(
        ("{s} {n} %", [said.name(k), *said.percent(a.regrets()[k])]) for k in a.stages
    )
    return (
        f"  Worst-case regret: {text}; minimax: {{s}}, at most {{n}}{{u}}.",
        [*values, said.name(a.safest), *said.cost(min(a.regrets()))],
    )


def choices_line(said):
    """Each rule; one that has a note instead of a stage is left to the page."""
    regrets = said.a.regrets()
    noted = {"Dawid–Skene", *(["strong dominance"] if said.a.contradicting else [])}
    text, values = join(
        (f"{rule} {{s}}", [said.name(stage)]) if stage is None
        else (f"{rule} {{s}} ({{n}} %)", [said.name(stage), *said.percent(regrets[stage])])
        for rule, stage in zip(RULES, chosen(said.a), strict=True)
        if stage is not None or rule not in noted
    )  # fmt: skip
    return f"Side by side (worst-case regret): {text}.", values


def price_lines(said):
    prices = said.told["prices"]
    sound = []
    for band in prices["sound"]:
        if band["value"][0] == "sound":
            text, values = said.band(band)
            sound.append((f"{{s}} {text}", [said.name(band["value"][1]), *values]))
    text, values = join(sound)
    yield f"By price of a mistake, sound: {text}.", values
    blind, values = join(said.band(band) for band in prices["known"] if band["value"] is None)
    if not blind:
        yield "  At every price on the map one stage is best whatever the right answers.", []
        return
    who = "These labels do not settle" if said.a.labelled else "No method without labels can know"
    yield f"  {who} the best stage: {blind}.", values


def label_lines(said):
    a = said.a
    if a.labelled:
        yield (
            "Labels: {n} favour {s}; still possible: {x}; weak dominance: {x}.",
            [len(a.labelled), said.name(a.label_stage),
             said.names(a.may_be_best(a.label_least)), a.weak_dominance],
        )  # fmt: skip
    if a.log.n_planned:
        text, values = join(
            (("{n} of {n} with {x}", [m, n, said.camps(camps)]) for camps, n, m in groups(a)[:3]),
            "; ",
        )
        yield f"Label: {text}.", values
        text, values = join(
            (
                ("{s} and {s} if more than {n} % apart", [*map(said.name, pair), 100 * width])
                for pair, width in sorted(a.resolution.items())
            ),
            "; ",
        )
        yield f"  That would settle {text}.", values


@pytest.mark.parametrize("name", logs.NAMES)
def test_every_line_of_the_summary(name):
    lines, sentences = logs.report(name).summary().split("\n"), expected(name)
    for line, (template, values) in zip(lines, sentences, strict=True):
        assert_said(line, template, values)


def test_a_number_is_shown_only_by_its_own_digits():
    assert shows("12.5", 12.54)
    assert shows("1,235", 1234.6)
    assert not shows("12.5", 12.56)
    with pytest.raises(AssertionError, match=r"0\.0 is not"):
        assert_said("0.0 %", "{n} %", [0.04])
    assert shows("0.0", 0)
    assert shows("-3.1", -3.08)
    with pytest.raises(AssertionError, match="12"):
        assert_said("of 7 cases 12 %", "of {n} cases {n} %", [7, 13])
    with pytest.raises(AssertionError):
        assert_said("no 7 more", "no {t} more", [])


def test_the_command_says_the_same(tmp_path, monkeypatch, capsys):
    """From a CSV file to the same JSON, and the plan to a file of its own."""
    log = logs.raw("two_classes")
    log.frame().to_csv(tmp_path / "log.csv", index=False)
    monkeypatch.setattr(sys, "argv", [
        "stopwise", "audit", str(tmp_path / "log.csv"), "--costs", ",".join(map(str, log.costs)),
        "--mistake-cost", str(log.mistake_cost), "--plan-labels", str(log.n_planned), "--plan-out",
        str(tmp_path / "plan.csv"), "--confidence", str(log.confidence), "--ordered", "--json",
    ])  # fmt: skip
    with pytest.raises(SystemExit):
        cli.main()
    found = json.loads(capsys.readouterr().out)
    expected_report = json.loads(json.dumps(told("two_classes")))
    assert found.pop("source") == "log.csv"
    expected_report.pop("source")
    # a CSV file gives text where a frame gives numbers
    held = expected_report["log"]
    held["classes"] = [str(y) for y in held["classes"]]
    held["patterns"] = [[str(y) for y in row] for row in held["patterns"]]
    for case in expected_report["planned_cases"]:
        case["outputs"] = [str(y) for y in case["outputs"]]
    assert found == expected_report
    rows = list(csv.DictReader(io.StringIO((tmp_path / "plan.csv").read_text())))
    assert [
        {"case": int(row["case"]), "outputs": [row[name] for name in log.names],
         "agreement": row["agreement"]}
        for row in rows
    ] == found["planned_cases"]  # fmt: skip
