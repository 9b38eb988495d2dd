"""The bounds, the labels and the plan of an audit a second time: programmes and loops."""

import math
from collections import Counter
from functools import cached_property
from itertools import product

import numpy as np
from scipy.optimize import linprog
from scipy.special import rel_entr

from stopwise.audit import ErrsWithin, Ordered, Prevalence
from tests.audit.again import Counted, edges

NO_TEST_SAYS_IT = object()


def camps(row):
    """For each test the first test that says the same, None where it says nothing."""
    return tuple(None if y is None else row.index(y) for y in row)


def gain(row, label, i, j):
    """How much more i errs than j."""
    return (row[i] != label) - (row[j] != label)


class Again(Counted):
    """All numbers of a report; see `Counted` for those without labels."""

    # Bounds: one variable for each pattern, label and guess at what is missing

    @cached_property
    def programme(self):
        log = self.log
        law = self.completed if log.at_random else {
            row: times / self.n for row, times in self.counts.items()
        }  # fmt: skip
        labels = [y for y in self.classes if y not in log.never_right]
        labels += [NO_TEST_SAYS_IT] * log.unseen
        losses, owner, said = [], [], []
        for s, row in enumerate(law):
            gaps = [k for k in self.stages if row[k] is None]
            for y in labels:
                for wrong in product((0, 1), repeat=len(gaps)):
                    loss = [row[k] is not None and row[k] != y for k in self.stages]
                    for k, w in zip(gaps, wrong, strict=True):
                        loss[k] = w
                    losses.append(loss)
                    owner.append(s)
                    said.append(y)
        losses = np.array(losses, dtype=float)
        sums = np.array(owner)[None, :] == np.arange(len(law))[:, None]
        rows, limits = self._conditions(losses, said)
        return losses, sums.astype(float), [float(p) for p in law.values()], rows, limits

    def _conditions(self, losses, said):
        rows, limits = [], []

        def within(row, low, high):
            rows.extend([row, -row])
            limits.extend([high, -low])

        for taken in self.log.assumptions:
            if isinstance(taken, Ordered):
                for k, parent in enumerate(self.parents):
                    if parent is not None:
                        within(losses[:, k] - losses[:, parent], -1, 0)
            elif isinstance(taken, ErrsWithin):
                within(losses[:, self.log.names.index(taken.test)], taken.low, taken.high)
            elif isinstance(taken, Prevalence):
                within(np.array([float(y == taken.value) for y in said]), taken.low, taken.high)
        if self.log.labels:
            for (i, j), (low, high) in self.label_intervals.items():
                within(losses[:, i] - losses[:, j], low, high)
        return rows, limits

    def most(self, direction):
        """The largest direction · γ, by one programme for HiGHS."""
        losses, sums, law, rows, limits = self.programme
        found = linprog(
            -(losses @ np.asarray(direction, dtype=float)),
            A_ub=np.array(rows) if rows else None,
            b_ub=limits or None,
            A_eq=sums,
            b_eq=law,
            method="highs",
        )
        assert found.status == 0, found.message
        return -found.fun

    @cached_property
    def error_bounds(self):
        unit = np.eye(self.K)
        return [(-self.most(-e), self.most(e)) for e in unit]

    @cached_property
    def differences(self):
        unit = np.eye(self.K)
        return np.array([[self.most(x - y) if x is not y else 0.0 for y in unit] for x in unit])

    def regrets(self, mistake_cost=None):
        cost = self.log.mistake_cost if mistake_cost is None else mistake_cost
        C = [float(spent) / cost for spent in self.spent]
        D = self.differences
        return [max(D[k, j] + C[k] - C[j] for j in self.stages) for k in self.stages]

    @cached_property
    def safest(self):
        regrets = self.regrets()
        return next(k for k in self.stages if regrets[k] <= min(regrets) + 1e-9)

    @cached_property
    def is_known(self):
        return bool(min(self.regrets()) <= 1e-9)

    def may_be_best(self, least):
        """The stages that trail no other one for sure; least[k, j] bounds γ_k - γ_j from below."""
        return [
            k
            for k in self.stages
            if all(least[k][j] + self.C[k] - self.C[j] <= 1e-9 for j in self.stages)
        ]

    # Labels: strata of the log, the share of each, and what was found in it

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

    @cached_property
    def recommended(self):
        if self.is_known:
            return self.safest
        if self.labelled:
            return self.label_stage
        finding, stage = self.finding()
        return stage if finding == "sound" and stage in self.rivals else self.safest

    # The plan

    @cached_property
    def rivals(self):
        return self.may_be_best(-self.differences.T)

    @cached_property
    def plan(self):
        """For each agreement on which rivals differ: its cases, and how many of them to label."""
        sizes = Counter(
            camps(row)
            for row in self.rows
            if None not in row and len({row[k] for k in self.rivals}) > 1
        )
        total, wanted = sum(sizes.values()), self.log.n_planned
        if total <= wanted:
            return {key: (n, n) for key, n in sizes.items()}
        shares = {key: (wanted * n // total, wanted * n % total) for key, n in sizes.items()}
        left = wanted - sum(whole for whole, _ in shares.values())
        rests = sorted((rest for _, rest in shares.values()), reverse=True)
        assert rests[left - 1] > rests[left] or not left, "the log leaves open who gets the last"
        more = {key for key, (_, rest) in shares.items() if rest >= rests[left - 1] and left}
        return {key: (sizes[key], shares[key][0] + (key in more)) for key in sizes}

    @cached_property
    def resolution(self):
        """Half the width of the intervals to come, if each camp were right equally often."""
        strata, found = self.strata(pooled=True), {}
        for j in self.rivals:
            for i in (k for k in self.rivals if k < j):
                told = {
                    key: [
                        ((key[i] != right) - (key[j] != right), n / len(set(key)))
                        for right in set(key)
                    ]
                    for key, (_, n) in self.plan.items()
                    if n
                }
                level = self.alpha / self.n_comparisons
                low, high = self.difference_interval(i, j, strata, told, level, pooled=True)
                found[i, j] = (high - low) / 2
        return found

    # Dawid and Skene

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
