"""The monitor of one cascade: it observes cases and raises alarms."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from stopwise.cascade import FloatArray
from stopwise.checks import finite_number, whole_number
from stopwise.errors import SettingError
from stopwise.monitor.alarms import Alarm, AlarmKind
from stopwise.monitor.buckets import Bucket, Steps, Streams, merge_old
from stopwise.monitor.change import YEAR, Change, changes_found, shares_around, strongest_step
from stopwise.monitor.odd_one_out import kappa, odd_one_out
from stopwise.patterns import Pattern
from stopwise.theory.e_values import log_e_values

DAY = 86_400.0
# A longer pause counts as this long, so that a jump of the clock spends little of the budget.
LONGEST_PAUSE = 3600.0
ENOUGH_FOR_COMMON = 30  # cases after which the most common answer of a stage is fixed
NEARLY_ALL = 0.9  # the share from which on an alarm is about one and the same answer
OFTEN_MISSING = 0.2  # the share of missing outputs from which on a stage looks broken


@dataclass(frozen=True)
class MonitorSettings:
    """How sensitive a monitor is.

    Parameters
    ----------
    false_alarms_per_year
        The largest expected number of false alarms about changes, over all shares together.
    bucket_seconds, bucket_cases
        A bucket ends when it is this old and has a case, or when it has this many cases and at
        least a twentieth of all. At its end the monitor looks for changes.
    stale_after
        Seconds without a case that compares the last stage with an earlier one.
    daily_budget
        What one process may spend in 24 hours since its start, in the unit of the costs.
    """

    false_alarms_per_year: float = 0.1
    bucket_seconds: float = 60.0
    bucket_cases: int = 10
    stale_after: float = 7 * DAY
    daily_budget: float | None = None

    def __post_init__(self) -> None:
        for name in ("false_alarms_per_year", "bucket_seconds", "stale_after"):
            finite_number(name, getattr(self, name), SettingError, zero=False)
        whole_number("bucket_cases", self.bucket_cases, SettingError, least=1)
        if self.daily_budget is not None:
            finite_number("daily_budget", self.daily_budget, SettingError, zero=False)


class Monitor:
    """Monitors the disagreement of every pair, missing outputs and constant answers of a cascade.

    Shares of pairs are counted on cases whose depth does not depend on their outputs: those that an
    exploring policy or the shadow share ran (``is_random``). The shares of cases that were stopped
    because of their outputs change with the stopping rule. On these the monitor counts how often a
    stage changes the answer given all outputs before it, which does not depend on the rule.

    Parameters
    ----------
    n_stages
        The number of stages of the chain.
    now
        Seconds on the wall clock.
    settings
        How sensitive it is.

    >>> monitor = Monitor(2, now=0.0)
    >>> rng = np.random.default_rng(0)
    >>> alarms = []
    >>> for second in range(4000):
    ...     share, output = 0.1 if second < 2000 else 0.6, int(rng.integers(2))
    ...     outputs = (output, output ^ int(rng.random() < share))
    ...     alarms += monitor.observe(outputs, float(second))
    >>> [(alarm.kind.value, 2000 <= alarm.at < 2120) for alarm in alarms]
    [('changed', True)]
    """

    def __init__(
        self, n_stages: int, *, now: float, settings: MonitorSettings | None = None
    ) -> None:
        self.settings = settings or MonitorSettings()
        self.streams = Streams(n_stages)
        self.common: dict[int, object] = {}
        self.past: Counter[Pattern] = Counter()  # all cases of the epoch before the last change
        self._buckets: list[Bucket] = []
        self._open = Bucket(now, self._log_weight(0.0))
        self._answers: list[Counter[object]] = [Counter() for _ in range(n_stages)]
        self._steps = Steps()
        self._n_open = 0
        self._n_closed = 0
        self._compared_at = now
        self._is_stale = False
        self._spent: deque[tuple[float, float]] = deque()
        self._is_over_budget = False

    def observe(
        self, outputs: Pattern, now: float, *, times: int = 1, is_random: bool = True
    ) -> list[Alarm]:
        """Count a case; return the alarms that it raises, usually none.

        Alarms about time are raised at the end of a bucket; see `tick`.
        """
        self._n_open += times
        if is_random:
            self._open.add(outputs, times)
            if len(outputs) == self.n_stages:
                self._compared_at, self._is_stale = now, False
        elif len(outputs) > 1:
            self._steps.count(outputs, times, self._open.step_hits, self._open.step_seen)
        is_young = now - self._open.start < self.settings.bucket_seconds
        if is_young and self._n_open < max(self.settings.bucket_cases, self._n_closed // 20):
            return []
        return self._close(now) + self.tick(now)

    def resume(self, before: Mapping[Pattern, int], *, since: float, now: float) -> None:
        """Continue from random cases that an earlier process observed until ``since``.

        They form one bucket, so a change since then is noticed. Call this before `observe`.
        """
        self._open = Bucket(since, self._log_weight(0.0))
        for outputs, times in before.items():
            self._open.add(outputs, times)
        self._learn_common(self._open)
        self._n_open = self._open.n_cases
        self._close(now)

    def spend(self, cost: float, now: float) -> list[Alarm]:
        """Add the cost of a case; an alarm is raised once when the last day exceeds its budget."""
        budget = self.settings.daily_budget
        if budget is None:
            return []
        hour = now // 3600 * 3600
        if self._spent and self._spent[-1][0] == hour:
            cost += self._spent.pop()[1]
        self._spent.append((hour, cost))
        while self._spent[0][0] < now - DAY:
            self._spent.popleft()
        total = math.fsum(amount for _, amount in self._spent)
        was_over, self._is_over_budget = self._is_over_budget, total > budget
        if was_over or not self._is_over_budget:
            return []
        return [Alarm(AlarmKind.BUDGET, now, self._spent[0][0], before=budget, after=total)]

    def tick(self, now: float) -> list[Alarm]:
        """Return an alarm if stages have not been compared for too long."""
        age = now - self._compared_at
        if self._is_stale or age < self.settings.stale_after:
            return []
        self._is_stale = True
        return [Alarm(AlarmKind.STALE, now, self._compared_at, stage=self.n_stages - 1, after=age)]

    def recent(self, since: float = -math.inf) -> Counter[Pattern]:
        """Return all cases since the last change, in buckets that began after ``since``."""
        total: Counter[Pattern] = Counter()
        for bucket in (b for b in [*self._buckets, self._open] if b.start > since):
            total.update(bucket.patterns)
        return total

    def _count(self, bucket: Bucket) -> None:
        """Count the shares of a bucket, then learn from it which answers are common.

        In this order: an answer seems more common in the cases in which it was found than later.
        """
        bucket.hits, bucket.seen = self.streams.counts(bucket, self.common)
        self._learn_common(bucket)

    def _learn_common(self, bucket: Bucket) -> None:
        """Fix the most common answer of each stage, once enough cases are known."""
        for outputs, times in bucket.patterns.items():
            for k, output in enumerate(outputs):
                if k not in self.common and output is not None:
                    self._answers[k][output] += times
        for k, answers in enumerate(self._answers):
            if k not in self.common and answers.total() >= ENOUGH_FOR_COMMON:
                self.common[k] = answers.most_common(1)[0][0]

    def _log_weight(self, seconds: float) -> float:
        """Return the logarithm of a cut's weight, its share of the budget of false alarms."""
        length = min(max(seconds, 1e-3), LONGEST_PAUSE)
        rate = self.settings.false_alarms_per_year / self.streams.n_streams / YEAR
        return math.log(rate * length)

    def _close(self, now: float) -> list[Alarm]:
        bucket = self._open
        self._count(bucket)
        self._buckets = merge_old([*self._buckets, bucket])
        self._n_closed += self._n_open
        self._open = Bucket(now, self._log_weight(now - bucket.start))
        self._n_open = 0
        hits = np.array([b.hits for b in self._buckets])
        seen = np.array([b.seen for b in self._buckets])
        weights = np.array([b.log_weight for b in self._buckets[1:]])
        changes = changes_found(hits, seen, weights)
        if not changes:
            return self._changed_steps(weights, now)
        strongest = max(changes, key=lambda c: c.log_evidence)
        alarm = self._alarm(strongest, changes, hits, seen, now)
        self._start_epoch(strongest.cut)
        return [alarm]

    def _changed_steps(self, weights: FloatArray, now: float) -> list[Alarm]:
        """Look for a stage whose answers changed, given the outputs before it."""
        stages = np.array(self._steps.stages)
        if len(self._buckets) < 2 or not len(stages):
            return []
        hits = np.array([b.step_hits[: len(stages)] for b in self._buckets])
        seen = np.array([b.step_seen[: len(stages)] for b in self._buckets])
        log_e = log_e_values(hits, seen)
        for stage in range(1, self.n_stages):
            of = stages == stage
            cut, log_evidence = strongest_step(log_e[:, of], weights)
            if log_evidence >= 0:
                since = self._buckets[cut].start
                shares = shares_around(cut, hits[:, of], seen[:, of])
                self._start_epoch(cut)
                return [Alarm(AlarmKind.CHANGED, now, since, stage, stage - 1, *shares)]
        return []

    def is_odd(self, stage: int, usual: float) -> bool:
        """Whether a stage looks broken in the cases since the last change.

        It often gives nothing; or it agrees with the others less than any two of them agree with
        each other, and less than ``usual``, its `agreement` when it was in order. Two stages alone
        must agree less than half as well as usual.
        """
        recent = self.recent()
        n_run = sum(times for outputs, times in recent.items() if len(outputs) > stage)
        n_missing = sum(
            times for outputs, times in recent.items() if None in outputs[stage : stage + 1]
        )
        if n_missing >= OFTEN_MISSING * max(n_run, 1):
            return True
        others = [pair for pair in self.streams.pairs if stage not in pair]
        limit = min([kappa(recent, *pair)[0] for pair in others], default=usual / 2)
        own = [kappa(recent, *pair)[0] for pair in self.streams.pairs if stage in pair]
        return bool(own) and math.fsum(own) / len(own) < min(limit, usual)

    def agreement(self, stage: int) -> float:
        """Return a lower bound of how well a stage agreed with the others before the last change.

        It is the mean kappa minus two standard errors; 0 if nothing is known.
        """
        own = [kappa(self.past, *pair) for pair in self.streams.pairs if stage in pair]
        return max(math.fsum(k - 2.0 * error for k, error in own) / max(len(own), 1), 0.0)

    @property
    def n_stages(self) -> int:
        """The number of stages."""
        return self.streams.n_stages

    def _start_epoch(self, cut: int) -> None:
        """Move the cases before the cut into the past, and continue with those after it.

        The change may lie within the first bucket after the cut, so that one is moved too.
        """
        cut += 1
        self.past = Counter()
        for bucket in self._buckets[:cut]:
            self.past.update(bucket.patterns)
        self._buckets = self._buckets[cut:]
        self._n_closed = sum(b.n_cases + int(b.step_seen.sum()) for b in self._buckets)
        self.common = {}
        self._answers = [Counter() for _ in self._answers]
        for bucket in self._buckets:  # what they counted was another common answer
            self._count(bucket)

    def _alarm(
        self, change: Change, changes: list[Change], hits: FloatArray, seen: FloatArray, now: float
    ) -> Alarm:
        K, n_pairs = self.n_stages, len(self.streams.pairs)
        since = self._buckets[change.cut].start
        numbers = (change.before, change.after, change.n_after)
        if change.stream >= n_pairs:
            kind, k = AlarmKind.MISSING, change.stream - n_pairs
            if k >= K:
                is_one = change.after >= NEARLY_ALL and change.after > change.before
                kind, k = AlarmKind.ONE_ANSWER if is_one else AlarmKind.ANSWERS, k - K
            return Alarm(kind, now, since, k, -1, *numbers)
        i, j = self.streams.pairs[change.stream]
        after = {
            pair: (hits[change.cut :, s].sum() + 0.5) / (seen[change.cut :, s].sum() + 1)
            for s, pair in enumerate(self.streams.pairs)
        }
        odd = odd_one_out(after, K)
        if odd in (i, j) and change.after > change.before:
            return Alarm(AlarmKind.ODD_ONE_OUT, now, since, odd, i + j - odd, *numbers)
        pairs = [self.streams.pairs[c.stream] for c in changes if c.stream < n_pairs]
        stage = max((i, j), key=lambda k: (sum(k in pair for pair in pairs), k))
        return Alarm(AlarmKind.CHANGED, now, since, stage, i + j - stage, *numbers)
