"""All numbers of a report: what the plan asks for and what Dawid and Skene fit come last."""

import math
from collections import Counter
from functools import cached_property

from tests.auditing.again.bounded import Bounded
from tests.auditing.again.counted import camps


class Again(Bounded):
    """Every number of a report a second time."""

    @cached_property
    def plan(self):
        """For each agreement on which rivals differ: its cases, and how many of them to label."""
        sizes = Counter(camps(row) for row in self.rows if self.is_disputed(row))
        total, wanted = sum(sizes.values()), self.log.n_planned
        if total <= wanted:
            return {key: (n, n) for key, n in sizes.items()}
        shares = {key: (wanted * n // total, wanted * n % total) for key, n in sizes.items()}
        left = wanted - sum(whole for whole, _ in shares.values())
        rests = sorted((rest for _, rest in shares.values()), reverse=True)
        assert rests[left - 1] > rests[left] or not left, "the log leaves open who gets the last"
        more = {key for key, (_, rest) in shares.items() if rest >= rests[left - 1] and left}
        return {key: (sizes[key], shares[key][0] + (key in more)) for key in sizes}

    def _labelled_by_plan(self, best=None):
        """The strata as the plan would label them, test ``best`` always right, or all alike."""
        strata = self.strata(pooled=True)
        for key, (_, n) in self.plan.items():
            right = set(key) - {None}
            if best is not None and key[best] is not None:
                right = {key[best]}
            strata[key].right.update({camp: n / len(right) for camp in right if n})
        return strata

    @cached_property
    def resolution(self):
        """Half the width of the intervals to come, if each camp were right equally often.

        Only for pairs that can be that far apart, and that labels for one of them would settle.
        """
        found = {}
        for j in self.rivals:
            for i in (k for k in self.rivals if k < j):
                low, high = self.bounds_by_labels(self._labelled_by_plan(), {i: 1, j: -1})
                price, half = self.C[j] - self.C[i], (high - low) / 2
                farthest = max(self.differences[i, j] - price, price + self.differences[j, i])
                for_j = self.bounds_by_labels(self._labelled_by_plan(j), {i: 1, j: -1})[0]
                for_i = self.bounds_by_labels(self._labelled_by_plan(i), {i: 1, j: -1})[1]
                if farthest > half + 1e-9 and (for_j > price or for_i < price):
                    found[i, j] = half
        return found

    @cached_property
    def dawid_skene(self):
        """Error rates by expectation maximisation from the votes, one pattern at a time."""
        M = range(len(self.classes))
        code = {y: c for c, y in enumerate(self.classes)}
        rows = [([None if y is None else code[y] for y in r], t) for r, t in self.counts.items()]
        beliefs = []
        for row, _ in rows:
            votes = [row.count(c) for c in M]
            beliefs.append([v / sum(votes) for v in votes])
        for _ in range(300):
            prior = [sum(t * b[y] for (_, t), b in zip(rows, beliefs, strict=True)) for y in M]
            says = {}
            for k in self.stages:
                for y in M:
                    cells = [0.0] * len(M)
                    for (row, t), b in zip(rows, beliefs, strict=True):
                        if row[k] is not None:
                            cells[row[k]] += t * b[y]
                    says[k, y] = [x / max(sum(cells), 1e-12) for x in cells]
            beliefs = []
            for row, _ in rows:
                chance = [
                    prior[y] * math.prod(says[k, y][row[k]] for k in self.stages
                                         if row[k] is not None)
                    for y in M
                ]  # fmt: skip
                beliefs.append([x / sum(chance) for x in chance])
        rates = []
        for k in self.stages:
            shown = [(row[k], t, b) for (row, t), b in zip(rows, beliefs, strict=True)
                     if row[k] is not None]  # fmt: skip
            right = sum(t * b[c] for c, t, b in shown)
            rates.append(1 - right / sum(t for _, t, _ in shown))
        return rates
