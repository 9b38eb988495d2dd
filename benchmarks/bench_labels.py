"""How many labels it takes to choose a stage: planned ones against labels on random cases.

python -m benchmarks.bench_labels [FILE.csv:cost,cost,… …]; a file has a column y with the truth.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from pathlib import Path

import numpy as np

import stopwise as sw
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.evidence.missing import observed_law
from stopwise.auditing.labels.cases import LabelledCases
from stopwise.auditing.labels.plan import plan_labels
from stopwise.patterns import MISSING, PatternTable, agreement
from stopwise.problem.families import relaxed_errors

N_LABELS = (20, 50, 100, 200)
N_PRICES = 41


class World:
    """A log whose truth is known, with the cases of each agreement."""

    def __init__(self, outputs: np.ndarray, labels: np.ndarray, costs: list[float]) -> None:
        self.outputs, self.labels, self.costs = outputs, labels, costs
        counted = Counter(map(tuple, outputs.tolist()))
        self.histogram = PatternTable.from_rows(counted, counted.values(), sw.Cascade(costs))
        self.differences = IdentifiedSet(observed_law(self.histogram)).largest_differences
        code = {value: c for c, value in enumerate(self.histogram.classes)}
        coded = np.vectorize(code.__getitem__)(outputs)
        self.groups: dict[tuple[int, ...], list[int]] = {}
        for case, row in enumerate(coded.tolist()):
            self.groups.setdefault(agreement(row, missing=MISSING), []).append(case)
        self.error_rates = (outputs != labels[:, None]).mean(axis=0)

    def cascade(self, scale: float) -> sw.Cascade:
        """The costs scaled so that all tests together cost this much of a mistake."""
        return sw.Cascade(self.costs, mistake_cost=sum(self.costs) / scale)

    def planned(self, cascade: sw.Cascade, n: int, rng: np.random.Generator) -> list[int]:
        plan = plan_labels(self.histogram, self.differences, cascade, n_labels=n, alpha=0.05)
        return [
            case
            for group in plan.groups
            for case in rng.choice(self.groups[group.blocks], group.n_labels, replace=False)
        ]

    def regret(self, cases: list[int], cascade: sw.Cascade, *, by_agreement: bool) -> float:
        told = Counter((tuple(self.outputs[c].tolist()), self.labels[c].item()) for c in cases)
        labelled = [(row, label, n) for (row, label), n in told.items()]
        found = LabelledCases.of(self.histogram, labelled, by_agreement=by_agreement)
        K = cascade.n_stages
        gains = [0.0, *(found.estimate(k, 0) for k in range(1, K))]
        stage = int(np.argmin(np.array(gains) + cascade.cumulative_costs))
        total = self.error_rates + cascade.cumulative_costs
        return float(total[stage] - total.min())


def mean_regrets(world: World, n: int, runs: int, seed: int) -> tuple[float, float]:
    """The mean regret over 41 prices of the chosen stage, with n planned and n random labels."""
    rng = np.random.default_rng(seed)
    planned, at_random = [], []
    for scale in np.geomspace(0.01, 10, N_PRICES):
        cascade = world.cascade(float(scale))
        for _ in range(runs):
            cases = world.planned(cascade, n, rng)
            planned.append(world.regret(cases, cascade, by_agreement=True))
            cases = rng.choice(len(world.labels), n, replace=False).tolist()
            at_random.append(world.regret(cases, cascade, by_agreement=True))
    return float(np.mean(planned)), float(np.mean(at_random))


def read(argument: str) -> tuple[str, World]:
    name, _, costs = argument.rpartition(":")
    with Path(name).open(newline="") as lines:
        rows = np.array(list(csv.reader(lines))[1:])
    return Path(name).stem, World(rows[:, 1:], rows[:, 0], [float(c) for c in costs.split(",")])


def made_up() -> tuple[str, World]:
    law = relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25]))
    labels, outputs = law.sample(20_000, seed=0)
    return "relaxed errors", World(np.asarray(outputs), np.asarray(labels), [0.01, 0.1, 0.25])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    worlds = [made_up(), *map(read, args.files)]
    print(f"{'log':24} {'labels':>7} {'planned':>9} {'random':>9}   mean regret over 41 prices")
    for name, world in worlds:
        for n in N_LABELS:
            planned, at_random = mean_regrets(world, n, args.runs, seed=n)
            print(f"{name:24} {n:7} {planned:9.4f} {at_random:9.4f}")


if __name__ == "__main__":
    main()
