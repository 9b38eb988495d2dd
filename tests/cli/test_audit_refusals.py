"""What the audit command refuses: one line, and nothing is written."""

import pytest

from stopwise.cli.number_options import number
from tests.cli.test_audit import ARGUMENTS

REFUSED = {
    "unknown column": (["--tests", "history,insulinn,all", "--costs", "6,16,24"], "'insulin'?"),
    "costs that do not match": (
        ["--tests", "history,all", "--costs", "6,16,24"],
        "got 3 for 2 tests: history, all; --tests gives their columns\n",
    ),
    "the id as a test": (
        ["--tests", "history,visit", "--costs", "6,16", "--id", "visit"],
        "tests must be columns other than the case id, got 'visit' as both",
    ),
    "an id as a test": (
        ["--tests", "history,visit", "--costs", "6,16"],
        "from test 'visit' and none of them from any other test: it looks like an id",
    ),
    "a column of ids": (
        ["--tests", "visit,history,all", "--costs", "6,16"],
        "--tests gives their columns, and --id the column of case ids",
    ),
    "costs that are no numbers": (["--costs", "6,x"], "--costs must look like 6,16,24, got '6,x'"),
    "negative cost": (["--tests", "history,all", "--costs", "6,-1"], "costs must be >= 0"),
    "one test only": (["--tests", "all", "--costs", "6"], "at least two tests"),
    "no directory": (
        ["--out", "nowhere/report.html"],
        "--out: the directory nowhere does not exist",
    ),
    "a directory": (["--out", "."], "--out must be a file"),
    "bad prevalence": (["--prevalence", "yes"], "must look like yes=0.1:0.3"),
    "backwards prevalence": (["--prevalence", "yes=0.5:0.1"], "low <= high"),
    "bad bound": (["--errs-at-most", "all"], "must look like all=0.02"),
    "contradiction": (
        ["--errs-at-most", "all=0", "--errs-at-most", "history=0"],
        "cannot be at once that 'all' errs in at most 0 of the cases; and that 'history'",
    ),
    "no such labels": (["--labels", "nowhere.csv"], "no such file"),
    "a negative plan": (["--plan-labels", "-3"], "--plan-labels must be a whole"),
    "a negative seed": (["--seed", "-1", "--plan-labels", "5"], "--seed must be a"),
    "labels in another column": (
        ["--id", "visit", "--labels", "diagnosis.csv"],
        "got visit, Diagnosis (--label-column names another, in Python label_column)",
    ),
    "an empty plan": (["--plan-labels", 0], "--plan-labels must be a whole number >= 1, got 0"),
    "a sheet of no plan": (["--plan-out", "x.csv"], "--plan-out must come with --plan-labels"),
    "a seed of no plan": (["--seed", 0], "--seed must come with --plan-labels"),
    "outputs of no plan": (["--show-outputs"], "--show-outputs must come with --plan-labels"),
    "a column of no labels": (["--label-column", "x"], "--label-column must come with --labels"),
    "a spreadsheet as a sheet": (
        ["--plan-labels", "5", "--plan-out", "cases.xlsx"],
        "--plan-out must end in .csv (for spreadsheets), .json or .jsonl, got cases.xlsx",
    ),
    "bad SQL": (["--query", "selekt 1"], "cannot be read"),
    "the name of the file in SQL": (
        ["--query", "select * from visits"],
        "query must select from the table log, which is visits.csv, got 'select * from visits'",
    ),
    "no such id": (["--id", "vist"], "the case id (--id, case_id) must be one of"),
    "no table": (["--table", "visits"], "is none"),
    # What would overwrite a file of the user.
    "the log": (
        ["--plan-labels", 5, "--plan-out", "visits.csv"],
        "--plan-out must be a file of its own, visits.csv is a file of",
    ),
    "the log by another name": (
        ["--plan-labels", 5, "--plan-out", "./sub/../visits.csv"],
        "is a file of the log already",
    ),
    "a page with another suffix": (
        ["--out", "report.pdf"],
        "--out must end in .html or .htm, got report.pdf",
    ),
    "the labels with the next plan": (
        ["--labels", "to-label.csv", "--plan-labels", 5],
        "--plan-out must be a file of its own, to-label.csv is --labels already",
    ),
    "a plan that is filled in": (
        ["--plan-labels", 5],
        "to-label.csv, which is not an untouched label sheet: read labels with --labels",
    ),
    "a plan that a spreadsheet saved": (
        ["--plan-labels", 5, "--plan-out", "saved.csv"],
        "--plan-out must not overwrite saved.csv, which is not an untouched label sheet",
    ),
    "a plan with another header": (
        ["--plan-labels", 5, "--plan-out", "diagnosis.csv"],
        "--plan-out must not overwrite diagnosis.csv",
    ),
    "a plan with notes": (
        ["--plan-labels", 5, "--plan-out", "notes.csv"],
        "--plan-out must not overwrite notes.csv",
    ),
    "annotations": (
        ["--plan-labels", 5, "--plan-out", "done.json"],
        "--plan-out must not overwrite done.json",
    ),
    # Numbers as people write them.
    "a currency": (["--mistake-cost", "$2,000"], "got '$2,000': write 2000, without signs"),
    "currencies": (["--costs", "$6,16,$24"], "got '$6,16,$24': write 6,16,24, without signs"),
    "a decimal comma": (["--mistake-cost", "2.000,50"], "write 2000.5, without signs"),
    "percent": (["--errs-at-most", "all=2%"], "got 'all=2%': write 0.02 for 2%"),
    "confidence above 1": (["--confidence", "2"], "--confidence must lie in (0, 1), got 2\n"),
    "a negative price": (["--mistake-cost", "-2"], "--mistake-cost must be > 0, got -2"),
    "confidence in percent": (["--confidence", "95"], "must lie in (0, 1), got 95: write 0.95"),
    "thousands or decimals": (["--mistake-cost", "2.000"], "got 2.000: write 2 or 2000"),
    "thousands among costs": (["--costs", "6,16,240.000"], "got 240.000: write 240 or 240000"),
    "millions": (["--mistake-cost", "1.000.000"], "write 1000000, without signs"),
    "costs that fall": (["--cumulative-costs", "--costs", "6,5,9"], "must not fall from test to"),
    "a name that is too long": (
        ["--plan-labels", 5, "--plan-out", "p" * 250 + ".csv"],
        "cannot be written",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_cannot_be_is_one_line_and_changes_nothing(what, visits, run, monkeypatch):
    folder, *_ = visits
    monkeypatch.chdir(folder)
    (folder / "to-label.csv").write_text("case,history,insulin,all,label\n1,0,1,1,yes\n")
    (folder / "saved.csv").write_text("\ufeffcase;label\n1;yes\n2;\n", encoding="utf-8")
    (folder / "diagnosis.csv").write_text("visit,Diagnosis\n500,yes\n")
    (folder / "notes.csv").write_text("visit,label,notes\n500,,see file\n")
    (folder / "done.json").write_text('[{"id": "500", "annotations": [], "label": null}]')
    (folder / "sub").mkdir()
    before = {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    arguments, message = REFUSED[what]
    out = [] if "--out" in arguments else ["--out", "report.html"]
    code, printed, err = run("visits.csv", *ARGUMENTS, *arguments, *out)
    assert (code, printed) == (2, "")
    assert message in err
    assert err.startswith("stopwise: ")
    assert len(err.splitlines()) == 1
    assert {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()} == before


def test_a_file_of_a_folder_is_not_overwritten_and_an_empty_plan_is(visits, run, monkeypatch):
    folder, *_ = visits
    monkeypatch.chdir(folder)
    (folder / "parts").mkdir()
    (folder / "visits.csv").rename(folder / "parts" / "1.csv")
    code, _, err = run("parts", *ARGUMENTS, "--plan-labels", 5, "--plan-out", "parts/1.csv")
    assert code == 2
    assert "parts/1.csv is a file of the log already" in err
    for sheet in ("to-label.csv", "to-label.json", "to-label.jsonl") * 2:
        code, _, err = run("parts", *ARGUMENTS, "--plan-labels", 5, "--plan-out", sheet)
        assert (code, err) == (0, "")


@pytest.mark.parametrize("price", ["0.125", "1.5", "2.0", "20.125", "0.000", "2000.000"])
def test_decimals_are_read_as_they_are(price):
    assert number("--costs", price) == float(price)


LOGS = {
    "empty.csv": (b"", "empty.csv"),
    "header.csv": (b"history,insulin,all\n", "at least one case"),
    "latin.csv": (b"history,insulin,all\n" + b"caf\xe9,tea,tea\ntea,tea,caf\xe9\n" * 9, "nicode"),
    "scores.csv": (
        b"history,insulin,all\n" + b"".join(b"0.%d1,1,0\n1,0,1\n" % n for n in range(60)),
        "got 60 different numbers such as '0.",
    ),
    "corrupt.parquet": (b"PAR1 nothing PAR1", "corrupt.parquet cannot be read"),
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
