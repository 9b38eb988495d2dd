"""Rules that learn beliefs, on a recording: python -m benchmarks.bench_beliefs --help.

Prints the mean cost + error a case over nine prices: rules by number of labels, then policies that
learn online against what one knows in hindsight. Without --csv the worlds are drawn at random, of
eight kinds, with the mean and the worst of each; then weakly dominant ones, where `Resolve` is at
home. With --trained they are cascades of classifiers trained on ten data sets, of five kinds.
--runs 0 leaves out what is online.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import groupby
from pathlib import Path

import numpy as np

import stopwise as sw
from benchmarks.belief_worlds import KINDS, World, of_kind, recorded
from benchmarks.instances import synthetic
from benchmarks.trained_cascades import trained
from stopwise.beliefs import stage_costs
from stopwise.beliefs.prefix_tree import ToldCases
from stopwise.beliefs.skipping_rule import MOST_STATES, STOP, n_states, skipping_rule
from stopwise.beliefs.stopping_rule import Answer, stopping_rule

SCALES = [0.05, 0.1, 0.18, 0.25, 0.35, 0.5, 1.0, 1.3, 2.0]
LABELS = [0, 20, 50, 200]
TRAINED = 4_000
BEST = "best single stage in hindsight"


def cost_of_rule(world: World, model: sw.LatentClasses, costs: np.ndarray, answer: Answer) -> float:
    """Return the mean cost + error of the rule of the chain under a model."""
    table = model.table
    codes = np.searchsorted(np.array(table.classes), world.outputs)
    right = _codes(world.labels, model.classes)
    cases = ToldCases.complete(table.codes, table.weights)
    rule = stopping_rule(model, cases, costs, answer=answer)
    paid, open_ = np.zeros(len(codes)), np.ones(len(codes), dtype=bool)
    for k, level in enumerate(rule):
        place = {tuple(row): r for r, row in enumerate(level.level.codes.tolist())}
        node = np.array([place[tuple(row)] for row in codes[:, : k + 1].tolist()])
        stops = open_ & level.stops[node]
        wrong = level.answers[node] != right
        paid[stops] = costs[: k + 1].sum() + wrong[stops]
        open_ &= ~stops
    return float(paid.mean())


def cost_of_skipping(
    world: World, model: sw.LatentClasses, costs: np.ndarray, answer: Answer
) -> float:
    """Return the mean cost + error if tests are run in any order, NaN where that is not exact."""
    K, M = world.n_tests, len(model.classes)
    if n_states(K, M) > MOST_STATES:
        return float("nan")
    table = model.table
    rule = skipping_rule(model, table.codes, table.weights, costs, answer=answer)
    codes = np.searchsorted(np.array(table.classes), world.outputs)
    right = _codes(world.labels, model.classes)
    seen, paid = np.full_like(codes, -1), np.zeros(len(codes))
    for _ in range(K):
        tests = rule.tests[tuple(seen.T)]
        (rows,) = np.nonzero(tests != STOP)
        seen[rows, tests[rows]] = codes[rows, tests[rows]]
        paid[rows] += costs[tests[rows]]
    return float((paid + (rule.answers[tuple(seen.T)] != right)).mean())


def _codes(values: np.ndarray, classes: tuple[object, ...]) -> np.ndarray:
    code = {value: c for c, value in enumerate(classes)}
    return np.array([code.get(y, -2) for y in values.tolist()])


RULES: dict[str, Callable[[World, sw.LatentClasses, np.ndarray], float]] = {
    "best single stage by belief": lambda world, model, costs: float(
        (np.cumsum(costs) + world.errors)[
            np.argmin(stage_costs(model, model.table, sw.Cascade(costs=costs.tolist())))
        ]
    ),
    "stop by belief": lambda w, m, c: cost_of_rule(w, m, c, "last"),
    "  most believed answer": lambda w, m, c: cost_of_rule(w, m, c, "believed"),
    "choose tests by belief": lambda w, m, c: cost_of_skipping(w, m, c, "last"),
    "  most believed answer ": lambda w, m, c: cost_of_skipping(w, m, c, "believed"),
}


def offline(world: World, scales: list[float], draws: int) -> dict[str, np.ndarray]:
    """Return the mean cost + error of each rule by number of labels, the trained one last."""
    table = world.table()
    columns = []
    for n in [*LABELS, TRAINED]:
        models = [
            sw.LatentClasses.fit(
                table, labels=world.at_random(n, s) if n == TRAINED else world.planned(n, s)
            )
            for s in range(draws if 0 < n < TRAINED else 1)
        ]
        costs = [world.shares * scale for scale in scales]
        columns.append(
            [[[rule(world, m, c) for c in costs] for m in models] for rule in RULES.values()]
        )
    means = [[np.mean(rows) for rows in column] for column in columns]
    return {rule: np.array([m[r] for m in means]) for r, rule in enumerate(RULES)}


def sound_and_best(world: World, scales: list[float]) -> tuple[float, float]:
    """Return cost + error of the sound stage by disagreement and of the best stage in hindsight."""
    sound, best = [], []
    differ = np.array([[(a != b).mean() for b in world.outputs.T] for a in world.outputs.T])
    for scale in scales:
        cascade = sw.Cascade(costs=(world.shares * scale).tolist())
        totals = cascade.cumulative_costs + world.errors
        # The first stage that no later one betters by more than it costs, whatever is right.
        steps = cascade.cumulative_costs[None, :] - cascade.cumulative_costs[:, None]
        pays = np.triu(differ > steps, k=1).any(axis=1)
        sound.append(totals[np.argmin(pays)])
        best.append(totals.min())
    return float(np.mean(sound)), float(np.mean(best))


def online(
    world: World, scales: list[float], horizon: int, seed: int, only: Collection[str] = ()
) -> dict[str, float]:
    """Return the mean cost + error a case of policies that learn from the first case on."""
    sample = world.sample(horizon, seed)
    rows = [tuple(row) for row in sample.outputs.tolist()]
    labels = sample.labels.tolist()
    means: dict[str, list[float]] = {}
    for scale in scales:
        cascade = sw.Cascade(costs=(world.shares * scale).tolist())
        policies: dict[str, Iterator[tuple[int, int]]] = {
            "BeliefStopping": stopped(sw.BeliefStopping(cascade, seed=seed), rows),
            "  most believed answer": stopped(
                sw.BeliefStopping(cascade, answer="believed", seed=seed), rows
            ),
            "Resolve": fixed(sw.Resolve(cascade), rows),
            "OutputConditional": stopped(sw.OutputConditional(cascade), rows),
            "two, and the last if they differ": (
                (1, row[1]) if row[0] == row[1] else (len(row) - 1, row[-1]) for row in rows
            ),
        }
        for name, answers in policies.items():
            if not only or name in only:
                means.setdefault(name, []).append(mean_cost(answers, labels, cascade))
        totals = cascade.cumulative_costs + sample.errors
        means.setdefault(BEST, []).append(float(totals.min()))
    return {name: float(np.mean(costs)) for name, costs in means.items()}


def mean_cost(answers: Iterator[tuple[int, int]], labels: list[int], cascade: sw.Cascade) -> float:
    """Return the mean cost + error of cases that stopped at a stage with an answer."""
    C = cascade.cumulative_costs.tolist()
    cases = zip(answers, labels, strict=True)
    return sum(C[stage] + (answer != label) for (stage, answer), label in cases) / len(labels)


def stopped(policy: object, rows: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Play a policy that looks at each output; yield where it stopped and what it answered."""
    conclude = getattr(policy, "conclude", None)
    for row in rows:
        k = 0
        while policy.next(row[: k + 1]) is sw.Decision.CONTINUE:
            k += 1
        yield k, row[k] if conclude is None else conclude(row[: k + 1])[0]
        policy.tell(row[: k + 1])


