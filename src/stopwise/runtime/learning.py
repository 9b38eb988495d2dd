"""What a runtime learns with: a policy, the counts it rests on, and the store they are kept in."""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, cast

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.errors import OutputsError, SettingError, StoreUnavailableError
from stopwise.patterns import Pattern
from stopwise.runtime.course import Course
from stopwise.runtime.stages import rearranged
from stopwise.store import Record, SharedCounts, Worker, case_text, tellable

logger = logging.getLogger("stopwise.runtime")

# So many cases at a time are looked at to recognise free text.
WATCHED = 1000
FREE_TEXT = (
    f"outputs must repeat to be compared, but nearly all of the last {WATCHED} cases differ: "
    "say what counts as the same answer, as in normalise=choices('urgent', 'routine')"
)
OUTDATED = "another process has changed the stages: start this one again with the same"
# Labels that a policy made anew is told, the newest.
MAX_LABELS = 10_000
POLICIES = {
    "beliefs": ("stopwise.policies.belief_stopping", "BeliefStopping"),
    "resolve": ("stopwise.policies.resolve", "Resolve"),
}


def policy_maker(policy: Any) -> Callable[[Cascade], Any]:
    """Return what makes the policy for a cascade: from a name, a policy, or a function."""
    if isinstance(policy, str):
        from importlib import import_module

        module, name = POLICIES[known_name("policy", policy, POLICIES, SettingError)]
        make: Callable[[Cascade], Any] = getattr(import_module(module), name)
        return make
    if isinstance(policy, type) or not hasattr(policy, "tell"):
        if not callable(policy):
            raise SettingError(f"policy must be a name, a policy or make one, got {policy!r}")
        return cast("Callable[[Cascade], Any]", policy)
    if policy.n_rounds:
        raise SettingError(
            f"policy must not have been told any case yet, got one that knows {policy.n_rounds}: "
            "use Runtime.from_log for what was seen before"
        )
    kind, settings = type(policy), {name: getattr(policy, name) for name in policy.settings}
    return lambda cascade: kind(cascade, **settings)


