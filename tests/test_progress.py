import io
import sys
import time

import pytest

from stopwise import progress
from stopwise.progress import Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def impatience(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 0.01)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)


def shown(monkeypatch, *, stderr, show=True):
    """What is written to stderr by work that lasts until a bar is there, or a moment."""
    patience = time.monotonic() + (20 if show and stderr.isatty() else 0.1)
    # Not in a fixture: pytest puts its own stderr in place when the test starts.
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        with Progress(4, "simulating", show=show) as bar:
            bar.advance()
            while "1/4" not in stderr.getvalue() and time.monotonic() < patience:
                time.sleep(0.01)
            bar.advance(2)
    return stderr.getvalue()


def test_long_work_shows_a_bar(monkeypatch):
    written = shown(monkeypatch, stderr=Terminal())
    assert "simulating" in written
    assert "1/4" in written
    assert "3/4" in written


def test_short_work_shows_nothing(monkeypatch):
    monkeypatch.setattr(progress, "DELAY", 60)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(1, "simulating") as bar:
        bar.advance()
    assert terminal.getvalue() == ""


def test_nothing_is_shown_to_who_does_not_want_it(monkeypatch):
    assert shown(monkeypatch, stderr=Terminal(), show=False) == ""


def test_nothing_is_shown_where_there_is_no_terminal(monkeypatch):
    assert shown(monkeypatch, stderr=io.StringIO()) == ""


def test_rich_is_not_needed(monkeypatch):
    for name in ("rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress(1, "simulating"):
        time.sleep(0.1)
    assert terminal.getvalue() == ""
