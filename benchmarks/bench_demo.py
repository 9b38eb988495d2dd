"""The paper's experiments and sweeps on two cores: python -m benchmarks.bench_demo.

By the clock, so the machine has to be free. ``make demo`` runs the experiments after set-up, once
with nothing compiled and once with all kernels kept on disk. Fails if a bar is missed.
"""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from functools import partial

import stopwise as sw
from benchmarks.bars import Bars, alternating
from stopwise.problem.families import relaxed_errors

REPEATS = 5
# Runs, rounds, and how many times faster two jobs have to be than one.
SWEEPS = {"short": (5, 1_000, 1.0), "long": (40, 300_000, 1.6)}


def experiments(kept: str) -> tuple[float, float]:
    """Return the seconds of all experiments by the clock and of CPU; kernels are in ``kept``."""
    with tempfile.TemporaryDirectory() as out:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "paper", "all", "--out", out],
            env={**os.environ, "NUMBA_CACHE_DIR": kept},
            check=True,
            capture_output=True,
        )
        seconds = time.perf_counter() - start
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, cpu


def the_experiments(bars: Bars) -> None:
    with tempfile.TemporaryDirectory() as kept:
        for name, bar in (("nothing compiled", 60), ("all compiled", 40)):
            seconds, cpu = experiments(kept)
            note = f"{cpu:.0f} s of CPU, {cpu / seconds:.2f} cores busy"
            bars.at_most(f"the paper's experiments, {name}, seconds", seconds, bar, note)


def sweeps(bars: Bars) -> None:
    """Four worlds and three policies, two jobs against one, in turn."""
    worlds = {
        f"{price:g}": relaxed_errors(sw.Cascade(costs=[0, 0.1, price]))
        for price in (0.15, 0.2, 0.25, 0.3)
    }
    policies = {name: getattr(sw, name) for name in ("WeakDominance", "Resolve", "Thompson")}
    for name, (runs, rounds, bar) in SWEEPS.items():
        play = partial(sw.sweep, worlds, policies, horizon=rounds, replications=runs)
        jobs = [partial(play, n_jobs=n, progress=False) for n in (1, 2)]
        alternating(jobs, 1)  # what is compiled once
        ratios = [one / two for one, two in (alternating(jobs, 1) for _ in range(REPEATS))]
        note = f"{min(ratios):.2f} to {max(ratios):.2f}"
        bars.at_least(
            f"{name} sweep, times faster with two jobs", statistics.median(ratios), bar, note
        )


def main() -> None:
    bars = Bars()
    the_experiments(bars)
    sweeps(bars)
    bars.finish()


if __name__ == "__main__":
    main()
