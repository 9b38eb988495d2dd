"""Learning in a runtime: a policy, its counts, and the store that keeps them."""

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
from stopwise.policies.registry import policy_class
from stopwise.runtime.case_patterns import case_texts
from stopwise.runtime.engine import StoppingRule
from stopwise.store import Record, SharedCounts, StageChange, Worker, case_text, tellable

logger = logging.getLogger("stopwise.runtime")

# The number of cases after which it is decided whether outputs are free text.
FREE_TEXT_WINDOW = 1000
FREE_TEXT = (
    "outputs must repeat to be compared, but nearly all of the last "
    f"{FREE_TEXT_WINDOW} cases differ: say what counts as the same answer, as in "
    "normalise=choices('urgent', 'routine')"
)
OUTDATED = "another process has changed the stages: start this one again with the same"
MAX_LABELS = 10_000  # that a rebuilt policy is told, the newest
POLICY_NAMES = {"beliefs": "BeliefStopping", "resolve": "Resolve"}


def policy_maker(policy: Any) -> Callable[[Cascade], Any]:
    """Return what makes a policy for a cascade, given a name, a policy or a function."""
    if isinstance(policy, str):
        policy = policy_class(
            POLICY_NAMES[known_name("policy", policy, POLICY_NAMES, SettingError)]
        )
    if isinstance(policy, type) or not hasattr(policy, "tell"):
        if not callable(policy):
            raise SettingError(
                f"policy must be a name, a policy or a function that makes one, got {policy!r}"
            )
        return cast("Callable[[Cascade], Any]", policy)
    if policy.n_rounds:
        raise SettingError(
            f"policy must not have been told any case yet, got one that knows {policy.n_rounds}: "
            "use Runtime.from_log for earlier cases"
        )
    kind, settings = type(policy), {name: getattr(policy, name) for name in policy.settings}
    return lambda cascade: kind(cascade, **settings)


