"""Resolve: play what looks best, and buy the cheapest observation that could overturn it."""

from __future__ import annotations

import math

from stopwise.cascade import Cascade
from stopwise.checks import finite_number
from stopwise.errors import CascadeError, SettingError
from stopwise.policies.base import Policy
from stopwise.policies.certificate import Certificate, Comparison, Status, confidence_in
from stopwise.policies.compiled_rule import NOTHING, CompiledRule, pair_tables
from stopwise.policies.indifference import (
    VANISHING,
    VANISHING_SCALE,
    other_side_of,
    width,
    zone_until,
)
from stopwise.policies.resolution import (
    epoch_end,
    evidence_in,
    least_doubted,
    passed_over_by,
    resolving_choice,
    ruled_out_by,
    settles,
)
from stopwise.policies.tree_resolution import (
    leader,
    looks_best_on_tree,
    matters,
    resolving_walk,
    rival_bar,
    witness_on_tree,
)


class Resolve(Policy):
    """Play the stage that looks best, except to buy what would overturn that, at the least cost.

    A stage is contradicted by an earlier one from which it does not seem to pay, and by a later one
    that seems to pay. The stage i that *looks best* is the one with the least evidence against it.
    It can be wrong in three ways:

    1. some j > i may be best after all: it is not seen while i is played, so it has to be bought
       until what contradicts it has the demanded evidence n·kl(p̂, price)
       (`resolution.demanded_evidence`);
    2. an earlier stage was passed over because of a pair that i shows anyway: nothing to buy;
    3. an earlier stage was passed over because of a deeper pair only: that is bought like 1.

    The deepest open comparison is bought first, at the stage that shows it and looks cheapest. On a
    tree the other branches are also compared with the way taken: `tree_resolution`.

    Evidence is demanded for whole epochs, t rounded up to a power of two, at least 1,024, so that
    the stage changes rarely and `hold` is long. ``docs/resolve.md`` explains why this cannot get
    stuck and what its regret is.

    Parameters
    ----------
    cascade
        The tests and their prices.
    indifference
        How much more than necessary a case may cost, in the unit of the costs: closer comparisons
        are not looked into any further. ``"vanishing"``, in a chain only: 3 (q² (1 - q))^(1/3)
        H^(-1/3) for a price q, H the end of the epoch. It bounds the worst case over hard instances
        by about T^(2/3); if a later stage is best by ε, it costs about ε⁻² more.
    memory
        About how many cases to remember, at least 16, if the world may change; ``None`` for all.
        After every ``memory`` / 16 cases all counts are multiplied by 15/16, so that evidence fades
        and is bought anew. When a pair is seen to have changed, the counts start anew:
        `stopwise.policies.recent`. A certificate then holds at each time, not at all times at once.

    >>> policy = Resolve(Cascade(costs=[0.0, 0.5]))
    >>> for _ in range(20):
    ...     policy.tell([0, 0][: policy.ask() + 1])
    >>> policy.ask(), policy.hold()
    (0, 1004)
    >>> print(policy.certificate())  # doctest: +ELLIPSIS
    stage 1: 1 decided, 0 leaning, 0 open at confidence 0.95
      1 -> 2 does not pay (decided): disagreement 0.0000 against price 0.5000 in 8 cases, ...
    """

    settings = ("indifference", "memory")

    def __init__(
        self,
        cascade: Cascade,
        *,
        indifference: float | str = 0.0,
        memory: int | None = None,
    ) -> None:
        super().__init__(cascade, memory=memory)
        self.memory = None if memory is None else int(memory)
        self._rule = resolving_choice if cascade.is_chain else resolving_walk
        if indifference == VANISHING:
            if not cascade.is_chain:
                raise CascadeError(f"indifference={VANISHING!r} needs a chain, got {cascade!r}")
            self.indifference: float | str = VANISHING
            self._width = -VANISHING_SCALE
            return
        excess = finite_number("indifference", indifference, SettingError, zero=True)
        self.indifference = excess
        self._width = excess / cascade.mistake_cost

    @property
    def _zone(self) -> float:
        """The zone of the present epoch."""
        return zone_until(self._width, epoch_end(self._span))

    def _recommend(self) -> int:
        if self.cascade.is_chain:
            return least_doubted(self._tables(), self._zone)[0]
        return looks_best_on_tree(self._tables(), self._zone)

    def certificate(self, *, confidence: float = 0.95) -> Certificate:
        """Return what the recommended stage rests on: what is open, leaning and decided.

        Parameters
        ----------
        confidence
            How sure *decided* has to be. It holds for all comparisons together and at all times:
            the chance that one is ever decided on the wrong side is at most 1 - ``confidence``, if
            outputs are missing by chance.
        """
        if not 0 < finite_number("confidence", confidence, SettingError, zero=False) < 1:
            raise SettingError(f"confidence must lie between 0 and 1, got {confidence!r}")
        with self._lock:
            return self._certificate(float(confidence))

    def _certificate(self, level: float) -> Certificate:
        is_chain = self.cascade.is_chain
        best, comparisons = (self._on_chain if is_chain else self._on_tree)(level)
        outputs_and_runs = zip(self._counts.n_observed, self._counts.n_run, strict=True)
        missing = tuple(float(1 - n / runs) if runs else 0.0 for n, runs in outputs_and_runs)
        return Certificate(best, tuple(comparisons), level, missing)

    def _on_chain(self, level: float) -> tuple[int, list[Comparison]]:
        """Return what looks best and, for each other stage, the comparison against it."""
        tables, zone = self._tables(), self._zone
        best, least = least_doubted(tables, zone)
        horizon = epoch_end(self._span)
        pairs = []
        for j in range(best + 1, self.cascade.n_stages):
            i, k = ruled_out_by(tables, j, best, least, horizon, zone)
            pairs.append((best, j, least) if i == NOTHING else (i, k, 0.0))
        pairs += [(*passed_over_by(tables, i, best, zone), 0.0) for i in range(best)]
        distinct = {(i, j): extra for i, j, extra in reversed(pairs)}
        order = sorted(distinct, key=[(i, j) for i, j, _ in pairs].index)
        return best, [
            self._compared(i, j, self._prices[j][i], 1.0, NOTHING, level, distinct[i, j])
            for i, j in order
        ]

    def _on_tree(self, level: float) -> tuple[int, list[Comparison]]:
        best, tables = self._recommend(), self._tables()
        comparisons = []
        for i in (best, *self.cascade.paths[best][:-1]):
            way = leader(tables, i, best)
            witness = witness_on_tree(tables, i, best, self._zone)
            comparisons += [
                self._compared(i, j, *rival_bar(tables, i, j, best, way), way, level, 0.0)
                for j in self.cascade.descendants[i]
                if matters(tables, i, j, best, witness)
            ]
        return best, comparisons

    def compiled_rule(self) -> CompiledRule | None:
        """Return the rule as simulations compile it; none if counts fade."""
        if self.memory is not None:
            return None
        return CompiledRule(self._rule, pair_tables(self, [self._width]), self.n_rounds)

    def _decide(self) -> tuple[int, int]:
        return self._rule(self._tables([self._width]), self._span, None)

    def _compared(
        self, i: int, j: int, bar: float, weight: float, way: int, level: float, extra: float
    ) -> Comparison:
        counts, price = self._counts, self._prices[j][i]
        n, d = counts.seen[j][i], counts.disagreed[j][i]
        n_missing = counts.n_run[j] - n
        pays = d > n * (bar + width(bar, self._zone) / 2)
        confidence = self._confidence(i, j, bar, way, n, d)
        # All missing outputs speak against: they agree if going on pays, else they disagree.
        least = self._confidence(i, j, bar, way, n + n_missing, d if pays else d + n_missing)
        if confidence >= level:
            status = Status.DECIDED
        elif settles(n, d, bar, weight, epoch_end(self._span), self._zone, extra):
            status = Status.LEANING
        else:
            status = Status.OPEN
        return Comparison(
            shallow=i,
            deep=j,
            n_seen=round(n),
            n_missing=round(n_missing),
            disagreement=d / n if n else math.nan,
            price=price,
            pays=pays,
            evidence=weight * evidence_in(n, d, bar, self._zone),
            confidence=confidence,
            confidence_with_gaps=min(confidence, least),
            status=status,
            lead=bar - price,
            indifference=width(bar, self._zone),
        )

    def _confidence(self, i: int, j: int, bar: float, way: int, n: int, d: int) -> float:
        """Return the confidence that the disagreement of i and j is on its side of ``bar``."""
        K, zone = self.cascade.n_stages, self._zone
        n_pairs = max(K * (K - 1) // 2, 1)
        price = self._prices[j][i]
        other_side = other_side_of(n, d, bar, zone)
        if bar == price:
            return confidence_in(n, d, other_side, n_pairs)
        if not n:
            return 0.0  # the lead of the way taken is an estimate, too
        # The way was observed too: both have to be on their side of a gain between the two.
        n_way, d_way = self._counts.seen[way][i], self._counts.disagreed[way][i]
        between = (math.sqrt(n) * (d / n - price) + math.sqrt(n_way) * (bar - price)) / (
            math.sqrt(n) + math.sqrt(n_way)
        )
        parts = (
            confidence_in(n, d, price + between, n_pairs),
            confidence_in(n_way, d_way, self._prices[way][i] + between, n_pairs),
        )
        return max(0.0, sum(parts) - 1)
