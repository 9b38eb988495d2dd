"""Resolve in a world in which a test is replaced: python -m benchmarks.bench_memory --help."""

from __future__ import annotations

import argparse

import numpy as np

import stopwise as sw
from benchmarks.instances import with_margin
from stopwise.problem.families import relaxed_errors
from stopwise.simulation.events import EventPlay
from stopwise.simulation.world import World


def replaced(rng: np.random.Generator, before: sw.Instance) -> sw.Instance:
    """Another weakly dominant law at the same prices, with another best stage."""
    while True:
        rates = np.sort(rng.uniform(0.02, 0.5, before.cascade.n_stages))[::-1].tolist()
        after = relaxed_errors(before.cascade, rates, slip=float(rng.choice([0.0, 0.03, 0.1])))
        if after.best_stage != before.best_stage and after.is_weakly_dominant():
            return after


def regret(worlds: list[sw.Instance], policy: sw.Policy, ends: list[int], seed: int) -> float:
    trace = sw.simulate(
        worlds,
        policy,
        horizon=ends[-1],
        replications=1,
        seed=seed,
        checkpoints=1,
        change_points=ends[:-1],
        progress=False,
    )
    return float(trace.regret[0, -1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    T, W = args.horizon, args.horizon // 5
    rows: dict[str, list[float]] = {}
    false_alarms = 0
    for run in range(args.runs):
        rng = np.random.default_rng(run)
        before = with_margin(rng, 3, int(rng.integers(3)), margin=0.1, violation=0.05)
        after, change = replaced(rng, before), int(rng.integers(T // 10, 9 * T // 10))
        whole, forgets = sw.Resolve(before.cascade), sw.Resolve(before.cascade, memory=W)
        both = [before, after]
        oracle = regret([before], whole, [change], run) + regret([after], whole, [T - change], run)
        for name, value in {
            "all history": regret(both, whole, [change, T], run),
            f"memory={W}": regret(both, forgets, [change, T], run),
            "a new policy at the change": oracle,
            "no change, all history": regret([before], whole, [T], run),
            f"no change, memory={W}": regret([before], forgets, [T], run),
        }.items():
            rows.setdefault(name, []).append(value)
        EventPlay(forgets, rng).play(World(before, labelled=False), np.array([T]))
        false_alarms += forgets._stored["recent"].since > 0
    print(f"A test replaced at a random time, three tests, {args.runs} runs of {T} rounds")
    for name, regrets in rows.items():
        print(f"{name:28s} mean {np.mean(regrets):8.1f}  worst {max(regrets):8.1f}")
    print(f"runs without a change in which one was noticed: {false_alarms} of {args.runs}")


if __name__ == "__main__":
    main()
