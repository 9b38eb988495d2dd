"""What the first use of each compiled rule costs: python -m benchmarks.bench_compile.

CPU seconds of a first short `simulate` with nothing kept on disk, one rule after the other.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import stopwise as sw
from paper.contexts import CONTEXTUAL, world
from paper.random_instances import random_weak_tree
from stopwise.problem.families import relaxed_errors
from stopwise.simulation import compiled

# CPU seconds for everything that `make demo` compiles.
BAR = 6.0
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


def main() -> None:
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
    print(f"{'all':37s} {total:6.2f}   (bar: {BAR:.0f}{'' if total <= BAR else ', MISSED'})")


if __name__ == "__main__":
    main()
