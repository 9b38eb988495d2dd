"""Buy labels online, of cases on which two stages differ whose comparison is still open."""

from __future__ import annotations

import math
from collections.abc import Hashable

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.counts import PairCounts
from stopwise.errors import SettingError
from stopwise.outputs import Outputs
from stopwise.policies.resolution import demanded_evidence, epoch_end
from stopwise.theory.divergence import bernoulli_kl, edge_of_ball

# Labels may cost this share of what the choice of a stage may have lost so far. A half is worse for
# stopping by belief, which loses far less than the most that labels leave possible.
SHARE = 0.1
# Two stages that differ by less, in mistakes per case, are not told apart by labels.
INDIFFERENCE = 0.005
# Questions are renewed when the number of cases has grown by this factor, and after each label.
GROWTH = 1.1

Pair = tuple[int, int]


class LabelBuying:
    """Say which cases are worth a label, whoever decides where they stop.

    Going on from stage i to j gains p·r, with p how often the two differ and r how much oftener j
    is right than i where they do. Outputs show p. Labels of such cases show w = (1 + r) / 2, the
    mean of 1, ½ and 0 for "j is right", neither and "i is right". If p is below the price, the step
    cannot pay and no label is asked for. Otherwise the pair is an open question until m·kl(ŵ, w₀)
    reaches `resolution.demanded_evidence`, w₀ = (1 + price / p̂) / 2, after m labels. A stage that a
    settled question refutes is not asked about any more.

    A case is worth its label if an open pair differs on it, and if all labels cost at most a tenth
    of the most that the choice may have lost so far, given the labels.

    Parameters
    ----------
    cascade
        The tests and their prices; a chain.
    label_cost
        What one label costs, in the unit of the costs.
    share
        The share, at most, of what may have been lost that labels may cost.

    >>> buying = LabelBuying(Cascade(costs=[0.0, 0.1]), label_cost=0.02)
    >>> for case in range(200):
    ...     if buying.wants([0, case % 2]):
    ...         buying.take([0, 1], label=1)  # the second test is right: it pays
    >>> buying.n_bought, buying.questions, buying.refuted
    (10, (), (True, False))
    """

    def __init__(self, cascade: Cascade, *, label_cost: float, share: float = SHARE) -> None:
        if not cascade.is_chain:
            raise SettingError(f"cascade must be a chain, got {cascade!r}")
        cost = finite_number("label_cost", label_cost, SettingError, zero=False)
        self.cascade = cascade
        self.label_cost = cost / cascade.mistake_cost
        self.share = finite_number("share", share, SettingError, zero=False)
        self.n_bought = 0
        self.possible_loss = 0.0
        self._counts = PairCounts(cascade)
        K = cascade.n_stages
        self._labelled = [[0] * K for _ in range(K)]
        self._points = [[0.0] * K for _ in range(K)]
        self._due = 1.0
        self.renew()

    @property
    def spent(self) -> float:
        """What the labels asked for have cost, in mistakes."""
        return self.n_bought * self.label_cost

    @property
    def affords(self) -> bool:
        """Whether one more label is within the share of what may have been lost."""
        return self.spent + self.label_cost <= self.share * self.possible_loss

    def wants(self, outputs: Outputs) -> bool:
        """Count a case that was answered; return whether to buy its label, which is then paid."""
        self._counts.add_checked(len(outputs) - 1, outputs, 1)
        self.possible_loss += self._loss[len(outputs) - 1]
        if self._counts.n_rounds >= self._due:
            self.renew()
        if not (self.affords and self._questions_of(outputs)):
            return False
        self.n_bought += 1
        return True

    def take(self, outputs: Outputs, label: Hashable) -> None:
        """Take in the label of a case that was asked for."""
        for i, j in self._questions_of(outputs):
            self._labelled[j][i] += 1
            self._points[j][i] += (1 + (outputs[j] == label) - (outputs[i] == label)) / 2
        self.renew()

    def refund(self) -> None:
        """Take back a purchase: the label was not delivered."""
        self.n_bought -= 1

    def gain(self, i: int, j: int) -> float:
        """Return the estimated gain of going on from i to j; without labels all that differs."""
        n, m = self._counts.seen[j][i], self._labelled[j][i]
        share = self._counts.disagreed[j][i] / n if n else 1.0
        return share * (2 * self._points[j][i] / m - 1 if m else 1.0)

    def _questions_of(self, outputs: Outputs) -> list[Pair]:
        """Return the open questions that a case bears on."""
        return [
            (i, j)
            for i, j in self.questions
            if j < len(outputs) and outputs[j] is not None and outputs[i] is not None
            if outputs[i] != outputs[j]
        ]

    def renew(self) -> None:
        """Renew the questions; `wants` does it when the number of cases has grown by a tenth."""
        counts, K = self._counts, self.cascade.n_stages
        self._due = GROWTH * counts.n_rounds
        refuted, may_lose = [False] * K, {}
        for j in range(1, K):
            for i in range(j):
                low, high = self._losses(i, j, refuted)
                if low > 0 or high > 0:
                    may_lose[i, j] = low, high
        self.refuted = tuple(refuted)
        self.questions = tuple(p for p in may_lose if not (refuted[p[0]] or refuted[p[1]]))
        self._loss = [0.0] * K
        for i, j in self.questions:
            for k in range(i, K):
                self._loss[k] = max(self._loss[k], may_lose[i, j][k < j])

    def _losses(self, i: int, j: int, refuted: list[bool]) -> tuple[float, float]:
        """Return what stopping at j, and at i, may lose against the other; 0 if settled."""
        n, d = self._counts.seen[j][i], self._counts.disagreed[j][i]
        m, horizon = self._labelled[j][i], epoch_end(self._counts.n_rounds)
        price = float(self.cascade.cumulative_costs[j] - self.cascade.cumulative_costs[i])
        if price >= 1:
            refuted[j] = True
            return 0.0, 0.0
        if d <= n * price:  # it cannot pay, or has not been seen
            demand = math.log(len(refuted)) + demanded_evidence(horizon, n) if n else math.inf
            refuted[j] |= n > 0 and n * bernoulli_kl(d / n, price) >= demand
            return 0.0, 0.0
        p = d / n
        if m == 0:
            return price, p - price
        bar, demand = (1 + price / p) / 2, demanded_evidence(max(horizon, m), m)
        w, zone = self._points[j][i] / m, INDIFFERENCE / p / 2
        other = min(bar + zone, 1.0) if w <= bar else max(bar - zone, 0.0)
        if m * bernoulli_kl(w, other) >= demand:
            refuted[j if w <= bar else i] = True
            return 0.0, 0.0
        least, most = (edge_of_ball(w, end, demand / m) for end in (0.0, 1.0))
        return price - p * (2 * least - 1), p * (2 * most - 1) - price
