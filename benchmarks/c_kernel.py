"""Algorithm 2 round by round in C, for `bench_simulation`."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import stopwise as sw
from stopwise.policies.compiled_rule import declared_rule
from stopwise.simulation.world import World


class CWorld(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int64) for name in ("K", "R", "P")),
        *((name, ctypes.c_void_p) for name in ("prices", "adds", "keep", "ends", "alike")),
        ("exploration", ctypes.c_double),
        *((name, ctypes.c_uint64) for name in ("state", "step")),
    )


def c_kernel(horizon: int) -> Callable[[World, Any], Any] | None:
    """Compile kernel.c, which plays ``horizon`` rounds; None without a compiler."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        print("no C compiler: the comparison with C is left out")
        return None
    folder = tempfile.mkdtemp()
    target = Path(folder) / "kernel.so"
    source = Path(__file__).with_name("kernel.c")
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, str(source), "-o", str(target), "-lm"], check=True)
    library = ctypes.CDLL(str(target))
    shutil.rmtree(folder)

    def play(world: World, key: Any) -> Any:
        rule = declared_rule(sw.WeakDominance(world.cascade))
        prices, rows = rule.tables.prices, world.rows(counts_errors=False)
        arrays = (prices, rows.adds, rows.keep, rows.ends, rows.alike)
        given = CWorld(
            len(prices),
            *rows.adds.shape,
            *(array.ctypes.data for array in arrays),
            rule.tables.settings[0],
            *map(int, key),
        )
        stops = np.zeros(len(prices), dtype=np.int64)
        library.play(
            ctypes.byref(given), ctypes.c_int64(horizon), ctypes.c_void_p(stops.ctypes.data)
        )
        return stops

    return play
