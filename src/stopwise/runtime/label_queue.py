"""Labels while a cascade runs: which cases to have labelled, and labels that arrive later."""

from __future__ import annotations

import asyncio
import inspect
import json
import random
import threading
from collections import Counter
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any

from stopwise.cascade import Cascade
from stopwise.checks import finite_number, stored_text, whole_number
from stopwise.errors import SettingError
from stopwise.patterns import Pattern, standing_answer
from stopwise.policies.label_buying import LabelBuying
from stopwise.runtime.concurrency import Background
from stopwise.runtime.live_cascade import LiveCascade
from stopwise.store import Record

KEPT = "kept"


@dataclass(frozen=True)
class LabelSettings:
    """Which cases are kept to be labelled, and whether labels are bought.

    Parameters
    ----------
    keep
        How many cases are kept at most: a random sample of those whose outputs differ, in the
        store if there is one. The default 0 keeps none, as cases may contain private data.
    buy_label
        A function, sync or async, from a case to its label, or ``None`` if it has none.
    label_cost, budget
        What one label costs and what all may cost, in the unit of the stages' costs.
        `stopwise.policies.label_buying` decides which cases are worth one: buying ends when it is
        settled which stages pay, and costs at most a tenth of what not knowing it may have lost.
    """

    keep: int = 0
    buy_label: Callable[[Any], Any] | None = None
    label_cost: float = 1.0
    budget: float = 0.0

    def __post_init__(self) -> None:
        whole_number("keep", self.keep, SettingError, least=0)
        finite_number("label_cost", self.label_cost, SettingError, zero=False)
        finite_number("budget", self.budget, SettingError, zero=self.buy_label is None)


@dataclass(frozen=True)
class WantedCase:
    """A case whose label would help: its key, the case itself and its outputs."""

    key: str
    case: Any
    outputs: Pattern
    epoch: int = 0


