"""Resolve with a zone that vanishes: python -m benchmarks.bench_vanishing --help."""

from __future__ import annotations

import argparse

import stopwise as sw
from benchmarks.instances import synthetic
from stopwise.policies.indifference import VANISHING
from stopwise.problem.families import indistinguishable_pair

EPSILONS = (0.002, 0.005, 0.01, 0.02, 0.05)


def mean_regret(law: sw.Instance, zone: float | str, horizon: int, runs: int) -> float:
    trace = sw.simulate(
        law,
        sw.Resolve(law.cascade, indifference=zone),
        horizon=horizon,
        replications=runs,
        checkpoints=1,
        progress=False,
    )
    return float(trace.mean_regret()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    print("Mean regret on the pairs of Theorem 3, the worst over epsilon, and over T^(2/3)")
    for horizon in (100_000, 1_000_000):
        for zone in (VANISHING, 0.0):
            worst, epsilon = max(
                (mean_regret(law, zone, horizon, args.runs), epsilon)
                for epsilon in EPSILONS
                for law in indistinguishable_pair(epsilon)
            )
            share = worst / horizon ** (2 / 3)
            name = f"T = {horizon:<9,} indifference={zone!r}"
            print(f"{name:40} {worst:9.0f}  {share:6.2f}  at {epsilon:g}", flush=True)
    print("\nMean regret on the synthetic instances at T = 100,000: without a zone, with one")
    for name, law in synthetic().items():
        cells = [mean_regret(law, zone, 100_000, args.runs) for zone in (0.0, VANISHING)]
        print(f"{name:24}" + "".join(f"{cell:9.1f}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