def fixed(policy: sw.Policy, rows: list[tuple[int, ...]]) -> Iterator[tuple[int, int]]:
    """Play a policy that chooses the stage beforehand."""
    for row in rows:
        k = policy.ask()
        yield k, row[k]
        policy.tell(row[: k + 1])


def report(world: World, args: argparse.Namespace) -> dict[str, float]:
    """Measure one world, print it and return the ratios that have a bar."""
    started = time.perf_counter()
    sound, best = sound_and_best(world, args.scales)
    rules = offline(world, args.scales, args.draws)
    print(f"\n{world.name}: {len(world.labels)} cases, errors {world.errors.round(3).tolist()}")
    heads = [*map(str, LABELS), f"{TRAINED} random"]
    print(f"{'rule':34s}" + "".join(f"{head:>13s}" for head in heads))
    print(f"{'sound stage by disagreement':34s}{sound:13.4f}")
    for rule, means in rules.items():
        print(f"{rule:34s}" + "".join(f"{mean:13.4f}" for mean in means))
    print(f"{BEST:34s}{best:13.4f}")
    own = rules["stop by belief"]
    ratios = {"no labels / best stage": own[0] / best, "50 labels / trained": own[2] / own[-1]}
    taught = sw.LatentClasses.fit(world.table(), labels=world.at_random(TRAINED, 0))
    for horizon in args.horizons if args.runs else ():
        runs = [online(world, args.scales, horizon, seed) for seed in range(args.runs)]
        means = {name: float(np.mean([run[name] for run in runs])) for name in runs[0]}
        means[f"rule trained with {TRAINED} labels"] = float(
            np.mean(
                [
                    cost_of_rule(world.sample(horizon, seed), taught, world.shares * scale, "last")
                    for seed in range(args.runs)
                    for scale in args.scales
                ]
            )
        )
        print(f"online, {horizon} cases: " + ", ".join(f"{n} {m:.4f}" for n, m in means.items()))
        ratios[f"online {horizon} / best stage"] = means["BeliefStopping"] / means[BEST]
    print(", ".join(f"{name} {ratio:.3f}" for name, ratio in ratios.items()), end="")
    print(f" ({time.perf_counter() - started:.0f} s)", flush=True)
    return {**ratios, "best": best, "trained": float(own[-1])}


