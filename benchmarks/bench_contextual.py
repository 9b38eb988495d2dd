"""Contextual policies: python -m benchmarks.bench_contextual. Speed, regret, and who gets stuck."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars
from paper.contexts import CONTEXTUAL, PLAIN, world
from stopwise.problem.contextual_laws import NestedErrors
from stopwise.simulation import compiled

# Seconds for 20 runs of 100,000 rounds on two cores, three tests and five features.
BAR = 20.0
# Microseconds for ask and tell by the number of tests: of ten and fifty a fifth and a 25th of what
# they once took.
ONE_CASE = {3: 80, 10: 80, 50: 400}


def stuck_world() -> sw.ContextualInstance:
    """Stage 1 is best for every context, and stage 2 is soon certified by what shows test 3."""
    theta = [[np.log(0.3 / 0.7), 0.5, 0.0], [np.log(0.05 / 0.95), 0.0, 0.3]]
    return sw.ContextualInstance(NestedErrors(theta), sw.Cascade(costs=[0, 0.45, 0.1]))


def line(environment: Any, name: str, make: Callable[..., Any], args: Any) -> tuple[float, float]:
    """Simulate, print a row, and return seconds by the clock and of the processor."""
    start, cpu = time.perf_counter(), time.process_time()
    trace = sw.simulate(
        environment,
        make,
        horizon=args.horizon,
        replications=args.replications,
        checkpoints=[args.horizon // 10, args.horizon],
        n_jobs=2,
        progress=False,
    )
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    then, now = trace.mean_regret()
    print(
        f"{name:26s} {now:9.1f} ± {trace.half_width()[-1]:6.1f} {trace.regret[:, -1].max():9.1f}"
        f" {np.log10(now / then):7.2f} {wall:8.1f} {cpu:8.1f}"
    )
    return wall, cpu


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--horizon", type=int, default=100_000)
    parser.add_argument("--replications", type=int, default=20)
    args = parser.parse_args()
    bars = Bars()
    compiled.PATIENCE = 0
    for title, environment, policies in (
        ("K = 3, d = 5, all pairs logistic", world(), {**CONTEXTUAL, **PLAIN}),
        (
            "K = 3, d = 2, stage 1 best throughout, (0, .45, .1)",
            stuck_world(),
            {
                "ContextualWeakDominance": lambda c: sw.ContextualWeakDominance(c, 2),
                "ContextualResolve": lambda c: sw.ContextualResolve(c, 2),
                "ContextualThompson": lambda c: sw.ContextualThompson(c, 2, seed=0),
            },
        ),
    ):
        for make in policies.values():  # compile
            sw.simulate(environment, make, horizon=100, replications=1)
        print(f"\n{title}; {args.replications} runs of {args.horizon} rounds, two workers")
        print(
            f"{'':26s} {'regret':>18s} {'worst run':>9s} {'slope':>7s} {'seconds':>8s} {'cpu':>8s}"
        )
        for name, make in policies.items():
            wall, cpu = line(environment, name, make, args)
            # By the clock; by the processor if others have the cores.
            if name in CONTEXTUAL and environment.n_features == 5:
                bars.at_most(f"  {name}, s", min(wall, cpu), BAR)
    one_by_one(bars)
    bars.finish()


def one_by_one(bars: Bars) -> None:
    """What ask and tell cost in plain Python, if all tests are run."""
    rng, n = np.random.default_rng(0), 600
    print()
    for n_stages in (3, 10, 50):
        labels = rng.random((n, 1)) < 0.4
        wrong = rng.random((n, n_stages)) < np.linspace(0.3, 0.05, n_stages)
        cases = list(zip((labels ^ wrong).tolist(), rng.normal(size=(n, 5)).tolist(), strict=True))
        for name, make in CONTEXTUAL.items():
            policy = make(sw.Cascade(costs=[0.0, *[0.03] * (n_stages - 1)]))
            policy.tell_many(cases[:100])
            start = time.process_time()
            for outputs, context in cases[100:]:
                policy.ask(context)
                policy.tell(outputs, context)
            spent = (time.process_time() - start) / (n - 100)
            what = f"{name}, {n_stages} tests, µs for ask and tell"
            bars.at_most(what, 1e6 * spent, ONE_CASE[n_stages])


if __name__ == "__main__":
    main()
