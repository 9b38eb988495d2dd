"""Write the items of concurrent requests in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class BatchWriter(Generic[Item, Outcome]):
    """Write items in batches: while one batch is written in a thread, the next one collects.

    ``write`` writes some items and returns the outcome of each.

    >>> async def both():
    ...     writer = BatchWriter(lambda items: [item * 2 for item in items])
    ...     return await asyncio.gather(writer.add([1]), writer.add([2, 3]))
    >>> asyncio.run(both())
    [[2], [4, 6]]
    """

    def __init__(self, write: Callable[[list[Item]], list[Outcome]]) -> None:
        self._write = write
        self._waiting: list[tuple[list[Item], asyncio.Future[list[Outcome]]]] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, items: list[Item]) -> list[Outcome]:
        """Return the outcomes of some items, once they are written."""
        loop = asyncio.get_running_loop()
        outcomes: asyncio.Future[list[Outcome]] = loop.create_future()
        self._waiting.append((items, outcomes))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_all())
        return await outcomes

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            try:
                results = await asyncio.to_thread(
                    self._write, [item for items, _ in batch for item in items]
                )
            except Exception as error:  # every request that waits gets it
                for _, outcomes in batch:
                    if not outcomes.done():
                        outcomes.set_exception(error)
                continue
            start = 0
            for items, outcomes in batch:
                if not outcomes.done():
                    outcomes.set_result(results[start : start + len(items)])
                start += len(items)
