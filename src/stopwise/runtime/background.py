"""What is under way: cases, and work off the critical path that nobody awaits until the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from stopwise.errors import SettingError

logger = logging.getLogger("stopwise.runtime")
WAIT = 0.005  # seconds between two looks at what other event loops do


class Background:
    """Knows the cases under way and keeps the tasks that they start.

    A case is in ``cases`` from `enter` until it is discarded. Sets need no lock: whoever enters is
    either seen by `close`, or sees that it is closed.
    """

    def __init__(self, name: str) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()
        self.cases: set[object] = set()
        self._name = name
        self._is_closed = False

    def enter(self, case: object) -> None:
        """Begin a case, or raise `SettingError` after the end."""
        self.cases.add(case)
        if self._is_closed:
            self.cases.discard(case)
            raise SettingError(f"runtime {self._name!r} must be open, but it is closed")

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something from now on; it is logged if it fails."""
        task = asyncio.get_running_loop().create_task(_logged(work, self._name))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def close(self) -> None:
        """Take no further case, and return when all that was started is done."""
        self._is_closed = True
        while self.cases:
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
