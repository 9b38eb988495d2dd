"""What is believed, a second time: the model's rates, and those that decide."""

import math
from functools import cached_property

import numpy as np

import stopwise as sw
from stopwise.patterns import PatternTable


class Believed:
    """Error rates under the model, hedged ones, and a guess where there is no model."""

    @cached_property
    def belief(self):
        """The mean chance of error over all cases, by the belief after each of them."""
        cascade = sw.Cascade(self.log.costs, self.log.mistake_cost, self.log.names, self.parents)
        table = PatternTable.from_rows(map(self.answers, self.rows), [1] * self.n, cascade)
        labels = [(self.answers(row), label) for row, label in self.labelled]
        model = sw.LatentClasses.fit(table, labels=labels)
        if not (model.is_identified or labels):
            return [math.nan] * self.K, False
        per_row = {}
        for row in self.counts:
            chance = model.belief(self.answers(row))
            per_row[row] = np.zeros(self.K)
            for k, y in enumerate(row):
                right = chance.get(y, 0) if y is not None else sum(
                    chance[a] * model.confusion[k, c, c] for c, a in enumerate(model.classes)
                )  # fmt: skip
                per_row[row][k] = 1 - right
        self.model, self.per_row = model, per_row
        wrong = sum(times * per_row[row] for row, times in self.counts.items())
        return (wrong / self.n).tolist(), True

    @cached_property
    def deciding_rates(self):
        """The rates that a choice goes by; None without any."""
        rates, known = self.belief
        if not known:
            return self.guessed_rates
        return [*self.hedged(dict(enumerate(rates)), len(self.labelled)).values()]

    def hedged(self, rates, n_labels=0):
        """Rates by stage, mixed with those if the last test of a chain is always right."""
        h = 0.15 * 3 / (3 + n_labels) if self.is_chain else 0
        last = {k: self.estimated[k, self.K - 1] for k in rates}
        return {
            k: rate if last[k] is None else (1 - h) * rate + h * last[k]
            for k, rate in rates.items()
        }

    def answers(self, row):
        """The outputs that may be right; the model takes the others for missing."""
        return [None if y in self.log.no_answers else y for y in row]

    @property
    def is_chain(self):
        return list(self.parents) == [None, *range(self.K - 1)]

    @cached_property
    def guessed_rates(self):
        """Without a model: half of what the last test changes is a mistake less."""
        last = [self.estimated[k, self.K - 1] for k in self.stages]
        known = self.is_chain and None not in last
        return [p / 2 for p in last] if known else None

    @cached_property
    def left_out(self):
        """What is believed of the others without one of at least four tests, in turn."""
        if self.K < 4 or self.labelled:
            return []
        results = []
        for test in self.stages:
            others = [k for k in self.stages if k != test]
            rows = [[self.answers(row)[k] for k in others] for row in self.rows]
            table = PatternTable.from_rows(rows, [1] * self.n, sw.Cascade([0] * len(others)))
            rates = sw.LatentClasses.fit(table).error_rates.tolist()
            results.append(self.hedged(dict(zip(others, rates, strict=True))))
        return results
