"""Work off the critical path: it is logged if it fails, and waited for at the end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

logger = logging.getLogger("stopwise.runtime")


class Background:
    """Tasks that nobody awaits until everything is closed."""

    def __init__(self) -> None:
        self.tasks: set[asyncio.Task[Any]] = set()

    def start(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something from now on."""
        task = asyncio.get_running_loop().create_task(_logged(work))
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def wait(self) -> None:
        """Return when all that was started, and what that started, is done."""
        while self.tasks:
            await asyncio.gather(*self.tasks, return_exceptions=True)


async def _logged(work: Coroutine[Any, Any, Any]) -> Any:
    try:
        return await work
    except Exception:
        logger.exception("work after an answer failed")
