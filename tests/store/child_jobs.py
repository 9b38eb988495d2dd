"""The jobs of child processes: tell cases and note each acknowledged one, until they are killed.

A note is a number in a file that is mapped into memory, so it survives the process as well as a
journal does, and costs less than a tell.
"""

import contextlib
import itertools
import mmap
import os
import signal
import struct
import time
from pathlib import Path

import stopwise as sw
from stopwise.errors import StoreError, StoreUnavailableError
from stopwise.store import (
    KeyedTell,
    SharedLearner,
    Worker,
    WorkerSettings,
    case_text,
    journal,
    open_store,
    worker,
)
from stopwise.store.sql import epochs, sql_store


class Notes:
    """How many tells of a child were acknowledged."""

    def __init__(self, path: Path | str) -> None:
        if not Path(path).exists():
            Path(path).write_bytes(bytes(8))
        with Path(path).open("r+b") as file:
            self._map = mmap.mmap(file.fileno(), 8)

    @property
    def count(self) -> int:
        return struct.unpack_from("q", self._map)[0]

    def add(self, times: int = 1) -> None:
        # At once; pack_into would write zeros first.
        self._map[:] = struct.pack("q", self.count + times)


def die(mark: str) -> None:
    """End at once, and leave a sign that it was here."""
    Path(mark).touch()
    os.kill(os.getpid(), signal.SIGKILL)


# Where a process can be killed: the owner and the name of a function, and when.
POINTS: dict[str, tuple[object, str, str]] = {
    "after a tell is written": (journal.Journal, "append", "after"),
    "in the middle of a tell": (os, "write", "torn"),
    "before a fold": (sql_store.SqlStore, "fold", "before"),
    "before a fold is committed": (epochs, "write_rows", "after"),
    "after a fold": (sql_store.SqlStore, "fold", "after"),
    "before a journal is cut": (Path, "replace", "before"),
    "after a journal is cut": (Path, "replace", "after"),
    "before leaving": (sql_store.SqlStore, "leave", "before"),
    "after leaving": (sql_store.SqlStore, "leave", "after"),
    "after entering": (sql_store.SqlStore, "enter", "after"),
    "after a journal is removed": (journal.Journal, "remove", "after"),
}


def arm(point: str, countdown: int, mark: str) -> None:
    """Kill this process when it comes to a point for the ``countdown``-th time."""
    owner, name, when = POINTS[point]
    original = getattr(owner, name)
    calls = itertools.count(1)

    def replacement(*arguments: object, **keywords: object) -> object:
        is_last = next(calls) == countdown
        if is_last and when == "torn":
            file, line = arguments
            original(file, line[: len(line) // 2])
        if is_last and when != "after":
            die(mark)
        result = original(*arguments, **keywords)
        if is_last:
            die(mark)
        return result

    setattr(owner, name, replacement)


def tell(
    url: str,
    directory: str,
    case: str,
    notes: str,
    *,
    host: str = "here",
    times: int = 10**9,
    point: str = "",
    countdown: int = 1,
    sync_seconds: float = 0.05,
    lease_seconds: float = 30.0,
    pause: float = 0.0,
    durability: str = "process",
) -> None:
    """Tell one case again and again, sync when due, and close at the end."""
    worker._CUT_BYTES = 20_000
    acknowledged = Notes(notes)
    if point:
        arm(point, countdown, f"{notes}-died")
    settings = WorkerSettings(sync_seconds=sync_seconds, lease_seconds=lease_seconds)
    member = Worker(url, directory=directory, host=host, settings=settings, durability=durability)
    shared = member.open("c")
    for _ in range(times):
        shared.tell((case,))
        acknowledged.add()
        if shared.is_due:
            with contextlib.suppress(StoreUnavailableError):
                shared.sync()
        if pause:
            time.sleep(pause)
    member.close()


def adopt(url: str, directory: str, notes: str, *, point: str, countdown: int) -> None:
    """Adopt what is there, and be killed at it."""
    arm(point, countdown, f"{notes}-adopter-died")
    Worker(url, directory=directory, host="here").close()


def tell_keyed(url: str, case: str, notes: str, *, first: int, last: int) -> None:
    """Tell under keys, each until it is acknowledged."""
    acknowledged = Notes(notes)
    store = open_store(url)
    text = case_text((case,))
    for n in range(first, last, 5):
        tells = [KeyedTell("c", f"{case}-{k}", text) for k in range(n, min(n + 5, last))]
        while True:
            try:
                store.tell_keyed(f"{case}-{os.getpid()}", tells)
                break
            except StoreError:
                time.sleep(0.02)
        acknowledged.add(len(tells))


def learn(
    url: str,
    directory: str,
    notes: str,
    *,
    cases: list[list[int]],
    costs: list[float],
    gaps: list[float],
) -> None:
    """Route cases by a shared learner and note the regret, in millionths."""
    cascade = sw.Cascade(costs=costs)
    regret = 0.0
    with Worker(url, directory=directory) as member:
        learner = SharedLearner(member.open("c"), lambda: sw.Resolve(cascade))
        for outputs in cases:
            stage = learner.ask()
            regret += gaps[stage]
            learner.tell(outputs[: stage + 1])
    Notes(notes).add(round(regret * 1e6))
