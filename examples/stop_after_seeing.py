"""Look at each output, then decide whether this case needs another test: a table and a figure."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import stopwise as sw
from stopwise.problem.families import nested_errors
from stopwise.problem.stopping_problem import StoppingProblem

CASCADE = sw.Cascade(costs=[0, 7, 2], mistake_cost=20, names=["questions", "blood test", "scan"])
SHADES = ["#D9E8F5", "#6BAED6", "#08519C"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--replications", type=int, default=10)
    parser.add_argument("--out", type=Path, default=Path("stop_after_seeing.png"))
    args = parser.parse_args()

    world = nested_errors(CASCADE)  # stands in for real cases; nobody tells the learner
    policy = play(world, args.horizon)
    print("After which outputs the next test is worth its price, labels unknown:")
    prefixes = [(0,), (1,), (0, 0), (0, 1)]
    for prefix in prefixes:
        outlook = policy.outlook(prefix)
        print(
            f"  {prefix!s:7s} {policy.next(prefix).value:9s} going on can gain"
            f" {outlook.low:+.3f} to {outlook.high:+.3f}, by {outlook.n_followed} cases"
        )

    figure = Figure(figsize=(9, 3.9), layout="constrained")
    left, right = figure.subplots(1, 2)
    draw_costs(left, world, args.horizon, args.replications)
    draw_stops(right, policy, world)
    figure.savefig(args.out, dpi=150)
    print(f"\nThe picture is in {args.out}: what a case costs, and where cases are stopped.")


def play(world: sw.Instance, n: int) -> sw.OutputConditional:
    """The loop of a user: run a test, look, run another one or stop; tell what was seen."""
    policy = sw.OutputConditional(CASCADE)
    for outputs in world.sample(n, seed=1)[1].tolist():
        policy.tell(outputs[: n_tests(policy, outputs)])
    return policy


def n_tests(policy: sw.OutputConditional, outputs: list[int]) -> int:
    """Return how many tests a case needs."""
    n = 1
    while policy.next(outputs[:n]) is sw.Decision.CONTINUE:
        n += 1  # run the next test
    return n


def draw_costs(axis, world, horizon, replications) -> None:
    trace = sw.simulate(
        world,
        sw.OutputConditional,
        horizon=horizon,
        replications=replications,
        checkpoints=np.unique(np.geomspace(1, horizon - 1, 60).astype(int)),
    )
    unit, best = CASCADE.mistake_cost, StoppingProblem(world).best_cost
    fixed = float(world.total_costs.min())
    regret = trace.mean_regret()
    axis.plot(trace.rounds, unit * (best + regret / trace.rounds), color="#08519C")
    for cost, name in ((fixed, "best single stage"), (best, "best rule")):
        axis.axhline(unit * cost, color="0.4", linestyle="--", linewidth=1)
        axis.annotate(name, (1, unit * cost), xytext=(3, 3), textcoords="offset points", fontsize=8)
    axis.set(title="cost + errors per case, so far", xlabel="cases", xscale="log")
    print(
        f"\nA case costs {unit * (best + regret[-1] - regret[-2]):.2f} at the end;"
        f" {unit * fixed:.2f} with the best single stage,"
        f" {unit * best:.2f} with the best rule that knows the labels"
    )


def draw_stops(axis, policy, world) -> None:
    outputs = world.sample(5_000, seed=2)[1].tolist()
    stops = np.zeros((2, CASCADE.n_stages))
    for case in outputs:
        stops[case[0], n_tests(policy, case) - 1] += 1
    shares = stops / stops.sum(axis=1, keepdims=True)
    below = np.zeros(2)
    for stage, name in enumerate(CASCADE.names):
        axis.bar(["0", "1"], shares[:, stage], bottom=below, color=SHADES[stage], label=name)
        below += shares[:, stage]
    axis.set(title="where new cases are stopped", xlabel="first output", ylabel="share of cases")
    axis.set(ylim=(0, 1.2), yticks=np.linspace(0, 1, 6))
    axis.legend(ncols=3, fontsize=8, frameon=False, loc="upper center")


if __name__ == "__main__":
    main()
