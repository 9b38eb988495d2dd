"""A spinner with a clock for work that takes long, on a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

DELAY = 2.0  # seconds of silence: what is over sooner needs no spinner


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show ``text`` on stderr while the block runs, once it has taken `DELAY` seconds.

    The spinner is gone when the block ends, however it does. Nothing is shown where stderr is no
    terminal or rich is not installed.
    """
    if sys.stderr is None or not sys.stderr.isatty():
        yield
        return
    lock = threading.Lock()
    shown: list[Any] = []
    over = threading.Event()

    def show() -> None:
        try:
            from rich.console import Console
            from rich.progress import Progress, SpinnerColumn, TimeElapsedColumn
        except ImportError:
            return
        with lock:
            if over.is_set():
                return
            console = Console(stderr=True)
            columns = (SpinnerColumn(), text, TimeElapsedColumn())
            shown.append(Progress(*columns, console=console, transient=True))
            shown[0].add_task(text, total=None)
            shown[0].start()

    timer = threading.Timer(DELAY, show)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        over.set()
        timer.cancel()
        with lock:
            for spinner in shown:
                spinner.stop()
