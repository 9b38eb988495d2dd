"""Regret of the learners of one stage: python -m benchmarks.bench_regret [FILE.csv:cost,… …].

A file has a header y,s1,…,sK; its costs are scaled to 25 totals from .01 to 10 mistakes, spaced
evenly in their logarithm, and every total at which weak dominance holds is a setting.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars
from benchmarks.instances import margin, margins, near_ties, random_laws, recorded, synthetic
from stopwise.progress import Progress
from stopwise.theory.regret_limit import weak_dominance_limit

ALL = ("StrongDominance", "WeakDominance", "Thompson", "Resolve")
SCALES = np.geomspace(0.01, 10, 25).tolist()
NEAR_TIES = "Near ties"  # in three times the runs, which differ most there
AGAIN = 5  # so many of the worst near ties are measured again, in 100 times the runs
MOST_STAGES_OF_LIMIT = 5  # of more it takes too long


@dataclass(frozen=True)
class Row:
    """The regrets of each policy in all runs, at the end and before the last tenth."""

    name: str
    limit: float
    margin: float
    regret: dict[str, np.ndarray]
    stuck: dict[str, int]

    def mean(self, policy: str) -> float:
        return float(self.regret[policy].mean())

    @property
    def better(self) -> float:
        """The mean regret of Algorithm 2 or Thompson sampling, whichever has less."""
        return min(self.mean("WeakDominance"), self.mean("Thompson"))


def measure(name: str, law: sw.Instance, policies: tuple[str, ...], T: int, runs: int) -> Row:
    regret, stuck = {}, {}
    for policy in policies:
        trace = sw.simulate(
            law,
            getattr(sw, policy).with_defaults(law.cascade),
            horizon=T,
            replications=runs,
            checkpoints=[T - T // 10, T],
            progress=False,
        )
        regret[policy] = trace.regret[:, -1]
        late = trace.regret[:, -1] - trace.regret[:, -2]
        stuck[policy] = int((late > 0.02 * (T // 10) * law.gaps.max()).sum())
    limit = math.nan
    if law.cascade.n_stages <= MOST_STAGES_OF_LIMIT:
        limit = weak_dominance_limit(law.output_law, law.gaps, law.best_stage, by_agreement=True)
        limit *= math.log(T)
    return Row(name, limit, margin(law), regret, stuck)


def show(title: str, rows: list[Row]) -> None:
    policies = list(rows[0].regret)
    print(f"\n{title}\n{'':42s}{'limit':>8s}" + "".join(f"{p:>20s}" for p in policies))
    for row in rows:
        print(f"{row.name:42s}{row.limit:8.1f}" + "".join(cell(row, p) for p in policies))


def cell(row: Row, policy: str) -> str:
    """Mean, half a 95 % interval, and the number of runs above 2 % of linear at the end."""
    regret = row.regret[policy]
    half = 1.96 * regret.std() / math.sqrt(len(regret))
    return f"{regret.mean():9.1f} ± {half:5.1f}{'s' + str(row.stuck[policy]):>4s}"


def geometric(rows: list[Row], policy: str, over: str, least: float) -> float:
    """The geometric mean of the ratio of regrets, each at least ``least``."""
    ratios = [max(r.mean(policy), least) / max(r.mean(over), least) for r in rows]
    return math.exp(np.mean(np.log(ratios))) if ratios else math.nan


def summary(title: str, rows: list[Row]) -> float:
    """Print what Resolve has of Algorithm 2's regret; return it where both have some."""
    some = [r for r in rows if r.mean("WeakDominance") > 0 and r.mean("Resolve") > 0]
    ratio = geometric(some, "Resolve", "WeakDominance", 0.0)
    floored = geometric(rows, "Resolve", "WeakDominance", 1.0)
    bounded = [r for r in some if 0 < r.limit < math.inf]
    over = [
        math.exp(np.mean([math.log(r.mean(p) / r.limit) for r in bounded])) if bounded else math.nan
        for p in ("Resolve", "WeakDominance")
    ]
    print(
        f"{title}: Resolve / Algorithm 2 {ratio:.3f} over {len(some)} where both have a regret, "
        f"{floored:.3f} over all {len(rows)} with regrets below one mistake counted as one; over "
        f"the limit: Resolve {over[0]:.2f}, Algorithm 2 {over[1]:.2f} ({len(bounded)})"
    )
    return ratio


