"""Counting a log: python -m benchmarks.bench_audit. Ratios inside one run, one core.

In memory: the pattern histogram of 10^7 x 5 against the bandwidth of reading the same bytes, and
pair counts of 20 tests by packed bits against a NumPy loop over pairs. From Parquet: the audit's
GROUP BY over 10^7 x 20 against the plain one of DuckDB and of Polars, and the memory it takes.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import stopwise as sw
from stopwise.audit.counting import count_patterns, pair_counts

SMALL, LARGE = 5, 20


def best(run: Callable[[], object], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def columns(n: int, n_tests: int, seed: int = 0) -> np.ndarray:
    """Tests that err less and less, columns contiguous."""
    rng = np.random.default_rng(seed)
    label = rng.random(n, dtype=np.float32) < 0.4
    table = np.empty((n, n_tests), dtype=np.uint8, order="F")
    for k, rate in enumerate(np.linspace(0.2, 0.02, n_tests)):
        table[:, k] = label ^ (rng.random(n, dtype=np.float32) < rate)
    return table


def pairwise_loop(table: np.ndarray) -> np.ndarray:
    n_tests = table.shape[1]
    total = np.zeros((n_tests, n_tests), dtype=np.int64)
    for i in range(n_tests):
        for j in range(i):
            total[i, j] = np.count_nonzero(table[:, i] != table[:, j])
    return total + total.T


def in_memory(n: int, repeats: int) -> None:
    table = columns(n, SMALL)
    cascade = sw.Cascade([1.0] * SMALL)
    count_patterns(table[:1000], cascade)
    words = table.T.reshape(-1)[: n * SMALL // 8 * 8].view(np.uint64)
    read = best(lambda: np.bitwise_or.reduce(words), repeats)
    found = count_patterns(table, cascade)
    ours = best(lambda: count_patterns(table, cascade).n_disagreed, repeats)
    assert (found.n_disagreed == pairwise_loop(table)).all()
    size = table.nbytes / 1e9
    print(
        f"{n:,} x {SMALL} in memory: histogram and pairs {1e3 * ours:.1f} ms, "
        f"{size / ours:.1f} GB/s = {read / ours:.0%} of reading ({size / read:.1f} GB/s)"
    )
    wide = columns(n // 4, LARGE)
    loop = best(lambda: pairwise_loop(wide), max(repeats // 3, 1))
    packed = best(lambda: pair_counts(wide), max(repeats // 3, 1))
    assert (pair_counts(wide) == pairwise_loop(wide)).all()
    print(
        f"{n // 4:,} x {LARGE} pair counts without numba: {1e3 * packed:.0f} ms, NumPy loop "
        f"{1e3 * loop:.0f} ms, {loop / packed:.1f} times as fast"
    )


def write_parquet(path: Path, n: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"t{k}" for k in range(LARGE)]
    step, writer = 1_000_000, None
    for part in range(0, n, step):
        table = columns(min(step, n - part), LARGE, seed=part)
        block = pa.table({name: table[:, k] for k, name in enumerate(names)})
        writer = writer or pq.ParquetWriter(path, block.schema)
        writer.write_table(block)
    if writer is not None:
        writer.close()


PROGRAMS = {
    "audit": """
import stopwise as sw
from stopwise.audit.log import open_log
names = [f't{k}' for k in range(20)]
cascade = sw.Cascade([1.0] * 20, names=names)
open_log(path, cascade).histogram()
start = time.perf_counter()
found = open_log(path, cascade).histogram()
""",
    "DuckDB": """
import duckdb
duckdb.sql("set enable_progress_bar = false")
names = ', '.join(f't{k}' for k in range(20))
sql = f"select {names}, count(*) from read_parquet('{path}') group by {names}"
duckdb.sql(sql).arrow()
start = time.perf_counter()
found = duckdb.sql(sql).arrow().read_all()
""",
    "Polars": """
import polars as pl
names = [f't{k}' for k in range(20)]
plan = pl.scan_parquet(path).group_by(names).len()
plan.collect(engine='streaming')
start = time.perf_counter()
found = plan.collect(engine='streaming')
""",
}


def measured(name: str, path: Path) -> tuple[float, float]:
    """Run a program in a process of its own: seconds, and its largest memory in MB."""
    code = (
        f"import time, resource\npath = {os.fspath(path)!r}\nstart = time.perf_counter()\n"
        f"{PROGRAMS[name]}\n"
        "print(time.perf_counter() - start, "
        "resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    seconds, memory = map(float, done.stdout.split()[-2:])
    return seconds, memory


def from_parquet(n: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_parquet(path, n)
        runs = {name: [measured(name, path) for _ in range(repeats)] for name in PROGRAMS}
    seconds = {name: min(s for s, _ in found) for name, found in runs.items()}
    memory = {name: min(m for _, m in found) for name, found in runs.items()}
    plain = min(seconds["DuckDB"], seconds["Polars"])
    print(
        f"{n:,} x {LARGE} from Parquet: audit {seconds['audit']:.2f} s, DuckDB "
        f"{seconds['DuckDB']:.2f} s, Polars {seconds['Polars']:.2f} s: "
        f"{seconds['audit'] / plain:.2f} of the best; memory {memory['audit']:.0f} MB, "
        f"{memory['audit'] - memory['DuckDB']:+.0f} MB against DuckDB alone"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    in_memory(args.cases, args.repeats)
    from_parquet(args.cases, max(args.repeats // 3, 1))


if __name__ == "__main__":
    main()
