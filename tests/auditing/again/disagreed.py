"""What disagreement says: intervals, findings, strong dominance."""

from fractions import Fraction
from functools import cached_property
from itertools import product

from tests.auditing.again.betting import betting
from tests.auditing.again.gaps import Gaps
from tests.auditing.again.prefixes import Prefixes

SAME = 1e-12
NEW = object()  # an output that no test gave


class Disagreed(Gaps):
    """Shares of disagreement with their intervals, and what follows at any price."""

    @cached_property
    def share(self):
        """The share of disagreement that the report shows for each pair; None if unknown."""
        return {
            pair: self.adjusted[pair]
            if pair in self.with_gaps and self.log.at_random
            else None if self.plain[pair] is None else float(self.plain[pair])
            for pair in self.pairs
        }  # fmt: skip

    def interval_of(self, i, j, factor=1):
        """The interval of a pair if there were ``factor`` times as many cases of the same kind."""
        level = self.alpha / len(self.pairs)
        d, m, n = (x * factor for x in (self.differ[i, j], self.seen[i, j], self.n))
        if (i, j) in self.blind:  # gaps may hide anything: two means over all cases
            return betting(d, n, level)[0], betting(d + n - m, n, level)[1]
        if (i, j) not in self.by_outputs:
            return betting(d, m, level)
        ends, share = self._by_outputs[i, j], self.share[i, j]
        # with more cases the ends are forecast to near the share as 1 / √n
        return ends if share is None else tuple(share + (x - share) / factor**0.5 for x in ends)

    @cached_property
    def _by_outputs(self):
        """Gaps taken to be by the outputs before, and what holds anyway, each at half the level."""
        intervals, level = {}, self.alpha / len(self.pairs) / 2
        for i, j in self.by_outputs:
            d, m, n = self.differ[i, j], self.seen[i, j], self.n
            low, high = Prefixes(self, j, i, level).interval()
            intervals[i, j] = (
                max(low, betting(d, n, level)[0]),
                min(high, betting(d + n - m, n, level)[1]),
            )
        return intervals

    def intervals(self, factor=1):
        return {pair: self.interval_of(*pair, factor) for pair in self.pairs}

    @cached_property
    def interval(self):
        return self.intervals()

    def price(self, i, j):
        return float((self.spent[j] - self.spent[i]) / Fraction(self.log.mistake_cost))

    def beyond(self, stage):
        """The pairs that leave the path to a stage, or go on from it: none of them may pay."""
        path = self.paths[stage]
        return [(i, j) for i, j in self.pairs
                if i in path and not (i != stage and path[path.index(i) + 1] in self.paths[j])
                and j not in path]  # fmt: skip

    def is_dominant(self, stage, p):
        return all(
            p[i, j] is not None and self.price(i, j) >= p[i, j] - SAME
            for i, j in self.beyond(stage)
        )

    def sound(self, p):
        """The one stage that pays itself and beyond which nothing pays, by the definition."""
        for k in self.stages:
            pays = all(
                p[i, k] is not None and self.price(i, k) < p[i, k] - SAME
                for i in self.paths[k][:-1]
            )
            if pays and self.is_dominant(k, p):
                return k
        return None

    @staticmethod
    def corners(intervals):
        for ends in product((0, 1), repeat=len(intervals)):
            yield {p: intervals[p][end] for p, end in zip(intervals, ends, strict=True)}

    def finding(self, factor=1):
        """What all disagreements inside the intervals say together: the ends are enough."""
        stages = {self.sound(p) for p in self.corners(self.intervals(factor))}
        if len(stages) > 1:
            return "undecided", self.sound(self.share)
        (stage,) = stages
        return ("none" if stage is None else "sound"), stage

    def settled(self, i, j, factor=1):
        low, high = self.interval_of(i, j, factor)
        price = self.price(i, j)
        return 1 if price >= high - SAME else 0 if price >= low - SAME else -1

    def _contradicts(self, row):
        """Whether every label makes some right answer wrong again on its path."""
        return not any(
            all(not (row[i] == y and row[j] not in (y, None)) for i, j in self.pairs)
            for y in self.classes
            if y not in self.log.no_answers
        )

    @cached_property
    def contradicting(self):
        if self.log.unseen:
            return 0
        return sum(times for row, times in self.counts.items() if self._contradicts(row))

    @cached_property
    def may_contradict(self):
        """Cases that do not contradict, but would with some outputs in place of the gaps."""
        if self.log.unseen:
            return 0
        return sum(
            times
            for row, times in self.counts.items()
            if not self._contradicts(row)
            and any(
                self._contradicts(full)
                for full in product(*([*self.classes, NEW] if y is None else [y] for y in row))
            )
        )

    @cached_property
    def contradiction_interval(self):
        at_least, at_most = self.contradicting, self.contradicting + self.may_contradict
        return betting(at_least, self.n, self.alpha)[0], betting(at_most, self.n, self.alpha)[1]
