"""The share of changes that are corrections, on a grid: what it may be and what labels tell."""

import math
from functools import cached_property

import numpy as np

GRID = (np.arange(4_000) + 0.5) / 4_000
LOG_RIGHT, LOG_WRONG = np.log(GRID), np.log(1 - GRID)


class Counted:
    """y ~ Beta(1 + v ŷ, 1 + v (1 - ŷ)), with x = 2 y - 1 estimated and b the price."""

    def __init__(self, v, x, b):
        right = 0.5 if np.isnan(x) else min(max((1 + x) / 2, 0.0), 1.0)
        self.a, self.b = 1 + v * right, 1 + v * (1 - right)
        self.even = min(max((1 + b) / 2, 0.0), 1.0)
        density = GRID ** (self.a - 1) * (1 - GRID) ** (self.b - 1)
        self.weights = density / density.sum()

    def loss(self, is_taken):
        """What a step that is taken, or not, costs too much on average, in changes."""
        gain = 2 * (GRID - self.even)
        return float(self.weights @ np.maximum(-gain if is_taken else gain, 0))

    def tells(self, m, n, z):
        """The chance that m of n labels leave y z standard deviations from where it pays."""
        total = 0.0
        for k in range(m + 1):
            a, b = self.a + k, self.b + m - k
            mean = a / (a + b)
            spread = (mean * (1 - mean) / (a + b + 1) * (max(1 - m / n, 0) if n > 0 else 0)) ** 0.5
            if abs(mean - self.even) > z * spread:
                likelihood = math.comb(m, k) * np.exp(k * LOG_RIGHT + (m - k) * LOG_WRONG)
                total += float(self.weights @ likelihood)
        return total


class LabelValue:
    """What labels would be worth."""

    @cached_property
    def label_value(self):
        """What not knowing costs, and how likely labels tell, both by adding up a grid of y."""
        n_left = self.n_disputed - self.n_disputed_labelled
        if self.choice[1] == "proven" or n_left <= 0:
            return 0.0, [], []
        sizes, candidates = sorted({min(n, n_left) for n in (20, 50, 200)}), []
        for step, is_taken in ((self.skipped, False), (self.taken, True)):
            if step is None or step["payoff"] != "open":
                continue
            pair = step["start"], step["end"]
            price, p, seen = step["price"], self.estimated[pair], self.differ[pair]
            if not seen:
                continue
            part = min(seen / self.n_disputed, 1)
            law = Counted(self.worth_of_estimate(part), step["avoided"] / p, price / p)
            loss = p * law.loss(is_taken)
            done = part * self.n_disputed_labelled
            n = p * self.n - done  # changes without a label, in sight or not
            sizes_here = [round(min(part * m, seen - done)) for m in sizes]
            tells = [law.tells(m, n, self.clear) for m in sizes_here]
            candidates.append((loss, [max(tells[: m + 1]) for m in range(len(sizes))], sizes))
        return max(candidates, key=lambda one: one[0], default=(0.0, [], []))

    @property
    def clear(self):
        """Standard deviations that settle it: those of the labels' intervals without a model."""
        if not (self.belief[1] and self.model.misfit.is_refuted):
            return 1.5
        n_intervals = self.K * (self.K + 1) / 2
        return math.sqrt(2 * math.log(2 * 3 * n_intervals / (1 - self.log.confidence)))

    def worth_of_estimate(self, part):
        """The labels there are, and ten where the model is believed, two where it is untested."""
        if not self.belief[1]:
            return 0.0
        misfit = self.model.misfit
        model = (
            0
            if misfit.is_refuted
            else 10
            if misfit.is_testable or self.choice[1] == "likely"
            else 2
        )
        return model + part * self.n_disputed_labelled
