"""What can be counted in a log: pairs and odd values.

Nothing in this package calls the code under test: all comes from single rows, by loops, fractions,
root finding and linear programmes.
"""

from collections import Counter
from fractions import Fraction
from functools import cache, cached_property


@cache
def camps(row):
    """For each test the first test that says the same, None where it says nothing."""
    return tuple(None if y is None else row.index(y) for y in row)


class Counted:
    """Counts of a log and the prices of its tests."""

    def __init__(self, log):
        self.log = log
        self.K = len(log.names)
        self.stages = range(self.K)
        parents = log.parents or (None, *range(self.K - 1))
        self.parents = parents
        self.paths = []
        for k in self.stages:
            before = [] if parents[k] is None else self.paths[parents[k]]
            self.paths.append([*before, k])
        self.rows = [row for row in log.rows if any(y is not None for y in row)]
        self.n = len(self.rows)
        self.counts = Counter(self.rows)
        self.classes = sorted({y for row in self.rows for y in row if y is not None})
        spent = [sum(Fraction(log.costs[k]) for k in path) for path in self.paths]
        self.spent = spent
        self.C = [float(s / Fraction(log.mistake_cost)) for s in spent]
        self.pairs = [(i, j) for j in self.stages for i in self.paths[j][:-1]]
        self.alpha = (1 - log.confidence) / 3
        self.complete = all(y is not None for row in self.rows for y in row)

    def both(self, i, j):
        return [(r[i], r[j]) for r in self.rows if r[i] is not None and r[j] is not None]

    @cached_property
    def seen(self):
        return {(i, j): len(self.both(i, j)) for i in self.stages for j in self.stages}

    @cached_property
    def differ(self):
        return {
            (i, j): sum(x != y for x, y in self.both(i, j))
            for i in self.stages
            for j in self.stages
        }

    @cached_property
    def plain(self):
        """Shares of disagreement where both ran, exact; None where none did."""
        return {p: Fraction(self.differ[p], m) if m else None for p, m in self.seen.items()}

    @cached_property
    def odd_values(self):
        """Words for gaps; what one output in a thousand says, next to two others or a lookalike."""
        times = Counter(y for row in self.rows for y in row if y is not None)
        few = max(1, sum(times.values()) // 1000)
        usual = [y for y in self.classes if times[y] > few]
        bare = {y: "".join(c for c in str(y).lower() if c.isalnum()) for y in self.classes}
        gaps = {"", "none", "null", "nil", "na", "n/a", "nan", "nat", "<na>", "#n/a"}
        return [
            y
            for y in self.classes
            if y not in self.log.no_answers
            and (
                str(y).strip().lower() in {*gaps, "undefined", "missing"}
                or (times[y] <= few and len(usual) == 2)
                or (times[y] <= few and bare[y] and list(bare.values()).count(bare[y]) > 1)
            )
        ]
