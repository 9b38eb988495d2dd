"""Audits of logs that take most work: python -m benchmarks.bench_hard_logs.

CPU seconds on one core; bytes against wide integers as a ratio. Fails if a bar is missed.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars, one_core
from benchmarks.bench_audit import columns
from stopwise.auditing.price_map import price_map
from stopwise.reading import open_log

MILLION = 1_000_000


def cpu_seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Return the shortest of some times."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def in_bytes(bars: Bars) -> None:
    """A million rows of five bytes, the first thing that a new process counts."""
    program = """
import time, numpy as np, stopwise as sw
from stopwise.reading import open_log
table = np.random.default_rng(0).integers(0, 2, (1_000_000, 5)).astype({kind!r})
start = time.process_time()
open_log(table, sw.Cascade([1.0] * 5)).table()
print(time.process_time() - start)
"""
    seconds = {
        kind: min(
            float(subprocess.check_output([sys.executable, "-c", program.format(kind=kind)]))
            for _ in range(3)
        )
        for kind in ("uint8", "int64")
    }
    note = ", ".join(f"{kind} {s:.3f} s" for kind, s in seconds.items())
    ratio = seconds["uint8"] / seconds["int64"]
    bars.at_most("a million x 5 bytes in a new process, times 64-bit integers", ratio, 1.5, note)


def of_many_values(bars: Bars) -> None:
    """A million rows of four tests with 150 values: more patterns of values than are kept."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, 150, MILLION)
    wrong = rng.random((MILLION, 4)) < np.linspace(0.4, 0.1, 4)
    table = np.where(wrong, rng.integers(0, 150, wrong.shape), label[:, None])
    cascade = sw.Cascade([1.0] * 4, mistake_cost=20)
    counted = open_log(table, cascade).table()
    seconds = cpu_seconds(lambda: sw.audit(table, cascade), 1)
    note = f"{len(counted.weights):,} patterns of agreement"
    bars.at_least("150 values: counted by agreement", float(counted.agreement_only), 1, note)
    bars.at_most("  seconds of its audit", seconds, 5)


def with_gaps(bars: Bars) -> None:
    """Sixteen tests, of which a tenth of the outputs are missing."""
    outputs = columns(5_000, 16).astype(object)
    outputs[np.random.default_rng(1).random(outputs.shape) < 0.1] = None
    seconds = cpu_seconds(lambda: sw.audit(outputs, sw.Cascade([1.0] * 16, mistake_cost=50)), 1)
    bars.at_most("gaps in 16 tests, seconds of an audit", seconds, 5)


def over_prices(bars: Bars) -> None:
    """The map over all prices of a mistake with thirty tests."""
    rng = np.random.default_rng(0)
    rates = np.sort(rng.uniform(0.01, 0.5, 30))[::-1]
    differences = rates[:, None] - rates[None, :] + rng.uniform(0, 0.1, (30, 30))
    cascade = sw.Cascade(rng.uniform(0.1, 1, 30).tolist(), mistake_cost=50)
    seconds = cpu_seconds(lambda: price_map(differences, differences + 0.05, rates, cascade))
    bars.at_most("price map of 30 tests, seconds", seconds, 1)


@one_core()
def main() -> None:
    bars = Bars()
    in_bytes(bars)
    of_many_values(bars)
    with_gaps(bars)
    over_prices(bars)
    bars.finish()


if __name__ == "__main__":
    main()
