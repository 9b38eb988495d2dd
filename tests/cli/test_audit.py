"""The command: one line from a file to a decision, and one line where that cannot be."""

import csv
import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from stopwise import cli
from tests.auditing.worlds import draw

ARGUMENTS = ["--tests", "history,insulin,all", "--costs", "6,16,24", "--mistake-cost", "200"]


@pytest.fixture
def visits(tmp_path):
    labels, outputs = draw(np.random.default_rng(0), 2_000, (0.35, 0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=["history", "insulin", "all"])
    frame = frame.replace({0: "no", 1: "yes"}).assign(visit=range(500, 2_500))
    frame.to_parquet(tmp_path / "visits.parquet")
    frame.to_csv(tmp_path / "visits.csv", index=False)
    truth = dict(zip(range(500, 2_500), np.where(labels, "yes", "no").tolist(), strict=True))
    return tmp_path, frame, truth


@pytest.fixture
def run(monkeypatch, capsys):
    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["stopwise", "audit", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return ended.value.code or 0, printed.out, printed.err

    return call


def test_from_a_file_to_a_decision(visits, run):
    folder, *_ = visits
    code, out, err = run(folder / "visits.parquet", *ARGUMENTS, "--out", folder / "report.html")
    assert (code, err) == (0, "")
    title = out.splitlines()[1].removeprefix("│ ")
    assert "top after '" in title
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert title.replace("'", "&#x27;") in page
    assert "visits.parquet" in page


def test_json(visits, run):
    folder, frame, _ = visits
    code, out, _ = run(folder / "visits.csv", *ARGUMENTS, "--ordered", "--json")
    told = json.loads(out)
    assert code == 0
    assert told["log"]["n_cases"] == len(frame)
    assert told["assumptions"] == [{"kind": "Ordered"}]
    assert told["source"] == "visits.csv"


def test_a_plan_comes_back_as_labels(visits, run):
    folder, frame, truth = visits
    plan = folder / "plan.csv"
    code, out, _ = run(
        folder / "visits.csv", *ARGUMENTS, "--id", "visit", "--plan-labels", 40, "--plan-out", plan
    )
    assert code == 0
    assert "label the 40 cases of the plan" in out
    with plan.open(newline="") as lines:
        rows = list(csv.DictReader(lines))
    assert len(rows) == 40
    assert set(rows[0]) == {"visit", "label"}  # whoever labels is not told what the tests said
    by_visit = frame.set_index("visit")
    for row in rows:
        assert len(set(by_visit.loc[int(row["visit"])])) > 1
        row["label"] = truth[int(row["visit"])]
    with plan.open("w", newline="") as lines:
        writer = csv.DictWriter(lines, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    ids = ["--id", "visit", "--labels", plan]
    code, out, _ = run(folder / "visits.csv", *ARGUMENTS, *ids, "--json")
    told = json.loads(out)
    assert (code, told["labels"]["n_labels"]) == (0, 40)
    code, out, _ = run(folder / "visits.parquet", *ARGUMENTS, *ids)
    assert "By the labels" in out or "The labels" in out


def test_assumptions_on_the_command_line(visits, run):
    folder, *_ = visits
    code, out, _ = run(
        folder / "visits.csv", *ARGUMENTS, "--errs-at-most", "all=0.15", "--prevalence",
        "yes=0.4:0.6", "--unseen-label", "--missing-at-random", "--confidence", "0.9", "--json",
    )  # fmt: skip
    told = json.loads(out)
    assert code == 0
    assert [taken["kind"] for taken in told["assumptions"]] == [
        "ErrsWithin", "Prevalence", "UnseenLabel", "MissingAtRandom"
    ]  # fmt: skip
    assert told["error_bounds"][2]["high"] == pytest.approx(0.15)


def test_all_columns_are_tests_by_default(visits, run):
    folder, *_ = visits
    code, out, _ = run(
        folder / "visits.csv",
        "--id",
        "visit",
        "--costs",
        "6,16,24",
        "--mistake-cost",
        200,
        "--json",
    )
    assert code == 0
    assert json.loads(out)["cascade"]["names"] == ["history", "insulin", "all"]


BAD = {
    "unknown column": (["--tests", "history,insulinn,all", "--costs", "6,16,24"], "'insulin'?"),
    "costs that do not match": (
        ["--tests", "history,all", "--costs", "6,16,24"],
        "got 3 for 2 tests: history, all",
    ),
    "costs that are no numbers": (["--costs", "6,x"], "--costs must look like 6,16,24, got '6,x'"),
    "negative cost": (["--tests", "history,all", "--costs", "6,-1"], "costs must be >= 0"),
    "one test only": (["--tests", "all", "--costs", "6"], "at least two tests"),
    "no directory": ([*ARGUMENTS, "--out", "nowhere/report.html"], "--out must go into"),
    "a directory": ([*ARGUMENTS, "--out", "."], "--out must be a file"),
    "bad prevalence": ([*ARGUMENTS, "--prevalence", "yes"], "must look like yes=0.1:0.3"),
    "backwards prevalence": ([*ARGUMENTS, "--prevalence", "yes=0.5:0.1"], "low <= high"),
    "bad bound": ([*ARGUMENTS, "--errs-at-most", "all"], "must look like all=0.02"),
    "contradiction": (
        [*ARGUMENTS, "--errs-at-most", "all=0", "--errs-at-most", "history=0"],
        "cannot be at once that 'all' errs in at most 0 of the cases; and that 'history'",
    ),
    "no such labels": ([*ARGUMENTS, "--labels", "nowhere.csv"], "no such file"),
    "a negative plan": ([*ARGUMENTS, "--plan-labels", "-3"], "--plan-labels must be a whole"),
    "a negative seed": ([*ARGUMENTS, "--seed", "-1", "--plan-labels", "5"], "--seed must be a"),
    "bad SQL": ([*ARGUMENTS, "--query", "selekt 1"], "cannot be read"),
    "no table": ([*ARGUMENTS, "--table", "visits"], "is none"),
}


@pytest.mark.parametrize("what", BAD)
def test_bad_input_is_one_line_and_leaves_nothing(what, visits, run, monkeypatch):
    folder, *_ = visits
    monkeypatch.chdir(folder)
    arguments, message = BAD[what]
    before = sorted(p.name for p in folder.iterdir())
    out = [] if "--out" in arguments else ["--out", "report.html"]
    price = [] if "--mistake-cost" in arguments else ["--mistake-cost", 200]
    code, printed, err = run("visits.csv", *arguments, *price, *out)
    assert code == 2
    assert printed == ""
    assert message in err
    assert err.startswith("stopwise: ")
    assert len(err.splitlines()) == 1
    assert sorted(p.name for p in folder.iterdir()) == before


def filled_in(folder):
    (folder / "to-label.csv").write_text("case,history,insulin,all,label\n1,0,1,1,yes\n")


OVERWRITTEN = {
    "the log": (
        ["--out", "visits.csv"],
        "--out must be a file of its own, visits.csv is a file of",
    ),
    "the log by another name": (["--out", "./sub/../visits.csv"], "is a file of the log already"),
    "the log with a plan": (
        ["--plan-labels", 5, "--plan-out", "visits.csv"],
        "--plan-out must be a file of its own",
    ),
    "the labels": (["--labels", "to-label.csv", "--out", "to-label.csv"], "is --labels already"),
    "the labels with the next plan": (
        ["--labels", "to-label.csv", "--plan-labels", 5],
        "--plan-out must be a file of its own, to-label.csv is --labels already",
    ),
    "a plan that is filled in": (["--plan-labels", 5], "to-label.csv holds 1: hand it in"),
    "the other output": (
        ["--plan-labels", 5, "--plan-out", "same.x", "--out", "same.x"],
        "same.x is --out already",
    ),
}


@pytest.mark.parametrize("what", OVERWRITTEN)
def test_nothing_of_the_user_is_overwritten(what, visits, run, monkeypatch):
    folder, *_ = visits
    monkeypatch.chdir(folder)
    filled_in(folder)
    (folder / "sub").mkdir()
    before = {p: p.read_bytes() for p in folder.iterdir() if p.is_file()}
    arguments, message = OVERWRITTEN[what]
    code, printed, err = run("visits.csv", *ARGUMENTS, *arguments)
    assert (code, printed) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert {p: p.read_bytes() for p in folder.iterdir() if p.is_file()} == before


def test_a_file_of_a_folder_is_not_overwritten_and_an_empty_plan_is(visits, run, monkeypatch):
    folder, *_ = visits
    monkeypatch.chdir(folder)
    (folder / "parts").mkdir()
    (folder / "visits.csv").rename(folder / "parts" / "1.csv")
    code, _, err = run("parts", *ARGUMENTS, "--out", "parts/1.csv")
    assert code == 2
    assert "parts/1.csv is a file of the log already" in err
    for _ in range(2):
        code, _, err = run("parts", *ARGUMENTS, "--plan-labels", 5, "--out", "report.html")
        assert (code, err) == (0, "")


def test_help_says_every_default(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    _, out, _ = run("--help")
    for default in ("all columns", "the row number", "label", "to-label.csv", "0.95"):
        assert f"(default: {default})" in out


HINTS = {
    "a currency": (["--mistake-cost", "$2,000"], "got '$2,000': write 2000, without signs"),
    "a decimal comma": (["--mistake-cost", "2.000,50"], "write 2000.5, without signs"),
    "percent": (["--errs-at-most", "all=2%"], "got 'all=2%': write 0.02 for 2%"),
    "confidence in percent": (["--confidence", "95"], "must lie in (0, 1), got 95: write 0.95"),
    "costs that fall": (["--cumulative-costs", "--costs", "6,5,9"], "must not fall from test to"),
}


@pytest.mark.parametrize("what", HINTS)
def test_numbers_as_people_write_them_get_a_hint(what, visits, run):
    folder, *_ = visits
    arguments, message = HINTS[what]
    code, out, err = run(folder / "visits.csv", *ARGUMENTS, *arguments)
    assert (code, out) == (2, "")
    assert message in err


def test_costs_per_test_or_cumulative_are_the_same(visits, run):
    folder, *_ = visits
    settings = ["--tests", "history,insulin,all", "--mistake-cost", 200]
    _, steps, _ = run(folder / "visits.csv", *settings, "--costs", "6,16,24")
    _, total, _ = run(folder / "visits.csv", *settings, "--costs", "6,22,46", "--cumulative-costs")
    assert steps == total


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


def test_the_price_of_a_mistake_is_asked_for(visits, run):
    folder, *_ = visits
    code, out, err = run(folder / "visits.csv", "--costs", "6,16,24", "--id", "visit")
    assert (code, out) == (2, "")
    assert "--mistake-cost" in err


@pytest.mark.parametrize("name", ["case", "label"])
def test_a_plan_needs_columns_of_its_own(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text(f"{name},b\n0,1\n1,1\n0,0\n")
    code, _, err = run(
        "log.csv", "--costs", "1,1", "--mistake-cost", 10, "--plan-labels", 2, "--show-outputs"
    )
    assert code == 2
    assert f"needs a column '{name}' of its own" in err
    assert [p.name for p in tmp_path.iterdir()] == ["log.csv"]


LOGS = {
    "empty.csv": (b"", "empty.csv"),
    "header.csv": (b"history,insulin,all\n", "at least one case"),
    "constant.csv": (b"history,insulin,all\n1,1,0\n0,1,1\n", "'insulin' must tell cases apart"),
    "alike.csv": (b"history,insulin,all\nYes,yes,no\nno,no,yes\n", "spelled in one way"),
    "ragged.csv": (b"history,insulin,all\n0,1,1\n1,1\n0,0,0,1\n1,1,1\n", "Columns: 3 Found: 2"),
    "latin.csv": (b"history,insulin,all\n" + b"caf\xe9,tea,tea\ntea,tea,caf\xe9\n" * 9, "nicode"),
    "words.csv": (
        b"history,insulin,all\n0,no,0\n1,yes,0\n0,no,1\n",
        "from test 'insulin' and none",
    ),
    "scores.csv": (
        b"history,insulin,all\n" + b"".join(b"0.%d1,1,0\n1,0,1\n" % n for n in range(60)),
        "got 60 different numbers such as '0.",
    ),
    "twice.csv": (b"history,insulin,all,all\n0,1,1,0\n1,1,0,1\n", "names, got all twice"),
    "corrupt.parquet": (b"PAR1 nothing PAR1", "corrupt.parquet cannot be read"),
    "empty.parquet": (b"", "empty.parquet cannot be read"),
    "log.txt.zip": (b"PK", "must be CSV or Parquet"),
}


@pytest.mark.parametrize("name", LOGS)
def test_bad_logs_are_refused(name, run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    content, message = LOGS[name]
    (tmp_path / name).write_bytes(content)
    code, printed, err = run(name, *ARGUMENTS, "--out", "report.html")
    assert (code, printed) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("json_wanted", [False, True])
def test_letters_that_the_terminal_cannot_show(json_wanted, visits):
    folder, frame, _ = visits
    named = frame[["history", "all"]].rename(columns={"history": "früh"})
    named.to_csv(folder / "log.csv", index=False)
    done = subprocess.run(
        [sys.executable, "-m", "stopwise", "audit", folder / "log.csv", "--costs", "6,16",
         "--mistake-cost", "200", *(["--json"] if json_wanted else [])],
        capture_output=True,
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")
    shown = done.stdout.decode("ascii")
    if json_wanted:
        assert json.loads(shown)["cascade"]["names"] == ["früh", "all"]
    else:
        assert "fr?h" in shown


def test_names_with_commas_are_quoted(visits, run):
    folder, frame, _ = visits
    named = frame.rename(columns={"history": "small, v1", "insulin": 'mid "q"'})
    named.to_csv(folder / "log.csv", index=False)
    code, out, err = run(
        folder / "log.csv", "--tests", '"small, v1", mid "q",all', "--costs", "6,16,24",
        "--mistake-cost", 200, "--json",
    )  # fmt: skip
    assert (code, err) == (0, "")
    assert json.loads(out)["cascade"]["names"] == ["small, v1", 'mid "q"', "all"]


def test_nothing_is_written_where_one_file_cannot_be(visits, run, monkeypatch):
    """The page comes first, the plan fails: neither is left."""
    folder, *_ = visits
    monkeypatch.chdir(folder)
    before = sorted(p.name for p in folder.iterdir())
    long = "p" * 254  # longer than a file's name may be, once it has an ending
    code, out, err = run(
        "visits.csv", *ARGUMENTS, "--out", "half.html", "--plan-labels", 5, "--plan-out", long
    )
    assert (code, out) == (2, "")
    assert "Traceback" not in err
    assert sorted(p.name for p in folder.iterdir()) == before
