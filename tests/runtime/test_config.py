"""Cascades described in TOML: what is wrong is said at once and completely."""

import json
import os
import subprocess
import sys

import pytest

from stopwise.errors import SettingError
from stopwise.runtime.config import check_config, load_runtime, secret
from tests.waiting import wait_until

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
CHAT = 'model = "x"\nbase_url = "http://x"\nprompt = "{case}"\noptions = 3'
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
    monkeypatch.setattr(sys, "path", list(sys.path))  # the folder of a configuration is added
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "cascade_for_test", raising=False)
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
    problems = "\n".join(check_config(folder / "bad.toml"))
    for text in (
        "mistake_cost must be int or float, got 'much'",
        "unknown key 'mistake_costs'; did you mean 'mistake_cost'?",
        "unknown key 'timeouts'; did you mean 'timeout'?",
        "'cascade_for_test:nothing' cannot be imported",
        "stage 3: a chat model must have prompt as text",
    ):
        assert text in problems
    with pytest.raises(SettingError, match="cannot be used"):
        load_runtime(folder / "bad.toml")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("shadow = 0", "shadow = 5", "shadow must lie in [0, 1], got 5"),
        ('"resolve"', '"guess"', "policy must be one of beliefs, resolve, got 'guess'"),
        ("shadow = 0", 'store = "redis://x"', "store: it must begin with one of memory, sqlite"),
        ("shadow = 0", 'store = "postgresql://me:secret@host/x"', "store: a URL with a password"),
        ("shadow = 0", "monitor = 3", "monitor must be a table, got 3"),
        ('["even", "odd"]', '"even"', "choices: it must be a list, got 'even'"),
        ('choices = ["even", "odd"]', 'text = "yes"', "text: it must be a table, got 'yes'"),
        ('call = "cascade_for_test:again"', CHAT, "stage 2: options must be a table, got 3"),
        ("cascade_for_test:again", "breaks_for_test:f", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_check_finds_what_a_run_would(folder, old, new, message):
    (folder / "breaks_for_test.py").write_text("1 / 0\n")
    (folder / "bad.toml").write_text(GOOD.replace(old, new))
    (problem,) = check_config(folder / "bad.toml")
    assert message in problem
    assert "secret" not in problem


def test_a_store_with_a_password_comes_from_elsewhere(folder, monkeypatch, url):
    monkeypatch.setenv("STORE_FOR_TEST", url)
    path = folder / "with_store.toml"
    path.write_text(GOOD.replace("shadow = 0", 'store = "env:STORE_FOR_TEST"'))
    with load_runtime(path) as runtime:
        assert runtime.worker.store.url == url


def test_a_file_says_where_journals_are_and_what_a_case_survives(folder, tmp_path, url):
    lines = f'store = "{url}"\njournals = "{tmp_path / "a" / "b"}"\ndurability = "disk"'
    path = folder / "with_journals.toml"
    path.write_text(GOOD.replace("shadow = 0", lines))
    assert check_config(path) == []
    with load_runtime(path) as runtime:
        assert runtime.worker.directory == tmp_path / "a" / "b"
        assert runtime.worker.durability == "disk"
    path.write_text(GOOD.replace("shadow = 0", 'durability = "safe"'))
    assert check_config(path) == [
        "the file: durability must be memory or process or disk, got 'safe'",
        "the file: journals and durability need a store",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "is not TOML"),
        ("a = " + "[" * 9_999, "nested too deeply"),
        ("", "must have a name"),
        ('name = "a"', r"one \[\[stages\]\]"),
    ],
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
    COMMAND = ("run", "good.toml", "--input", "cases.jsonl", "--output")

    @staticmethod
    def read(path):
        return {entry["key"]: entry for entry in map(json.loads, path.read_text().splitlines())}

    def test_answers_are_kept_and_the_rest_goes_on(self, folder, main):
        cases, out = folder / "cases.jsonl", folder / "out.jsonl"
        cases.write_text(
            '{"key": "a", "n": 2}\n{"key": "b", "n": "broken"}\n{"key": "c", "n": 5}\n'
        )
        code, _, err = main(*self.COMMAND, out.name, "--field", "n")
        assert code == 1, err
        entries = self.read(out)
        assert "no stage gave an answer" in entries.pop("b")["error"]
        assert {key: entry["answer"] for key, entry in entries.items()} == {"a": "even", "c": "odd"}
        for entry in entries.values():
            assert entry["outputs"][entry["stage"]] == entry["answer"]
        cases.write_text(cases.read_text().replace("broken", "4"))
        with out.open("a") as file:
            file.write('{"key": "cut sho')
        code, _, err = main(*self.COMMAND, out.name, "--field", "n")
        assert code == 0, err
        assert "2 of 3 cases have answers" in err
        assert len(out.read_text().splitlines()) == 3
        answers = {key: entry["answer"] for key, entry in self.read(out).items()}
        assert answers == {"a": "even", "b": "even", "c": "odd"}

    def test_odd_letters_are_written_and_read_again(self, folder, main):
        stage = '[[stages]]\ncall = "builtins:str"\ncost = 1\n'
        (folder / "echo.toml").write_text(f'name = "echo"\n{stage}')
        texts = ["\ud800", "a\u2028b", "ü"]
        lines = [json.dumps({"key": f"k\u2028{k}", "x": text}) for k, text in enumerate(texts)]
        (folder / "cases.jsonl").write_text("\n".join(lines))
        command = ["run", "echo.toml", *self.COMMAND[2:], "out.jsonl", "--field", "x"]
        assert [main(*command)[0] for _ in range(2)] == [0, 0]
        written = (folder / "out.jsonl").read_text(encoding="utf-8").strip().split("\n")
        assert [json.loads(line)["answer"] for line in written] == texts
        assert '"ü"' in written[2]

    @pytest.mark.parametrize("text", ["notes\n", '{"key": "a", "n": 2}\n', "notes\nmore\n"])
    def test_a_file_that_holds_no_answers_is_left_alone(self, folder, main, text):
        cases = folder / "cases.jsonl"
        cases.write_text(text)
        code, _, err = main(*self.COMMAND, cases.name)
        assert code == 2
        assert "--output must hold answers or not exist" in err
        assert cases.read_text() == text

    @pytest.mark.parametrize(
        ("line", "output", "message"),
        [
            ('{"key": "a", "n":', "o.jsonl", "line 1 is neither"),
            ('{"key": 1}\n{"key": 1}', "o.jsonl", "different keys, got '1' again in 2"),
            ("2", "no/o.jsonl", "--output: the directory no does not exist"),
            ('{"key": "a"}', "o.jsonl --key id", "line 1 has no field 'id'"),
            ('{"key": "\\ud800"}', "o.jsonl", "the key in line 1 must have no NUL and no half of"),
        ],
    )
    def test_what_is_wrong_is_found_before_the_work(self, folder, main, line, output, message):
        (folder / "cases.jsonl").write_text(f"{line}\n")
        code, _, err = main(*self.COMMAND, *output.split())
        assert code == 2
        assert message in err
        assert not (folder / output.split()[0]).exists()

    def test_answers_are_there_after_an_interruption(self, folder):
        """The third case hangs; the answers of the first two are in the file by then."""
        module = MODULE + "import time\ndef slow(case):\n    time.sleep(60 * (case == 3))\n"
        (folder / "cascade_for_test.py").write_text(module + "    return parity(case)\n")
        (folder / "slow.toml").write_text(GOOD.replace(":parity", ":slow"))
        (folder / "cases.jsonl").write_text("1\n2\n3\n")
        out = folder / "out.jsonl"
        command = ["run", "slow.toml", "--input", "cases.jsonl", "--output", out.name]
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "stopwise", *command],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": ":".join(path for path in sys.path if path)},
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_until(lambda: out.exists() and len(out.read_text().splitlines()) == 2)
        finally:
            process.kill()
            process.wait()
        assert self.read(out).keys() == {"1", "2"}

    def test_check(self, folder, main):
        assert main("check", "good.toml")[0] == 0
        (folder / "bad.toml").write_text(GOOD + "shadows = 1\n")
        code, _, err = main("check", "bad.toml")
        assert code == 2
        assert "unknown key 'shadows'" in err
