"""The command: one line from a file to a decision, and one line where that cannot be."""

import json
import os
import re
import shlex
import sqlite3
import subprocess
import sys
from html import unescape

import pandas as pd
import pytest

ARGUMENTS = ["--tests", "history,insulin,all", "--costs", "6,16,24", "--mistake-cost", "200"]


def test_from_a_file_to_a_decision(visits, run):
    folder, *_ = visits
    code, out, err = run(folder / "visits.parquet", *ARGUMENTS, "--out", folder / "report.html")
    assert (code, err) == (0, "")
    title = out.splitlines()[0].split(" ─ ")[1]
    assert "top after '" in title
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert title.replace("'", "&#x27;") in page
    assert "visits.parquet" in page


def test_json(visits, run):
    folder, frame, _ = visits
    code, out, _ = run(
        folder / "visits.csv", "--id", "visit", *ARGUMENTS[2:], "--ordered", "--json"
    )
    report = json.loads(out)
    assert code == 0
    assert report["log"]["n_cases"] == len(frame)
    assert report["cascade"]["names"] == ["history", "insulin", "all"]  # all columns but the id
    assert report["assumptions"] == [{"kind": "Ordered"}]
    assert report["source"] == "visits.csv"


def test_a_plan_comes_back_as_labels(visits, run):
    folder, frame, truth = visits
    plan = folder / "plan.csv"
    code, out, _ = run(
        folder / "visits.csv", *ARGUMENTS, "--id", "visit", "--plan-labels", 40, "--plan-out", plan
    )
    assert code == 0
    assert "label the 40 cases of the plan" in out
    sheet = pd.read_csv(plan)
    assert len(sheet) == 40
    assert list(sheet) == ["visit", "label"]  # whoever labels is not told what the tests said
    assert (frame.set_index("visit").loc[sheet.visit].nunique(axis=1) > 1).all()
    sheet.assign(label=sheet.visit.map(truth)).to_csv(plan, index=False)
    ids = ["--id", "visit", "--labels", plan]
    code, out, _ = run(folder / "visits.csv", *ARGUMENTS, *ids, "--json")
    assert (code, json.loads(out)["labels"]["n_labels"]) == (0, 40)
    code, out, _ = run(folder / "visits.parquet", *ARGUMENTS, *ids)
    assert "By the labels" in out or "The labels" in out


def test_assumptions_on_the_command_line(visits, run):
    folder, *_ = visits
    code, out, _ = run(
        folder / "visits.csv", *ARGUMENTS, "--errs-at-most", "all=0.15", "--prevalence",
        "yes=0.4:0.6", "--unseen-label", "--missing-at-random", "--confidence", "0.9", "--json",
    )  # fmt: skip
    report = json.loads(out)
    assert code == 0
    assert [assumption["kind"] for assumption in report["assumptions"]] == [
        "ErrsWithin", "Prevalence", "UnseenLabel", "MissingAtRandom"
    ]  # fmt: skip
    assert report["error_bounds"][2]["high"] == pytest.approx(0.15)


