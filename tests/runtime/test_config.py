"""Cascades described in TOML: what is wrong is said at once and completely."""

import json
import os
import subprocess
import sys

import pytest

from stopwise.errors import SettingError
from stopwise.runtime.config import check_config, load_runtime, secret

GOOD = """
name = "triage"
mistake_cost = 100
policy = "resolve"
shadow = 0

[normalise]
choices = ["even", "odd"]

[[stages]]
call = "cascade_for_test:parity"
cost = 0

[[stages]]
call = "cascade_for_test:again"
cost = 1
timeout = 5
retries = 1
"""
MODULE = """
def parity(case):
    if case == "broken":
        raise ValueError("broken")
    return "even" if int(case) % 2 == 0 else "odd"

again = parity
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    (tmp_path / "cascade_for_test.py").write_text(MODULE)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "good.toml").write_text(GOOD)
    return tmp_path


def test_a_good_file_makes_a_runtime(folder):
    assert check_config(folder / "good.toml") == []
    with load_runtime(folder / "good.toml") as runtime:
        assert runtime.cascade.names == ("parity", "parity 2")
        assert runtime.run_sync("4").answer == "even"


def test_everything_that_is_wrong_is_said(folder):
    bad = GOOD.replace("mistake_cost = 100", 'mistake_cost = "much"\nmistake_costs = 1')
    bad = bad.replace("timeout = 5", "timeout = -5\ntimeouts = 7")
    bad = bad.replace("cascade_for_test:again", "cascade_for_test:nothing")
    (folder / "bad.toml").write_text(bad + '\n[[stages]]\nmodel = "x"\nbase_url = "http://x"\n')
    found = "\n".join(check_config(folder / "bad.toml"))
    for text in (
        "mistake_cost must be int or float, got 'much'",
        "unknown key 'mistake_costs'; did you mean 'mistake_cost'?",
        "unknown key 'timeouts'; did you mean 'timeout'?",
        "'cascade_for_test:nothing' cannot be imported",
        "stage 3: a chat model must have prompt as text",
    ):
        assert text in found
    with pytest.raises(SettingError, match="cannot be used"):
        load_runtime(folder / "bad.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [("name = ", "is not TOML"), ("", "must have a name"), ('name = "a"', r"one \[\[stages\]\]")],
)
def test_files_that_describe_nothing(tmp_path, text, message):
    path = tmp_path / "c.toml"
    path.write_text(text)
    with pytest.raises(SettingError, match=message):
        load_runtime(path)


def test_secrets_come_from_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("KEY_FOR_TEST", "abc")
    path = tmp_path / "key"
    path.write_text("def\n")
    assert secret("env:KEY_FOR_TEST") == "abc"
    assert secret(f"file:{path}") == "def"
    with pytest.raises(SettingError, match="env:NAME or file:PATH"):
        secret("sk-123")
    with pytest.raises(SettingError, match="no variable NOT_THERE"):
        secret("env:NOT_THERE")


class TestRun:
    def stopwise(self, folder, *arguments):
        return subprocess.run(
            [sys.executable, "-m", "stopwise", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            env={**os.environ, "PYTHONPATH": _path(folder)},
        )

    def test_answers_are_kept_and_the_rest_goes_on(self, folder):
        cases = folder / "cases.jsonl"
        cases.write_text(
            '{"key": "a", "n": 2}\n{"key": "b", "n": "broken"}\n{"key": "c", "n": 5}\n'
        )
        command = ["run", "good.toml", "--input", "cases.jsonl", "--output", "out.jsonl"]
        first = self.stopwise(folder, *command, "--field", "n")
        assert first.returncode == 1, first.stderr
        lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        assert {line["key"]: line.get("answer") for line in lines} == {
            "a": "even",
            "b": None,
            "c": "odd",
        }
        assert "no stage gave an answer" in lines[1]["error"]
        cases.write_text(cases.read_text().replace("broken", "4"))
        with (folder / "out.jsonl").open("a") as file:
            file.write('{"key": "cut sho')
        second = self.stopwise(folder, *command, "--field", "n")
        assert second.returncode == 0, second.stderr
        assert "2 of 3 cases have answers" in second.stderr
        lines = [json.loads(line) for line in (folder / "out.jsonl").read_text().splitlines()]
        assert sorted((line["key"], line["answer"]) for line in lines) == [
            ("a", "even"),
            ("b", "even"),
            ("c", "odd"),
        ]

    def test_bad_input_is_one_line_with_its_place(self, folder):
        (folder / "cases.jsonl").write_text('{"key": 1, "n": 2}\n{"key": 1, "n": 3}\n')
        done = self.stopwise(
            folder, "run", "good.toml", "--input", "cases.jsonl", "--output", "o.jsonl"
        )
        assert done.returncode == 2
        assert "cases must have different keys, got '1' again in 2" in done.stderr
        assert not (folder / "o.jsonl").exists()

    def test_check(self, folder):
        assert self.stopwise(folder, "check", "good.toml").returncode == 0
        (folder / "bad.toml").write_text(GOOD + "shadows = 1\n")
        done = self.stopwise(folder, "check", "bad.toml")
        assert done.returncode == 2
        assert "unknown key 'shadows'" in done.stderr


def _path(folder):
    return ":".join([str(folder), *[path for path in sys.path if path]])
