"""What is under way: cases, and work off the critical path that nobody awaits until the end."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from typing import Any

from stopwise.errors import SettingError

logger = logging.getLogger("stopwise.runtime")
WAIT = 0.005  # seconds between two looks at what other event loops do


class Background:
    """Counts the cases under way (``with background: …``) and keeps the tasks that they start."""

    def __init__(self, name: str) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        self._name = name
        self._n_cases = 0
        self._is_closed = False
        self._lock = threading.Lock()

    def __enter__(self) -> None:
        with self._lock:
            if self._is_closed:
                raise SettingError(f"runtime {self._name!r} must be open, but it is closed")
            self._n_cases += 1

    def __exit__(self, *exception: object) -> None:
        with self._lock:
            self._n_cases -= 1

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something from now on; it is logged if it fails."""
        task = asyncio.get_running_loop().create_task(_logged(work, self._name))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self) -> None:
        """Take no further case, and return when all that was started is done."""
        self._is_closed = True
        while self._n_cases:
            await asyncio.sleep(WAIT)
        await self.wait()

    async def wait(self) -> None:
        """Return when all tasks, and what they started, are done, in whichever event loop."""
        here = asyncio.get_running_loop()
        while tasks := list(self.tasks):
            if any(task.get_loop() is not here for task in tasks):
                self.tasks -= {task for task in tasks if not task.get_loop().is_running()}
                await asyncio.sleep(WAIT)
            else:
                await asyncio.gather(*tasks, return_exceptions=True)


async def _logged(work: Coroutine[Any, Any, Any], name: str) -> Any:
    try:
        return await work
    except Exception:
        logger.exception("%s: work after an answer failed", name)
