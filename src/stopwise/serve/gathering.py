"""What many requests bring at once is written in one go."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Found = TypeVar("Found")


class Gatherer(Generic[Item, Found]):
    """Write items in batches: while one batch is written in a thread, the next one gathers.

    Parameters
    ----------
    write
        Writes some items and returns what is to be said of each.

    >>> async def both():
    ...     gatherer = Gatherer(lambda items: [item * 2 for item in items])
    ...     return await asyncio.gather(gatherer.add([1]), gatherer.add([2, 3]))
    >>> asyncio.run(both())
    [[2], [4, 6]]
    """

    def __init__(self, write: Callable[[list[Item]], list[Found]]) -> None:
        self._write = write
        self._waiting: list[tuple[list[Item], asyncio.Future[list[Found]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, items: list[Item]) -> list[Found]:
        """Return what is said of some items, once they are written."""
        loop = asyncio.get_running_loop()
        told: asyncio.Future[list[Found]] = loop.create_future()
        self._waiting.append((items, told))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_all())
        return await told

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                found = await asyncio.to_thread(
                    self._write, [item for items, _ in batch for item in items]
                )
            except Exception as error:  # whoever waits is told, whatever it is
                for _, told in batch:
                    if not told.done():
                        told.set_exception(error)
                continue
            start = 0
            for items, told in batch:
                if not told.done():
                    told.set_result(found[start : start + len(items)])
                start += len(items)
