"""Counting a log: python -m benchmarks.bench_audit. Ratios inside one run, one core.

Each count is compared with GROUP BY over the same columns in DuckDB and in Polars: 10^7 x 5 in
memory, 2 x 10^6 x 5 from CSV (DuckDB), 10^7 x 20 from Parquet, each there in a process of its own,
with the memory it takes. Then what wide logs, gaps and many values cost, in CPU seconds. Fails if a
bar is missed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars, alternating, cpu_seconds, one_core
from stopwise.auditing.price_map import PriceMap
from stopwise.reading import open_log

SMALL, LARGE = 5, 20


def columns(n: int, n_tests: int, seed: int = 0) -> np.ndarray:
    """Tests that err less and less, columns contiguous."""
    rng = np.random.default_rng(seed)
    label = rng.random(n, dtype=np.float32) < 0.4
    table = np.empty((n, n_tests), dtype=np.uint8, order="F")
    for k, rate in enumerate(np.linspace(0.2, 0.02, n_tests)):
        table[:, k] = label ^ (rng.random(n, dtype=np.float32) < rate)
    return table


def in_memory(bars: Bars, n: int, repeats: int) -> None:
    import duckdb
    import polars as pl

    table, names = columns(n, SMALL), [f"t{k}" for k in range(SMALL)]
    cascade = sw.Cascade([1.0] * SMALL, names=names)
    frame = pl.DataFrame({name: table[:, k] for k, name in enumerate(names)})
    con = duckdb.connect()
    con.register("frame", frame.to_arrow())
    con.execute("create table log as from frame")
    query = f"select {', '.join(names)}, count(*) from log group by all"
    plan = frame.lazy().group_by(names).len()
    assert open_log(table, cascade).table().weights.tolist() == sorted_counts(con, query)
    ours, duck, polars = alternating(
        [
            lambda: open_log(table, cascade).table(),
            lambda: con.execute(query).fetchall(),
            lambda: plan.collect(engine="streaming"),
        ],
        repeats,
    )
    bars.at_most(
        f"{n:,} x {SMALL} in memory, times the faster of DuckDB and Polars",
        ours / min(duck, polars),
        1.0,
        f"{1e3 * ours:.0f} ms, DuckDB {1e3 * duck:.0f} ms, Polars {1e3 * polars:.0f} ms",
    )


def sorted_counts(con: Any, query: str) -> list[int]:
    """Return the counts of a query in the order of their patterns."""
    return [row[-1] for row in sorted(con.execute(query).fetchall())]


def from_csv(bars: Bars, n: int, repeats: int) -> None:
    import duckdb
    import polars as pl

    names = [f"t{k}" for k in range(SMALL)]
    cascade = sw.Cascade([1.0] * SMALL, names=names)
    con = duckdb.connect()
    con.execute("set enable_progress_bar = false")
    with tempfile.TemporaryDirectory() as folder:
        for kind in ("numbers", "words"):
            path = Path(folder) / f"{kind}.csv"
            frame = pl.DataFrame({name: columns(n, SMALL)[:, k] for k, name in enumerate(names)})
            words = {0: "reject", 1: "refund"} if kind == "words" else {0: "0", 1: "1"}
            frame.select(pl.all().replace_strict(words)).write_csv(path)
            query = f"select {', '.join(names)}, count(*) from read_csv('{path}') group by all"
            assert open_log(path, cascade).table().weights.tolist() == sorted_counts(con, query)
            ours, duck = alternating(
                [
                    partial(lambda path: open_log(path, cascade).table(), path),
                    partial(lambda query: con.execute(query).fetchall(), query),
                ],
                repeats,
            )
            bars.at_most(
                f"{n:,} x {SMALL} from CSV, {kind}, times DuckDB",
                ours / duck,
                1.2,
                f"{1e3 * ours:.0f} ms, DuckDB {1e3 * duck:.0f} ms",
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
from stopwise.reading import open_log
names = [f't{k}' for k in range(20)]
cascade = sw.Cascade([1.0] * 20, names=names)
open_log(path, cascade).table()
start = time.process_time()
table = open_log(path, cascade).table()
size = lambda h: len(h.weights)
""",
    "DuckDB": """
import duckdb
duckdb.sql("set enable_progress_bar = false")
names = ', '.join(f't{k}' for k in range(20))
sql = f"select {names}, count(*) from read_parquet('{path}') group by {names}"
duckdb.sql(sql).arrow()
start = time.process_time()
table = duckdb.sql(sql).arrow().read_all()
size = lambda t: t.num_rows
""",
    "Polars": """
import polars as pl
names = [f't{k}' for k in range(20)]
plan = pl.scan_parquet(path).group_by(names).len()
plan.collect(engine='streaming')
start = time.process_time()
table = plan.collect(engine='streaming')
size = lambda t: t.height
""",
}


