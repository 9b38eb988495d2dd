"""Write what concurrent requests bring in batches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Generic, TypeVar

from stopwise.errors import InputError

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")


class BatchWriter(Generic[Item, Outcome]):
    """Write items in batches: while one batch is written in a thread, the next one collects.

    ``write`` writes some items and returns the outcome of each, or raises `InputError` and writes
    none. Then each of them is written alone: one that breaks a rule is refused, others are not.

    >>> async def both():
    ...     writer = BatchWriter(lambda items: [item * 2 for item in items])
    ...     return await asyncio.gather(writer.add(1), writer.add(2))
    >>> asyncio.run(both())
    [2, 4]
    """

    def __init__(self, write: Callable[[list[Item]], list[Outcome]]) -> None:
        self._write = write
        self._waiting: list[tuple[Item, asyncio.Future[Outcome]]] = []
        self._task: asyncio.Task[None] | None = None

    async def add(self, item: Item) -> Outcome:
        """Return the outcome of an item, once it is written."""
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[Outcome] = loop.create_future()
        self._waiting.append((item, outcome))
        if self._task is None or self._task.done():
            self._task = loop.create_task(self._write_all())
        return await outcome

    async def _write_all(self) -> None:
        while self._waiting:
            batch, self._waiting = self._waiting, []
            await self._write_batch(batch)

    async def _write_batch(self, batch: list[tuple[Item, asyncio.Future[Outcome]]]) -> None:
        try:
            results = await asyncio.to_thread(self._write, [item for item, _ in batch])
        except Exception as error:
            if isinstance(error, InputError) and len(batch) > 1:
                for entry in batch:
                    await self._write_batch([entry])
                return
            for _, outcome in batch:
                if not outcome.done():
                    outcome.set_exception(error)
            return
        for (_, outcome), result in zip(batch, results, strict=True):
            if not outcome.done():
                outcome.set_result(result)
