"""The numbers of an audit a second time: from single rows, by loops, fractions and root finding.

Nothing here calls the code under test.
"""

import math
from collections import Counter
from fractions import Fraction
from functools import cached_property
from itertools import product

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, xlogy
from scipy.stats import chi2_contingency

SAME = 1e-12


def edges(log_capital, mean, bar):
    """Where a function that grows on both sides of the mean reaches the bar."""

    def edge(outside):
        if mean == outside or log_capital(outside) < bar:
            return float(round(outside))
        near = mean + 1e-13 * (outside - mean)
        return brentq(lambda m: log_capital(m) - bar, near, outside, xtol=1e-14)

    return edge(1e-15), edge(1 - 1e-15)


def betting(total, n, alpha):
    """All means at which a gambler with mixed stakes has not won 1 / alpha times the stake."""
    if not n:
        return 0.0, 1.0

    def log_capital(m):
        mixed = betaln(total + 0.5, n - total + 0.5) - math.log(math.pi)
        return mixed - xlogy(total, m) - xlogy(n - total, 1 - m)

    return edges(log_capital, total / n, -math.log(alpha))


class Counted:
    """What can be counted in a log, and what follows about disagreement."""

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

    # What is missing

    @cached_property
    def p_values(self):
        found = []
        for k in self.stages:
            before = self.paths[k][:-1]
            table = Counter(
                (tuple(row[i] for i in before), row[k] is None)
                for row in self.rows
                if all(row[i] is not None for i in before)
            )
            keys = {key for key, _ in table}
            cells = np.array([[table[key, gap] for gap in (False, True)] for key in keys])
            told = before and len(keys) > 1 and (cells.sum(axis=0) > 0).all()
            found.append(chi2_contingency(cells, correction=False).pvalue if told else math.nan)
        return found

    @cached_property
    def dependent(self):
        return [k for k in self.stages if self.p_values[k] < 0.01 / self.K]

    @cached_property
    def biased(self):
        return [
            (i, j)
            for i, j in self.pairs
            if self.seen[i, j] < self.n and any(k in self.dependent for k in self.paths[j])
        ]

    @cached_property
    def completed(self):
        """The law if gaps are by chance given what is shown: each gap goes to its likes."""
        mass = {row: Fraction(times, self.n) for row, times in self.counts.items()}
        rank = {None: -1, **{y: c for c, y in enumerate(self.classes)}}
        full = [row for row in mass if None not in row]
        for row in sorted(
            (row for row in mass if None in row),
            key=lambda row: (row.count(None), [rank[y] for y in row]),
        ):
            likes = [f for f in full if all(x in (None, y) for x, y in zip(row, f, strict=True))]
            total = sum(mass[f] for f in likes)
            if likes:
                for f in likes:
                    mass[f] += mass[row] * mass[f] / total
                mass[row] = Fraction(0)
        return {row: p for row, p in mass.items() if p}

    @cached_property
    def adjusted_range(self):
        found = {}
        for i, j in self.pairs:
            low = sum(p for r, p in self.completed.items()
                      if None not in (r[i], r[j]) and r[i] != r[j])  # fmt: skip
            still = sum(p for r, p in self.completed.items() if None in (r[i], r[j]))
            found[i, j] = float(low), float(low + still)
        return found

    @cached_property
    def adjusted(self):
        """One number where the range is narrow, None where it is not."""
        return {
            pair: (low + high) / 2 if high - low <= 0.01 else None
            for pair, (low, high) in self.adjusted_range.items()
        }

    def worst(self, i, j):
        d, m = self.differ[i, j], self.seen[i, j]
        return d / self.n, (d + self.n - m) / self.n

    # What disagreement says

    @cached_property
    def share(self):
        """The share of disagreement that the report shows for each pair; None if unknown."""
        return {
            pair: self.adjusted[pair]
            if pair in self.biased and self.log.at_random
            else None if self.plain[pair] is None else float(self.plain[pair])
            for pair in self.pairs
        }  # fmt: skip

    def intervals(self, factor=1):
        """The intervals if there were ``factor`` times as many cases of the same kind."""
        level = self.alpha / len(self.pairs)
        found = {}
        for i, j in self.pairs:
            d, m, n = (x * factor for x in (self.differ[i, j], self.seen[i, j], self.n))
            if (i, j) in self.biased:  # gaps may hide anything: two means over all cases
                found[i, j] = betting(d, n, level)[0], betting(d + n - m, n, level)[1]
            else:
                found[i, j] = betting(d, m, level)
        return found

    @cached_property
    def interval(self):
        return self.intervals()

    def price(self, i, j, mistake_cost=None):
        cost = Fraction(self.log.mistake_cost if mistake_cost is None else mistake_cost)
        return float((self.spent[j] - self.spent[i]) / cost)

    def beyond(self, stage):
        """The pairs that leave the path to a stage, or go on from it: none of them may pay."""
        path = self.paths[stage]
        return [(i, j) for i, j in self.pairs
                if i in path and not (i != stage and path[path.index(i) + 1] in self.paths[j])
                and j not in path]  # fmt: skip

    def is_dominant(self, stage, p, mistake_cost=None):
        return all(
            p[i, j] is not None and self.price(i, j, mistake_cost) >= p[i, j] - SAME
            for i, j in self.beyond(stage)
        )

    def sound(self, p, mistake_cost=None):
        """The one stage that pays itself and beyond which nothing pays, by the definition."""
        for k in self.stages:
            pays = all(
                p[i, k] is not None and self.price(i, k, mistake_cost) < p[i, k] - SAME
                for i in self.paths[k][:-1]
            )
            if pays and self.is_dominant(k, p, mistake_cost):
                return k
        return None

    @staticmethod
    def corners(intervals):
        for ends in product((0, 1), repeat=len(intervals)):
            yield {p: intervals[p][end] for p, end in zip(intervals, ends, strict=True)}

    def finding(self, mistake_cost=None, intervals=None):
        """What all disagreements inside the intervals say together: the ends are enough."""
        held = self.interval if intervals is None else intervals
        found = {self.sound(p, mistake_cost) for p in self.corners(held)}
        if len(found) > 1:
            return "undecided", self.sound(self.share, mistake_cost)
        (stage,) = found
        return ("none" if stage is None else "sound"), stage

    def settled(self, i, j, intervals=None):
        low, high = (self.interval if intervals is None else intervals)[i, j]
        price = self.price(i, j)
        return 1 if price >= high - SAME else 0 if price >= low - SAME else -1

    @cached_property
    def contradicting(self):
        """Cases in which every label makes some right answer wrong again on its path."""
        if self.log.unseen:
            return 0
        labels = [y for y in self.classes if y not in self.log.never_right]
        total = 0
        for row in self.rows:
            total += not any(
                all(not (row[i] == y and row[j] not in (y, None)) for i, j in self.pairs)
                for y in labels
            )
        return total

    @cached_property
    def contradiction_interval(self):
        return betting(self.contradicting, self.n, self.alpha)

    @cached_property
    def n_prefix(self):
        """Cases with gaps in which each test that ran had all those before it."""
        return sum(
            None in row and all(row[i] is not None or row[j] is None for i, j in self.pairs)
            for row in self.rows
        )
