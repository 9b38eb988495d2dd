"""How often the advice of an audit is right, at many prices of a mistake.

python -m benchmarks.bench_advice [FILE.csv:cost,cost,… …] [--seeds 7] [--runs 1]

Recorded logs are those of bench_labels; made-up worlds are of eight kinds, drawn anew by each seed.
For each certainty: the share of prices at which it is given, how often the advised stage is the
cheapest and costs at most 10 % more than the cheapest; then the mean regret of all advice.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.belief_worlds import of_kind
from benchmarks.bench_labels import World, worlds
from stopwise.auditing.advice import Certainty
from stopwise.auditing.decide import advise
from stopwise.auditing.evidence import belief
from stopwise.auditing.facts import facts_of
from stopwise.patterns import PatternTable

N_PRICES, N_MADE_UP_PRICES = 41, 13
N_LABELS = 50
NEAR = 1.1
BARS = {"cheapest": 0.85, "near": 0.95, "regret": 0.012, "with labels": 0.0025}


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


def tally(world: World, n_prices: int, n_labels: int, runs: int) -> Tally:
    """Audit a world at many prices, with planned labels where some are wanted."""
    found, rng = Tally(), np.random.default_rng(0)
    for scale in np.geomspace(0.01, 10, n_prices):
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


def independent(rng: np.random.Generator) -> World:
    K, M = int(rng.integers(3, 21)), int(rng.choice([2, 3, 5, 10, 30]))
    return _priced(rng, *_outputs(rng, np.sort(rng.uniform(0.03, 0.45, K))[::-1], M))


def odd_one_out(rng: np.random.Generator) -> World:
    """One test disagrees with all others: alone right or alone wrong."""
    labels, outputs = _outputs(rng, np.sort(rng.uniform(0.05, 0.3, 4))[::-1], 2)
    odd, is_right = int(rng.integers(0, 4)), bool(rng.integers(0, 2))
    if is_right:  # the others share their errors
        common = np.where(rng.random(len(labels)) < 0.25, 1 - labels, labels)
        same = rng.random(outputs.shape) < 0.9
        outputs = np.where(same, common[:, None], outputs)
        outputs[:, odd] = np.where(rng.random(len(labels)) < 0.05, 1 - labels, labels)
    else:
        outputs[:, odd] = np.where(rng.random(len(labels)) < 0.4, 1 - labels, labels)
    return _priced(rng, labels, outputs)


def two_tests(rng: np.random.Generator) -> World:
    rates = np.sort(rng.uniform(0.03, 0.4, 2))[::-1]
    return _priced(rng, *_outputs(rng, rates, int(rng.choice([2, 5]))))


def router(rng: np.random.Generator) -> World:
    """The last test runs by what the first said, or by a score that nobody wrote down."""
    labels, outputs = _outputs(rng, np.sort(rng.uniform(0.05, 0.4, 3))[::-1], 2)
    score = outputs[:, 0] if rng.integers(0, 2) else labels
    runs = rng.random(len(labels)) < np.where(score == 1, 0.9, 0.3)
    world = _priced(rng, labels, outputs)
    shown = outputs.astype(object)
    shown[~runs, -1] = None
    counted = Counter(map(tuple, shown.tolist()))
    world.histogram = PatternTable.from_rows(counted, counted.values(), world.histogram.cascade)
    return world


def _outputs(
    rng: np.random.Generator, rates: np.ndarray, M: int, n: int = 3_000
) -> tuple[np.ndarray, np.ndarray]:
    labels = rng.integers(0, M, n)
    wrong = (labels[:, None] + rng.integers(1, M, (n, len(rates)))) % M
    return labels, np.where(rng.random((n, len(rates))) < rates, wrong, labels[:, None])


def _priced(rng: np.random.Generator, labels: np.ndarray, outputs: np.ndarray) -> World:
    return World(outputs, labels, np.cumsum(rng.uniform(0.2, 1.0, outputs.shape[1])).tolist())


KINDS: dict[str, Callable[[np.random.Generator], World] | str] = {
    "independent": independent,
    "harder classes": "asymmetric errors",
    "errors shared by all": "shared difficulty",
    "errors shared by two": "copies",
    "nested": "early exit",
    "odd one out": odd_one_out,
    "two tests": two_tests,
    "router": router,
}


def made_up(seeds: int) -> Iterator[tuple[str, World]]:
    for kind, make in KINDS.items():
        for seed in range(seeds):
            if isinstance(make, str):
                drawn = of_kind(make, 100 + seed)
                yield kind, World(drawn.outputs, drawn.labels, drawn.shares.tolist())
            else:
                yield kind, make(np.random.default_rng([seed, len(kind)]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--seeds", type=int, default=7, help="made-up worlds of each kind")
    parser.add_argument("--runs", type=int, default=1, help="draws of labels at each price")
    args = parser.parse_args()
    remember_fits()
    print(f"{'':26}{'proven':>18}{'likely':>18}{'regret':>10}")
    recorded, labelled, invented = Tally(), Tally(), Tally()
    for name, world in worlds(args.files):
        for n, whole in ((0, recorded), (N_LABELS, labelled)):
            found = tally(world, N_PRICES, n, args.runs)
            whole.said += found.said
            print(found.line(f"{name}{f', {n} labels' if n else ''}"), flush=True)
    kinds: defaultdict[str, Tally] = defaultdict(Tally)
    for kind, world in made_up(args.seeds):
        kinds[kind].said += tally(world, N_MADE_UP_PRICES, 0, 1).said
    for kind, found in kinds.items():
        invented.said += found.said
        print(found.line(kind), flush=True)
    for name, whole in (("recorded", recorded), ("with labels", labelled), ("made up", invented)):
        if whole.said:
            print(whole.line(name))


if __name__ == "__main__":
    main()
