"""Stop after seeing outputs, once going on cannot pay, whatever answer is right."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError
from stopwise.outputs import Outputs, Told, check_outputs
from stopwise.pattern_counts import plain_output
from stopwise.policies.prefix_counts import PrefixCounts
from stopwise.policies.prefix_places import Place
from stopwise.policies.resolution import demanded_evidence, epoch_end
from stopwise.policies.stopping_policy import Decision, StoppingPolicy
from stopwise.theory.divergence import bernoulli_kl, edge_of_ball
from stopwise.theory.gain import gain_of_going_on


@dataclass(frozen=True)
class Outlook:
    """The most that going on from a prefix can gain without labels, in mistakes per case."""

    n_followed: int  # how many cases went on from there
    estimate: float  # by the observed shares; NaN if there are none
    # The bounds by the evidence that `Resolve` would demand.
    low: float
    high: float

    @property
    def is_settled(self) -> bool:
        """Whether it is known on which side of zero the gain lies."""
        return self.high <= 0 or self.low > 0


ROOT = Place((), ())


class OutputConditional(StoppingPolicy):
    """Run test after test on a case, and stop once going on cannot pay, whatever is right.

    After a prefix s of outputs the next test changes the standing answer with chance h(s). The most
    that going on can gain is G(s) = h - c + (1 - h) max(0, G(s, same again)), with c the price of
    the next test: see `stopwise.theory.gain`. The policy stops where an upper bound of G(s) is
    at most 0. The bound replaces each h by the largest h with n·kl(ĥ, h) <= the evidence demanded
    by `Resolve`. So a case goes on from a prefix about which little is known. Since the demand
    grows with t, no prefix stays unexplored for ever.

    In the limit the rule is the best one where *conditional weak dominance* holds, and never costs
    more than running all tests on every case. So `Cascade.cut` the cascade at the stage that you
    would use for all. Before that it may stop for a while where going on pays. ``docs/contexts.md``
    says what is proved.

    Parameters
    ----------
    cascade
        The tests and their prices; a chain.
    indifference
        How much more than necessary a case may cost, in the unit of the costs.
    max_prefixes
        How many sequences of outputs have counts of their own. Others, and all if it is 0, are
        pooled by which of their outputs agree. Use 0 for outputs of very many values.
    memory
        About how many cases to remember if the world may change; see `Resolve`. After each prefix,
        the share of cases in which the next test changes the answer is tested for a change.

    >>> policy = OutputConditional(Cascade(costs=[0.0, 0.2]))
    >>> for outputs in [("well", "well"), ("ill", "well"), ("ill", "ill")] * 30:
    ...     policy.tell(outputs[: policy.ask(outputs[:1]) + 1])
    >>> policy.next(["well"]), policy.next(["ill"])
    (<Decision.STOP: 'stop'>, <Decision.CONTINUE: 'continue'>)
    """

    settings = ("indifference", "max_prefixes", "memory")
    needs_chain = True

    def __init__(
        self,
        cascade: Cascade,
        *,
        indifference: float = 0.0,
        max_prefixes: int = 1_000,
        memory: int | None = None,
    ) -> None:
        super().__init__(cascade)
        self.indifference = finite_number("indifference", indifference, SettingError, zero=True)
        self.max_prefixes = whole_number("max_prefixes", max_prefixes, SettingError, least=0)
        self._zone = self.indifference / cascade.mistake_cost
        self._costs: list[float] = cascade.costs.tolist()
        self._keep("prefixes", PrefixCounts(cascade, max_prefixes=self.max_prefixes), memory)
        self.memory = None if memory is None else int(memory)
        # Results that are valid until the next tell that concerns their place.
        self._valid_for: tuple[Any, ...] = ()
        self._verdicts: dict[Place, Any] = {}
        self._highest: dict[Place, Any] = {}
        self._first_stops: dict[Place, Any] = {}

    def next(self, outputs_so_far: Outputs) -> Decision:
        """Say whether to stop a case, or to run one more test, after the outputs so far."""
        _, prefix = self._checked_outputs(outputs_so_far)
        with self._lock:
            goes_on = self._goes_on(self._counts.place(prefix))
        return Decision.CONTINUE if goes_on else Decision.STOP

    def ask(self, outputs_so_far: Outputs = ()) -> int:
        """Return the stage up to which to run the tests of a case before looking again.

        The stage already reached means: stop. Otherwise `next` would say to go on after whatever
        the tests up to there may say, so that they can be run at once.
        """
        prefix = self._prefix(outputs_so_far)
        with self._lock:
            return self._ask_after(prefix)

    def _ask_after(self, prefix: Told) -> int:
        place = self._counts.place(prefix) if prefix else ROOT
        if prefix and not self._goes_on(place):
            return len(prefix) - 1
        # After a new output a case goes on if the next test costs less than a mistake.
        last = len(self._costs) - 1
        dear = (s for s in range(len(prefix), last) if self._costs[s + 1] + self._zone >= 1)
        return min(next(dear, last), self._first_stop_below(place))

    def _first_stop_below(self, place: Place) -> int:
        """Return the first stage at which a case from here may be stopped, by the outputs met."""
        stage = self._first_stops.get(place)
        if stage is None:
            stage = len(self._costs)
            for child in self._counts.children(place):
                if not self._goes_on(child):
                    stage = len(place.pattern)
                    break
                stage = min(stage, self._first_stop_below(child))
            self._first_stops[place] = stage
        return stage

    def _forget_if_outdated(self) -> None:
        """Forget all verdicts when more evidence is demanded, or other prefixes are pooled."""
        valid_for = (epoch_end(self._span), self._counts.is_full, self._turn)
        if valid_for != self._valid_for:
            self._valid_for = valid_for
            for results in (self._verdicts, self._highest, self._first_stops):
                results.clear()

    def recommend(self, outputs_so_far: Outputs) -> Decision:
        """Say what looks best after the outputs so far, without regard to what is to be learned.

        ``Decision.UNDECIDED`` if nobody ever went on from there.
        """
        stage, prefix = check_outputs(outputs_so_far, self.cascade)
        if stage == len(self._costs) - 1:
            return Decision.STOP
        outlook = self.outlook(prefix)
        if not outlook.n_followed:
            return Decision.UNDECIDED
        return Decision.CONTINUE if outlook.estimate > self._zone / 2 else Decision.STOP

    def outlook(self, outputs_so_far: Outputs) -> Outlook:
        """Return what is known of the gain of going on; at the last stage there is none."""
        stage, prefix = check_outputs(outputs_so_far, self.cascade)
        if stage == len(self._costs) - 1:
            return Outlook(0, 0.0, 0.0, 0.0)
        with self._lock:
            place = self._counts.place(prefix)
            n = self._counts.of(place).times
            estimate = self._gain(place, None) if n else math.nan
            return Outlook(round(n), estimate, self._gain(place, 0.0), self._gain(place, 1.0))

    def _checked(self, outputs: Any, *, stage: int | None = None, label: Any = None) -> Told:
        case = self._checked_outputs(outputs, stage, label)[1]
        if self.max_prefixes:  # they have to be saved
            for output in case:
                plain_output(output)
        return case

    def _take(self, case: Told, times: int) -> None:
        # A verdict rests on a place and those after it, so only places on the case's way change.
        for place in (ROOT, *self._count(lambda table: table.add(case, times))):
            for results in (self._verdicts, self._highest, self._first_stops):
                results.pop(place, None)
        self._forget_if_outdated()

    def _read_statistic(self, name: str, saved: Any) -> PrefixCounts:
        return PrefixCounts.from_state(saved, self.cascade, max_prefixes=self.max_prefixes)

    def _goes_on(self, place: Place) -> bool:
        """Whether the upper bound of the gain exceeds the zone."""
        if place not in self._verdicts:
            self._verdicts[place] = self._may_gain(place)
        return bool(self._verdicts[place])

    def _may_gain(self, place: Place) -> bool:
        """Return whether the upper bound exceeds the zone, without computing the bound."""
        stage = len(place.pattern) - 1
        if stage == len(self._costs) - 1:
            return False
        n, changed, missing = self._counts.of(place)
        most = self._costs[stage + 1] + self._zone  # the price of the next test and the zone
        if most >= 1 or changed > n * most or not n:
            return most < 1
        later = self._later(place, n - changed, missing, 1.0)
        # With h the highest chance of a change, h - c + (1 - h) later > zone just if h > bar.
        bar = (most - later) / (1 - later) if later < 1 else 0.0
        if changed >= n * bar:
            return True
        return bool(n * bernoulli_kl(changed / n, bar) < self._demand(n))

    def _demand(self, n: int) -> float:
        return demanded_evidence(epoch_end(self._span), n)

    def _gain(self, place: Place, end: float | None) -> float:
        """Return the gain of going on: estimated, or bounded from the side of ``end`` (0 or 1)."""
        stage = len(place.pattern) - 1
        if stage == len(self._costs) - 1:
            return 0.0
        n, changed, missing = self._counts.of(place)
        price = self._costs[stage + 1]
        if not n:  # any gain is possible; the estimate is that nothing ever changes
            return gain_of_going_on(0.0 if end is None else end, price, 0.0)
        share = changed / n
        chance = share if end is None else edge_of_ball(share, end, self._demand(n) / n)
        if chance >= 1:
            return gain_of_going_on(1.0, price, 0.0)
        return gain_of_going_on(chance, price, self._later(place, n - changed, missing, end))

    def _later(self, place: Place, unchanged: int, missing: int, end: float | None) -> float:
        """Return what can be gained after an output that confirms the answer or is missing."""
        gap = missing / unchanged if unchanged else 0.0
        later = 0.0
        for confirmed, share in ((True, 1 - gap), (False, gap)):
            if share:
                then = self._counts.next_place(place, confirmed=confirmed)
                gain = self._highest.get(then) if end == 1.0 else None
                if gain is None:
                    gain = self._gain(then, end)
                    if end == 1.0:
                        self._highest[then] = gain
                later += share * max(0.0, gain)
        return later