class Learning:
    """A policy told by many cases at once, its counts shared through a store.

    Counts and policy change together under one lock, so a policy that is made anew from the counts
    knows exactly what the one before it knew.

    Parameters
    ----------
    worker, name
        Where the counts are kept, and under which name.
    cascade, make_policy
        The stages and their prices, and what makes a policy for them.
    is_shared
        Whether other workers may tell the same cascade.
    """

    def __init__(
        self,
        worker: Worker,
        name: str,
        cascade: Cascade,
        make_policy: Callable[[Cascade], Any],
        *,
        is_shared: bool,
    ) -> None:
        self.counts: SharedCounts = worker.open(name)
        self.lock = threading.RLock()
        self.is_frozen = False
        self.is_shared = is_shared
        self._n_rebuilt = 0
        self.layout = 0  # counts the changes of stages: a case that began before one is not told
        self._make = make_policy
        self._n_watched = 0
        self._watched: set[Pattern] = set()
        self._is_free_text = self._is_outdated = False
        self._labels: Sequence[Record] = ()
        self._n_waiting = 0  # labels that the policy was not told yet
        self.cascade = cascade
        self.policy = make_policy(cascade)
        # Does it decide after each output, and can it say how likely an answer is right?
        self.looks_at_outputs = hasattr(self.policy, "next")
        self.has_belief = hasattr(self.policy, "conclude")
        if self.policy.cascade != cascade or not cascade.is_chain:
            raise SettingError(f"policy must be made for the stages in a row, got {self.policy!r}")
        before = self._stored_names()
        if before in ((), cascade.names):
            self.rebuild(cascade)
        else:
            self.change_stages(cascade, before, reason="started with other stages")

    def start(self) -> Course:
        """Return how far the next case goes; to be called with the lock held."""
        if self.looks_at_outputs:
            return Course(self.policy, None, self.layout, explores=not self.is_frozen)
        stage = self.policy.recommend() if self.is_frozen else self._asked_stage()
        return Course(self.policy, stage, self.layout, explores=False)

    def _asked_stage(self) -> int:
        """Return the stage to play; among many workers exploration waits for fresh knowledge.

        Otherwise each worker would buy the observations that one of them has bought already. A case
        does not wait: the next one explores, once others' counts were read.
        """
        stage = int(self.policy.ask())
        best = int(self.policy.recommend()) if self.is_shared else stage
        if stage == best:
            return stage
        knows = self.counts.is_fresh or self.counts.has_caught_up
        self.counts.hasten()
        return stage if knows else best

    def tell(self, outputs: Pattern) -> None:
        """Count a case; to be called with the lock held.

        When this returns, the case is as safe as the store's durability says.
        """
        self._watched.add(outputs)
        self._n_watched += 1
        if self._n_watched == WATCHED:  # outputs that never repeat can be compared with nothing
            self._is_free_text = len(self._watched) > WATCHED * 0.9
            self._n_watched, self._watched = 0, set()
        if self._is_free_text:
            raise OutputsError(FREE_TEXT)
        self.check_current()
        self.counts.tell(outputs)
        # A last output that is missing was asked for: the stage says so.
        self.policy.tell(outputs, stage=len(outputs) - 1 if outputs[-1] is None else None)

    def check_current(self) -> None:
        """Raise `SettingError` if another process has changed the stages."""
        if self._is_outdated:
            raise SettingError(OUTDATED)

    def label(self, key: str, outputs: Pattern, label: Hashable, *, epoch: int) -> bool:
        """Take in the right answer of a case that was counted; return whether that is news.

        Labels are kept under the key of their case: a repetition changes nothing. Only those of
        the current epoch are learned from. The policy is made anew once a tenth more have come,
        so that a thousand labels cost some fifty fits.
        """
        case_text(outputs, label=label)  # raises for what cannot be kept
        store, name = self.counts.worker.store, self.counts.cascade
        known = store.get("label", name, key)
        body = {"outputs": list(outputs), "label": label, "epoch": epoch}
        if known is not None and known.body == body:
            return False
        store.put(Record("label", name, key, self.counts.worker.clock(), body))
        with self.lock:
            self._n_waiting += 1
            if self.has_belief and 10 * self._n_waiting >= len(self._labels):
                self.rebuild(self.cascade)
        return True

    def labelled_case(self, key: str) -> tuple[Pattern, int] | None:
        """Return what the stages said of a case that has a label, and its epoch."""
        record = self.counts.worker.store.get("label", self.counts.cascade, key)
        return (
            None if record is None else (tuple(record.body["outputs"]), record.body.get("epoch", 0))
        )

    def conclude(self, outputs: Pattern, answer: Hashable) -> tuple[Hashable, float | None]:
        """Return what the policy answers and the chance that it is right, if it has a belief."""
        if not self.has_belief:
            return answer, None
        believed, error = self.policy.conclude(outputs)
        return believed, None if math.isnan(error) else 1.0 - float(error)

    def tell_patterns(self, patterns: Mapping[Pattern, int], *, is_past: bool = False) -> None:
        """Count many cases at once; those of a log are past."""
        texts = case_texts(patterns)
        with self.lock:
            self.counts.tell_many(texts, is_past=is_past)
            self.policy.tell_many(tellable(texts))

    def sync(self) -> None:
        """Exchange counts with other workers; without the store go on with what is known."""
        n_rebuilt = self._n_rebuilt
        try:
            update = self.counts.sync()
            with self.lock:
                self._is_outdated = self._stored_names() not in ((), self.cascade.names)
        except StoreUnavailableError:
            return
        if self._is_outdated:
            return
        with self.lock:
            # Who was made anew meanwhile may know of the added cases already.
            if update.is_rebuild or self._n_rebuilt != n_rebuilt:
                self.rebuild(self.cascade)
            elif update.added:
                self.policy.tell_many(tellable(update.added))

    def _stored_names(self) -> tuple[str, ...]:
        """Return the names of the stages that the counts in the store are of."""
        found = self.counts.worker.store.cascade(self.counts.cascade)
        return () if found is None else tuple(found.description.get("names") or ())

    def patterns(self) -> dict[Pattern, int]:
        """Return all cases of the current epoch, by what they showed."""
        return tellable(self.counts.totals())

    def rebuild(self, cascade: Cascade) -> None:
        """Make the policy anew from the counts, for prices that may have changed."""
        if self._is_outdated:  # the counts are of other stages
            return
        with self.lock:
            self._n_rebuilt += 1
            self._n_waiting = 0
            policy = self._make(cascade)
            patterns = self.patterns()
            # Policies without beliefs learn from no label.
            labelled = self._take_labelled(patterns) if self.has_belief else []
            if patterns:
                policy.tell_many(patterns)
            for outputs, label in labelled:
                policy.tell(outputs, stage=len(outputs) - 1, label=label)
            self.cascade, self.policy = cascade, policy

    def _take_labelled(self, patterns: dict[Pattern, int]) -> list[tuple[Pattern, Hashable]]:
        """Return the cases that have labels, and take them out of those that have none."""
        found = []
        store, name = self.counts.worker.store, self.counts.cascade
        try:
            self._labels = store.records("label", name, limit=MAX_LABELS)
        except StoreUnavailableError:
            logger.warning("%s: the store is away, labels are as they were", name)
        for record in self._labels:
            outputs = tuple(record.body["outputs"])
            if record.body.get("epoch", 0) == self.counts.epoch and patterns.get(outputs, 0):
                patterns[outputs] -= 1
                if not patterns[outputs]:
                    del patterns[outputs]
                found.append((outputs, record.body["label"]))
        return found

    def restart(self, patterns: Mapping[Pattern, int], *, reason: str) -> None:
        """Begin an epoch that knows of these cases; what was counted before is kept apart."""
        with self.lock:
            self.counts.open_epoch(reason)
            self.counts.tell_many(case_texts(patterns), is_past=True)
            self.rebuild(self.cascade)  # another worker may have begun the epoch and told it cases

    def change_stages(self, cascade: Cascade, before: Sequence[str | None], *, reason: str) -> None:
        """Begin an epoch for other stages; ``before`` are the names of those seen so far.

        If several workers do so at once, one of them takes over what was seen.
        """
        counts = self.counts
        by_me = f"{reason}, worker {counts.worker.name}"
        with self.lock:
            kept = rearranged(self.patterns(), before, cascade.names)
            counts.open_epoch(by_me)
            begun = counts.worker.store.get("epoch", counts.cascade, f"{counts.epoch:08d}")
            if begun is None or begun.body["reason"] == by_me:
                counts.tell_many(case_texts(kept), is_past=True)
            self.rebuild(cascade)


def case_texts(patterns: Mapping[Pattern, int]) -> dict[str, int]:
    """Return cases by the texts under which the store counts them."""
    texts: dict[str, int] = {}
    for outputs, times in patterns.items():
        text = case_text(outputs)
        texts[text] = texts.get(text, 0) + times
    return texts
