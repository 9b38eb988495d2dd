"""What a simulation costs: python -m benchmarks.bench_simulation. Ratios inside one run.

All but the replications and sweeps on one core and in CPU seconds, which other work on the machine
disturbs least. Fails if a bar is missed.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np

import stopwise as sw
from benchmarks.bandit_libraries import LIBRARIES
from benchmarks.bars import Bars, alternating, cpu_seconds, one_core
from benchmarks.bench_compile import RULES, seven_tests
from benchmarks.c_kernel import c_kernel
from benchmarks.numpy_loop import numpy_loop
from stopwise.policies.compiled_rule import declared_rule
from stopwise.problem.families import dominance_sweep, relaxed_errors
from stopwise.simulation import compiled
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.draws import pick, row_key
from stopwise.simulation.events import EventPlay
from stopwise.simulation.world import World

MILLION = 10**6
REPEATS = 5


def recorded(n_stages: int, *, n: int = 1000, margin: float = 0.2) -> sw.Instance:
    """A table of n cases; a middle stage is best, going on costs ``margin`` more than it can mend.

    A case has a difficulty, tests err on what is harder than they can do, from 40 % of the cases
    down to 5 %, and a fiftieth of their answers are flipped besides.
    """
    rng = np.random.default_rng(n_stages)
    labels = rng.random(n) < 0.7
    fails = rng.random(n)[:, None] < np.linspace(0.4, 0.05, n_stages)
    outputs = labels[:, None] ^ fails ^ (rng.random((n, n_stages)) < 0.02)
    law = sw.Recording(outputs, labels, sw.Cascade(costs=[0] * n_stages)).instance
    middle = n_stages // 2
    gain = law.error_rates[:middle] - law.error_rates[middle]
    before = -np.maximum.accumulate(gain[::-1])[::-1] / 2
    beyond = np.maximum.accumulate(law.disagreement[middle, middle + 1 :] + margin)
    C = np.concatenate([before, [0.0], beyond])
    return law.with_cascade(sw.Cascade(costs=np.maximum(np.diff(C, prepend=C[0]), 0)))


def instances() -> dict[int, sw.Instance]:
    """Section 7's relaxed law, and two recorded tables."""
    return {
        3: relaxed_errors(sw.Cascade(costs=[0, 0.1, 0.25])),
        10: recorded(10),
        50: recorded(50),
    }


def event_seconds(instance: sw.Instance, world: World, horizon: int, seeds: Iterable[int]) -> float:
    """CPU seconds of a run without numba: a mean, for runs differ in how often they decide."""
    ends = np.unique(np.geomspace(1, horizon, 100).astype(int))
    runs = [
        EventPlay(sw.WeakDominance(instance.cascade), np.random.default_rng(seed)) for seed in seeds
    ]
    return statistics.mean(cpu_seconds(partial(run.play, world, ends)) for run in runs)


def against_the_loop(
    instance: sw.Instance, n_loop: int, *, ahead: bool = False
) -> tuple[float, float, str]:
    """How much faster than the NumPy loop at 10^6 rounds, and how much longer 10^9 take."""
    world = World(instance)
    event_seconds(instance, world, MILLION, [0])
    factors, growth, loops, ours = [], [], [], []
    for repeat in range(REPEATS):
        seeds = range(5 * repeat, 5 * repeat + 5)
        loops.append(cpu_seconds(partial(numpy_loop, instance, n_loop, ahead=ahead)) / n_loop)
        ours.append(event_seconds(instance, world, MILLION, seeds))
        factors.append(loops[-1] * MILLION / ours[-1])
        growth.append(event_seconds(instance, world, 1000 * MILLION, seeds) / ours[-1])
    loop, million = statistics.median(loops) * 1e6, statistics.median(ours) * 1e3
    note = f"{loop:.0f} us a round; {million:.1f} ms"
    return statistics.median(factors), statistics.median(growth), note