def ratios_of_kinds(worlds: Iterable[tuple[str, World]], scales: list[float], horizon: int) -> None:
    """Print for each kind of world the mean and the worst ratio or regret; kinds in a row."""
    heads = ("no labels / best", "50 / trained", "regret, none", "regret, 50", "online / best")
    print(f"\n{'mean, worst':22s}" + "".join(f"{h:>17s}" for h in heads))
    every = []
    for kind, same in groupby(worlds, key=lambda world: world[0]):
        ratios = np.array([_ratios(world, scales, horizon) for _, world in same])
        every.append(ratios)
        print(f"{kind:22s}" + _mean_and_worst(ratios), flush=True)
    print(f"{'all':22s}" + _mean_and_worst(np.concatenate(every)))


def _mean_and_worst(ratios: np.ndarray) -> str:
    return "".join(f"{a:9.4f}{b:8.4f}" for a, b in zip(ratios.mean(0), ratios.max(0), strict=True))


def _ratios(world: World, scales: list[float], horizon: int) -> list[float]:
    table = world.table()
    samples = [], world.planned(50, 0), world.at_random(TRAINED, 0)
    models = [sw.LatentClasses.fit(table, labels=labels) for labels in samples]
    rules = [
        np.mean([cost_of_rule(world, model, world.shares * scale, "last") for scale in scales])
        for model in models
    ]
    _, best = sound_and_best(world, scales)
    played = np.nan
    if horizon:
        wanted = ("BeliefStopping", BEST)
        means = online(world, scales[::4], horizon, 0, only=wanted)
        played = means["BeliefStopping"] / means[BEST]
    regrets = [world.regret_of_advice(model) for model in models[:2]]
    return [float(rules[0] / best), float(rules[1] / rules[2]), *regrets, played]


def at_home(horizon: int) -> None:
    """Compare with `Resolve` where weak dominance holds."""
    print(f"\nweak dominance holds, {horizon} cases: BeliefStopping, Resolve, ratio")
    sums = np.zeros(2)
    for name, instance in synthetic().items():
        labels, outputs = instance.sample(horizon, seed=0)
        rows, right = [tuple(row) for row in outputs.tolist()], labels.tolist()
        plays = (
            stopped(sw.BeliefStopping(instance.cascade), rows),
            fixed(sw.Resolve(instance.cascade), rows),
        )
        means = np.array([mean_cost(play, right, instance.cascade) for play in plays])
        sums += means
        print(f"{name:34s}{means[0]:13.4f}{means[1]:13.4f}{means[0] / means[1]:13.3f}")
    print(f"{'all':34s}{'':26s}{sums[0] / sums[1]:13.3f}")


def numbers(text: str) -> list[float]:
    return [float(part) for part in text.split(",")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--csv", type=Path, help="a recorded cascade with header y,s1,...,sK")
    parser.add_argument("--step-costs", type=numbers, help="the price of each test, any unit")
    parser.add_argument("--scales", type=numbers, default=SCALES, help="what all tests cost")
    parser.add_argument(
        "--horizons", type=lambda s: [*map(int, s.split(","))], default=[2000, 20000]
    )
    parser.add_argument(
        "--worlds",
        type=lambda s: [*range(*map(int, s.split("-")))],
        default=range(5),
        help="without --csv, the seeds of the made-up worlds, as in 0-5",
    )
    parser.add_argument("--trained", action="store_true", help="train cascades on ten data sets")
    parser.add_argument("--draws", type=int, default=3, help="draws of labels")
    parser.add_argument("--runs", type=int, default=1, help="runs of each policy online")
    args = parser.parse_args()
    if args.csv and not (args.csv.is_file() and args.step_costs):
        parser.error("--csv needs a file, and --step-costs")
    if args.csv:
        report(recorded(args.csv, args.step_costs), args)
        return
    made_up = ((kind, of_kind(kind, seed)) for kind in KINDS for seed in args.worlds)
    worlds = trained() if args.trained else made_up
    ratios_of_kinds(worlds, args.scales, args.horizons[-1] if args.runs else 0)
    if args.runs and not args.trained:
        at_home(max(args.horizons))


if __name__ == "__main__":
    main()
