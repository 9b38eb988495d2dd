"""What the labels can still be: one programme over patterns, labels and guesses at gaps."""

from functools import cached_property
from itertools import product

import numpy as np
from scipy.optimize import linprog

from stopwise.auditing import ErrsWithin, Ordered, Prevalence
from tests.auditing.again.labelled import Labelled

NO_TEST_SAYS_IT = object()


class Bounded(Labelled):
    """Bounds on error rates, differences and regrets."""

    @cached_property
    def programme(self):
        return self._programme(assuming=True, labelled=True)

    def _programme(self, *, assuming, labelled, sampled=True):
        """The programme with what is assumed, with the labels, with both or with neither.

        Unless ``sampled``, without the intervals that follow if gaps are random.
        """
        log = self.log
        law = {row: times / self.n for row, times in self.counts.items()}
        excluded = log.no_answers if assuming else log.unshared
        labels = [y for y in self.classes if y not in excluded]
        labels += [NO_TEST_SAYS_IT] * log.unseen
        losses, owner, labels_of = [], [], []
        for s, row in enumerate(law):
            gaps = [k for k in self.stages if row[k] is None]
            for y in labels:
                for wrong in product((0, 1), repeat=len(gaps)):
                    loss = [row[k] is not None and row[k] != y for k in self.stages]
                    for k, w in zip(gaps, wrong, strict=True):
                        loss[k] = w
                    losses.append(loss)
                    owner.append(s)
                    labels_of.append(y)
        losses = np.array(losses, dtype=float)
        sums = np.array(owner)[None, :] == np.arange(len(law))[:, None]
        at_random = assuming and sampled and self.log.at_random
        rows, limits = self._conditions(losses, labels_of, assuming, labelled, at_random)
        return losses, sums.astype(float), [float(p) for p in law.values()], rows, limits

    def _conditions(self, losses, labels_of, assuming, labelled, at_random):
        rows, limits = [], []

        def within(row, low, high):
            rows.extend([row, -row])
            limits.extend([high, -low])

        for assumption in self.log.assumptions if assuming else ():
            if isinstance(assumption, Ordered):
                for k, parent in enumerate(self.parents):
                    if parent is not None:
                        within(losses[:, k] - losses[:, parent], -1, 0)
            elif isinstance(assumption, ErrsWithin):
                within(
                    losses[:, self.log.names.index(assumption.test)],
                    assumption.low,
                    assumption.high,
                )
            elif isinstance(assumption, Prevalence):
                within(
                    np.array([float(y == assumption.value) for y in labels_of]),
                    assumption.low,
                    assumption.high,
                )
        if at_random:  # who rarely disagree err about as often
            for i, j in self.by_outputs:
                most = self.interval[i, j][1]
                within(losses[:, i] - losses[:, j], -most, most)
        if self.log.labels and labelled:
            for (i, j), (low, high) in self.label_intervals.items():
                within(losses[:, i] - losses[:, j], low - 1e-12, high + 1e-12)
            for k, (low, high) in enumerate(self.label_rates):
                within(losses[:, k], low - 1e-12, high + 1e-12)
        return rows, limits

    def most(self, direction, programme=None):
        """The largest direction · γ, by one programme for HiGHS."""
        losses, sums, law, rows, limits = programme or self.programme
        solution = linprog(
            -(losses @ np.asarray(direction, dtype=float)),
            A_ub=np.array(rows) if rows else None,
            b_ub=limits or None,
            A_eq=sums,
            b_eq=law,
            method="highs",
        )
        assert solution.status == 0, solution.message
        return -solution.fun

    @cached_property
    def error_bounds(self):
        unit = np.eye(self.K)
        return [(-self.most(-e), self.most(e)) for e in unit]

    @cached_property
    def differences(self):
        return self._differences(self.programme)

    @cached_property
    def proven(self):
        """The same for sure: without labels, and without intervals of gaps."""
        if not self.log.labels and not self.by_outputs:
            return self.differences
        return self._differences(self._programme(assuming=True, labelled=False, sampled=False))

    def _differences(self, programme):
        unit = np.eye(self.K)
        return np.array([[self.most(x - y, programme) for y in unit] for x in unit])

    def regrets(self, mistake_cost=None, differences=None):
        cost = self.log.mistake_cost if mistake_cost is None else mistake_cost
        C = [float(spent) / cost for spent in self.spent]
        D = self.differences if differences is None else differences
        return [max(D[k, j] + C[k] - C[j] for j in self.stages) for k in self.stages]

    @cached_property
    def safest(self):
        regrets = self.regrets()
        return next(k for k in self.stages if regrets[k] <= min(regrets) + 1e-9)

    @cached_property
    def is_known(self):
        return bool(min(self.regrets()) <= 1e-9)

    @cached_property
    def rivals(self):
        return self.may_be_best(-self.differences.T)

    @cached_property
    def ground(self):
        """The least that makes the safest stage best for sure, None where nothing does.

        Intervals from labels rest on what is never right, too.
        """
        if not self.is_known:
            return None
        alone = not self.log.never_right
        for ground, given in (
            ("log", {"assuming": False, "labelled": False}),
            ("assumptions", {"assuming": True, "labelled": False, "sampled": False}),
            ("gaps at random", {"assuming": True, "labelled": False}),
            *([("labels", {"assuming": False, "labelled": True})] if alone else []),
        ):
            differences = self._differences(self._programme(**given))
            if self.regrets(differences=differences)[self.safest] <= 1e-9:
                return ground
        return "labels and assumptions"

    @cached_property
    def n_disputed(self):
        """Cases that show two stages disagree of which either may be best."""
        return sum(self.is_disputed(row) for row in self.rows)

    @property
    def n_disputed_labelled(self):
        """Those of them that have a label."""
        return sum(self.is_disputed(row) for row, _ in self.labelled)

    def is_disputed(self, row):
        return len({row[k] for k in self.rivals} - {None}) > 1