class Learning:
    """A policy that concurrent cases tell, with counts shared through a store.

    Counts and policy change together under one lock, so a policy that is rebuilt from the counts
    knows exactly what the one before it knew. ``is_shared`` says whether other workers may tell
    the same cascade.
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
        self.name = name
        self.store = worker.store
        self.counts: SharedCounts = worker.open(name)
        self.lock = threading.RLock()
        self.is_frozen = False
        self.is_shared = is_shared
        # Gives the cases that this process saw after a time, to begin an epoch with.
        self.seen_since: Callable[[float], Mapping[Pattern, int]] = lambda since: {}
        self._n_rebuilt = 0
        self.stages_version = 0  # a case that began with other stages is not told
        self._make = make_policy
        self._n_in_window = 0
        self._window: set[Pattern] = set()
        self._is_free_text = self.is_outdated = False
        self._labels: Sequence[Record] = ()
        self._n_new_labels = 0  # that the policy was not told yet
        self.cascade = cascade
        self.policy = make_policy(cascade)
        self.looks_at_outputs = hasattr(self.policy, "next")  # decides after each output
        self.has_belief = hasattr(self.policy, "conclude")  # gives the chance to be right
        if self.policy.cascade != cascade or not cascade.is_chain:
            raise SettingError(f"policy must be for the chain of stages, got {self.policy!r}")
        self.counts.sync()  # another process may have changed the stages since they were read
        self._epoch = self.counts.epoch  # up to which changes of stages were noticed
        # Which stages of the current epoch are own ones; None for those of another process.
        self._stages_now: list[str | None] = list(cascade.names)
        before = self._stored_names()
        if before in ((), cascade.names):
            self.rebuild(cascade)
        else:
            self.change_stages(cascade, before, reason="started with other stages")

    def stopping_rule(self) -> StoppingRule:
        """Return the rule for the next case; call this with the lock held."""
        if self.looks_at_outputs:
            return StoppingRule(self.policy, None, self.stages_version, explores=not self.is_frozen)
        stage = self.policy.recommend() if self.is_frozen else self._stage_to_play()
        return StoppingRule(self.policy, stage, self.stages_version, explores=False)

    def _stage_to_play(self) -> int:
        """Return the stage to play; with many workers, exploration waits for fresh counts.

        Otherwise each worker would pay for observations that another one has already. The case
        itself does not wait: a later one explores, once the counts of others have been read.
        """
        stage = int(self.policy.ask())
        best = int(self.policy.recommend()) if self.is_shared else stage
        if stage == best:
            return stage
        is_informed = self.counts.is_fresh or self.counts.has_caught_up
        self.counts.hasten()
        return stage if is_informed else best

    def tell(self, outputs: Pattern) -> None:
        """Count a case; call this with the lock held.

        When this returns, the case is as safe as the store's durability says.
        """
        self._window.add(outputs)
        self._n_in_window += 1
        if self._n_in_window == FREE_TEXT_WINDOW:  # outputs that never repeat cannot be compared
            self._is_free_text = len(self._window) > FREE_TEXT_WINDOW * 0.9
            self._n_in_window, self._window = 0, set()
        if self._is_free_text:
            raise OutputsError(FREE_TEXT)
        self.check_current()
        while not self.counts.tell(outputs, epoch=self._epoch):
            self.check_current()
        # A last stage that ran and gave nothing is passed as the stage.
        self.policy.tell(outputs, stage=len(outputs) - 1 if outputs[-1] is None else None)

    def check_current(self) -> None:
        """Raise `SettingError` if another process has changed the stages."""
        if self.counts.epoch != self._epoch:
            self._note_epoch()
        if self.is_outdated:
            raise SettingError(OUTDATED)

    def _note_epoch(self) -> None:
        """Find out whether the current epoch has other stages, be it under the same names."""
        with self.lock:
            names = self._stored_names()
            since = None
            for epoch in range(self._epoch + 1, self.counts.epoch + 1):
                body, before = self._epoch_body(epoch), self._stages_now
                sources, since = body.get("sources"), body.get("since")
                if sources is not None:
                    self._stages_now = [None if k is None else before[k] for k in sources]
                self._epoch = epoch
            is_same = tuple(self._stages_now) == self.cascade.names
            self.is_outdated = not is_same or names not in ((), self.cascade.names)
            if since is not None and not self.is_outdated:
                self.counts.tell_many(case_texts(self.seen_since(since)), is_past=True)

    def label(self, key: str, outputs: Pattern, label: Hashable, *, epoch: int) -> bool:
        """Store the right answer of a case that was counted; return whether it is new.

        Labels are stored under the key of their case: a repetition changes nothing. Only those of
        the current epoch are learned from. The policy is rebuilt when there are a tenth more
        labels, so that a thousand labels cost some fifty fits.
        """
        case_text((*outputs, label))  # raises if it cannot be stored
        record = self.store.get("label", self.name, key)
        body = {"outputs": list(outputs), "label": label, "epoch": epoch}
        if record is not None and record.body == body:
            return False
        self.store.put(Record("label", self.name, key, self.counts.worker.clock(), body))
        with self.lock:
            self._n_new_labels += 1
            if self.has_belief and 10 * self._n_new_labels >= len(self._labels):
                self.rebuild(self.cascade)
        return True

    def conclude(self, outputs: Pattern, answer: Hashable) -> tuple[Hashable, float | None]:
        """Return the policy's answer and the chance that it is right, if it has a belief."""
        if not self.has_belief:
            return answer, None
        policy_answer, error = self.policy.conclude(outputs)
        return policy_answer, None if math.isnan(error) else 1.0 - float(error)

    def tell_many(self, patterns: Mapping[Pattern, int], *, is_past: bool = False) -> None:
        """Count many cases at once; those of a log or an earlier epoch are past."""
        texts = case_texts(patterns)
        with self.lock:
            self.check_current()
            while not self.counts.tell_many(texts, is_past=is_past, epoch=self._epoch):
                self.check_current()
            self.policy.tell_many(tellable(texts))

    def sync(self) -> None:
        """Exchange counts with other workers; if the store is unavailable, do nothing."""
        n_rebuilt = self._n_rebuilt
        try:
            update = self.counts.sync()
            self._note_epoch()
        except StoreUnavailableError:
            return
        if self.is_outdated:
            return
        with self.lock:
            # A policy that was rebuilt meanwhile may know the added cases already.
            if update.is_rebuild or self._n_rebuilt != n_rebuilt:
                self.rebuild(self.cascade)
            elif update.added:
                self.policy.tell_many(tellable(update.added))

    def _stored_names(self) -> tuple[str, ...]:
        """Return the names of the stages to which the counts in the store belong."""
        record = self.store.cascade(self.name)
        return () if record is None else tuple(record.description.get("names") or ())

    def patterns(self) -> dict[Pattern, int]:
        """Return all cases of the current epoch, counted by their outputs."""
        return tellable(self.counts.totals())

    def rebuild(self, cascade: Cascade) -> None:
        """Make a new policy from the counts, for prices that may have changed."""
        if self.is_outdated:  # the counts belong to other stages
            return
        with self.lock:
            self._n_rebuilt += 1
            self._n_new_labels = 0
            policy = self._make(cascade)
            patterns = self.patterns()
            # Policies without beliefs learn from no label.
            labelled_cases = self._take_labelled(patterns) if self.has_belief else []
            if patterns:
                policy.tell_many(patterns)
            for outputs, label in labelled_cases:
                policy.tell(outputs, stage=len(outputs) - 1, label=label)
            self.cascade, self.policy = cascade, policy

    def _take_labelled(self, patterns: dict[Pattern, int]) -> list[tuple[Pattern, Hashable]]:
        """Return the cases that have labels, and subtract them from the others."""
        cases = []
        try:
            if not self.is_frozen:
                self._labels = self.store.records("label", self.name, limit=MAX_LABELS)
        except StoreUnavailableError:
            logger.warning("%s: the store is unavailable, labels stay as they are", self.name)
        for record in self._labels:
            outputs = tuple(record.body["outputs"])
            if record.body.get("epoch", 0) == self.counts.epoch and patterns.get(outputs, 0):
                patterns[outputs] -= 1
                if not patterns[outputs]:
                    del patterns[outputs]
                cases.append((outputs, record.body["label"]))
        return cases

    def restart(self, *, reason: str, since: float) -> None:
        """Begin an epoch with what all processes saw since then; earlier counts are kept unused."""
        with self.lock:
            self.counts.open_epoch(reason, since=since)
            self._note_epoch()
            self.rebuild(self.cascade)

    def change_stages(self, cascade: Cascade, before: Sequence[str | None], *, reason: str) -> None:
        """Begin an epoch for changed stages; ``before`` are the names of those before.

        The store takes over what stages of the same name said, also what other workers have not
        written yet. Raises `SettingError` if another process has just changed the stages.
        """
        sources = [before.index(name) if name in before else None for name in cascade.names]
        change = StageChange(cascade.to_state(), sources)
        with self.lock:
            self.counts.open_epoch(reason, change=change)
            while "sources" not in self._epoch_body(self.counts.epoch):  # an alarm was first
                self.counts.open_epoch(reason, change=change)
            self._epoch, self._stages_now = self.counts.epoch, list(cascade.names)
            self.is_outdated = self._stored_names() != cascade.names
            if self.is_outdated:
                raise SettingError(OUTDATED)
            self.rebuild(cascade)

    def _epoch_body(self, epoch: int) -> dict[str, Any]:
        """Return the record of why an epoch began."""
        record = self.store.get("epoch", self.name, f"{epoch:08d}")
        return {} if record is None else record.body