def events_without_numba(bars: Bars, n_loop: int) -> None:
    """The Python event-driven path against the NumPy loop, which is run for fewer rounds."""
    for K, instance in instances().items():
        factor, growth, note = against_the_loop(instance, n_loop)
        bar = 1000 if K == 3 else 500
        bars.at_least(f"event-driven, no numba, K = {K}: x NumPy loop", factor, bar, note)
        bars.at_most(f"event-driven, no numba, K = {K}: T = 10^9 / T = 10^6", growth, 3)
        factor, _, note = against_the_loop(instance, n_loop, ahead=True)
        print(f"  the loop's rows drawn ahead, K = {K}: {factor:,.2f}; {note}", flush=True)
    for K, margin in ((10, 0.1), (10, 0.05), (50, 0.15), (50, 0.1)):
        factor, growth, note = against_the_loop(recorded(K, margin=margin), n_loop)
        print(f"  a margin of {margin}, K = {K}: {factor:,.2f}; {note}", flush=True)


def draw_only(state: Any, step: Any, horizon: int, keep: Any, ends: Any, out: Any) -> None:
    for t in range(horizon):
        out[t & 1023] = pick(state, step, t, keep, ends)


def played(world: World, *, jumps: bool) -> Any:
    """Play Algorithm 2 for a million rounds; return how often each stage was played."""
    rule = declared_rule(sw.WeakDominance(world.cascade))
    play = CompiledPlay(rule, np.random.default_rng(0), jumps=jumps)
    return play.play(world, np.array([MILLION])).stops[-1]


def step_kernel(bars: Bars, instance: sw.Instance, play_c: Any) -> None:
    """The compiled round-by-round path against drawing the rows, and against C."""
    K, world = instance.cascade.n_stages, World(instance)
    key, out = row_key(np.random.default_rng(0)), np.zeros(1024, dtype=np.int64)
    rows = world.rows(counts_errors=False)
    draw = compiled.compiled(draw_only, {})
    drawing = partial(draw, *key, MILLION, rows.keep, rows.ends, out)
    drawing()
    stepping = partial(played, world, jumps=False)
    if play_c is not None:
        assert np.array_equal(stepping(), play_c(world, key)), "C and numba differ"
    cost, over, over_c = [], [], []
    for _ in range(5 * REPEATS):
        cost.append(cpu_seconds(stepping))
        over.append(cost[-1] / cpu_seconds(drawing))
        if play_c is not None:
            over_c.append(cost[-1] / cpu_seconds(partial(play_c, world, key)))
    note = f"{statistics.median(cost) * 1e9 / MILLION:.1f} ns a round"
    bar = {3: 2, 10: 4, 50: 5}[K]
    bars.at_most(
        f"compiled steps, K = {K}: x drawing the rows alone", statistics.median(over), bar, note
    )
    if over_c:
        bars.at_most(f"compiled steps, K = {K}: x the same in C", statistics.median(over_c), 1.3)


# Nanoseconds a round by the number of tests; on a tree a third of what the slowest rule once took.
ROUND_BARS = {
    "StrongDominance": {3: 100, 10: 220, 50: 1_500},
    "Thompson": {3: 100, 10: 250, 50: 5_000},
}
TREE_BAR = 380


def rules_of_each_round(bars: Bars, n: int = 100_000) -> None:
    """Nanoseconds a round of the rules that decide in every round, beside drawing one uniform."""
    uniform = np.random.default_rng(0)
    took = min(cpu_seconds(partial(uniform.random, MILLION)) for _ in range(REPEATS))
    print(f"\nns a round, where a uniform number takes {took * 1e3:.1f}")
    for name, of_sizes in ROUND_BARS.items():
        for K, instance in instances().items():
            took = ns_a_round(instance, RULES[name], n)
            bars.at_most(f"{name}, K = {K}, ns a round", took, of_sizes[K])
    for name, make in RULES.items():
        took = ns_a_round(seven_tests(), make, n)
        bars.at_most(f"{name}, seven tests in a tree, ns a round", took, TREE_BAR)


def ns_a_round(instance: sw.Instance, make: Callable[[sw.Cascade], Any], n: int) -> float:
    """Return how long a round of a rule takes."""
    world, rule = World(instance), declared_rule(make(instance.cascade))
    runs = [CompiledPlay(rule, np.random.default_rng(seed)) for seed in range(REPEATS + 1)]
    seconds = [cpu_seconds(partial(run.play, world, np.array([n]))) for run in runs][1:]
    return min(seconds) / n * 1e9


