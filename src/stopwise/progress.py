"""A progress bar or a spinner for work that takes long, on a terminal; nothing anywhere else."""

from __future__ import annotations

import sys
import threading
from typing import Any, Self

# Seconds of silence: what is over sooner needs no bar.
DELAY = 2.0


class Progress:
    """Counts finished steps and shows them once the work has taken `DELAY` seconds.

    Silent where stderr is not a terminal or rich is not installed.

    Parameters
    ----------
    total
        The number of steps; ``None`` where they are not known: then a spinner is shown.
    what
        What is going on, in a word before the bar.
    show
        Whether a bar is wanted at all.
    """

    def __init__(self, total: int | None, what: str, *, show: bool = True) -> None:
        self._total = total
        self._what = what
        self._done = 0
        self._bar: Any = None
        self._lock = threading.Lock()
        self._timer = threading.Timer(DELAY, self._open)
        self._timer.daemon = True
        self._shows = show and sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> Self:
        if self._shows:
            self._timer.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._timer.cancel()
        with self._lock:
            self._shows = False
            if self._bar is not None:
                self._bar.stop()

    def advance(self, steps: int = 1) -> None:
        """Note that ``steps`` more are done."""
        with self._lock:
            self._done += steps
            if self._bar is not None:
                self._bar.update(self._bar.task_ids[0], completed=self._done)

    def _open(self) -> None:
        """Start the bar; in the thread of the timer, so that one long step shows as well."""
        try:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                SpinnerColumn,
                TimeElapsedColumn,
            )
            from rich.progress import Progress as Bar
        except ImportError:
            return
        with self._lock:
            if not self._shows:
                return
            if self._total is None:
                columns: tuple[Any, ...] = (SpinnerColumn(), self._what)
            else:
                columns = (self._what, BarColumn(), MofNCompleteColumn())
            console = Console(stderr=True)
            self._bar = Bar(*columns, TimeElapsedColumn(), console=console, transient=True)
            self._bar.add_task(self._what, total=self._total, completed=self._done)
            self._bar.start()
