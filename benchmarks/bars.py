"""What the benchmarks share: times taken in turn, and bars that are met or missed."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence


def alternating(runs: Sequence[Callable[[], object]], repeats: int) -> list[float]:
    """Return the shortest time of each, taken in turn."""
    times = [float("inf")] * len(runs)
    for _ in range(repeats):
        for k, run in enumerate(runs):
            start = time.perf_counter()
            run()
            times[k] = min(times[k], time.perf_counter() - start)
    return times


class Bars:
    """The bars of the run and those that were missed."""

    def __init__(self) -> None:
        self.missed: list[str] = []

    def line(self, what: str, ratio: float, met: bool, bar: str, note: str) -> None:
        print(f"{what}: {ratio:.2f} ({bar}{'' if met else ', MISSED'}); {note}", flush=True)
        if not met:
            self.missed.append(what)

    def at_least(self, what: str, ratio: float, bar: float, note: str) -> None:
        self.line(what, ratio, ratio >= bar, f">= {bar:g}", note)

    def at_most(self, what: str, ratio: float, bar: float, note: str) -> None:
        self.line(what, ratio, ratio <= bar, f"<= {bar:g}", note)
