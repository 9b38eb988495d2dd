"""The store: python -m benchmarks.bench_store. Ratios and counts inside one run.

Ask and tell with a journal against the same without; SQLite with a commit for each hundred tells
against one with a commit and fsync a tell; a hundred processes that tell and fold at once; kill -9
under load. The last two on SQLite and, where its server is installed, on PostgreSQL with two
"hosts" (separate directories of journals). Fails if a bar is missed.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars, alternating
from stopwise.store import Worker, open_store, totals
from tests.store.child_jobs import Notes
from tests.store.child_processes import Children
from tests.store.postgres_server import postgres_binaries, postgres_running
from tests.store.test_kill import random_kills
from tests.waiting import wait_until

CASCADE = sw.Cascade(costs=[0.0, 0.1, 0.2])
Hosts = list[tuple[str, Path]]


def journal_overhead(bars: Bars, folder: Path, n: int, repeats: int) -> None:
    rng = np.random.default_rng(0)
    cases = [tuple(row) for row in rng.integers(2, size=(n, 3)).tolist()]
    bare, told = sw.Resolve(CASCADE), sw.Resolve(CASCADE)
    worker = Worker(f"sqlite:///{folder / 'journal.db'}")
    shared = worker.open("c")

    def without() -> None:
        for outputs in cases:
            bare.tell(outputs[: bare.ask() + 1])

    def journalled() -> None:
        for outputs in cases:
            seen = outputs[: told.ask() + 1]
            told.tell(seen)
            shared.tell(seen)

    plain, safe = alternating([without, journalled], repeats)
    worker.close()
    bars.at_most(
        "ask + tell with a journal, times bare",
        safe / plain,
        6.0,
        f"{1e6 * safe / n:.2f} µs against {1e6 * plain / n:.2f} µs",
    )


def sqlite_batches(bars: Bars, folder: Path, repeats: int) -> None:
    batched = Worker(f"sqlite:///{folder / 'batched.db'}", durability="process")
    single = Worker(
        open_store(f"sqlite:///{folder / 'single.db'}", is_durable=True), durability="memory"
    )
    many, one = batched.open("c"), single.open("c")
    n_batches, n_single = 200, 50

    def in_batches() -> None:
        for _ in range(n_batches):
            for k in range(100):
                many.tell((k & 1, 1, 0))
            batched.fold()

    def one_by_one() -> None:
        for k in range(n_single):
            one.tell((k & 1, 1, 0))
            single.fold()

    fast, slow = alternating([in_batches, one_by_one], repeats)
    rate, commits = 100 * n_batches / fast, n_single / slow
    for worker in (batched, single):
        worker.close()
    bars.at_least(
        "SQLite, tells/s that survive the process, batches of 100", rate, 50_000, "one process"
    )
    bars.at_least(
        "the same, times a commit a tell with synchronous=FULL",
        rate / commits,
        40.0,
        f"{commits:,.0f} tells/s",
    )


def load(
    url: str,
    directory: str,
    notes: str,
    *,
    host: str,
    starting_sign: str,
    seconds: float,
    tells_a_second: float,
) -> None:
    """Tell at a steady rate, sync when due, and write down how long each fold took."""
    spans: list[float] = []
    fold = Worker.fold

    def timed(self: Worker) -> None:
        begin = time.perf_counter()
        fold(self)
        spans.append(time.perf_counter() - begin)

    acknowledged = Notes(notes)
    member = Worker(url, directory=directory, host=host)
    shared = member.open("c")
    Worker.fold = timed  # type: ignore[method-assign]
    Path(f"{notes}-ready").touch()
    while not Path(starting_sign).exists():
        time.sleep(0.05)
    time.sleep(os.getpid() % 100 / 100)  # traffic does not begin everywhere in one instant
    start, n_told = time.time(), 0
    while (now := time.time()) < start + seconds:
        for _ in range(int((now - start) * tells_a_second) - n_told):
            shared.tell((n_told % 2, 1))
            acknowledged.add()
            n_told += 1
        if shared.is_due:
            shared.sync()
        time.sleep(0.02)
    Path(f"{notes}-folds").write_text("\n".join(map(str, spans)))
    Worker.fold = fold  # type: ignore[method-assign]
    member.close()


def hundred_processes(
    bars: Bars, name: str, url: str, hosts: Hosts, children: Children, seconds: float
) -> None:
    sign = hosts[0][1].parent / "start"
    notes = [hosts[0][1].parent / f"{name}-load-{k}" for k in range(100)]
    pids = []
    for k, path in enumerate(notes):
        host, directory = hosts[k % len(hosts)]
        pids.append(
            children.start(
                load,
                url=url,
                directory=str(directory),
                notes=str(path),
                host=host,
                starting_sign=str(sign),
                seconds=seconds,
                tells_a_second=100.0,
            )
        )
    wait_until(lambda: all(Path(f"{path}-ready").exists() for path in notes), seconds=120)
    sign.touch()
    for pid in pids:
        children.wait(pid, seconds=seconds + 120)
    told = sum(Notes(str(path)).count for path in notes)
    folds = np.array(
        [float(span) for path in notes for span in Path(f"{path}-folds").read_text().split()]
    )
    with open_store(url) as store:
        stored = sum(totals(store.rows("c")).values())
    bars.at_most(
        f"{name}: 100 processes, {seconds:g} s, |told - stored|",
        abs(told - stored),
        0,
        f"{told:,} told",
    )
    p50, p99 = np.percentile(1e3 * folds, [50, 99])
    note = (
        f"{len(folds):,} folds, median {p50:.1f} ms, longest {1e3 * folds.max():.0f} ms; "
        "the processes begin at even steps over the first second"
    )
    bars.at_most(f"{name}: fold p99, ms", p99, 100.0, note)


def kills(bars: Bars, name: str, url: str, hosts: Hosts, children: Children, n_kills: int) -> None:
    told = random_kills(children, url, hosts, n_kills, seed=5, n_at_once=5)
    with open_store(url) as store:
        for host, directory in hosts:
            Worker(store, directory=directory, host=host).close()
        counted = totals(store.rows("c"))
    lost = twice = acknowledged = 0
    for case, path in told.items():
        noted, found = Notes(str(path)).count, counted.get(f'["{case}"]', 0)
        acknowledged += noted
        lost += max(0, noted - found)
        twice += max(0, found - noted - 1)  # it may have died before it could note the last one
    note = f"{acknowledged:,} acknowledged"
    bars.at_most(f"{name}: {n_kills} x kill -9, acknowledged tells lost", lost, 0, note)
    bars.at_most(f"{name}: {n_kills} x kill -9, tells counted twice", twice, 0, note)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of the hundred processes")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    bars = Bars()
    children = Children()
    binaries = postgres_binaries()
    if binaries is None:
        print("PostgreSQL's server programs are not installed: not measured")
    database = nullcontext() if binaries is None else postgres_running(binaries, is_durable=True)
    with tempfile.TemporaryDirectory() as name, database as server:
        folder = Path(name)
        journal_overhead(bars, folder, 20_000, options.repeats)
        sqlite_batches(bars, folder, options.repeats)
        for kind in ("SQLite", "PostgreSQL"):
            if kind == "PostgreSQL" and server is None:
                continue
            names = ["here"] if kind == "SQLite" else ["north", "south"]
            for part in ("load", "kill"):
                place = folder / f"{kind}-{part}"
                hosts = [(host, place / host / "journals") for host in names]
                for _, directory in hosts:
                    directory.parent.mkdir(parents=True)
                url = f"sqlite:///{place / 'store.db'}"
                if kind == "PostgreSQL" and server is not None:
                    url = server.new_database()
                if part == "load":
                    hundred_processes(bars, kind, url, hosts, children, options.seconds)
                else:
                    kills(bars, kind, url, hosts, children, options.kills)
    children.close()
    bars.finish()


if __name__ == "__main__":
    main()