def measure(name: str, path: Path) -> tuple[float, float, int]:
    """Run a program in a process of its own: seconds, its largest memory in MB, patterns.

    All have one core. Seconds are those that a program had it for, whoever else wanted it.
    """
    code = (
        f"import time\npath = {os.fspath(path)!r}\n"
        f"{PROGRAMS[name]}\n"
        "seconds = time.process_time() - start\n"
        "high = next(line for line in open('/proc/self/status') if line.startswith('VmHWM'))\n"
        "print(seconds, int(high.split()[1]) / 1024, size(table))"
    )
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, check=True
    )
    seconds, memory, n_patterns = done.stdout.split()[-3:]
    return float(seconds), float(memory), int(n_patterns)


def from_parquet(bars: Bars, n: int, repeats: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        write_parquet(path, n)
        runs: dict[str, list[tuple[float, float, int]]] = {name: [] for name in PROGRAMS}
        for _ in range(repeats):
            for name, results in runs.items():
                results.append(measure(name, path))
    seconds = {name: min(run[0] for run in results) for name, results in runs.items()}
    memory = {name: max(run[1] for run in results) for name, results in runs.items()}
    assert len({run[2] for results in runs.values() for run in results}) == 1  # as many patterns
    bars.at_most(
        f"{n:,} x {LARGE} from Parquet, times the faster of DuckDB and Polars",
        seconds["audit"] / min(seconds["DuckDB"], seconds["Polars"]),
        1.3,
        ", ".join(f"{name} {s:.2f} s" for name, s in seconds.items()),
    )
    bars.at_most(
        "  its memory, MB above DuckDB's",
        memory["audit"] - memory["DuckDB"],
        500,
        ", ".join(f"{name} {m:.0f} MB" for name, m in memory.items()),
    )


def first_count(bars: Bars, n: int) -> None:
    """The first count of bytes in a process, which is to compile nothing."""
    table, cascade = columns(n, SMALL), sw.Cascade([1.0] * SMALL)
    spent = cpu_seconds(lambda: open_log(table, cascade).table())
    is_loaded = "numba" in sys.modules
    what = f"{n:,} x {SMALL} bytes in memory, first count, s of CPU"
    bars.at_most(what, spent, 0.07, "numba is loaded" if is_loaded else "without numba")


def whole_audits(bars: Bars, n: int) -> None:
    """Many values, gaps in a wide log, and the price map of a wider one."""
    rng, cascade = np.random.default_rng(0), sw.Cascade([1.0] * SMALL, mistake_cost=20)
    label, wrong = rng.integers(120, size=(n, 1)), np.linspace(0.3, 0.05, SMALL)
    outputs = np.where(rng.random((n, SMALL)) < wrong, rng.integers(120, size=(n, SMALL)), label)
    spent = cpu_seconds(lambda: sw.audit(outputs, cascade))
    print(f"audit of {n:,} x {SMALL}, 120 values, s of CPU: {spent:.2f}", flush=True)
    holed = np.where(rng.random((n // 100, 16)) < 0.2, np.nan, columns(n // 100, 16))
    spent = cpu_seconds(lambda: sw.audit(holed, sw.Cascade([1.0] * 16, mistake_cost=50)))
    bars.at_most(f"audit of {n // 100:,} x 16, a fifth missing, s of CPU", spent, 5)
    wide = sw.Cascade(rng.random(30), mistake_cost=50)
    facts = sw.audit(columns(2_000, 30), wide).facts
    spent = cpu_seconds(lambda: PriceMap(facts).bands())
    bars.at_most("price map, K = 30, s of CPU", spent, 1)


@one_core()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=9)
    args = parser.parse_args()
    bars = Bars()
    first_count(bars, args.cases // 10)
    whole_audits(bars, args.cases // 10)
    in_memory(bars, args.cases, args.repeats)
    from_csv(bars, max(args.cases // 5, 1), max(args.repeats // 2, 1))
    from_parquet(bars, args.cases, max(args.repeats // 2, 1))
    bars.finish()


if __name__ == "__main__":
    main()
