"""Which stages are played in given cases with contexts: compiled, or by asking and telling."""

from __future__ import annotations

from functools import cache
from threading import Lock
from typing import Any

import numpy as np

from stopwise.cascade import FloatArray, IntArray
from stopwise.policies.base import Policy
from stopwise.policies.contextual import ContextualPolicy
from stopwise.policies.contextual_resolve import ContextualResolve
from stopwise.policies.contextual_rules import standard_normal
from stopwise.policies.contextual_thompson import ContextualThompson
from stopwise.policies.contextual_weak_dominance import ContextualWeakDominance
from stopwise.policies.pair_models import Model
from stopwise.problem.contextual import ContextualCases
from stopwise.problem.instance import Instance
from stopwise.simulation import draws
from stopwise.simulation.compiled import compiled
from stopwise.simulation.compiled_play import kernel_for
from stopwise.simulation.contextual_kernels import OPTIMISTIC, RESOLVING, SAMPLED, play_cases
from stopwise.simulation.oracle import play_rounds
from stopwise.simulation.world import World

RULES: dict[type[Any], int] = {
    ContextualWeakDominance: OPTIMISTIC,
    ContextualResolve: RESOLVING,
    ContextualThompson: SAMPLED,
}
_lock = Lock()


class CompiledContextual:
    """A contextual policy as the compiled kernel takes it; the policy itself is not changed."""

    def __init__(self, policy: ContextualPolicy, source: Any) -> None:
        self._policy = policy
        self._rule = RULES[type(policy)]
        self._exploration = policy.exploration
        self._n_stages = policy.cascade.n_stages
        self._source = source
        self.model = arrays_of(policy._model)

    def stages(self, cases: ContextualCases) -> IntArray:
        """Return the stage played in each case, one after the other, and learn from them."""
        check_contexts(self._policy, cases.contexts)
        K, n = self._n_stages, len(cases.labels)
        disagreed = np.zeros((n, K * (K - 1) // 2), dtype=np.int8)
        for j in range(K):
            for i in range(j):
                disagreed[:, j * (j - 1) // 2 + i] = cases.outputs[:, i] != cases.outputs[:, j]
        stages = np.zeros(n, dtype=np.int64)
        contexts = np.ascontiguousarray(cases.contexts)
        pairs = np.zeros(disagreed.shape[1], dtype=np.int8)
        kernel()(
            self._rule,
            self.model,
            self._exploration,
            contexts,
            disagreed,
            pairs,
            self._source,
            stages,
        )
        return stages


def check_contexts(policy: ContextualPolicy, contexts: FloatArray) -> None:
    """Refuse what the policy would refuse if it were asked with these contexts one by one."""
    fits = np.abs(contexts) <= policy._largest  # false for NaN as well
    if not fits.all():
        policy._checked_context(contexts[int(np.argmin(fits.all(axis=1)))])


def arrays_of(model: Model) -> Model:
    """Return a model as arrays that can be changed without changing the lists it came from."""
    P, D, d = len(model.theta), len(model.x), len(model.centre)
    warm_up = len(model.held_contexts)
    shapes = {
        "theta": (P, D),
        "inverse": (P, D, D),
        "held_contexts": (warm_up, d),
        "held_pairs": (warm_up, P),
    }
    whole = {"seen": np.int64, "counts": np.int64, "held_pairs": np.int8}
    return Model(
        **{
            name: np.array(values, dtype=whole.get(name, np.float64)).reshape(
                shapes.get(name, (len(values),))
            )
            for name, values in model._asdict().items()
        }
    )


def has_kernel(policy: Any) -> bool:
    """Whether the rule of a policy is compiled; a subclass may have changed it."""
    return type(policy) in RULES


def asked_stages(policy: ContextualPolicy, cases: ContextualCases) -> IntArray:
    """Return the stage played in each case by asking and telling: slow, obviously right."""
    stages = []
    for context, row in zip(cases.contexts.tolist(), cases.outputs.tolist(), strict=True):
        stage = policy.ask(context)
        policy.tell(row[: stage + 1], context)
        stages.append(stage)
    return np.array(stages, dtype=np.int64)


def plain_stages(
    policy: Policy, labels: IntArray, outputs: IntArray, sources: Any, *, compile_: bool
) -> IntArray:
    """Return the stages of a policy that does not look at contexts, round by round."""
    rows = np.ascontiguousarray(np.column_stack([labels, outputs]))
    keys = rows.view([("", rows.dtype)] * rows.shape[1]).reshape(-1)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    instance = Instance.from_patterns(rows[first].tolist(), [1.0] * len(first), policy.cascade)
    kernel = kernel_for(World(instance, labelled=True), policy) if compile_ else None
    if kernel is None:
        return np.array(play_rounds(policy, labels, outputs), dtype=np.int64)
    # Rows and patterns are in the same order, so that the number of a row is that of its pattern.
    coded = np.column_stack([instance.labels, instance.outputs])
    assert np.array_equal(np.array(instance.classes)[coded], rows[first])
    # The kernel counts rounds from the first that the policy was ever told.
    known = policy.n_rounds
    given = np.concatenate([np.zeros(known, dtype=np.int64), inverse.reshape(-1)])
    stages = np.zeros(len(given), dtype=np.int64)
    kernel.play(np.array([len(rows)]), sources, given, stages, False)
    return stages[known:]


def kernel() -> Any:
    """Return `play_cases`, compiled; at the first call ever that takes some seconds."""
    with _lock:
        return _kernel()


@cache
def _kernel() -> Any:
    return compiled(play_cases, {standard_normal: draws.normal})
