"""A synthetic cascade, learned online without a label by four policies: a table and a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

from matplotlib.figure import Figure

import stopwise as sw
from stopwise.problem.families import nested_errors

POLICIES_SHOWN = [
    sw.Resolve,
    lambda cascade: sw.Thompson(cascade, seed=0),
    sw.WeakDominance,  # the paper's Algorithm 2
    sw.StrongDominance,  # and its Algorithm 1
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("demo.png"))
    args = parser.parse_args()

    cascade = sw.Cascade(
        costs=[0, 2, 2], mistake_cost=20, names=["questionnaire", "blood test", "scan"]
    )
    world = nested_errors(cascade, error_rates=[0.4, 0.1, 0.05])
    print("Three tests, from cheap to dear; nobody ever tells which answer was right.")
    print(f"(The truth, hidden from the learners: {describe(world)})\n")
    heading = f"after {args.horizon} cases"
    print(f"{heading:18s} {'regret':>14s}   share of cases stopped at")
    print(f"{'':18s} {'in mistakes':>14s}   " + "  ".join(f"{n:>13s}" for n in cascade.names))

    figure = Figure(figsize=(8, 4.5), layout="constrained")
    axes = figure.subplots()
    for policy in POLICIES_SHOWN:
        trace = sw.simulate(
            world, policy, horizon=args.horizon, replications=args.replications, seed=0
        )
        mean, half = trace.mean_regret()[-1], trace.half_width()[-1]
        print(
            f"{trace.policy:18s} {mean:7.1f} ± {half:4.1f}   "
            + "  ".join(f"{s:13.2%}" for s in trace.stop_shares())
        )
        trace.plot(axes)
    axes.set(title="Learning where to stop, without labels", yscale="log", ylim=(0.3, None))
    figure.savefig(args.out, dpi=150)
    print(f"\nThe picture is in {args.out}. Regret: what was lost against always stopping at")
    print(f"the {cascade.names[world.best_stage]}, which no learner was told.")


def describe(world: sw.Instance) -> str:
    """The truth in words."""
    rates = ", ".join(
        f"{name} errs in {rate:.0%}"
        for name, rate in zip(world.cascade.names, world.error_rates, strict=True)
    )
    return f"{rates} of all cases; best is the {world.cascade.names[world.best_stage]}"


if __name__ == "__main__":
    main()
