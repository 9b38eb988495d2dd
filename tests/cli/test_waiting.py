"""Long work shows a spinner on a terminal, short work and pipes show nothing."""

import io
import sys
import time

import pytest

from stopwise.cli import waiting as module
from stopwise.cli.waiting import waiting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def shown(monkeypatch, stream, *, delay, work):
    monkeypatch.setattr(module, "DELAY", delay)
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    with waiting("auditing log.csv"):
        time.sleep(work)
    return stream.getvalue()


def test_long_work_on_a_terminal_shows_a_spinner_and_removes_it(monkeypatch):
    text = shown(monkeypatch, Terminal(), delay=0.01, work=0.6)
    assert "auditing log.csv" in text
    assert text.rstrip().endswith(("\x1b[2K", "\x1b[?25h"))  # the line is erased, the cursor back


def test_short_work_shows_nothing(monkeypatch):
    assert shown(monkeypatch, Terminal(), delay=5.0, work=0.0) == ""


def test_a_pipe_shows_nothing(monkeypatch):
    assert shown(monkeypatch, io.StringIO(), delay=0.01, work=0.3) == ""


def test_an_error_goes_through_and_the_spinner_ends(monkeypatch):
    stream = Terminal()
    with pytest.raises(ValueError, match="no"):  # noqa: PT012
        monkeypatch.setattr(module, "DELAY", 0.01)
        monkeypatch.setattr(sys, "stderr", stream)
        with waiting("auditing"):
            time.sleep(0.4)
            raise ValueError("no")
    length = len(stream.getvalue())
    time.sleep(0.3)
    assert len(stream.getvalue()) == length
