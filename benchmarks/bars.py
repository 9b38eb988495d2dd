"""What the benchmarks share: times taken in turn, one core, and bars that are met or missed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager


def alternating(runs: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Return the shortest time of each, taken in turn."""
    times = [float("inf")] * len(runs)
    for _ in range(repeats):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


def cpu_seconds(run: Callable[[], object]) -> float:
    """Return the processor time of a call, which other work on the machine disturbs least."""
    start = time.process_time()
    run()
    return time.process_time() - start


@contextmanager
def one_core() -> Iterator[None]:
    """Pin this process to one core for a while, where that is possible."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cores)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, cores)


class Bars:
    """The bars of the run and those that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def at_least(self, what: str, value: float, bar: float, note: str = "") -> None:
        self._line(what, value, f">= {bar:g}", note, met=value >= bar)

    def at_most(self, what: str, value: float, bar: float, note: str = "") -> None:
        self._line(what, value, f"<= {bar:g}", note, met=value <= bar)

    def _line(self, what: str, value: float, bar: str, note: str, *, met: bool) -> None:
        verdict = bar if met else f"{bar}, MISSED"
        remark = f"; {note}" if note else ""
        print(f"{what}: {value:,.2f} ({verdict}){remark}", flush=True)
        if not met:
            self.missed.append(what)

    def finish(self) -> None:
        """End the program with an error if a bar was missed."""
        if self.missed:
            raise SystemExit(f"missed: {', '.join(self.missed)}")
