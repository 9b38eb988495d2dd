"""Play in a world with contexts, case by case; every policy meets the same cases.

Policies may look at the context or not. Regret is that of each case.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.errors import SettingError
from stopwise.policies.compiled_rule import ContextualRule
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.learner import Learner
from stopwise.policies.pair_models import absorb, is_warm
from stopwise.problem.contextual_instance import ContextualCases, ContextualInstance
from stopwise.problem.contextual_recording import ContextualRecording
from stopwise.simulation import kernels
from stopwise.simulation.compiled import kernel
from stopwise.simulation.compiled_play import CompiledPlay
from stopwise.simulation.events import checked_stage
from stopwise.simulation.job import Played

# Cases are drawn in blocks of this size whatever the horizon, so that a shorter run is the first
# part of a longer one.
BLOCK = 16_384


class CaseWorld:
    """An environment with contexts, for a policy that may look at them or not."""

    stops_give_regret = False

    def __init__(
        self, environment: ContextualInstance | ContextualRecording, policy: Learner
    ) -> None:
        self.environment = environment
        self.cascade = environment.cascade
        if policy.needs_context:
            self._check(policy)

    @property
    def gaps(self) -> FloatArray:
        """How much more each stage costs than the best one, on average over cases."""
        return self.environment.average_gaps

    def player(self, policy: Any, rule: Any, rng: np.random.Generator) -> CasePlay:
        """Return what plays one replication here: a kernel if there is a compiled rule."""
        learner = policy.reseeded(rng.spawn(1)[0])
        stages: Callable[[ContextualCases], IntArray]
        if rule is None:
            stages = partial(asked_stages, learner)
        elif policy.needs_context:
            stages = partial(compiled_stages, learner, rule)
        else:
            stages = CompiledPlay(rule, rng.spawn(1)[0]).stages
        return CasePlay(learner, stages, rng)

    def _check(self, policy: Any) -> None:
        """Refuse a policy that cannot be played here, as far as that is known beforehand."""
        if policy.n_features != self.environment.n_features:
            raise SettingError(
                f"policy must be for contexts of {self.environment.n_features} features, "
                f"got one for {policy.n_features}"
            )
        contexts = self.environment.extreme_contexts()
        fits = np.abs(contexts) <= policy._largest
        if not fits.all():
            policy._checked_context(contexts[int(np.argmin(fits.all(axis=1)))])

    def blocks(self, n: int, rng: np.random.Generator) -> Iterator[ContextualCases]:
        """Yield n cases in blocks."""
        for remaining in range(n, 0, -BLOCK):
            x, labels, outputs, gaps = self.environment.draw(BLOCK, rng)
            part = slice(remaining)
            yield ContextualCases(x[part], labels[part], outputs[part], gaps[part])


class CasePlay:
    """One replication.

    ``stages`` returns the stage played in each case, one after the other. The policy learns, unless
    a kernel counts pairs for it; ``rng`` draws the cases.
    """

    def __init__(
        self,
        policy: Learner,
        stages: Callable[[ContextualCases], IntArray],
        rng: np.random.Generator,
    ) -> None:
        self.policy = policy
        self._stages = stages
        self._rng = rng

    def play(self, world: CaseWorld, ends: IntArray) -> Played:
        """Play on, up to each of ``ends`` in turn."""
        n, K = len(ends), world.cascade.n_stages
        played = Played(np.zeros((n, K), dtype=np.int64), np.zeros(n, dtype=np.int64), np.zeros(n))
        stops, wrong, regret = np.zeros(K, dtype=np.int64), 0, 0.0
        t = c = 0
        for cases in world.blocks(int(ends[-1]), self._rng):
            stages = self._stages(cases)
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


def compiled_stages(
    policy: ContextualPolicy, rule: ContextualRule, cases: ContextualCases
) -> IntArray:
    """Return the same as `asked_stages` for a contextual policy, by a kernel."""
    model = policy._new_model()
    model.fill(policy._model.to_state())
    n, K = cases.outputs.shape
    contexts = np.ascontiguousarray(cases.contexts)
    disagreed = kernels.pair_columns(cases.outputs, counts_errors=False)
    # In the few cases before the scale is fixed all tests are run; these need no kernel.
    n_warm = 0
    while n_warm < n and not is_warm(model):
        absorb(model, contexts[n_warm], disagreed[n_warm])
        n_warm += 1
    stages = np.full(n, K - 1, dtype=np.int64)
    play = kernel(kernels.play_in_context, rule.choose, (n - n_warm) * model.inverse.size)
    play(
        rule.kind,
        model,
        K,
        policy.exploration,
        contexts[n_warm:],
        disagreed[n_warm:],
        policy._rng if policy.draws else np.random.default_rng(0),
        stages[n_warm:],
    )
    policy._stored["model"] = model.for_python()
    return stages


def asked_stages(policy: Any, cases: ContextualCases) -> IntArray:
    """Return the stage played in each case by asking and telling: slow, but obviously right."""
    K = policy.cascade.n_stages
    stages = []
    for context, row, label in zip(
        cases.contexts.tolist(), cases.outputs.tolist(), cases.labels.tolist(), strict=True
    ):
        given = (context,) if policy.needs_context else ()
        stage = checked_stage(policy, policy.ask(*given), K)
        truth = {"label": label} if policy.needs_label else {}
        policy.tell(row[: stage + 1], *given, **truth)
        stages.append(stage)
    return np.array(stages, dtype=np.int64)
