"""What reaches a terminal, whatever a log holds and however poor the locale."""

import json
import os
import subprocess
import sys

import pytest

from stopwise.cli.printing import visible

CLEAR = "\x1b[2J"  # clears the screen of a terminal that obeys it
PRICES = ("--costs", "1,2", "--mistake-cost", "1")


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"a{CLEAR},b\x9b\n" + "0,0\n1,1\n0,1\n" * 30)
    return path


def test_names_do_not_command_the_terminal(log, main):
    code, out, err = main("audit", log, *PRICES)
    assert (code, err) == (0, "")
    assert "\x1b" not in out
    assert "\x9b" not in out
    assert "a?[2J" in out
    code, out, _ = main("audit", log, *PRICES, "--json")
    assert "\x9b" not in out
    assert "b\x9b" in json.dumps(json.loads(out), ensure_ascii=False)


def test_errors_do_not_command_the_terminal(log, main):
    code, out, err = main("audit", log, *PRICES, "--tests", f"{CLEAR},b")
    assert (code, out) == (2, "")
    assert "\x1b" not in err
    assert r"\u001b[2J" in err


def test_lines_and_letters_stay():
    assert visible("γ\tβ\n") == "γ\tβ\n"


def test_no_log_is_not_the_folder(log, main, monkeypatch):
    monkeypatch.chdir(log.parent)
    code, out, err = main("audit", "", *PRICES, "--out", "page.html")
    assert (code, out, err) == (2, "", "stopwise: log must be a path, got ''\n")


def test_a_plain_locale_reads_and_writes_all_names(tmp_path):
    """Where Python is kept from taking UTF-8 in its stead."""
    path, page = tmp_path / "größe.csv", tmp_path / "größe.html"
    path.write_text("größe,b\n" + "ä,ä\nö,ö\nä,ö\n" * 30, encoding="utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    arguments = ["audit", os.fsencode(path), *PRICES, "--out", os.fsencode(page)]
    done = subprocess.run(
        [sys.executable, "-m", "stopwise", *arguments],
        env={**os.environ, **plain},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert "größe" in page.read_text(encoding="utf-8")


def test_ctrl_c_while_modules_are_loaded(main, monkeypatch):
    class Interrupt:
        def find_spec(self, name, *_):
            if name == "stopwise.cli.commands":
                raise KeyboardInterrupt

    monkeypatch.delitem(sys.modules, "stopwise.cli.commands", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Interrupt(), *sys.meta_path])
    assert main("audit") == (130, "", "")


def test_a_missing_file_is_named_without_the_number_of_the_error(main, tmp_path):
    code, _, err = main("check", tmp_path / "nope.toml")
    assert (code, err) == (2, f"stopwise: {tmp_path}/nope.toml: No such file or directory\n")


def test_a_recording_with_the_label_alone_lacks_tests(main, tmp_path):
    (tmp_path / "log.csv").write_text("y\n1\n")
    code, _, err = main("simulate", "--csv", tmp_path / "log.csv", "--costs", "0")
    assert code == 2
    assert "must have columns of tests besides an id and a label, got none" in err
