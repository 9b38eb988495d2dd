"""What is missing in a log, what gaps depend on, and what they may hide."""

import math
from collections import Counter, defaultdict
from functools import cached_property

from scipy.stats import chi2, chi2_contingency

from tests.auditing.again.counted import Counted, camps


class Gaps(Counted):
    """What decided which tests ran, and which pairs that concerns."""

    def _dependence(self, test, on, given):
        """Whether a test ran against what others said, and against the pattern of agreement.

        The smaller chance of the two, twice: it had two tries. Once where only one could be tried.
        """
        by_outputs, by_agreement = [], []
        for row in self.rows:
            outputs = [row[k] for k in (*given, *on)]
            alike = (*outputs[: len(given)], *(y is None for y in outputs))
            by_outputs.append((alike, tuple(outputs), row[test] is None))
            by_agreement.append((alike, camps(tuple(outputs)), row[test] is None))
        p_values = [
            p for p in (self._chance(by_outputs), self._chance(by_agreement)) if not math.isnan(p)
        ]
        return min(1.0, len(p_values) * min(p_values)) if p_values else math.nan

    def _chance(self, cases):
        """One chi-square test over all groups of cases, given as (group, what it is, yes or no).

        What is rare in a group counts as one.
        """
        groups = defaultdict(Counter)
        for alike, what, gap in cases:
            groups[alike][what, gap] += 1
        square, freedom = 0.0, 0
        for cells in groups.values():
            table = [[cells[key, gap] for gap in (False, True)] for key in {k for k, _ in cells}]
            table = self._without_rare(table)
            if len(table) > 1:
                result = chi2_contingency(table, correction=False)
                square, freedom = square + result.statistic, freedom + result.dof
        return float(chi2.sf(square, freedom)) if freedom else math.nan

    @staticmethod
    def _without_rare(table):
        """Rows that expect fewer than five in some column together, or with the smallest other."""
        least = min(sum(row[c] for row in table) for c in (0, 1)) / sum(map(sum, table))
        common = [row for row in table if sum(row) * least >= 5]
        rare = [row for row in table if sum(row) * least < 5]
        rest = [sum(row[c] for row in rare) for c in (0, 1)]
        if not common or not any(rest):
            return common or [rest]
        if sum(rest) * least >= 5:
            return [*common, rest]
        smallest = min(range(len(common)), key=lambda r: sum(common[r]))
        common[smallest] = [x + y for x, y in zip(common[smallest], rest, strict=True)]
        return common

    @cached_property
    def p_values(self):
        return [self._dependence(k, self.paths[k][:-1], []) for k in self.stages]

    @cached_property
    def p_values_of_others(self):
        return [
            self._dependence(
                k, [j for j in self.stages if j not in self.paths[k]], self.paths[k][:-1]
            )
            for k in self.stages
        ]

    @cached_property
    def p_values_of_labels(self):
        """Whether a test ran against which of those before it are right, where labels show that.

        Unknown where cases were labelled by what the tests said.
        """
        if not self.log.labels:
            return []
        labels = dict(self.log.labels)
        cases = [(row, labels.get(r)) for r, row in enumerate(self.log.rows)]
        cases = [(row, y) for row, y in cases if any(x is not None for x in row)]
        for what in (tuple, camps):
            groups = [([x is None for x in row], what(row), y is None) for row, y in cases]
            if self._chance([(tuple(gaps), *rest) for gaps, *rest in groups]) < 0.01:
                return [math.nan] * self.K
        p_values = []
        for k in self.stages:
            before = self.paths[k][:-1]
            p_values.append(self._chance([
                (tuple(row[i] for i in before), tuple(row[i] == y for i in before), row[k] is None)
                for row, y in cases
                if y is not None
            ]))  # fmt: skip
        return p_values

    @cached_property
    def is_pooled(self):
        """Whether labels look random among cases that agree in the same way."""
        labelled = {r for r, _ in self.log.labels}
        cases = [
            (camps(row), row, r in labelled)
            for r, row in enumerate(self.log.rows)
            if any(y is not None for y in row)
        ]
        return not self._chance(cases) < 0.01

    def stratum(self, row):
        """Where a label counts: among cases that agree in the same way, or with the same outputs.

        The latter if outputs decided which cases were labelled, or if cases that agree in the same
        way fill different numbers of gaps.
        """
        if not self.is_pooled:
            return row
        return camps(row), round(self.completed.get(row, 0) * self.n / self.counts[row], 9)

    def _low(self, p_values):
        return [k for k, p in enumerate(p_values) if p < 0.01 / (2 * self.K)]

    @cached_property
    def by_truth(self):
        """The tests that ran or not by what is right, as labels show."""
        return self._low(self.p_values_of_labels)

    @cached_property
    def by_others(self):
        """The tests whose gaps depend on what does not come before."""
        return sorted({*self._low(self.p_values_of_others), *self.by_truth})

    @cached_property
    def dependent(self):
        """The tests whose gaps depend on outputs."""
        return sorted({*self._low(self.p_values), *self._low(self.p_values_of_others)})

    @cached_property
    def with_gaps(self):
        return [pair for pair in self.pairs if self.seen[pair] < self.n]

    @cached_property
    def blind(self):
        """The pairs whose gaps may hide anything: nothing is assumed, or it is refuted."""
        return [
            (i, j)
            for i, j in self.with_gaps
            if not self.log.at_random or any(k in self.by_others for k in self.paths[j])
        ]

    @cached_property
    def by_outputs(self):
        """The pairs whose gaps are taken to be by the outputs before."""
        return [p for p in self.with_gaps if self.log.at_random and p not in self.blind]

    @cached_property
    def completed(self):
        """The law if gaps are random given what is shown: each goes to complete rows like it."""
        mass = {row: times / self.n for row, times in self.counts.items()}
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
                mass[row] = 0.0
        return {row: p for row, p in mass.items() if p}

    @cached_property
    def adjusted_range(self):
        ranges = {}
        for i, j in self.pairs:
            low = sum(p for r, p in self.completed.items()
                      if None not in (r[i], r[j]) and r[i] != r[j])  # fmt: skip
            still = sum(p for r, p in self.completed.items() if None in (r[i], r[j]))
            ranges[i, j] = float(low), float(low + still)
        return ranges

    @cached_property
    def adjusted(self):
        """One number where the range is narrow, None where it is not."""
        return {
            pair: (low + high) / 2 if high - low <= 0.01 else None
            for pair, (low, high) in self.adjusted_range.items()
        }

    @cached_property
    def estimated(self):
        """The share for estimates: where both ran, unless the completed rows exclude it."""
        shares = {}
        for (i, j), p in self.plain.items():
            low, high = self.adjusted_range.get((min(i, j), max(i, j)), (0, 1))
            shares[i, j] = None if p is None else sorted([low, float(p), high])[1]
        return shares

    def worst(self, i, j):
        d, m = self.differ[i, j], self.seen[i, j]
        return d / self.n, (d + self.n - m) / self.n

    @cached_property
    def n_prefix(self):
        """Cases with gaps in which each test that ran had all those before it."""
        return sum(
            None in row and all(row[i] is not None or row[j] is None for i, j in self.pairs)
            for row in self.rows
        )