def test_help_says_every_default(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("--help")
    for default in ("all columns", "the row number", "label", "to-label.csv", "0.95"):
        assert f"(default: {default})" in out


def test_costs_per_test_or_cumulative_are_the_same(visits, run):
    folder, *_ = visits
    cumulative = ["--costs", "6,22,46", "--cumulative-costs"]  # the last --costs counts
    steps = run(folder / "visits.csv", *ARGUMENTS)
    assert steps == run(folder / "visits.csv", *ARGUMENTS, *cumulative)
    assert steps[0] == 0


def test_a_sheet_shows_what_is_asked_for(visits, run):
    folder, frame, _ = visits
    frame.assign(text="some words").to_csv(folder / "texts.csv", index=False)
    code, _, err = run(
        folder / "texts.csv", "--costs", "6,16,24", "--mistake-cost", 100, "--id", "visit",
        "--show", "text", "--show-outputs", "--plan-labels", 5, "--plan-out", folder / "s.jsonl",
    )  # fmt: skip
    assert (code, err) == (0, "")
    record = json.loads((folder / "s.jsonl").read_text().splitlines()[0])
    assert set(record["fields"]) == {"text", "history", "insulin", "all"}


def test_prices_that_are_missing_are_explained(visits, run):
    log = visits[0] / "visits.csv"
    code, out, err = run(log, "--costs", "6,16,24", "--id", "visit")
    assert (code, out) == (2, "")
    assert "--mistake-cost is missing. It is what one wrong answer costs you" in err
    assert err.endswith(f"  stopwise audit {log} --costs 6,16,24 --id visit --mistake-cost 1000\n")
    code, _, err = run(log, "--mistake-cost", 9)
    assert code == 2
    assert err.endswith(f"  stopwise audit {log} --mistake-cost 9 --costs 6,16,24\n")


def test_a_plan_that_is_smaller_than_asked_for_says_so(visits, run):
    folder, frame, _ = visits
    disputed = (frame.history != frame.insulin) | (frame.insulin != frame["all"])
    code, out, _ = run(
        folder / "visits.csv", *ARGUMENTS, "--plan-labels", 5_000, "--plan-out", folder / "p.csv"
    )
    assert code == 0
    assert f"The plan has {disputed.sum():,} cases, not 5,000" in out
    assert out.splitlines()[-2] == f"Written: {folder / 'p.csv'}"
    assert out.splitlines()[-1].startswith("More: --out report.html")


@pytest.mark.parametrize("name", ["case", "label"])
def test_a_plan_needs_columns_of_its_own(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(f"{name},b\n0,1\n1,1\n0,0\n")
    code, _, err = run(
        "log.csv", "--costs", "1,1", "--mistake-cost", 10, "--plan-labels", 2, "--show-outputs"
    )
    assert code == 2
    assert f"must not have two columns '{name}'" in err
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize("json_wanted", [False, True])
def test_letters_that_the_terminal_cannot_show(json_wanted, visits):
    folder, frame, _ = visits
    table = frame[["history", "all"]].rename(columns={"history": "früh"})
    table.to_csv(folder / "log.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", "stopwise", "audit", folder / "log.csv", "--costs", "6,16",
         "--mistake-cost", "200", *(["--json"] if json_wanted else [])],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii")
    if json_wanted:
        assert json.loads(text)["cascade"]["names"] == ["früh", "all"]
    else:
        assert "fr?h" in text


def test_names_with_commas_are_quoted(visits, run):
    folder, frame, _ = visits
    table = frame.rename(columns={"history": "small, v1", "insulin": 'mid "q"'})
    table.to_csv(folder / "log.csv", index=False)
    code, out, err = run(
        folder / "log.csv", "--tests", '"small, v1", mid "q",all', "--costs", "6,16,24",
        "--mistake-cost", 200, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["cascade"]["names"] == ["small, v1", 'mid "q"', "all"]


def test_the_command_on_the_page_repeats_what_was_given(visits, run, monkeypatch):
    folder, frame, truth = visits
    monkeypatch.chdir(folder)
    (folder / "my logs").mkdir()
    frame.rename(columns={"insulin": "insulin, again"}).to_csv("my logs/a.csv", index=False)
    with sqlite3.connect("two.db") as con:
        frame.to_sql("visits", con, index=False)
        frame[:9].to_sql("others", con, index=False)
    con.close()
    labels = frame.assign(right=frame.visit.map(truth))[["visit", "right"]]
    labels[frame.history != frame["all"]][:20].to_csv("known.csv", index=False)
    some = 'select history, "insulin, again", "all" from log where visit < \'1500\''
    prices = ["--costs", "6,16,24", "--mistake-cost", "200"]
    tests = ["--tests", "history,insulin,all"]
    assumed = ["--ordered", "--unseen-label", "--errs-at-most", "all=0.4", "--prevalence",
               "yes=0.1:0.9", "--confidence", "0.9"]  # fmt: skip
    for given in (
        ["my logs/a.csv", "--query", some, *prices],
        ["my logs/a.csv", "--id", "visit", *prices, *assumed],
        ["two.db", "--table", "visits", *tests, *prices],
        ["visits.csv", *tests, "--id", "visit", *prices, "--labels", "known.csv",
         "--label-column", "right"],
    ):  # fmt: skip
        code, _, err = run(*given, "--out", "report.html")
        assert (code, err) == (0, "")
        text = (folder / "report.html").read_text(encoding="utf-8")
        (command,) = re.findall(r"<code>(stopwise audit .*?)</code>", text)
        command = shlex.split(unescape(re.sub("<[^>]*>", "", command)))
        reports = [run(*call, "--json") for call in (given, command[2:])]
        first, second = (json.loads(out) for _, out, _ in reports)
        for key in ("cascade", "log", "assumptions", "confidence", "labels", "source"):
            assert first[key] == second[key]
        assert len(second["planned_cases"]) >= first["advice"]["n_next"] > 0


def test_a_file_without_names_of_tests_is_asked_about(visits, run):
    folder, frame, _ = visits
    frame[frame.history != frame.insulin][["history", "insulin"]].to_csv(
        folder / "bare.csv", index=False, header=False
    )
    _, out, _ = run(folder / "bare.csv", "--costs", "6,16", "--mistake-cost", 200)
    assert "are names of tests and also outputs" in out
    _, out, _ = run(folder / "visits.csv", *ARGUMENTS)
    assert "are names of tests" not in out
