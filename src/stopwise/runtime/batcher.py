"""Batches: cases that arrive at about the same time go to a stage in one call."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from stopwise.errors import StageError


class Batcher:
    """Collect cases until there are ``max_batch``, or the first has waited ``max_wait`` seconds.

    ``call`` takes a list of cases and returns as many answers.
    """

    def __init__(
        self, call: Callable[[list[Any]], Awaitable[Any]], max_batch: int, max_wait: float
    ) -> None:
        self._call = call
        self._max_batch = max_batch
        self._max_wait = max_wait
        self._waiting: list[tuple[Any, asyncio.Future[Any]]] = []
        self._timer: asyncio.TimerHandle | None = None
        # A task without a reference may be garbage-collected.
        self._tasks: set[asyncio.Task[None]] = set()

    async def submit(self, case: Any) -> Any:
        """Return the answer for one case."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Any] = loop.create_future()
        self._waiting.append((case, answer))
        if len(self._waiting) >= self._max_batch:
            self._flush()
        elif self._timer is None:
            self._timer = loop.call_later(self._max_wait, self._flush)
        return await answer

    def _flush(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        batch = [(case, answer) for case, answer in self._waiting if not answer.done()]
        self._waiting = []
        if batch:
            task = asyncio.get_running_loop().create_task(self._run(batch))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _run(self, batch: list[tuple[Any, asyncio.Future[Any]]]) -> None:
        try:
            answers = list(await self._call([case for case, _ in batch]))
            if len(answers) != len(batch):
                raise StageError(
                    f"a batch must have one answer a case, got {len(answers)} for {len(batch)}"
                )
        except Exception as error:
            for _, answer in batch:
                if not answer.done():
                    answer.set_exception(error)
        except BaseException:  # the call was cancelled, and so are the cases that wait for it
            for _, answer in batch:
                answer.cancel()
            raise
        else:
            for (_, answer), value in zip(batch, answers, strict=True):
                if not answer.done():
                    answer.set_result(value)
