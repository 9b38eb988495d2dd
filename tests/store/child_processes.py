"""Processes to be killed, forked by a server process that has all modules loaded."""

import multiprocessing
import warnings
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from stopwise.errors import StoreWarning
from tests.store.child_jobs import Notes

Job = Callable[..., None]


class Children:
    """Starts functions in processes of their own, waits for them and kills them."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["tests.store.child_jobs", "psycopg"])
        self._processes: dict[int, BaseProcess] = {}

    def start(self, job: Job, *, notes: Path | str, **arguments: object) -> int:
        """Run a function of a module that can be imported; return the id of its process."""
        Notes(notes)
        process = self._context.Process(target=_run, args=(job, {"notes": notes, **arguments}))
        process.start()
        self._processes[process.pid] = process
        return process.pid

    def wait(self, pid: int, seconds: float = 60) -> None:
        """Wait for a child to end, by itself or by a signal."""
        self._processes[pid].join(seconds)
        if self._processes[pid].is_alive():
            raise TimeoutError(f"process {pid} has not ended")

    def kill(self, pid: int) -> None:
        self._processes[pid].kill()
        self.wait(pid)

    def close(self) -> None:
        for pid in self._processes:
            self.kill(pid)


def _run(job: Job, arguments: dict[str, object]) -> None:
    warnings.simplefilter("ignore", StoreWarning)  # a hundred of them say it a hundred times
    job(**arguments)
