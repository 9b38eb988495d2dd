"""Many cases at once, in their order, with a progress bar."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

from stopwise.checks import whole_number
from stopwise.errors import SettingError, StageError
from stopwise.progress import Progress
from stopwise.runtime.result import Result


async def run_many(
    run: Callable[..., Awaitable[Result]],
    cases: Iterable[Any],
    *,
    keys: Iterable[str] | None,
    concurrency: int,
    progress: bool,
) -> list[Result | StageError]:
    """Return the result of each case; a case without an answer has its error in its place."""
    whole_number("concurrency", concurrency, SettingError, least=1)
    given = list(cases)
    names: list[str | None] = [None] * len(given) if keys is None else list(keys)
    if len(names) != len(given):
        raise SettingError(f"keys must be as many as cases, got {len(names)} for {len(given)}")
    found: list[Any] = [None] * len(given)
    waiting = iter(enumerate(zip(given, names, strict=True)))
    with Progress(len(given), "answering", show=progress) as bar:

        async def work() -> None:
            for place, (case, key) in waiting:
                try:
                    found[place] = await run(case, key=key)
                except StageError as error:
                    found[place] = error
                bar.advance()

        async with asyncio.TaskGroup() as group:
            for _ in range(min(concurrency, len(given))):
                group.create_task(work())
    return found
