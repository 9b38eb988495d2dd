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


def written_by(monkeypatch, stderr, *, total=4, show=True, until=None):
    """What is written to stderr by work that lasts until some text is there, or a moment."""
    patience = time.monotonic() + (20 if until else 0.1)
    # Not in a fixture: pytest puts its own stderr in place when the test starts.
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", stderr)
        with Progress(total, "simulating", show=show) as bar:
            bar.advance()
            while (until is None or until not in stderr.getvalue()) and time.monotonic() < patience:
                time.sleep(0.01)
            bar.advance(2)
    return stderr.getvalue()


def test_long_work_shows_a_bar(monkeypatch):
    text = written_by(monkeypatch, Terminal(), until="1/4")
    assert "simulating" in text
    assert "1/4" in text
    assert "3/4" in text


def test_work_of_unknown_length_shows_a_spinner_and_removes_it(monkeypatch):
    text = written_by(monkeypatch, Terminal(), total=None, until="simulating")
    assert "simulating" in text
    assert "/" not in text
    # The line is erased, and the cursor is back.
    assert text.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))


def test_an_error_goes_through_and_the_bar_ends(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with pytest.raises(ValueError, match="no"), Progress(None, "simulating"):  # noqa: PT012
        time.sleep(0.2)
        raise ValueError("no")
    length = len(terminal.getvalue())
    assert length
    time.sleep(0.3)
    assert len(terminal.getvalue()) == length


@pytest.mark.parametrize(
    ("stderr", "show", "delay"),
    [(Terminal(), True, 60), (Terminal(), False, 0.01), (io.StringIO(), True, 0.01)],
    ids=["short work", "unwanted", "no terminal"],
)
def test_nothing_is_shown(monkeypatch, stderr, show, delay):
    monkeypatch.setattr(progress, "DELAY", delay)
    assert written_by(monkeypatch, stderr, show=show) == ""


def test_rich_is_not_needed(monkeypatch):
    for name in ("rich.console", "rich.progress"):
        monkeypatch.setitem(sys.modules, name, None)
    assert written_by(monkeypatch, Terminal()) == ""