class Labels:
    """The cases that wait for a label, and those that have one.

    Purchases and writes to the store run in ``background``.
    """

    def __init__(
        self, cascade: LiveCascade, background: Background, settings: LabelSettings
    ) -> None:
        self.settings = settings
        self.is_on = settings.keep > 0 or settings.buy_label is not None
        self.labelled: dict[str, Hashable] = {}  # the label of each case, by its key
        self.n_bought = 0
        self._cascade = cascade
        self._background = background
        if settings.buy_label is not None and not cascade.learning.has_belief:
            raise SettingError(
                "labels must not be bought for a policy that learns nothing from them: leave out "
                "buy_label, or take policy='beliefs'"
            )
        self._waiting: dict[str, WantedCase] = {}
        self._n_labelled: Counter[Pattern] = Counter()
        self._n_offered = 0
        self._buying: LabelBuying | None = None
        self._buying_for: tuple[int, Cascade] | None = None
        self._lock = threading.Lock()
        self._rng = random.Random(0)  # which cases are kept
        self._store, self._name = cascade.worker.store, cascade.name
        if settings.keep:
            for record in self._store.records(KEPT, self._name, limit=settings.keep):
                if record.body["case"] is not None:
                    self._waiting[record.key] = _wanted_case(record)

    @property
    def n_labels(self) -> int:
        """How many cases have a label, as far as this process knows."""
        return len(self.labelled)

    @property
    def spent(self) -> float:
        """What the labels bought here have cost."""
        return self.n_bought * self.settings.label_cost

    def offer(self, key: str | None, case: Any, outputs: Pattern) -> None:
        """Consider an answered case for labelling; most are not kept."""
        settings = self.settings
        if not self.is_on:
            return
        if settings.buy_label is not None:
            with self._lock:
                rule = self._buying_now()
                affords = self.spent + settings.label_cost <= settings.budget
                buys = affords and rule.wants(outputs)
                self.n_bought += buys
            if buys:
                self._background.start(self._buy(case, outputs, rule))
                return
        if settings.keep and key is not None and _differ(outputs):
            epoch = self._cascade.learning.counts.epoch
            self._keep(WantedCase(str(key), case, outputs, epoch))

    def wanted(self, n: int) -> list[WantedCase]:
        """Return up to ``n`` kept cases, those whose labels would help most first.

        Patterns that are frequent, doubtful and seldom labelled come first, in turn. Cases of an
        earlier epoch are dropped: nothing is learned from their labels any more.
        """
        whole_number("n", n, SettingError, least=0)
        epoch = self._cascade.learning.counts.epoch
        with self._lock:
            self._waiting = {k: case for k, case in self._waiting.items() if case.epoch == epoch}
            candidates = [case for case in self._kept_by_all() if case.epoch == epoch]
        groups: dict[Pattern, list[WantedCase]] = {}
        for case in candidates:
            groups.setdefault(case.outputs, []).append(case)
        value = {pattern: len(group) * self._doubt(pattern) for pattern, group in groups.items()}
        n_labels = Counter({pattern: self._n_labelled[pattern] for pattern in groups})
        cases: list[WantedCase] = []
        while groups and len(cases) < n:
            best = max(groups, key=lambda p: (value[p] / (1 + n_labels[p]), repr(p)))
            cases.append(groups[best].pop())
            n_labels[best] += 1
            if not groups[best]:
                del groups[best]
        return cases

    def _kept_by_all(self) -> list[WantedCase]:
        """Return the waiting cases of all workers; labelled ones are not in the store."""
        if not self._cascade.learning.is_shared:
            return list(self._waiting.values())
        records = self._store.records(KEPT, self._name, limit=self.settings.keep)
        return [
            self._waiting.get(record.key) or _wanted_case(record)
            for record in records
            if record.key in self._waiting or record.body["case"] is not None
        ]

    def add(self, key: str, label: Hashable) -> None:
        """Add the right answer of a case that was kept, at any later time.

        The same label again changes nothing; another one replaces it.
        """
        key = stored_text("key", str(key), SettingError)
        with self._lock:
            case = self._waiting.get(key)
        if case is None:  # kept by another process, or it has a label already
            store, name = self._store, self._name
            record = store.get(KEPT, name, key) or store.get("label", name, key)
            if record is None:
                raise SettingError(f"key must name a case that was kept, got {key!r}")
            case = _wanted_case(record)
        answer = self._cascade.engine.stages.normalise(label)
        if answer is None:
            raise SettingError(f"label must be an answer, got {label!r} for case {key!r}")
        self._record(key, case.outputs, case.epoch, answer)
        with self._lock:
            self._waiting.pop(key, None)
        self._store.delete(KEPT, self._name, key)

    def _record(self, key: str, outputs: Pattern, epoch: int, label: Hashable) -> None:
        if self._cascade.learning.label(key, outputs, label, epoch=epoch):
            self.labelled[key] = label
            self._n_labelled[outputs] += 1

    def _keep(self, case: WantedCase) -> None:
        """Keep a random sample of all cases offered."""
        with self._lock:
            self._n_offered += 1
            if len(self._waiting) >= self.settings.keep:
                if self._rng.random() * self._n_offered >= self.settings.keep:
                    return
                del self._waiting[self._rng.choice(list(self._waiting))]
            self._waiting[case.key] = case
        if self._cascade.learning.is_shared:
            self._background.start(asyncio.to_thread(self._save, case))

    def _save(self, case: WantedCase) -> None:
        """Write a case to the store too, for labels that arrive after a restart."""
        body = {"outputs": list(case.outputs), "epoch": case.epoch, "case": case.case}
        try:
            json.dumps(body)
        except (TypeError, ValueError):
            # A case that is no plain data is lost with the process; its outputs are not.
            body["case"] = None
        record = Record(KEPT, self._name, case.key, self._cascade.clock(), body)
        self._store.put(record, keep=self.settings.keep)

    def _buying_now(self) -> LabelBuying:
        """Return the rule for buying labels at the current stages, prices and epoch."""
        learning = self._cascade.learning
        state = learning.counts.epoch, learning.cascade
        if self._buying is None or self._buying_for != state:
            self._buying_for = state
            self._buying = LabelBuying(learning.cascade, label_cost=self.settings.label_cost)
        return self._buying

    async def _buy(self, case: Any, outputs: Pattern, rule: LabelBuying) -> None:
        buy = self.settings.buy_label
        if buy is None:
            return
        epoch = self._cascade.learning.counts.epoch
        is_async = inspect.iscoroutinefunction(buy)
        try:
            label = await buy(case) if is_async else await asyncio.to_thread(buy, case)
        except BaseException:
            with self._lock:  # a label that was not delivered is not paid for
                self.n_bought -= 1
                rule.refund()
            raise
        answer = None if label is None else self._cascade.engine.stages.normalise(label)
        if answer is not None:
            with self._lock:
                rule.take(outputs, answer)
            key = f"bought-{self.n_labels}-{self._rng.getrandbits(64):x}"
            self._record(key, outputs, epoch, answer)

    def _doubt(self, outputs: Pattern) -> float:
        """Return the chance that the answer is wrong, by the model; 0.5 without one."""
        _, belief = self._cascade.learning.conclude(outputs, standing_answer(outputs))
        return 0.5 if belief is None else 1.0 - belief


def _wanted_case(record: Record) -> WantedCase:
    body = record.body
    return WantedCase(record.key, body.get("case"), tuple(body["outputs"]), body.get("epoch", 0))


def _differ(outputs: Pattern) -> bool:
    return len({output for output in outputs if output is not None}) > 1
