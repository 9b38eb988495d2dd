"""The runtime: python -m benchmarks.bench_runtime. Overhead, concurrency, memory, drift, alarms.

How soon changes are noticed, beside other methods, is in `bench_drift`.
"""

from __future__ import annotations

import asyncio
import time
import tracemalloc
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars
from stopwise.monitor import Monitor, MonitorSettings
from stopwise.monitor import monitor as monitor_module
from stopwise.monitor.change import YEAR
from stopwise.runtime import Runtime, Stage

bars = Bars()


async def noop(case: int) -> int:
    return case


def overhead() -> None:
    """CPU time of a case with three no-op stages against three bare awaits, interleaved."""

    async def play(policy: Any) -> float:
        stages = [Stage(noop, cost=c, name=f"s{c}") for c in (0, 1, 5)]
        runtime = Runtime("bench", stages=stages, mistake_cost=100, policy=policy, shadow=0.0)
        bare, ours = [], []
        for _ in range(50):
            start = time.process_time()
            for case in range(500):
                await noop(case % 8)
                await noop(case % 8)
                await noop(case % 8)
            bare.append(time.process_time() - start)
            start = time.process_time()
            for case in range(500):
                await runtime.run(case % 8)
            ours.append(time.process_time() - start)
        await runtime.aclose()
        return float(np.median(ours) / np.median(bare))

    fixed = sw.FixedStage(sw.Cascade([0, 1, 5], 100), stage=2)
    for policy in (fixed, "resolve", "beliefs"):  # the last two soon stop after the first stage
        name = policy if isinstance(policy, str) else "all three stages"
        bars.at_most(
            f"overhead of a case, {name}, times three bare awaits", asyncio.run(play(policy)), 60
        )


def concurrency() -> None:
    """200 cases at once on stages that sleep, against the same calls without a runtime."""

    async def slow(case: int) -> int:
        await asyncio.sleep(0.5)
        return case

    async def bare(case: int) -> None:
        await slow(case)
        await slow(case)

    async def play() -> tuple[float, float]:
        stages = [Stage(slow, cost=c, name=f"s{c}") for c in (0, 1)]
        fixed = sw.FixedStage(sw.Cascade([0, 1], 100), stage=1)
        ideal, taken = [], []
        async with Runtime("bench", stages=stages, policy=fixed, shadow=0.0) as runtime:
            for _ in range(5):
                start = time.perf_counter()
                await asyncio.gather(*map(bare, range(200)))
                middle = time.perf_counter()
                await runtime.run_many(range(200), concurrency=200, progress=False)
                ideal.append(middle - start)
                taken.append(time.perf_counter() - middle)
        return min(taken), min(ideal)

    taken, ideal = asyncio.run(play())
    bars.at_most(
        "200 concurrent cases, times the second that the sleep alone takes", taken / 1.0, 1.1
    )
    print(f"  times the same calls without a runtime: {taken / ideal:.3g}")


class World:
    """Three stages that err independently, one of which can change."""

    def __init__(self, rates: tuple[float, ...], seed: int, *, seconds: float = 1.0) -> None:
        self.rates = list(rates)
        self.flipped = -1
        self.rng = np.random.default_rng(seed)
        self.now = 0.0
        self.seconds = seconds

    def stage(self, k: int, cost: float) -> Stage:
        async def call(case: tuple[int, np.ndarray]) -> int:
            label, noise = case
            return label ^ int(noise[k] < self.rates[k]) ^ int(self.flipped == k)

        return Stage(call, cost=cost, name=f"s{k + 1}")

    def case(self) -> tuple[int, np.ndarray]:
        self.now += self.seconds
        return int(self.rng.integers(0, 2)), self.rng.random(3)


async def shares(runtime: Runtime, world: World, n: int) -> float:
    """Return the share of cases whose answer comes from the last stage."""
    last = 0
    for _ in range(n):
        last += (await runtime.run(world.case())).stage == 2
    await runtime.background.wait()
    return last / n


def drift() -> None:
    """A last stage that breaks, and one that becomes better; shadow 1 %, a case a second."""

    def made(world: World, policy: str) -> Runtime:
        stages = [world.stage(k, cost) for k, cost in enumerate((0, 1, 2))]
        return Runtime(
            "drift",
            stages=stages,
            mistake_cost=100,
            policy=policy,
            shadow=0.01,
            seed=0,
            clock=lambda: world.now,
        )

    async def breaks(policy: str) -> float:
        world = World((0.25, 0.15, 0.02), seed=1)
        runtime = made(world, policy)
        await shares(runtime, world, 4000)
        world.flipped = 2
        await shares(runtime, world, 2000)
        return await shares(runtime, world, 1000)

    async def improves(policy: str, error_rate: float) -> float:
        world = World((0.12, 0.1, error_rate), seed=2)
        runtime = made(world, policy)
        await shares(runtime, world, 4000)
        world.rates[2] = 0.01
        await shares(runtime, world, 18_000)
        return await shares(runtime, world, 2000)

    for policy in ("resolve", "beliefs"):
        share = asyncio.run(breaks(policy))
        bars.at_most(f"{policy}: traffic of a broken last stage after 2,000 cases", share, 0.1)
    for policy in ("resolve", "beliefs"):
        share, ideal = (asyncio.run(improves(policy, rate)) for rate in (0.30, 0.01))
        print(
            f"{policy}: traffic of a better last stage {share:.3g}, had it always been {ideal:.3g}"
        )
        bars.at_most(f"{policy}: of that lacking after 20,000 cases", 1 - share / ideal, 0.5)


def memory() -> None:
    """A day of traffic, a case every two seconds of simulated time."""

    async def play() -> float:
        world = World((0.25, 0.15, 0.02), seed=3, seconds=2.0)
        stages = [world.stage(k, cost) for k, cost in enumerate((0, 1, 2))]
        runtime = Runtime(
            "day", stages=stages, mistake_cost=100, policy="resolve", clock=lambda: world.now
        )
        await shares(runtime, world, 4000)
        tracemalloc.start()
        before, _ = tracemalloc.get_traced_memory()
        await shares(runtime, world, 43_200)
        after, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return (after - before) / 1e6

    bars.at_most("growth in a day, MB", asyncio.run(play()), 1.0)


def false_alarms(years: int = 1000) -> None:
    """Years without a change, a case a minute; half of the cases stop by their outputs."""
    rng = np.random.default_rng(0)
    week = 7 * 86_400.0
    monitor_module.LONGEST_PAUSE = week  # so that buckets of a week spend the whole budget
    settings = MonitorSettings(false_alarms_per_year=0.1, bucket_seconds=week, bucket_cases=10**9)
    monitor = Monitor(3, now=0.0, settings=settings)
    patterns = [(0, int(b), int(c)) for b in (0, 1) for c in (0, 1)]
    chances = [0.7, 0.1, 0.12, 0.08]
    alarms = 0
    for w in range(int(years * YEAR / week)):
        for is_random in (True, False):
            for pattern, times in zip(patterns, rng.multinomial(5040, chances), strict=True):
                seen = pattern if is_random or pattern[1] else pattern[:2]
                alarms += len(
                    monitor.observe(seen, w * week + 1.0, times=int(times), is_random=is_random)
                )
        alarms += len(monitor.observe((0, 0, 0), (w + 1) * week))
    bars.at_most(f"false alarms in {years} years at 0.1 a year", alarms, 0.1 * years)


def main() -> None:
    for part in (overhead, concurrency, drift, memory, false_alarms):
        part()
    bars.finish()


if __name__ == "__main__":
    main()
