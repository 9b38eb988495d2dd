"""How long fits of beliefs and decisions take: python -m benchmarks.bench_fits --help.

Prints the processor time of a fit of up to 8 patterns (three tests, two values) over many tables,
of one of 30,000 patterns with 31 values, and of `next` once a rule stands, each with its bar.
The bar is for usual tables: not where tests are hardly better than chance, or the law is any.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np

import stopwise as sw
from benchmarks.bars import Bars, cpu_seconds
from benchmarks.belief_worlds import recorded
from stopwise.patterns import PatternTable

PATTERNS = list(product((0, 1), repeat=3))
CASES = [50, 200, 1_000, 4_000, 20_000, 1_000_000]


def law_of(prior: float, errors: np.ndarray) -> np.ndarray:
    """Return the law of three tests that err independently; ``errors`` by test and answer."""
    chance = np.array([[prior, 1 - prior]] * len(PATTERNS))
    for row, pattern in enumerate(PATTERNS):
        for k, output in enumerate(pattern):
            chance[row] *= [errors[k, a] if output != a else 1 - errors[k, a] for a in (0, 1)]
    return chance.sum(axis=1)


def copied(rng: np.random.Generator) -> np.ndarray:
    """Return the law of tests of which the second copies the first in 80 % of cases."""
    alone = law_of(0.5, rng.uniform(0.1, 0.4, (3, 2)))
    same = np.array([first == second for first, second, _ in PATTERNS])
    other = np.array([PATTERNS.index((a, 1 - b, c)) for a, b, c in PATTERNS])
    return np.where(same, alone + 0.8 * alone[other], 0.2 * alone)


KINDS: dict[str, Callable[[np.random.Generator], np.ndarray]] = {
    "one accuracy": lambda rng: law_of(
        rng.uniform(0.3, 0.7), rng.uniform(0.02, 0.45, (3, 1)) * np.ones(2)
    ),
    "asymmetric": lambda rng: law_of(rng.uniform(0.05, 0.95), rng.uniform(0.02, 0.45, (3, 2))),
    "rare": lambda rng: law_of(0.94, rng.uniform(0.02, 0.3, (3, 2))),
    "copies": copied,
    "hardly better than chance": lambda rng: law_of(0.5, rng.uniform(0.35, 0.5, (3, 2))),
    "any law": lambda rng: rng.dirichlet(np.ones(8)),
}
UNUSUAL = ("hardly better than chance", "any law")  # tests that nobody would run in a cascade


def small_table(kind: str, seed: int) -> PatternTable:
    """Draw a table of one of the `KINDS`."""
    rng = np.random.default_rng([seed, len(kind)])
    law = KINDS[kind](rng)
    counts = rng.multinomial(CASES[seed % len(CASES)], law / law.sum())
    shown = [(row, n) for row, n in zip(PATTERNS, counts.tolist(), strict=True) if n]
    return PatternTable.from_rows(*zip(*shown, strict=True), sw.Cascade(costs=[1, 2, 3]))


def large_table(n_patterns: int) -> PatternTable:
    """Return a table of four tests with 31 values, each pattern in one case."""
    rng = np.random.default_rng(0)
    rows: set[tuple[int, ...]] = set()
    while len(rows) < n_patterns:
        right = rng.integers(31, size=(4 * n_patterns, 1))
        wrong = rng.integers(31, size=(len(right), 4))
        found = np.where(rng.random(wrong.shape) < [0.5, 0.4, 0.3, 0.2], wrong, right)
        rows |= set(map(tuple, found.tolist()))
    kept = sorted(rows)[:n_patterns]
    return PatternTable.from_rows(kept, [1] * n_patterns, sw.Cascade(costs=[1, 2, 3, 4]))


def milliseconds(run: Callable[[], object], repeats: int) -> float:
    """Return the median processor time."""
    return 1e3 * float(np.median([cpu_seconds(run) for _ in range(repeats)]))


def time_of_next(n_cases: int) -> float:
    """Return the microseconds of a decision after so many cases."""
    policy = sw.BeliefStopping(sw.Cascade(costs=[0.0, 0.05, 0.1]), seed=0)
    policy.tell_many({(0, 0, 0): n_cases, (1, 1, 1): n_cases, (0, 1, 1): n_cases // 3})
    prefixes = [(0,), (1,), (0, 1), (0, 0)] * 2_500
    return milliseconds(lambda: [policy.next(prefix) for prefix in prefixes], 7) / 10


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=50, help="of each kind")
    parser.add_argument("--repeats", type=int, default=7, help="of each fit")
    parser.add_argument("--csv", type=Path, nargs="*", default=[], help="three tests, two values")
    args = parser.parse_args()
    sw.LatentClasses.fit(small_table("rare", 0))
    every: dict[str, list[float]] = {}
    tables = [(kind, small_table(kind, s)) for kind in KINDS for s in range(args.tables)]
    tables += [(path.name, recorded(path, [1.0, 1.0, 1.0]).table()) for path in args.csv]
    n_open = dict.fromkeys(dict(tables), 0)
    for kind, table in tables:
        n_open[kind] += not sw.LatentClasses.fit(table).has_converged
        taken = milliseconds(lambda table=table: sw.LatentClasses.fit(table), args.repeats)
        every.setdefault(kind, []).append(taken)
    for kind, times in every.items():
        print(
            f"{kind:27s} median {np.median(times):5.2f} ms, worst {max(times):6.2f}, "
            f"above 5: {sum(t > 5 for t in times)} of {len(times)}, not converged: {n_open[kind]}"
        )
    bars = Bars()
    usual = np.concatenate([times for kind, times in every.items() if kind not in UNUSUAL])
    bars.at_most("median fit of 8 patterns, ms", float(np.median(usual)), 5, "usual tables")
    bars.at_most("worst fit of 8 patterns, ms", float(usual.max()), 5, f"of {len(usual)}")
    table = large_table(30_000)
    taken = milliseconds(lambda: sw.LatentClasses.fit(table), 3) / 1e3
    bars.at_most("fit of 30,000 patterns, s", taken, 5, "four tests, 31 values")
    for n_cases in (1_000, 1_000_000):
        bars.at_most("next, us", time_of_next(n_cases), 5, f"after {n_cases:,} cases and more")
    bars.finish()


if __name__ == "__main__":
    main()
