"""A cascade that runs: it learns where to stop, saves that, and notices a stage that breaks.

    python -m examples.live_cascade [folder for the store and the page]

Three made-up stages answer made-up patients. The clock is simulated, one case per second, so that
hours pass in seconds; nothing leaves this machine.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections import Counter
from pathlib import Path

import numpy as np

import stopwise as sw
from stopwise.monitor import Alarm
from stopwise.runtime import Stage

ANSWERS = ("routine", "urgent")
# Name, cost of a call, share of wrong answers.
STAGES = (("rules", 0.0, 0.25), ("nurse", 1.0, 0.15), ("doctor", 8.0, 0.02))


class World:
    """Patients with a right answer that only this class knows, and stages that err."""

    def __init__(self) -> None:
        self.now = 0.0
        self.is_broken = False
        self._rng = np.random.default_rng(0)

    def case(self) -> tuple[int, list[float]]:
        """Return the right answer and what decides which stage errs; a second passes."""
        self.now += 1.0
        return int(self._rng.integers(0, 2)), self._rng.random(len(STAGES)).tolist()

    def stage(self, k: int) -> Stage:
        """Return a stage; the last one says the opposite once it is broken."""
        name, cost, rate = STAGES[k]

        def call(case: tuple[int, list[float]]) -> str:
            right, chance = case
            inverted = self.is_broken and k == len(STAGES) - 1
            return ANSWERS[right ^ (chance[k] < rate) ^ inverted]

        return Stage(call, cost=cost, name=name, inline=True)


async def play(runtime: sw.Runtime, world: World, n: int, heading: str) -> None:
    """Answer some cases and say which stage answered, how often rightly, at what cost."""
    depths: Counter[int] = Counter()
    cost, right = 0.0, 0
    for _ in range(n):
        case = world.case()
        result = await runtime.run(case)
        await asyncio.sleep(0)  # lets shadow cases run; real stages wait anyway
        depths[result.stage] += 1
        cost += result.cost
        right += result.answer == ANSWERS[case[0]]
    await runtime.background.wait()
    names = runtime.cascade.names
    shares = ", ".join(f"{name} {depths[k] / n:4.0%}" for k, name in enumerate(names))
    print(f"{heading:34s} answer from: {shares} | {right / n:.1%} right | {cost / n:.2f} per case")


async def story(folder: Path) -> None:
    world = World()
    alarms: list[Alarm] = []
    store = folder / "live.db"
    store.unlink(missing_ok=True)

    def open_runtime() -> sw.Runtime:
        return sw.Runtime(
            "triage",
            stages=[world.stage(k) for k in range(len(STAGES))],
            mistake_cost=100,
            store=f"sqlite:///{store}",
            clock=lambda: world.now,
            on_alarm=alarms.append,
            seed=0,
        )

    async with open_runtime() as runtime:
        await play(runtime, world, 300, "The first 300 cases")
        await play(runtime, world, 1200, "The next 1,200")
    print(f"{'Closed; what it learned is in':34s} {store}")
    async with open_runtime() as runtime:
        n_cases = sum(runtime.learning.patterns().values())
        print(f"{'Opened again':34s} {n_cases:,} cases known")
        await play(runtime, world, 1000, "Another 1,000")
        world.is_broken, broke = True, world.now
        while not alarms and world.now < broke + 3000:
            await play(runtime, world, 100, "The doctor's answers are inverted")
        for alarm in alarms:
            print(f"Alarm after {alarm.at - broke:.0f} s: {alarm.describe(runtime.cascade.names)}")
        out = ", ".join(runtime.cascade.names[k] for k in runtime.engine.distrusted)
        print(f"{'Out of service':34s} {out}")
        await play(runtime, world, 500, "Since then")
        runtime.report().save(folder / "live.html")


def main() -> None:
    logging.getLogger("stopwise").setLevel(logging.CRITICAL)  # alarms are printed here
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path()
    folder.mkdir(parents=True, exist_ok=True)
    asyncio.run(story(folder))


if __name__ == "__main__":
    main()
