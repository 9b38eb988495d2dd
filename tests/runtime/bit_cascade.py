"""A small cascade to run, and stages that misbehave."""

import asyncio
import itertools

import stopwise as sw
from stopwise.runtime import Runtime, Stage


def bit(k):
    """A stage that reads one bit of the case; -1 in the case makes it fail."""

    async def stage(case):
        if case < 0:
            raise ConnectionError("no route")
        return (case >> k) & 1

    return Stage(stage, cost=1.0, name=f"bit {k}", breaker_failures=10**6)


async def echo(case):
    return case


async def hang(case):
    await asyncio.sleep(60)


def slow(seconds):
    async def stage(case):
        await asyncio.sleep(seconds)
        return case

    return stage


class Overlap:
    """A stage that takes a moment and notes how many calls of it run at once."""

    def __init__(self):
        self.running = self.most = 0

    async def __call__(self, case):
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0.01)
        self.running -= 1
        return case


def bit_runtime(n_stages=3, **settings):
    defaults = {
        "name": "test",
        "stages": [bit(k) for k in range(n_stages)],
        "mistake_cost": 10,
        "policy": "resolve",
        "shadow": 0.0,
        "seed": 0,
    }
    return Runtime(**{**defaults, **settings})


def fixed(stage, n_stages=3):
    return sw.FixedStage(sw.Cascade([1] * n_stages, 10), stage=stage)


def run(runtime, cases, keys=None):
    """Answer cases one after the other and close the runtime."""

    async def play():
        async with runtime:
            pairs = zip(cases, keys or itertools.repeat(None), strict=False)
            return [await runtime.run(case, key=key) for case, key in pairs]

    return asyncio.run(play())


def cancel(work, after=0.02):
    """Run a coroutine and cancel it after some seconds."""

    async def play():
        task = asyncio.create_task(work)
        await asyncio.sleep(after)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert task.cancelled()

    asyncio.run(play())
