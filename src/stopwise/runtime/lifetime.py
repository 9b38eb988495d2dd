"""The end of a runtime: what is under way is waited for, what was learned goes into the store."""

from __future__ import annotations

import asyncio
from typing import Self

from stopwise.runtime.background import Background
from stopwise.runtime.looping import LoopThread
from stopwise.runtime.watching import Watching
from stopwise.store import Worker


class Lifetime:
    """The part of a `Runtime` that closes it, at the end of a ``with`` block or when asked to."""

    worker: Worker
    background: Background
    watching: Watching
    _thread: LoopThread

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.aclose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    async def aclose(self) -> None:
        """Wait for cases under way, fold what was learned into the store and leave it.

        No further case is taken. Closing again does nothing.
        """
        await self._leave()
        await asyncio.to_thread(self._thread.close)

    def close(self) -> None:
        """Do as `aclose`, from ordinary code."""
        self._thread.run(self._leave())
        self._thread.close()

    async def _leave(self) -> None:
        await self.background.close()
        await asyncio.to_thread(self._save)

    def _save(self) -> None:
        if not self.worker.is_closed:
            self.watching.save()
        self.worker.close()
