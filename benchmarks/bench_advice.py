"""How often the advice of an audit is right, at many prices of a mistake.

python -m benchmarks.bench_advice [FILE.csv:cost,cost,… …] [--seeds 7] [--first-seed 0] [--runs 1]
[--trained]

Recorded logs are those of bench_labels; made-up ones are of sixteen kinds, drawn anew by each seed.
For each certainty: the share of prices at which it is given, how often the advised stage is the
cheapest and costs at most 10 % more than the cheapest; then the mean regret of all advice.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.advice_worlds import made_up, trained_worlds
from benchmarks.bench_labels import World, worlds
from stopwise.auditing.advice import Certainty
from stopwise.auditing.decide import advise
from stopwise.auditing.evidence import belief
from stopwise.auditing.facts import facts_of
from stopwise.patterns import PatternTable

N_PRICES = 41
N_LABELS = 50
NEAR = 1.1


@dataclass
class Tally:
    """What was advised, as (certainty, regret, cost over that of the cheapest stage)."""

    said: list[tuple[Certainty, float, float]] = field(default_factory=list)

    def share(self, certainty: Certainty) -> float:
        return float(np.mean([c is certainty for c, *_ in self.said]))

    def right(self, certainty: Certainty, ratio: float) -> float:
        """Of the advice of this certainty the share that costs at most so many times the least."""
        return float(np.mean([r <= ratio + 1e-9 for c, _, r in self.said if c is certainty] or [1]))

    @property
    def regret(self) -> float:
        return float(np.mean([regret for _, regret, _ in self.said]))

    def line(self, name: str) -> str:
        cells = [
            f"{self.share(c):.0%} {self.right(c, 1):.0%} {self.right(c, NEAR):.0%}"
            for c in (Certainty.PROVEN, Certainty.LIKELY)
        ]
        return f"{name:26}" + "".join(f"{cell:>18}" for cell in cells) + f"{self.regret:10.4f}"


def remember_fits() -> None:
    """Fit each table once: what is believed does not depend on prices."""
    fit = sw.LatentClasses.fit
    known: dict[bytes, sw.LatentClasses] = {}

    def once(table: PatternTable, labels: Iterable[Any] = ()) -> sw.LatentClasses:
        key = table.codes.tobytes() + table.weights.tobytes()
        if key not in known:
            known[key] = fit(table)
        first, told = known[key], list(labels)
        if not told:
            return first
        model = fit(first.table, labels=told, start=first)
        vars(model)["misfit"] = first.misfit  # which labels do not change
        return model

    belief.LatentClasses.fit = staticmethod(once)  # type: ignore[method-assign,assignment]


def tally(world: World, n_labels: int, runs: int) -> Tally:
    """Audit a world at many prices, with planned labels where some are wanted."""
    found, rng = Tally(), np.random.default_rng(0)
    for scale in np.geomspace(0.01, 10, N_PRICES):
        cascade = world.cascade(float(scale))
        total = world.error_rates + cascade.cumulative_costs
        for _ in range(runs if n_labels else 1):
            told = None
            if n_labels:
                cases = world.planned(cascade, n_labels, rng)
                rows = [(tuple(world.outputs[c].tolist()), world.labels[c].item()) for c in cases]
                told = [(row, label, n) for (row, label), n in Counter(rows).items()]
            advice = advise(facts_of(world.histogram.priced(cascade), labels=told))
            cost = float(total[advice.stage])
            regret = cost - float(total.min())
            found.said.append((advice.certainty, regret, cost / float(total.min())))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--seeds", type=int, default=7, help="made-up worlds of each kind")
    parser.add_argument("--first-seed", type=int, default=0, help="others draw new worlds")
    parser.add_argument("--trained", action="store_true", help="50 trained cascades instead")
    parser.add_argument("--runs", type=int, default=1, help="draws of labels at each price")
    args = parser.parse_args()
    remember_fits()
    print(f"{'':26}{'proven':>18}{'likely':>18}{'regret':>10}")
    recorded, labelled, invented = Tally(), Tally(), Tally()
    for name, world in worlds(args.files):
        for n, whole in ((0, recorded), (N_LABELS, labelled)):
            found = tally(world, n, args.runs)
            whole.said += found.said
            print(found.line(f"{name}{f', {n} labels' if n else ''}"), flush=True)
    kinds: defaultdict[str, Tally] = defaultdict(Tally)
    made = trained_worlds() if args.trained else made_up(args.first_seed, args.seeds)
    for kind, world in made:
        kinds[kind].said += tally(world, 0, 1).said
    for kind, found in kinds.items():
        invented.said += found.said
        print(found.line(kind), flush=True)
    for name, whole in (("recorded", recorded), ("with labels", labelled), ("made up", invented)):
        if whole.said:
            print(whole.line(name))


if __name__ == "__main__":
    main()
