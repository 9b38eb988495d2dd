"""What labels say: strata of the log, the share of each, and what was found in it."""

import math
from collections import Counter
from functools import cached_property

import numpy as np
from scipy.special import rel_entr

from tests.audit.again.disagreed import Disagreed, edges


def camps(row):
    """For each test the first test that says the same, None where it says nothing."""
    return tuple(None if y is None else row.index(y) for y in row)


def gain(row, label, i, j):
    """How much more i errs than j."""
    return (row[i] != label) - (row[j] != label)


class Labelled(Disagreed):
    """Differences of error rates by labels, and the stages that may be best by them."""

    def may_be_best(self, least):
        """The stages that trail no other one for sure; least[k, j] bounds γ_k - γ_j from below."""
        return [
            k
            for k in self.stages
            if all(least[k][j] + self.C[k] - self.C[j] <= 1e-9 for j in self.stages)
        ]

    def strata(self, pooled):
        """For each stratum one of its rows and its share of the cases."""
        first, times = {}, Counter()
        for row in self.rows:
            key = camps(row) if pooled else row
            first.setdefault(key, row)
            times[key] += 1
        return {key: (first[key], times[key] / self.n) for key in first}

    def difference_interval(self, i, j, strata, told, level, *, pooled):
        """``told`` lists for each stratum how much more i errs than j, with its weight."""
        seen, low, high = {}, 0.0, 0.0
        for key, (row, share) in strata.items():
            if None in (row[i], row[j]):
                low, high = low - share, high + share
            elif row[i] != row[j]:
                n = sum(weight for _, weight in told.get(key, []))
                if n:
                    seen[key] = share, n
                else:  # nobody looked: i may be right or j, where that can be
                    may_be = self._outcomes(row, pooled)
                    low -= share * (camps(row)[i] in may_be)
                    high += share * (camps(row)[j] in may_be)
        if seen:
            P, N = sum(p for p, _ in seen.values()), sum(n for _, n in seen.values())
            scale = max((p / P) / (n / N) for p, n in seen.values())
            total = sum(
                weight * more * (seen[key][0] / P) / (seen[key][1] / N)
                for key in seen
                for more, weight in told[key]
            )
            mean = (total / N / scale + 1) / 2

            def divergence(m):
                return rel_entr(mean, m) + rel_entr(1 - mean, 1 - m)

            ends = edges(divergence, mean, math.log(2 / level) / N)
            low += P * max(scale * (2 * ends[0] - 1), -1)
            high += P * min(scale * (2 * ends[1] - 1), 1)
        return max(low, -1.0), min(high, 1.0)

    @cached_property
    def labelled(self):
        """The labelled rows, without those that show nothing."""
        rows = self.log.rows
        return [(rows[r], y) for r, y in self.log.labels if any(x is not None for x in rows[r])]

    @cached_property
    def n_comparisons(self):
        return self.K * (self.K - 1) // 2

    @cached_property
    def label_intervals(self):
        pooled = self.log.planned_labels
        strata, found = self.strata(pooled), {}
        for j in self.stages:
            for i in range(j):
                told = {}
                for row, y in self.labelled:
                    told.setdefault(camps(row) if pooled else row, []).append(
                        (gain(row, y, i, j), 1)
                    )
                level = self.alpha / self.n_comparisons
                found[i, j] = self.difference_interval(i, j, strata, told, level, pooled=pooled)
        return found

    def _outcomes(self, row, pooled):
        """Which camps may be right in a stratum; None stands for no camp at all."""
        alike = [r for r in self.counts if camps(r) == camps(row)] if pooled else [row]
        may_be = {y for y in self.classes if y not in self.log.never_right}
        none = any(self.log.unseen or None in r or may_be - set(r) for r in alike)
        right = {c for r in alike for c, y in zip(camps(r), r, strict=True) if y in may_be}
        return right | ({None} if none else set())

    @cached_property
    def estimates(self):
        """γ_i - γ_j: each stratum's own labels, one borrowed from its likes, who borrow one."""
        pooled = self.log.planned_labels
        own, alike = Counter(), Counter()
        for row, y in self.labelled:
            right = row.index(y) if y in row else None
            own[camps(row) if pooled else row, right] += 1
            alike[camps(row), right] += 1
        found = np.zeros((self.K, self.K))
        for key, (row, share) in self.strata(pooled).items():
            outcomes = self._outcomes(row, pooled)
            n_own = sum(own[key, c] for c in outcomes)
            n_alike = sum(alike[camps(row), c] for c in outcomes)
            for right in outcomes:
                lent = (alike[camps(row), right] + 1 / len(outcomes)) / (n_alike + 1)
                rate = (own[key, right] + lent) / (n_own + 1)
                wrong = [c != right for c in camps(row)]
                for i in self.stages:
                    for j in self.stages:
                        if None not in (row[i], row[j]):
                            found[i, j] += share * rate * (wrong[i] - wrong[j])
        return found

    @cached_property
    def label_stage(self):
        return min(self.stages, key=lambda k: self.estimates[k, 0] + self.C[k])

    @cached_property
    def label_least(self):
        least = np.zeros((self.K, self.K))
        for (i, j), (low, high) in self.label_intervals.items():
            least[i, j], least[j, i] = low, -high
        return least

    @cached_property
    def weak_dominance(self):
        """Over all stages that may be best and all disagreements inside the intervals."""
        found = {
            self.is_dominant(k, p)
            for k in self.may_be_best(self.label_least)
            for p in self.corners(self.interval)
        }
        return "open" if len(found) > 1 else "holds" if found.pop() else "fails"
