"""What compiling costs: python -m benchmarks.bench_compile.

CPU seconds of a first short `simulate` with nothing kept on disk, one rule after the other. Then
the programs of `make demo` by the clock, with nothing kept on disk and with all. Fails if a bar is
missed.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars
from benchmarks.bench_startup import cpu_of_children
from paper.contexts import CONTEXTUAL, world
from paper.random_instances import random_weak_tree
from stopwise.problem.families import relaxed_errors
from stopwise.simulation import compiled

# CPU seconds for everything that `make demo` compiles.
BAR = 6.0
# Seconds of `make demo` by the clock on two cores.
DEMO = {"nothing compiled": 60, "all compiled": 40}
RULES: dict[str, Callable[[sw.Cascade], Any]] = {
    "WeakDominance": sw.WeakDominance,
    "StrongDominance": sw.StrongDominance,
    "Thompson": partial(sw.Thompson, seed=0),
    "Resolve": sw.Resolve,
}


def seven_tests() -> sw.Instance:
    """Seven tests in three branches."""
    parents = [None, 0, 1, 0, 3, 0, 5]
    cascade = sw.Cascade(costs=[0, 0.05, 0.05, 0.05, 0.1, 0.1, 0.1], parents=parents)
    return random_weak_tree(np.random.default_rng(1), cascade)


def first_use(bars: Bars) -> None:
    """CPU seconds of each rule's first use."""
    chain, tree = relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])), seven_tests()
    on_tree = {name: make for name, make in RULES.items() if name != "StrongDominance"}
    groups = {"chain": (chain, RULES), "tree": (tree, on_tree), "contexts": (world(), CONTEXTUAL)}
    total = 0.0
    with tempfile.TemporaryDirectory() as empty:
        os.environ["NUMBA_CACHE_DIR"] = empty
        compiled.PATIENCE = 0
        for group, (environment, rules) in groups.items():
            for name, make in rules.items():
                start = time.process_time()
                sw.simulate(environment, make, horizon=100, replications=1, progress=False)
                seconds = time.process_time() - start
                total += seconds
                print(f"{group:10s} {name:26s} {seconds:6.2f}", flush=True)
    bars.at_most("all that is compiled, s of CPU", total, BAR)


def demo(bars: Bars) -> None:
    """The programs of `make demo`, twice."""
    audit = "stopwise audit examples/data/visits.csv --id visit --costs 5,40,400 --mistake-cost"
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = f"{folder}/numba"
        programs = [
            f"{audit} 2000 --out {folder}/visits.html",
            f"examples.live_cascade {folder}",
            f"paper all --fresh --out {folder}/reproduction",
        ]
        for state, bar in DEMO.items():
            start, cpu = time.perf_counter(), cpu_of_children()
            for program in programs:
                command = [sys.executable, "-m", *program.split()]
                subprocess.run(command, check=True, capture_output=True)
            wall, cpu = time.perf_counter() - start, cpu_of_children() - cpu
            note = f"{cpu:.0f} s of CPU, {cpu / wall:.2f} cores busy"
            bars.at_most(f"make demo, {state}, s by the clock", wall, bar, note)


def main() -> None:
    bars = Bars()
    first_use(bars)
    demo(bars)
    bars.finish()


if __name__ == "__main__":
    main()
