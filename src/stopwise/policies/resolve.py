"""Resolve: find the stage that looks best, and buy the cheapest observation that is still missing."""

from __future__ import annotations

import math

from stopwise.cascade import Cascade
from stopwise.errors import SettingError
from stopwise.policies.base import Policy
from stopwise.policies.certificate import Certificate, Comparison
from stopwise.policies.optimism import FOREVER, HAIR, price_rows
from stopwise.theory.divergence import bernoulli_kl


def demanded_evidence(horizon: int, n: int) -> float:
    """Return the evidence that ``n`` cases must hold to settle a comparison up to ``horizon``.

    x + ln(1 + x) with x = ln(horizon / n): a comparison seen in nearly every round needs little,
    since a mistake would soon be noticed; one that is no longer seen needs about ln t.
    """
    x = math.log(horizon / n)
    return x + math.log1p(x)


class Resolve(Policy):
    """Play the stage that looks best, except to buy what would overturn that, at the least cost.

    Stage i *looks best* if it is the first whose prices cover the observed disagreement with every
    later stage. Three things can be wrong with it, and each has its answer:

    1. going on to some j > i may pay after all: (i, j) is not seen while i is played, so it has to
       be bought until n·kl(p̂_ij, C_j - C_i) reaches `demanded_evidence`;
    2. an earlier stage was passed over because of a pair that i shows anyway: nothing to buy;
    3. an earlier stage was passed over because of a deeper pair only: that is bought like 1.

    What is to be bought is bought at the stage that shows it and looks cheapest. Evidence is
    demanded for whole epochs, t rounded up to a power of two, so that the stage changes rarely and
    `hold` is long. ``docs/resolve.md`` says why this cannot get stuck and what its regret is.

    Parameters
    ----------
    cascade
        The tests and their prices.
    indifference
        What a case may cost more than it had to, in the unit of the costs: comparisons closer than
        that are not looked into any further.

    >>> policy = Resolve(Cascade(costs=[0.0, 0.5]))
    >>> for _ in range(20):
    ...     policy.tell([0, 0][: policy.ask() + 1])
    >>> policy.ask(), policy.hold()
    (0, 12)
    >>> print(policy.certificate())
    stage 1: 1 settled, 0 open
      1 -> 2 does not pay: disagreement 0.0000 against price 0.5000 in 5 cases, confidence 0.9688
    """

    settings = ("indifference",)

    def __init__(self, cascade: Cascade, *, indifference: float = 0.0) -> None:
        super().__init__(cascade)
        if not (indifference >= 0 and math.isfinite(indifference)):
            raise SettingError(f"indifference must be >= 0 and finite, got {indifference!r}")
        self.indifference = float(indifference)
        self._prices = price_rows(cascade)
        self._zone = self.indifference / cascade.mistake_cost

    def recommend(self) -> int:
        """Return the stage that looks best."""
        self._settle()
        return self._looks_best()

    def certificate(self) -> Certificate:
        """Return what the recommended stage rests on: which comparisons are settled, which open."""
        self._settle()
        best, horizon = self._looks_best(), self._horizon()
        pairs = [(best, j) for j in range(best + 1, len(self._prices))]
        pairs += [(i, self._witness(i, best)) for i in range(best)]
        return Certificate(best, tuple(self._compared(i, j, horizon) for i, j in pairs))

    def _decide(self) -> tuple[int, int]:
        best, horizon = self._looks_best(), self._horizon()
        for i in range(best + 1):
            question = self._question(i, best, horizon)
            if question is not None:
                stage = self._cheapest_showing(question, best)
                plain = i == best and stage == question
                return stage, self._buys_for(stage, best, horizon) if plain else 1
        certain = horizon - self._counts.n_rounds
        for i in range(best):
            certain = min(certain, self._passed_over_for(i, best, best))
        return best, certain

    def _horizon(self) -> int:
        """Return the end of the epoch: the next round, rounded up to a power of two."""
        return 1 << self._counts.n_rounds.bit_length()

    def _looks_best(self) -> int:
        last = len(self._prices) - 1
        seen, disagreed, half = self._counts.seen, self._counts.disagreed, self._zone / 2
        for i in range(last):
            for j in range(last, i, -1):
                if disagreed[j][i] > seen[j][i] * (self._prices[j][i] + half):
                    break
            else:
                return i
        return last

    def _pays(self, i: int, j: int) -> bool:
        """Whether going on from i to j looks worth its price; an unseen pair does not."""
        return self._counts.disagreed[j][i] > self._counts.seen[j][i] * self._bar(i, j)

    def _bar(self, i: int, j: int) -> float:
        return self._prices[j][i] + self._zone / 2

    def _question(self, i: int, best: int, horizon: int) -> int | None:
        """Return the stage j whose comparison with i has to be bought, if there is one."""
        if i < best:
            j = self._witness(i, best)
            return None if j <= best or self._is_settled(i, j, horizon) else j
        for j in range(len(self._prices) - 1, best, -1):
            if not self._is_settled(best, j, horizon):
                return j
        return None

    def _witness(self, i: int, best: int) -> int:
        """Return the stage because of which i is passed over: one that ``best`` shows, if any."""
        paying = [j for j in range(i + 1, len(self._prices)) if self._pays(i, j)]
        return paying[0] if paying[0] <= best else max(paying, key=lambda j: self._evidence(i, j))

    def _is_settled(self, i: int, j: int, horizon: int) -> bool:
        n = self._counts.seen[j][i]
        if n == 0:
            return self._prices[j][i] >= 1  # no test is worth more than a mistake
        return self._evidence(i, j) >= demanded_evidence(horizon, n)

    def _evidence(self, i: int, j: int) -> float:
        n, price = self._counts.seen[j][i], self._prices[j][i]
        if price >= 1:
            return math.inf
        if n == 0:
            return 0.0
        p = self._counts.disagreed[j][i] / n
        return n * bernoulli_kl(p, price if self._pays(i, j) else price + self._zone)

    def _cheapest_showing(self, j: int, best: int) -> int:
        """Return the stage that shows j and seems to cost the least more than ``best``."""
        return min(range(j, len(self._prices)), key=lambda m: self._excess(m, best))

    def _excess(self, m: int, best: int) -> float:
        n = self._counts.seen[m][best]
        return self._prices[m][best] - (self._counts.disagreed[m][best] / n if n else 0.0)

    def _passed_over_for(self, i: int, best: int, stage: int) -> int:
        """Return for how many rounds at ``stage`` i must keep looking worse than a later stage.

        Than one that ``best`` shows, unless ``best`` itself is played: then any will do.
        """
        longest = 1
        for j in range(i + 1, (len(self._prices) if stage == best else best + 1)):
            n, d, bar = self._counts.seen[j][i], self._counts.disagreed[j][i], self._bar(i, j)
            if d <= n * bar:
                continue
            if j > stage or bar <= 0:
                return FOREVER  # not seen meanwhile, or one disagreement is enough
            # If all further cases agree, it still pays until n has grown to d / bar.
            longest = max(longest, math.ceil(d / bar * HAIR - n))
        return longest

    def _buys_for(self, stage: int, best: int, horizon: int) -> int:
        """Return for how many rounds the comparison of ``best`` with ``stage`` must be bought there.

        It has to stay open and the cheapest, and ``best`` has to stay the one that looks best.
        """
        certain = min(horizon - self._counts.n_rounds, self._open_for(best, stage, horizon))
        for i in range(best):
            certain = min(certain, self._passed_over_for(i, best, stage))
        for j in range(best + 1, stage + 1):
            n, d, bar = (
                self._counts.seen[j][best],
                self._counts.disagreed[j][best],
                self._bar(best, j),
            )
            if bar < 1:  # if all further cases disagree it pays as soon as d + m > (n + m) bar
                certain = min(certain, int((n * bar - d) / (1 - bar) * HAIR) + 1)
        n = self._counts.seen[stage][best]
        for m in range(stage + 1, len(self._prices)):
            lead = self._excess(m, best) - self._excess(stage, best)
            certain = min(certain, int(lead * n * HAIR))
        return max(certain, 1)

    def _open_for(self, i: int, j: int, horizon: int) -> int:
        """Return how many cases (i, j) needs at least to be settled, if none of them disagrees."""
        n, bar = self._counts.seen[j][i], self._prices[j][i] + self._zone
        if n == 0 or bar >= 1:
            return 1
        # An agreeing case adds at most -ln(1 - bar) and lowers the demand by at most 2 / n.
        missing = demanded_evidence(horizon, n) - self._evidence(i, j)
        return int(missing / (2 / n - math.log1p(-bar)) * HAIR)

    def _compared(self, i: int, j: int, horizon: int) -> Comparison:
        n = self._counts.seen[j][i]
        return Comparison(
            shallow=i,
            deep=j,
            n_seen=n,
            disagreement=self._counts.disagreed[j][i] / n if n else math.nan,
            price=self._prices[j][i],
            evidence=self._evidence(i, j),
            demanded=demanded_evidence(horizon, n) if n else math.inf,
        )