def thousand_replications(bars: Bars, n_loop: int) -> None:
    """1000 x 10^6 rounds on all cores, in wall time; the loop's time is extrapolated."""
    instance = instances()[3]
    settings: dict[str, Any] = {"horizon": MILLION, "replications": 1000, "n_jobs": -1}
    sw.simulate(instance, sw.WeakDominance, **{**settings, "replications": 10})
    factors, took = [], []
    for _ in range(3):
        start = time.perf_counter()
        numpy_loop(instance, n_loop)
        loop = (time.perf_counter() - start) / n_loop
        start = time.perf_counter()
        sw.simulate(instance, sw.WeakDominance, **settings)
        took.append(time.perf_counter() - start)
        factors.append(loop * 1000 * MILLION / took[-1])
    note = f"{statistics.median(took):.2f} s; the loop extrapolated from {n_loop:,} rounds"
    what = "1000 x 10^6 rounds, K = 3, numba, all cores: x NumPy loop"
    bars.at_least(what, statistics.median(factors), 20_000, note)


# Rounds, runs, and how many times as fast two jobs are to be; equal is within 5 %.
SWEEPS = ((1_000, 5, 0.95), (20_000, 20, 0.95), (300_000, 40, 1.6))


def sweep_on_two_cores(bars: Bars) -> None:
    """Two jobs against one, by the clock: four worlds and three rules."""
    worlds = {f"ratio {r}": dominance_sweep(r) for r in (0.7, 0.9, 1.1, 1.3)}
    rules = {name: RULES[name] for name in ("WeakDominance", "StrongDominance", "Resolve")}
    for horizon, n_runs, bar in SWEEPS:
        size: dict[str, Any] = {"horizon": horizon, "replications": n_runs, "progress": False}
        runs = [partial(sw.sweep, worlds, rules, n_jobs=n_jobs, **size) for n_jobs in (1, 2)]
        runs[1]()
        one, two = alternating(runs, REPEATS)
        what = f"sweep, {n_runs} runs of {horizon:,} rounds: two jobs, times as fast as one"
        bars.at_least(what, one / two, bar, f"{one:.2f} s and {two:.2f} s")


def other_libraries(n: int = 2000) -> None:
    """UCB in libraries of bandits, one round after the other, against ours: K = 3."""
    instance = instances()[3]
    rewards = 1.0 - (instance.outputs != instance.labels[:, None])
    rows = np.random.default_rng(0).choice(len(rewards), n, p=instance.probabilities)
    world = World(instance)
    played(world, jumps=True)
    print(f"\n{'UCB, K = 3':14s} {'us a round':>10s} {'x our steps':>12s} {'x our jumps':>12s}")
    for name, library in LIBRARIES.items():
        try:
            run = library(rewards[rows])
        except ImportError as error:
            print(f"{name:14s} left out: {error}")
            continue
        took, steps, jumps = [], [], []
        for _ in range(REPEATS):
            took.append(cpu_seconds(run) / n)
            steps.append(took[-1] * MILLION / cpu_seconds(partial(played, world, jumps=False)))
            jumps.append(took[-1] * MILLION / cpu_seconds(partial(played, world, jumps=True)))
        medians = [statistics.median(x) for x in (took, steps, jumps)]
        print(f"{name:14s} {medians[0] * 1e6:10.1f} {medians[1]:12,.0f} {medians[2]:12,.0f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loop-rounds", type=int, default=10_000, help="of the NumPy loop")
    args = parser.parse_args()
    bars = Bars()
    compiled.PATIENCE = 0
    with one_core():
        events_without_numba(bars, args.loop_rounds)
        play_c = c_kernel(MILLION)
        for instance in instances().values():
            step_kernel(bars, instance, play_c)
        rules_of_each_round(bars)
    thousand_replications(bars, args.loop_rounds)
    sweep_on_two_cores(bars)
    with one_core():
        other_libraries()
    bars.finish()


if __name__ == "__main__":
    main()
