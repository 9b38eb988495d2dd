"""A model that slowly gets worse, and how the runtime reacts.

    python -m examples.drift

Three made-up stages; the clock is simulated, one case per second. From the second hour on, the
middle stage errs more and more often. The runtime sees no labels.
"""

from __future__ import annotations

import asyncio
import logging

import numpy as np

import stopwise as sw
from stopwise.runtime import Stage

HOUR = 3600
COSTS = (0.0, 1.0, 6.0)


def error_rates(seconds: float) -> tuple[float, float, float]:
    """The middle stage errs in 8 % of cases, from the second hour on in up to 40 %."""
    worse = min(max(seconds / HOUR - 1, 0.0), 1.0)
    return 0.3, 0.08 + 0.32 * worse, 0.02


async def play(hours: int) -> None:
    rng = np.random.default_rng(1)
    now = 0.0

    def stage(k: int) -> Stage:
        def call(case: tuple[int, list[float]]) -> int:
            right, chance = case
            return right ^ int(chance[k] < error_rates(now)[k])

        return Stage(call, cost=COSTS[k], name=("small", "medium", "large")[k], inline=True)

    runtime = sw.Runtime(
        "drift",
        stages=[stage(k) for k in range(3)],
        mistake_cost=60,
        shadow=0.05,
        clock=lambda: now,
        on_alarm=lambda alarm: print(f"  {now / 60:4.0f} min: {alarm.describe(names)}"),
        seed=0,
    )
    names = runtime.cascade.names
    async with runtime:
        for half in range(2 * hours):
            right, cost, answers = 0, 0.0, [0, 0, 0]
            n = HOUR // 2
            for _ in range(n):
                now += 1.0
                case = (int(rng.integers(0, 2)), rng.random(3).tolist())
                result = await runtime.run(case)
                await asyncio.sleep(0)  # lets shadow cases run; real stages wait anyway
                right += result.answer == case[0]
                cost += result.cost
                answers[result.stage] += 1
            shares = ", ".join(
                f"{name} {a / n:.0%}" for name, a in zip(names, answers, strict=True)
            )
            print(
                f"until {(half + 1) * 30:3d} min, medium errs in {error_rates(now)[1]:.0%}: "
                f"answers from {shares}; {right / n:.1%} right; {cost / n:.2f} per case"
            )


def main() -> None:
    logging.getLogger("stopwise").setLevel(logging.CRITICAL)  # alarms are printed here
    asyncio.run(play(3))


if __name__ == "__main__":
    main()
