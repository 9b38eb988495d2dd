"""What labels say: the share of each stratum of a log, and how often each test is right there."""

import math
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from scipy.special import rel_entr

from tests.auditing.again.betting import edges
from tests.auditing.again.counted import camps
from tests.auditing.again.disagreed import Disagreed


@dataclass
class Stratum:
    """Cases that count as alike: how many, with gaps filled, and whose answer was how often right.

    ``right`` counts camps, None where no test was right; ``may_be`` are those that can be.
    """

    camps: tuple
    n_cases: int = 0
    filled: float = 0.0
    right: Counter = field(default_factory=Counter)
    may_be: set = field(default_factory=set)

    def gain(self, weights, right):
        return sum(w * (self.camps[k] != right) for k, w in weights.items())


class Labelled(Disagreed):
    """Differences and error rates by labels, and the stages that may be best by them."""

    def may_be_best(self, least):
        """The stages that trail no other one for sure; least[k, j] bounds γ_k - γ_j from below."""
        return [
            k
            for k in self.stages
            if all(least[k][j] + self.C[k] - self.C[j] <= 1e-9 for j in self.stages)
        ]

    @cached_property
    def labelled(self):
        """The labelled rows, without those that show nothing."""
        rows = self.log.rows
        return [(rows[r], y) for r, y in self.log.labels if any(x is not None for x in rows[r])]

    @cached_property
    def n_telling(self):
        """Labels of cases in which two tests say different things."""
        return sum(len({x for x in row if x is not None}) > 1 for row, _ in self.labelled)

    def strata(self, *, pooled, never_right=(), unseen=False):
        """The strata before anybody has labelled anything: patterns, or agreements if pooled."""
        strata = {}
        can_be = set(self.classes) - set(never_right)
        for row, times in self.counts.items():
            stratum = strata.setdefault(camps(row) if pooled else row, Stratum(camps(row)))
            stratum.n_cases += times
            stratum.may_be |= {row.index(y) for y in row if y in can_be}
            if unseen or None in row or can_be - set(row):
                stratum.may_be.add(None)
        for row, p in self.completed.items():
            strata[camps(row) if pooled else row].filled += p
        return strata

    @cached_property
    def labelled_strata(self):
        """The strata with their labels."""
        log, key, strata = self.log, self.stratum, {}
        for row, stratum in self.strata(
            pooled=False, never_right=log.no_answers, unseen=log.unseen
        ).items():
            joined = strata.setdefault(key(row), Stratum(stratum.camps))
            joined.n_cases += stratum.n_cases
            joined.filled += stratum.filled
            joined.may_be |= stratum.may_be
        for row, y in self.labelled:
            strata[key(row)].right[row.index(y) if y in row else None] += 1
        return strata

    def bounds_by_labels(self, strata, weights, level=None):
        """What Σ weights · γ can be: known where all are labelled, free where none is."""
        low = high = 0.0
        some = []
        for stratum in strata.values():
            n = sum(stratum.right.values())
            share = stratum.n_cases / self.n
            gains = [stratum.gain(weights, right) for right in stratum.may_be]
            if any(stratum.camps[k] is None for k in weights):
                gains = [sum(min(w, 0) for w in weights.values()),
                         sum(max(w, 0) for w in weights.values())]  # fmt: skip
            elif abs(n - stratum.n_cases) < 0.5:
                gains = [sum(t * stratum.gain(weights, r) for r, t in stratum.right.items()) / n]
            elif n and max(gains) > min(gains) and share:
                some.append((stratum, share, n, gains))
                continue
            low, high = low + share * min(gains), high + share * max(gains)
        if some:
            ends = self._by_some_labels(some, weights, level or self.level_of_labels)
            low, high = low + ends[0], high + ends[1]
        return low, high

    @property
    def level_of_labels(self):
        """Of one interval: all error rates and differences share the level."""
        return self.alpha / (self.K + self.K * (self.K - 1) / 2)

    def _by_some_labels(self, some, weights, level):
        """Each label counts by the share of its stratum: two ways to bound the mean of them.

        Which one depends on how uneven the labels count, never on what they said.
        """
        bottom, top = min(min(g) for *_, g in some), max(max(g) for *_, g in some)
        total = sum(
            times * (share / n) * stratum.gain(weights, right)
            for stratum, share, n, _ in some
            for right, times in stratum.right.items()
        )
        counts_for = [(share / n, n) for _, share, n, _ in some]
        N = sum(n for _, n in counts_for)
        largest = max(each for each, _ in counts_for)
        squares = sum(n * each**2 for each, n in counts_for)
        P = sum(share for _, share, _, _ in some)
        if largest**2 > 1.5 * squares / N:
            # a sum of independent terms, each with a range of its own
            off = (top - bottom) * math.sqrt(math.log(2 / level) * squares / 2)
            ends = total - off, total + off
        else:
            ends = self._by_divergence(total, (bottom, top), P, N * largest, level, N)
        return max(ends[0], P * bottom), min(ends[1], P * top)

    @staticmethod
    def _by_divergence(total, span, P, most, level, N):
        """The total as a mean of N values in [0, 1]: those that count less stay near the middle."""
        middle, half = P * sum(span) / 2, most * (span[1] - span[0]) / 2
        mean = ((total - middle) / half + 1) / 2

        def divergence(m):
            return rel_entr(mean, m) + rel_entr(1 - mean, 1 - m)

        return [
            middle + half * (2 * end - 1)
            for end in edges(divergence, mean, math.log(2 / level) / N)
        ]

    @cached_property
    def label_intervals(self):
        return {
            (i, j): self.bounds_by_labels(self.labelled_strata, {i: 1, j: -1})
            for j in self.stages
            for i in range(j)
        }

    @cached_property
    def label_rates(self):
        return [self.bounds_by_labels(self.labelled_strata, {k: 1}) for k in self.stages]

    @cached_property
    def estimates(self):
        """γ_i - γ_j: a stratum's own labels, one borrowed from its likes, who borrow one.

        That one is the mean of all labels of cases on which i and j differ, where an even split
        counts as one. Strata that show both count by what they have when gaps are filled.
        """
        similar, estimates = Counter(), np.zeros((self.K, self.K))
        for stratum in self.labelled_strata.values():
            for right, times in stratum.right.items():
                similar[stratum.camps, right] += times
        for i in self.stages:
            for j in self.stages:
                strata = [
                    h for h in self.labelled_strata.values() if None not in (h.camps[i], h.camps[j])
                ]
                total = sum(stratum.filled for stratum in strata)
                estimates[i, j] = sum(
                    stratum.filled / total * self._mean_gain(stratum, similar, i, j, strata)
                    for stratum in strata
                    if i != j
                )
        return estimates

    def _mean_gain(self, stratum, similar, i, j, strata):
        """By how much i is wrong more often than j in a stratum."""

        def gains(stratum):
            return {right: stratum.gain({i: 1, j: -1}, right) for right in stratum.may_be}

        gain, n = gains(stratum), sum(stratum.right.values())
        own = sum(times * gain[right] for right, times in stratum.right.items())
        if n == stratum.n_cases:
            return own / n
        if not any(gain.values()):
            return 0.0
        differ = [other for other in strata if any(gains(other).values())]
        labels = [(gains(o)[right], m) for o in differ for right, m in o.right.items()]
        even = sum(gain.values()) / len(gain)
        pooled = (sum(g * m for g, m in labels) + even) / (sum(m for _, m in labels) + 1)
        pooled = min(max(pooled, min(gain.values())), max(gain.values()))
        lent = sum(similar[stratum.camps, right] * g for right, g in gain.items()) + pooled
        lent /= sum(similar[stratum.camps, right] for right in gain) + 1
        return (own + lent) / (n + 1)

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
        kinds = {
            self.is_dominant(k, p)
            for k in self.may_be_best(self.label_least)
            for p in self.corners(self.interval)
        }
        return "open" if len(kinds) > 1 else "holds" if kinds.pop() else "fails"
