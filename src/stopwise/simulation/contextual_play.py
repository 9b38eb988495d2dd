"""Play in a world with contexts, case by case; every policy meets the same cases.

Policies may look at the context or not. Regret is that of each case.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import SettingError
from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.pair_models import absorb, is_warm
from stopwise.problem.contextual_instance import ContextualCases, ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.simulation import kernels
from stopwise.simulation.compiled import kernel
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.events import checked_stage
from stopwise.simulation.world import Played, pair_columns

# Cases are drawn in blocks of this size whatever the horizon, so that a shorter run is the first
# part of a longer one.
BLOCK = 16_384


class CaseWorld:
    """An environment with contexts."""

    def __init__(self, environment: ContextualInstance | ContextualRecording) -> None:
        self.environment = environment
        self.cascade = environment.cascade

    @property
    def gaps(self) -> FloatArray:
        """How much more each stage costs than the best one, on average over cases."""
        return self.environment.average_gaps

    def check(self, policy: Any) -> None:
        """Refuse a policy that cannot be played here, as far as that is known beforehand."""
        if not isinstance(policy, ContextualPolicy):
            return
        if policy.n_features != self.environment.n_features:
            raise SettingError(
                f"policy must be for contexts of {self.environment.n_features} features, "
                f"got one for {policy.n_features}"
            )
        if isinstance(self.environment, ContextualRecording):
            check_contexts(policy, self.environment.features)
        else:
            check_contexts(policy, self.environment.contexts.extremes())

    def blocks(self, n: int, rng: np.random.Generator) -> Iterator[ContextualCases]:
        """Yield n cases in blocks."""
        for remaining in range(n, 0, -BLOCK):
            x, labels, outputs, gaps = self.environment.draw(BLOCK, rng)
            part = slice(remaining)
            yield ContextualCases(x[part], labels[part], outputs[part], gaps[part])


class CasePlay:
    """One replication.

    The policy learns if it has no compiled rule; ``rng`` draws the cases.
    """

    def __init__(self, policy: Any, rule: Any, rng: np.random.Generator) -> None:
        self._policy = policy
        self._rng = rng
        self.compiled: CompiledContextual | CompiledPlay | None = None
        if isinstance(rule, ContextualRule):
            self.compiled = CompiledContextual(policy, rule)
        elif rule is not None:
            self.compiled = CompiledPlay(rule, rng.spawn(1)[0])

    def play(self, world: CaseWorld, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        n, K = len(ends), world.cascade.n_stages
        played = Played(np.zeros((n, K), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n))
        stops, wrong, regret = np.zeros(K, dtype=np.int64), 0, 0.0
        t = c = 0
        for cases in world.blocks(int(ends[-1]), self._rng):
            stages = self.stages(cases)
            rows = np.arange(len(stages))
            is_wrong = cases.outputs[rows, stages] != cases.labels
            excess = cases.gaps[rows, stages]
            while c < n and ends[c] <= t + len(stages):
                k = int(ends[c]) - t
                played.stops[c] = stops + np.bincount(stages[:k], minlength=K)
                played.wrong[c] = wrong + is_wrong[:k].sum()
                played.regret[c] = regret + excess[:k].sum()
                c += 1
            stops += np.bincount(stages, minlength=K)
            wrong += int(is_wrong.sum())
            regret += float(excess.sum())
            t += len(stages)
        return played

    def learner(self) -> Any:
        """Return the policy with what it has learned; for policies that look at contexts."""
        if isinstance(self.compiled, CompiledContextual):
            self._policy._stored["model"] = self.compiled.model.for_python()
        return self._policy

    def stages(self, cases: ContextualCases) -> IntArray:
        """Return the stage played in each case, one after the other."""
        if isinstance(self.compiled, CompiledPlay):
            return self.compiled.stages(cases.outputs, cases.labels)
        if self.compiled is not None:
            return self.compiled.stages(cases)
        return asked_stages(self._policy, cases)


class CompiledContextual:
    """A contextual policy played by a kernel; the policy itself is not changed."""

    def __init__(self, policy: ContextualPolicy, rule: ContextualRule) -> None:
        self._policy = policy
        self._rule = rule
        self._rng = policy._rng if policy.draws else np.random.default_rng(0)
        self.model = policy._new_model()
        self.model.fill(policy._model.to_state())

    def stages(self, cases: ContextualCases) -> IntArray:
        """Return the stage played in each case, one after the other, and learn from them."""
        check_contexts(self._policy, cases.contexts)
        n, K = cases.outputs.shape
        contexts = np.ascontiguousarray(cases.contexts)
        disagreed = pair_columns(cases.outputs, counts_errors=False)
        # In the few cases before the scale is fixed all tests are run; these need no kernel.
        n_warm = 0
        while n_warm < n and not is_warm(self.model):
            absorb(self.model, contexts[n_warm], disagreed[n_warm])
            n_warm += 1
        stages = np.full(n, K - 1, dtype=np.int64)
        work = (n - n_warm) * self.model.inverse.size
        play = kernel(kernels.play_in_context, self._rule.choose, work)
        play(
            self._rule.kind,
            self.model,
            K,
            self._policy.exploration,
            contexts[n_warm:],
            disagreed[n_warm:],
            self._rng,
            stages[n_warm:],
        )
        return stages


def asked_stages(policy: Any, cases: ContextualCases) -> IntArray:
    """Return the stage played in each case by asking and telling: slow, but obviously right."""
    looks = isinstance(policy, ContextualPolicy)
    K = policy.cascade.n_stages
    stages = []
    for context, row, label in zip(
        cases.contexts.tolist(), cases.outputs.tolist(), cases.labels.tolist(), strict=True
    ):
        stage = checked_stage(policy, policy.ask(context) if looks else policy.ask(), K)
        outputs = row[: stage + 1]
        if looks:
            policy.tell(outputs, context)
        elif policy.needs_label:
            policy.tell(outputs, label=label)
        else:
            policy.tell(outputs)
        stages.append(stage)
    return np.array(stages, dtype=np.int64)


def check_contexts(policy: ContextualPolicy, contexts: FloatArray) -> None:
    """Refuse contexts that the policy would refuse if it were asked with them one by one."""
    fits = np.abs(contexts) <= policy._largest  # false for NaN as well
    if not fits.all():
        policy._checked_context(contexts[int(np.argmin(fits.all(axis=1)))])
