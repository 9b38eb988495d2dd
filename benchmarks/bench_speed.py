"""What ask + tell costs: python -m benchmarks.bench_speed. Ratios inside one run, one core."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bars import one_core
from stopwise.problem.families import nested_errors, relaxed_errors

# What a round may cost, in rounds of river's UCB, by what the outputs come in.
BARS = {"distinct strings": 0.5, "K = 50": 0.3, "else": 0.2}

Shown = Sequence[Any]


class Nothing:
    """The cheapest object with the same two methods."""

    def ask(self) -> int:
        return 0

    def tell(self, outputs: Any) -> None:
        pass


def instances() -> dict[str, sw.Instance]:
    """Cascades of three, ten and fifty tests, a middle stage best."""
    ten = [0.0, 0.02, 0.02, 0.02, 0.02, 0.15, 0.02, 0.02, 0.02, 0.02]
    rates = np.linspace(0.4, 0.05, 10).tolist()
    return {
        "K = 3": relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])),
        "K = 10": relaxed_errors(sw.Cascade(costs=ten), rates, slip=0.02),
        # Each test confirms the one before it in most cases: a few hundred patterns.
        "K = 50": nested_errors(
            sw.Cascade(costs=[0.0, *[0.001] * 24, 0.3, *[0.001] * 24]),
            np.linspace(0.4, 0.05, 50).tolist(),
        ),
    }


def prefixes_of(case: Any, n_stages: int) -> Shown:
    """What each stage shows of a case, made beforehand so that only ask and tell are timed."""
    return [case[: k + 1] for k in range(n_stages)]


def streams(instance: sw.Instance, horizon: int) -> dict[str, list[Shown]]:
    """The same cases as tuples, lists, rows of an array, words, and texts that never repeat."""
    _, outputs = instance.sample(horizon, seed=0)
    rows, K = outputs.tolist(), instance.cascade.n_stages
    cache = {row: prefixes_of(row, K) for row in set(map(tuple, rows))}
    kinds = {
        "cached tuples": [cache[tuple(row)] for row in rows],
        "lists": [prefixes_of(row, K) for row in rows],
        "rows": [prefixes_of(row, K) for row in outputs],
        "strings": [prefixes_of(["no" if y else "yes" for y in row], K) for row in rows],
        "distinct strings": [
            prefixes_of([f"case {n}: {y}" for y in row], K) for n, row in enumerate(rows)
        ],
    }
    kinds["first 1,000 rounds"] = kinds["rows"][:1_000]
    return kinds


def ask_tell(policy: Any, cases: list[Shown]) -> float:
    start = time.process_time()
    for shown in cases:
        policy.tell(shown[policy.ask()])
    return (time.process_time() - start) / len(cases)


def river_ucb(n_arms: int, cases: list[Shown]) -> float:
    from river import bandit

    policy = bandit.UCB(delta=1, seed=0)
    arms = list(range(n_arms))
    start = time.process_time()
    for shown in cases:
        arm = policy.pull(arms)
        policy.update(arm, float(shown[arm][-1]))
    return (time.process_time() - start) / len(cases)


def last_stage(cascade: sw.Cascade) -> sw.Policy:
    """Decide nothing: what tell costs by itself."""
    return sw.FixedStage(cascade, stage=cascade.n_stages - 1)


@one_core()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=20_000)
    parser.add_argument("--repeats", type=int, default=5)
    args = parser.parse_args()
    missed: list[str] = []
    for name, instance in instances().items():
        n_stages = instance.cascade.n_stages
        cases = streams(instance, args.horizon if n_stages < 50 else args.horizon // 5)
        few = cases["cached tuples"][: len(cases["cached tuples"]) // 10]
        print(f"\n{name}, {len(cases['lists'])} rounds, median of {args.repeats}, CPU time")
        print(f"{'':36s} {'ns a round':>10s} {'x no-op':>8s} {'x river UCB':>12s}")
        for kind, stream in cases.items():
            for make in (last_stage, sw.WeakDominance, sw.Resolve):
                times = [
                    (
                        ask_tell(make(instance.cascade), stream),
                        ask_tell(Nothing(), stream),
                        river_ucb(n_stages, few),
                    )
                    for _ in range(args.repeats)
                ]
                idle, river = (statistics.median(t[0] / t[k] for t in times) for k in (1, 2))
                ns = statistics.median(t[0] for t in times) * 1e9
                what = f"{make.__name__}, {kind}"
                print(f"{what:36s} {ns:10.0f} {idle:8.2f} {river:12.3f}")
                bar = max(BARS.get(kind, 0), BARS.get(name, BARS["else"]))
                if river > bar and not kind.startswith("first"):
                    missed.append(f"{what} at {name}: {river:.3f} > {bar}")
    print(
        "\nbars: river x 0.2, at K = 50 x 0.3, distinct strings x 0.5; the first rounds have none"
    )
    if missed:
        raise SystemExit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
