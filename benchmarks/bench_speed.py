"""What ask + tell costs: python -m benchmarks.bench_speed. Ratios inside one run, one core."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import stopwise as sw
from stopwise.problem.families import relaxed_errors

# How many times a no-op a round may cost.
BARS = {"K = 3": 3.5, "K = 10": 6.0}

Shown = Sequence[tuple[int, ...]]


class Nothing:
    """The cheapest object with the same two methods."""

    def ask(self) -> int:
        return 0

    def tell(self, outputs: Any) -> None:
        pass


def instances() -> dict[str, sw.Instance]:
    """One cascade of three tests and one of ten, a middle stage best."""
    ten = [0.0, 0.02, 0.02, 0.02, 0.02, 0.15, 0.02, 0.02, 0.02, 0.02]
    rates = np.linspace(0.4, 0.05, 10).tolist()
    return {
        "K = 3": relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])),
        "K = 10": relaxed_errors(sw.Cascade(costs=ten), rates, slip=0.02),
    }


def stream(instance: sw.Instance, horizon: int) -> list[Shown]:
    """The prefixes of each case, drawn beforehand so that only ask and tell are timed."""
    _, drawn = instance.sample(horizon, seed=0)
    prefixes: dict[tuple[int, ...], Shown] = {}
    for row in set(map(tuple, drawn.tolist())):
        prefixes[row] = [row[: k + 1] for k in range(len(row))]
    return [prefixes[row] for row in map(tuple, drawn.tolist())]


def ask_tell(policy: Any, cases: list[Shown]) -> float:
    start = time.perf_counter()
    for shown in cases:
        policy.tell(shown[policy.ask()])
    return (time.perf_counter() - start) / len(cases)


def river_ucb(n_arms: int, cases: list[Shown]) -> float:
    from river import bandit

    policy = bandit.UCB(delta=1, seed=0)
    arms = list(range(n_arms))
    start = time.perf_counter()
    for shown in cases:
        arm = policy.pull(arms)
        policy.update(arm, float(shown[arm][-1]))
    return (time.perf_counter() - start) / len(cases)


def measured(instance: sw.Instance, cases: list[Shown]) -> dict[str, float]:
    """Seconds a round of each, one after the other."""
    return {
        "no-op": ask_tell(Nothing(), cases),
        "WeakDominance": ask_tell(sw.WeakDominance(instance.cascade), cases),
        "Resolve": ask_tell(sw.Resolve(instance.cascade), cases),
        "river UCB": river_ucb(instance.cascade.n_stages, cases[: len(cases) // 20]),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    missed: list[str] = []
    for name, instance in instances().items():
        cases = stream(instance, args.horizon)
        rounds = [measured(instance, cases) for _ in range(args.repeats)]
        print(f"\n{name}, {args.horizon} rounds, median of {args.repeats}")
        print(f"{'':16s} {'ns a round':>10s} {'x no-op':>8s} {'x river UCB':>12s}")
        for what in rounds[0]:
            ns = statistics.median(r[what] for r in rounds) * 1e9
            over = statistics.median(r[what] / r["no-op"] for r in rounds)
            river = statistics.median(r[what] / r["river UCB"] for r in rounds)
            print(f"{what:16s} {ns:10.0f} {over:8.2f} {river:12.3f}")
            if what in ("WeakDominance", "Resolve") and (over > BARS[name] or river > 0.2):
                missed.append(f"{what} at {name}")
    print("\nbars: no-op x 3.5 at K = 3, x 6 at K = 10; river x 0.2")
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
