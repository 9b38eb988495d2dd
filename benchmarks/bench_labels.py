"""How good a stage the belief advises: without labels, with planned ones, with random ones.

python -m benchmarks.bench_labels [FILE.csv:cost,cost,… …]; a file has a column y with the truth.
"""

from __future__ import annotations

import argparse
import csv
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

import numpy as np

import stopwise as sw
from paper.sensors import HEART, PIMA
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.labels.label_plan import plan_labels
from stopwise.beliefs import stage_costs
from stopwise.disagreement import is_dominant_at
from stopwise.patterns import MISSING, PatternTable, agreement
from stopwise.problem.families import relaxed_errors

N_LABELS = (20, 50, 200)
N_PRICES = 41


class World:
    """A log whose truth is known, with the cases of each agreement."""

    def __init__(self, outputs: np.ndarray, labels: np.ndarray, costs: list[float]) -> None:
        self.outputs, self.labels, self.costs = outputs, labels, costs
        counts = Counter(map(tuple, outputs.tolist()))
        self.histogram = PatternTable.from_rows(counts, counts.values(), sw.Cascade(costs))
        code = {value: c for c, value in enumerate(self.histogram.classes)}
        codes = np.vectorize(code.__getitem__)(outputs)
        self.groups: dict[tuple[int, ...], list[int]] = {}
        for case, row in enumerate(codes.tolist()):
            self.groups.setdefault(agreement(row, missing=MISSING), []).append(case)
        self.error_rates = (outputs != labels[:, None]).mean(axis=0)

    def cascade(self, scale: float) -> sw.Cascade:
        """The costs scaled so that all tests together cost this much of a mistake."""
        return sw.Cascade(self.costs, mistake_cost=sum(self.costs) / scale)

    def planned(self, cascade: sw.Cascade, n: int, rng: np.random.Generator) -> list[int]:
        plan = plan_labels(self.histogram.priced(cascade), self.differences, n_labels=n, alpha=0.05)
        return [
            case
            for group in plan.groups
            for case in rng.choice(self.groups[group.blocks], group.n_labels, replace=False)
        ]

    @cached_property
    def differences(self) -> np.ndarray:
        """The most by which each test may be better than another."""
        return IdentifiedSet(self.histogram).largest_differences

    @cached_property
    def model(self) -> sw.LatentClasses:
        """The belief without labels."""
        return sw.LatentClasses.fit(self.histogram)

    def advised(self, cases: list[int], cascade: sw.Cascade) -> int:
        """The stage of least expected cost under the belief with these cases labelled."""
        counts = Counter((tuple(self.outputs[c].tolist()), self.labels[c].item()) for c in cases)
        labelled = [(row, label, n) for (row, label), n in counts.items()]
        model = sw.LatentClasses.fit(self.histogram, labels=labelled, start=self.model)
        return int(np.argmin(stage_costs(model if cases else self.model, self.histogram, cascade)))

    def sound(self, cascade: sw.Cascade) -> int:
        """The first stage whose price covers what follows."""
        p = self.histogram.disagreement
        return next(k for k in range(cascade.n_stages) if is_dominant_at(p, cascade, k))

    def regret(self, stage: int, cascade: sw.Cascade) -> float:
        total = self.error_rates + cascade.cumulative_costs
        return float(total[stage] - total.min())


def mean_regrets(world: World, runs: int) -> dict[str, float]:
    """The mean regret over 41 prices: by disagreement, and by belief with so many labels."""
    regrets: dict[str, list[float]] = {}
    rng = np.random.default_rng(0)
    for scale in np.geomspace(0.01, 10, N_PRICES):
        cascade = world.cascade(float(scale))

        def note(name: str, stage: int, cascade: sw.Cascade = cascade) -> None:
            regrets.setdefault(name, []).append(world.regret(stage, cascade))

        note("sound", world.sound(cascade))
        note("none", world.advised([], cascade))
        for n in N_LABELS:
            for _ in range(runs):
                note(f"{n}", world.advised(world.planned(cascade, n, rng), cascade))
                some = rng.choice(len(world.labels), min(n, len(world.labels)), replace=False)
                note(f"{n} random", world.advised(some.tolist(), cascade))
    return {name: float(np.mean(values)) for name, values in regrets.items()}


def read(argument: str) -> tuple[str, World]:
    name, _, costs = argument.rpartition(":")
    with Path(name).open(newline="") as lines:
        rows = np.array(list(csv.reader(lines))[1:])
    return Path(name).stem, World(rows[:, 1:], rows[:, 0], [float(c) for c in costs.split(",")])


def nested() -> World:
    """Classifiers that see ever more of the same features, so that they share their errors."""
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 10_000)
    clues = rng.normal(0.4 * (2 * labels - 1)[:, None], 1.0, (10_000, 12))
    outputs = np.cumsum(clues, axis=1)[:, [1, 3, 6, 11]] > 0
    return World(outputs.astype(int), labels, [0.1, 0.2, 0.3, 0.4])


def worlds(files: list[str]) -> Iterator[tuple[str, World]]:
    law = relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25]))
    labels, outputs = law.sample(20_000, seed=0)
    yield "relaxed errors", World(np.asarray(outputs), np.asarray(labels), [0.01, 0.1, 0.25])
    yield "nested classifiers", nested()
    for sensors in (PIMA, HEART):
        cases = sensors.recording()
        costs = np.diff(sensors.printed_costs, prepend=0.0).tolist()
        name = sensors.load().name
        yield name, World(np.asarray(cases.outputs), np.asarray(cases.labels), costs)
    yield from map(read, files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--runs", type=int, default=3)
    args = parser.parse_args()
    rows = []
    for name, world in worlds(args.files):
        regrets = mean_regrets(world, args.runs)
        if not rows:
            print(f"{'mean regret over 41 prices':26}" + "".join(f"{head:>12}" for head in regrets))
        print(f"{name:26}" + "".join(f"{mean:12.4f}" for mean in regrets.values()), flush=True)
        rows.append(list(regrets.values()))
    print(f"{'mean':26}" + "".join(f"{mean:12.4f}" for mean in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
