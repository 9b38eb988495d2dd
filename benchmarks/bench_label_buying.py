"""What labels bought on line are worth: to a learner of one stage, and to stopping by belief.

python -m benchmarks.bench_label_buying [FILE.csv:cost,cost,… …] prints, for each total cost of the
tests, what was paid beyond the best single stage: tests, mistakes and labels, in mistakes. A file
has a column y with the truth; without files the worlds of bench_labels are taken.
"""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Iterable

import numpy as np

import stopwise as sw
from benchmarks.bench_labels import World, read, worlds
from stopwise.policies.label_buying import LabelBuying
from stopwise.progress import Progress

LABEL_COSTS = (0.2, 1.0, 5.0)


class Streams:
    """Cases of a world drawn at random, and what stopping them costs."""

    def __init__(self, world: World, cascade: sw.Cascade, horizon: int, seed: int) -> None:
        self.rows = list(map(tuple, world.outputs.tolist()))
        self.labels = world.labels.tolist()
        self.cascade, self.costs = cascade, cascade.cumulative_costs.tolist()
        self.rng = np.random.default_rng(seed)
        self.drawn = self.rng.integers(0, len(self.rows), horizon).tolist()
        best = int(np.argmin(world.error_rates + cascade.cumulative_costs))
        self.paid = 0.0
        for case in self.drawn:  # the best stage meets the same cases
            self.stop(case, best)
        self.paid = -self.paid

    def stop(self, case: int, stage: int) -> tuple[object, ...]:
        self.paid += self.costs[stage] + (self.rows[case][stage] != self.labels[case])
        return self.rows[case][: stage + 1]


def one_stage(world: World, cascade: sw.Cascade, cost: float, args: argparse.Namespace) -> float:
    """A stage before each case: the best estimate, or the deepest open question."""
    streams = Streams(world, cascade, args.horizon, args.seed)
    buying = LabelBuying(cascade, label_cost=cost, share=0.5)
    best, deepest = looks_best(buying)
    for t, case in enumerate(streams.drawn):
        outputs = streams.stop(case, deepest if buying.affords else best)
        is_bought = buying.wants(outputs)
        if is_bought:
            buying.take(outputs, streams.labels[case])
        if is_bought or t < 64 or t % 8 == 0:
            buying.renew()
            best, deepest = looks_best(buying)
    return streams.paid + buying.spent


def looks_best(buying: LabelBuying) -> tuple[int, int]:
    """The stage to play without labels, and with them: the best estimate or an open question.

    The best estimate is the first stage from which none that is not refuted seems to pay. If
    outputs have not yet refuted a later one, that is played.
    """
    C, K = buying.cascade.cumulative_costs, buying.cascade.n_stages
    left = [k for k in range(K) if not buying.refuted[k]]
    best = next(i for i in left if all(buying.gain(i, j) <= C[j] - C[i] for j in left if j > i))
    later = [j for j in left if j > best and (best, j) not in buying.questions]
    stage = max([best, *later])
    return stage, max([stage, *(j for _, j in buying.questions)])