def verdicts(rows: list[Row], ratios: dict[str, float], bars: Bars) -> None:
    settings = [r for r in rows if r.better >= 5]
    worst = max(settings, key=lambda r: r.mean("Resolve") / r.better)
    quiet = max((r for r in rows if r.better < 5), key=lambda r: r.mean("Resolve"))
    note = f"{worst.name}: {worst.mean('Resolve'):.1f} and {worst.better:.1f}"
    ratio = worst.mean("Resolve") / worst.better
    bars.at_most("Resolve / the better of Algorithm 2 and Thompson, worst", ratio, 2.0, note)
    print(
        f"Where the better one has less than 5 mistakes Resolve has at most "
        f"{quiet.mean('Resolve'):.1f} (the better one {quiet.better:.1f}, {quiet.name})"
    )
    for title, ratio in ratios.items():
        bar = 0.115 if title == "Recorded" else 0.2
        bars.at_most(f"{title}: Resolve / Algorithm 2", ratio, bar, "geometric mean")
    first = next(r for r in rows if r.name == "SD (0, .1, .1)")
    share = first.mean("Resolve") / first.limit
    bars.at_most("Resolve / limit on SD (0, .1, .1)", share, 1.2, "")
    stuck = sum(r.stuck["Resolve"] for r in rows if r.margin >= 0.05)
    bars.at_most("Runs above 2 % of linear at the end, margin >= .05", stuck, 0, "")


def ties(rows: list[Row], again: Callable[[str], Row], bars: Bars) -> None:
    """Print how Resolve does near ties; `bench_frontier` says what can be had there.

    The largest of many ratios is large by chance, too, so those few are measured again.
    """
    settings = [r for r in rows if r.margin < math.inf and r.better >= 5]
    ratios = [r.mean("Resolve") / r.better for r in settings]
    print(f"Near ties: geometric mean {math.exp(np.mean(np.log(ratios))):.2f} of {len(ratios)}")
    largest = np.argsort(ratios)[-AGAIN:].tolist()
    for row in (again(settings[k].name) for k in largest):
        note = f"{row.name}: {row.mean('Resolve'):.0f} and {row.better:.0f}"
        ratio = row.mean("Resolve") / row.better
        bars.at_most("Near tie: Resolve / the better of Algorithm 2 and Thompson", ratio, 2.0, note)
    last = [r for r in rows if r.margin == math.inf]
    for policy in ("Resolve", "Thompson"):
        mean = np.mean([r.mean(policy) for r in last])
        tail = np.mean([np.quantile(r.regret[policy], 0.95) for r in last])
        print(
            f"The last stage best by as little ({len(last)}): {policy} has {mean:.1f}, and a 95 % "
            f"quantile of {tail:.1f}, on average"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--random", type=int, default=30, help="how many random laws")
    args = parser.parse_args()
    groups = {
        "Synthetic": synthetic(),
        "Own families": margins(),
        "Random laws": random_laws(args.random, seed=0),
        NEAR_TIES: near_ties(),
    }
    if args.files:
        groups["Recorded"] = {}
    for name, _, costs in (file.rpartition(":") for file in args.files):
        steps = [float(cost) for cost in costs.split(",")]
        groups["Recorded"] |= recorded(Path(name), steps, SCALES)
    rows: dict[str, list[Row]] = {}
    with Progress(sum(map(len, groups.values())), "instances") as progress:
        for title, laws in groups.items():
            rows[title] = []
            for name, law in laws.items():
                policies = ALL if title == "Synthetic" else ALL[1:]
                runs = args.runs * (3 if title == NEAR_TIES else 1)
                rows[title].append(measure(name, law, policies, args.horizon, runs))
                progress.advance()
            if rows[title]:
                show(title, rows[title])
    print()
    bars = Bars()
    ties(
        rows.pop(NEAR_TIES),
        lambda name: measure(name, groups[NEAR_TIES][name], ALL[1:], args.horizon, 100 * args.runs),
        bars,
    )
    ratios = {title: summary(title, group) for title, group in rows.items() if group}
    print()
    verdicts([row for group in rows.values() for row in group], ratios, bars)
    bars.finish()


if __name__ == "__main__":
    main()
