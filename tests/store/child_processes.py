"""Processes to be killed: one Python that has all modules loaded, and forks whenever it is told.

`python -m tests.store.child_processes` reads one JSON object a line, ``{"job": name, …}``, runs
that function of `tests.store.child_jobs` in a child, and prints the child's process id.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path

from stopwise.errors import StoreWarning
from tests.store.child_jobs import Notes

ROOT = Path(__file__).parents[2]


class Children:
    """The side of the test: starts jobs, waits for them and kills them."""

    def __init__(self) -> None:
        path = os.pathsep.join([str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")])
        self._parent = subprocess.Popen(
            [sys.executable, "-m", "tests.store.child_processes"],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._pids: set[int] = set()

    def start(self, job: str, *, notes: Path | str, **arguments: object) -> int:
        Notes(notes)
        order = {"job": job, "notes": notes, **arguments}
        self._parent.stdin.write(json.dumps(order, default=str) + "\n")
        self._parent.stdin.flush()
        pid = int(self._parent.stdout.readline())
        self._pids.add(pid)
        return pid

    def wait(self, pid: int, seconds: float = 60) -> None:
        """Wait for a child to end, by itself or by a signal."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                self._pids.discard(pid)
                return
            time.sleep(0.002)
        raise TimeoutError(f"process {pid} has not ended")

    def kill(self, pid: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.wait(pid)

    def close(self) -> None:
        for pid in list(self._pids):
            self.kill(pid)
        self._parent.stdin.close()
        self._parent.wait(timeout=10)
        self._parent.stdout.close()


def main() -> None:
    from tests.store import child_jobs

    warnings.simplefilter("ignore", StoreWarning)  # a hundred of them say it a hundred times
    with contextlib.suppress(ImportError):
        import psycopg  # noqa: F401  # once for all children

    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # children leave no zombies
    for line in sys.stdin:
        order = json.loads(line)
        job = getattr(child_jobs, order.pop("job"))
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            status = 1
            try:
                job(**order)
                status = 0
            except Exception as error:
                sys.stderr.write(f"{job.__name__}: {error!r}\n")
            finally:
                os._exit(status)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
