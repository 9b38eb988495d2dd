"""Cases and tasks under way, many cases at once, and an event loop for synchronous callers."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from typing import Any

from stopwise.checks import whole_number
from stopwise.errors import SettingError, StageError
from stopwise.progress import Progress
from stopwise.runtime.result import Result

logger = logging.getLogger("stopwise.runtime")
POLL_SECONDS = 0.005  # between two looks at the tasks of other event loops


class Background:
    """Tracks the cases under way and holds the tasks that they start.

    A case is in ``cases`` from `enter` until it is discarded. The sets need no lock: a case that
    enters is either seen by `close`, or sees that the runtime is closed.
    """

    def __init__(self, name: str) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        self.cases: set[object] = set()
        self._name = name
        self._is_closed = False

    def enter(self, case: object) -> None:
        """Begin a case, or raise `SettingError` if the runtime is closed."""
        self.cases.add(case)
        if self._is_closed:
            self.cases.discard(case)
            raise SettingError(f"runtime {self._name!r} must be open, but it is closed")

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Start a task that nobody awaits; if it fails, that is logged."""
        task = asyncio.get_running_loop().create_task(self._log_failure(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self) -> None:
        """Accept no further case, and return when everything that was started is done."""
        self._is_closed = True
        while self.cases:
            await asyncio.sleep(POLL_SECONDS)
        await self.wait()

    async def wait(self) -> None:
        """Return when all tasks, and those that they start, are done, in every event loop."""
        loop = asyncio.get_running_loop()
        while tasks := list(self.tasks):
            if any(task.get_loop() is not loop for task in tasks):
                self.tasks -= {task for task in tasks if not task.get_loop().is_running()}
                await asyncio.sleep(POLL_SECONDS)
            else:
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _log_failure(self, work: Coroutine[Any, Any, Any]) -> Any:
        try:
            return await work
        except Exception:
            logger.exception("%s: work after an answer failed", self._name)


class LoopThread:
    """Runs coroutines for any thread, in one event loop that starts with the first of them."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Return what the coroutine returns; Ctrl-C cancels it."""
        if threading.current_thread() is self._thread:
            work.close()
            raise SettingError("a stage must not wait for its own runtime: await run() instead")
        future = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def close(self) -> None:
        """End the loop and its thread."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or (self._thread and not self._thread.is_alive()):  # after a fork
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="stopwise-runtime", daemon=True
                )
                self._thread.start()
            return self._loop


async def run_many(
    run: Callable[..., Awaitable[Result]],
    cases: Iterable[Any],
    *,
    keys: Iterable[str] | None = None,
    concurrency: int = 100,
    progress: bool = True,
) -> list[Result | StageError]:
    """Return the result of each case, in order; a case without an answer has its error instead."""
    whole_number("concurrency", concurrency, SettingError, least=1)
    all_cases = list(cases)
    all_keys: list[str | None] = [None] * len(all_cases) if keys is None else list(keys)
    n_cases, n_keys = len(all_cases), len(all_keys)
    if n_keys != n_cases:
        raise SettingError(f"keys must have one entry per case, got {n_keys} for {n_cases}")
    results: list[Any] = [None] * n_cases
    queue = iter(enumerate(zip(all_cases, all_keys, strict=True)))
    with Progress(n_cases, "answering", show=progress) as bar:

        async def work() -> None:
            for index, (case, key) in queue:
                try:
                    results[index] = await run(case, key=key)
                except StageError as error:
                    results[index] = error
                bar.advance()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, n_cases)):
                group.create_task(work())
    return results
