"""Regret of every policy on the same streams: python -m benchmarks.bench_regret --help."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import stopwise as sw
from benchmarks.instances import margins, recorded, synthetic
from stopwise.theory.limit import weak_dominance_limit

POLICIES: dict[str, Callable[[sw.Cascade, int], sw.Policy]] = {
    "WeakDominance": lambda cascade, seed: sw.WeakDominance(cascade),
    "Resolve": lambda cascade, seed: sw.Resolve(cascade),
    "StrongDominance": lambda cascade, seed: sw.StrongDominance(cascade),
    "Thompson": lambda cascade, seed: sw.Thompson(cascade, seed=seed),
}
# Mean regret of an independent prototype over 20 runs, in the order of `synthetic()`.
REFERENCE = {
    "StrongDominance": [1004, 1002, 1180, 19, 237, 331, math.nan],
    "WeakDominance": [348, 348, 633, 0, 395, 1550, 762],
    "Thompson": [14, 26, 197, 2, 44, 102, 199],
}


MOST_STAGES_OF_LIMIT = 5


@dataclass(frozen=True)
class Row:
    name: str
    limit: float
    margin: float
    regret: dict[str, np.ndarray]
    late: dict[str, np.ndarray]


def measure(name: str, instance: sw.Instance, policies: list[str], horizon: int, runs: int) -> Row:
    """Play every policy on the same ``runs`` streams."""
    gaps, K = instance.gaps, instance.cascade.n_stages
    regret = {p: np.zeros(runs) for p in policies}
    late = {p: np.zeros(runs) for p in policies}
    for run in range(runs):
        _, drawn = instance.sample(horizon, seed=run)
        prefixes: dict[tuple[int, ...], list[tuple[int, ...]]] = {}
        stream = []
        for row in map(tuple, drawn.tolist()):
            if row not in prefixes:
                prefixes[row] = [row[: k + 1] for k in range(K)]
            stream.append(prefixes[row])
        for p in policies:
            policy = POLICIES[p](instance.cascade, run)
            ask, tell = policy.ask, policy.tell
            for shown in stream[: horizon - horizon // 10]:
                tell(shown[ask()])
            before = policy.counts.n_stopped @ gaps
            for shown in stream[horizon - horizon // 10 :]:
                tell(shown[ask()])
            regret[p][run] = policy.counts.n_stopped @ gaps
            late[p][run] = (regret[p][run] - before) / (horizon // 10 * gaps.max())
    best, C, p = instance.best_stage, instance.cascade.cumulative_costs, instance.disagreement
    margin = min((C[j] - C[best] - p[best, j] for j in range(best + 1, K)), default=math.inf)
    limit = math.nan  # of many stages it takes too long
    if K <= MOST_STAGES_OF_LIMIT:
        limit = weak_dominance_limit(instance.output_law, gaps, best) * math.log(horizon)
    return Row(name, limit, float(margin), regret, late)


def ratio(row: Row) -> float:
    """Resolve's regret over WeakDominance's; regrets below one mistake count as one mistake."""
    return max(row.regret["Resolve"].mean(), 1.0) / max(row.regret["WeakDominance"].mean(), 1.0)


def show(title: str, rows: list[Row], policies: list[str]) -> None:
    print(f"\n{title}")
    print(f"{'instance':42s} {'limit':>7s} " + " ".join(f"{p:>20s}" for p in policies) + "  ratio")
    for row in rows:
        cells = " ".join(cell(row.regret[p], row.late[p]) for p in policies)
        print(f"{row.name:42s} {row.limit:7.1f} {cells}  {ratio(row):5.2f}")


def cell(regret: np.ndarray, late: np.ndarray) -> str:
    """Mean, half a 95 % interval, and the number of runs above 2 % of linear at the end."""
    half = 1.96 * regret.std() / math.sqrt(len(regret))
    return f"{regret.mean():9.1f} ± {half:5.1f}{'s' + str(int((late > 0.02).sum())):>5s}"


def verdicts(rows: list[Row], target: list[Row]) -> bool:
    """Print the bars and return whether all are met."""
    by_name = {row.name: row for row in rows}
    overall = math.exp(np.mean([math.log(ratio(row)) for row in target]))
    worse = [r for r in rows if ratio(r) > 1.1]
    lost = [r for r in worse if r.regret["WeakDominance"].mean() > 5]
    first = by_name["SD (0, .1, .1)"]
    stuck = [
        (row.name, int((row.late["Resolve"] > 0.02).sum()))
        for row in rows
        if row.margin >= 0.05 and (row.late["Resolve"] > 0.02).any()
    ]
    print(f"\nResolve / WeakDominance, geometric mean over {len(target)}: {overall:.3f} (bar 0.20)")
    print("No instance is left out; regrets below one mistake count as one mistake.")
    told = [f"{r.name}: {r.regret['Resolve'].mean():.1f}" for r in worse]
    print(f"Resolve above 1.1 x WeakDominance: {told or 'nowhere'}")
    print(f"Of these where WeakDominance has more than 5: {[r.name for r in lost] or 'none'} (bar)")
    share = first.regret["Resolve"].mean() / first.limit
    print(f"Resolve / limit on SD (0, .1, .1): {share:.2f} (bar 1.2)")
    shares = [
        math.log(row.regret[p].mean() / row.limit)
        for p in ("Resolve", "WeakDominance")
        for row in target
        if 0 < row.limit < math.inf and row.regret[p].mean() > 0
    ]
    half = len(shares) // 2
    both = [math.exp(np.mean(part)) for part in (shares[:half], shares[half:])]
    print(f"Geometric mean over the limit: Resolve {both[0]:.2f}, WeakDominance {both[1]:.2f}")
    print(f"Runs above 2 % of linear in the last tenth, margin >= .05: {stuck or 'none'}")
    return overall <= 0.20 and not lost and share <= 1.2 and not stuck


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--synthetic", action="store_true", help="leave out the own families")
    parser.add_argument("--csv", type=Path, help="a recorded cascade with header y,s1,...,sK")
    parser.add_argument("--step-costs", type=lambda s: list(map(float, s.split(","))))
    parser.add_argument(
        "--scales",
        type=lambda s: list(map(float, s.split(","))),
        default=[0.05, 0.1, 0.18, 0.25, 0.35, 0.5, 1.0, 1.3, 2.0],
        help="total costs of the recorded cascade, in error units",
    )
    args = parser.parse_args()
    if args.csv and not args.step_costs:
        parser.error("--csv needs --step-costs")
    every, few = list(POLICIES), ["WeakDominance", "Resolve"]
    groups = [("Synthetic, Section 7", synthetic(), every)]
    if not args.synthetic:
        groups.append(("Own families", margins(), few))
    if args.csv:
        cases = recorded(args.csv, args.step_costs, args.scales)
        groups.insert(1, (f"Recorded: {args.csv.name}", cases, few))
    rows: dict[str, list[Row]] = {}
    with ProcessPoolExecutor(args.jobs) as pool:
        for title, instances, policies in groups:
            futures = [
                pool.submit(measure, name, instance, policies, args.horizon, args.runs)
                for name, instance in instances.items()
            ]
            rows[title] = [future.result() for future in futures]
            show(title, rows[title], policies)
            if title == groups[0][0]:
                reference(rows[title])
    everything = [row for group in rows.values() for row in group]
    target = [row for title in rows if title != "Own families" for row in rows[title]]
    if not verdicts(everything, target):
        raise SystemExit("a bar was missed")


def reference(rows: list[Row]) -> None:
    print("\nAgainst the reference figures (z: difference over its standard error)")
    for policy, figures in REFERENCE.items():
        cells = []
        for row, figure in zip(rows, figures, strict=True):
            ours = row.regret[policy]
            error = max(ours.std() * math.sqrt(2 / len(ours)), 1e-9)
            if math.isnan(figure):
                cells.append(f"{ours.mean():7.0f}/-     z=    -")
                continue
            z = (ours.mean() - figure) / error if abs(ours.mean() - figure) > 1 else 0.0
            cells.append(f"{ours.mean():7.0f}/{figure:<5.0f} z={z:5.1f}")
        print(f"{policy:16s} " + " ".join(cells))


if __name__ == "__main__":
    main()