def by_belief(
    world: World, cascade: sw.Cascade, cost: float | None, args: argparse.Namespace
) -> float:
    """`BeliefStopping`, told in blocks within which its rule is the same; None buys no label."""
    streams = Streams(world, cascade, args.horizon, args.seed)
    policy = sw.BeliefStopping(cascade, seed=args.seed)
    buying = LabelBuying(cascade, label_cost=cost or 1.0)
    t = 0
    while t < args.horizon:
        block = streams.drawn[t : t + min(policy.hold(), max(t // 4, 1))]
        t += len(block)
        chances: dict[object, list[float]] = {}
        plain: Counter[tuple[object, ...]] = Counter()
        labelled = []
        for case, luck in zip(block, streams.rng.random(len(block)).tolist(), strict=True):
            row = streams.rows[case]
            if row not in chances:
                chances[row] = [policy.chance_to_go_on(row[:k]) for k in range(1, len(row))]
            stage = next((k for k, chance in enumerate(chances[row]) if luck >= chance), None)
            outputs = streams.stop(case, len(row) - 1 if stage is None else stage)
            if cost is not None and buying.wants(outputs):
                buying.take(outputs, streams.labels[case])
                labelled.append((outputs, streams.labels[case]))
            else:
                plain[outputs] += 1
        policy.tell_many(plain)
        for outputs, label in labelled:
            policy.tell(outputs, label=label)
    return streams.paid + buying.spent


def every_case(world: World, cascade: sw.Cascade, cost: float, args: argparse.Namespace) -> float:
    """All tests and the label of each case, until the best stage is known but for .005."""
    streams = Streams(world, cascade, args.horizon, args.seed)
    C, wrong = cascade.cumulative_costs, 1.0 * (world.outputs != world.labels[:, None])
    errors, squares = np.zeros(len(C)), np.zeros((len(C), len(C)))
    for n, case in enumerate(streams.drawn, start=1):
        streams.stop(case, len(C) - 1)
        errors += wrong[case]
        squares += (wrong[case][:, None] - wrong[case]) ** 2
        best = int(np.argmin(errors / n + C))
        lead = errors / n + C - errors[best] / n - C[best] + 0.005
        level = math.log(args.horizon / n + 1)
        if n >= 10 and np.all(lead * n >= np.sqrt(2 * level * squares[best]) + level / 3):
            break
    for case in streams.drawn[n:]:
        streams.stop(case, best)
    return streams.paid + n * cost / cascade.mistake_cost


def row(world: World, cascade: sw.Cascade, args: argparse.Namespace) -> list[float]:
    law = sw.Recording(world.outputs, world.labels, cascade)
    mean = sw.simulate(
        law, sw.Resolve, horizon=args.horizon, replications=5, checkpoints=1, progress=False
    ).mean_regret()[-1]
    prices = [cost * cascade.mistake_cost for cost in LABEL_COSTS]
    return [
        float(mean),
        *(every_case(world, cascade, cost, args) for cost in prices),
        *(one_stage(world, cascade, cost, args) for cost in prices),
        by_belief(world, cascade, None, args),
        *(by_belief(world, cascade, cost, args) for cost in prices),
    ]


HEADS = (
    "Resolve",
    *(f"every {c:g}" for c in LABEL_COSTS),
    *(f"stage {c:g}" for c in LABEL_COSTS),
    "belief",
    *(f"belief {c:g}" for c in LABEL_COSTS),
)


def show(name: str, cells: Iterable[float]) -> None:
    print(f"{name:34}" + "".join(f"{cell:10.0f}" for cell in cells), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", help="as in cases.csv:0.001,0.75,2.5")
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--prices", type=int, default=7, help="total costs from .01 to 10 mistakes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    found: dict[bool, list[list[float]]] = {False: [], True: []}
    chosen = dict(map(read, args.files) if args.files else worlds([]))
    print(f"{'beyond the best stage, in mistakes':34}" + "".join(f"{head:>10}" for head in HEADS))
    with Progress(len(chosen) * args.prices, "settings") as progress:
        for name, world in chosen.items():
            for scale in np.geomspace(0.01, 10, args.prices).tolist():
                cascade = world.cascade(scale)
                law = sw.Instance.from_outcomes(world.labels, world.outputs, cascade)
                cells = row(world, cascade, args)
                found[law.is_weakly_dominant()].append(cells)
                mark = "weak" if law.is_weakly_dominant() else "-"
                show(f"{name} {scale:.3g} {mark}", cells)
                progress.advance()
    for is_weak, rows in found.items():
        if rows:
            title = f"mean of {len(rows)} {'with' if is_weak else 'without'} weak dominance"
            show(title, np.mean(rows, axis=0))


if __name__ == "__main__":
    main()
