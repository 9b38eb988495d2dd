"""Every contextual policy in several settings, worlds to play them in, and what tests share."""

from functools import partial

import numpy as np

import stopwise as sw
from stopwise.policies.registry import POLICIES, policy_class
from stopwise.problem.contextual_laws import LogisticPairs, NestedErrors

# Every contextual policy of the registry: name -> factory(cascade, n_features).
FACTORIES = {
    name: partial(
        policy_class(name), warm_up=20, **({"seed": 11} if policy_class(name).draws else {})
    )
    for name in POLICIES
    if issubclass(policy_class(name), sw.ContextualPolicy)
} | {
    "ContextualResolve-eager": lambda c, d: sw.ContextualResolve(
        c, d, exploration=0.05, regularisation=0.2, warm_up=5
    ),
    "ContextualThompson-wild": lambda c, d: sw.ContextualThompson(
        c, d, seed=2, exploration=4.0, warm_up=0
    ),
    "ContextualWeakDominance-eager": lambda c, d: sw.ContextualWeakDominance(
        c, d, exploration=0.1, regularisation=0.5, warm_up=7
    ),
    "ContextualWeakDominance-plain": lambda c, d: sw.ContextualWeakDominance(
        c, d, exploration=0.02, intercept=False, warm_up=0
    ),
    "ContextualResolve-plain": lambda c, d: sw.ContextualResolve(
        c, d, exploration=0.1, intercept=False, warm_up=15
    ),
}


def draw_cases(n_stages, n_features, n, seed, *, missing=0.0):
    """Cases (outputs, context): later tests change answers where the first feature is large."""
    rng = np.random.default_rng(seed)
    contexts = rng.normal(size=(n, n_features)) * rng.uniform(0.2, 30, n_features)
    z = 2 * np.clip(contexts[:, :1] / np.abs(contexts[:, :1]).mean(), -3, 3) - 2.5
    flips = rng.random((n, n_stages)) < 0.6 / (1 + np.exp(-z))
    outputs = np.cumsum(flips, axis=1) % 2
    gone = rng.random((n, n_stages)) < missing
    return [
        (tuple(None if g else int(y) for y, g in zip(row, lost, strict=True)), context)
        for row, lost, context in zip(outputs, gone, contexts.tolist(), strict=True)
    ]


def play(policy, cases):
    """The stages at which a policy stops the cases, each told before the next is asked."""
    stages = []
    for outputs, context in cases:
        stages.append(policy.ask(context))
        policy.tell(outputs[: stages[-1] + 1], context)
    return stages


def pairs_world(n_features=3, *, costs=(0.0, 0.12, 0.13), last_error=0.03):
    """All pairs exactly logistic, weak dominance given every context, each stage best for some."""
    common = np.zeros(1 + n_features)
    common[0], common[1] = -2.2, 2.0
    tilt = np.zeros(1 + n_features)
    tilt[-1] = 0.4
    both = common.copy()
    both[0] += np.log(2)
    law = LogisticPairs([common + tilt, both, common - tilt], last_error=last_error)
    cascade = sw.Cascade(costs=costs)
    return sw.ContextualInstance(law, cascade, only_weakly_dominant=True)


def nested_world(n_stages=3, n_features=2, seed=0):
    """Strong dominance given every context."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=(n_stages - 1, 1 + n_features)) * 0.7
    theta[:, 0] = -2 - np.log(n_stages)
    costs = [0.0, *rng.uniform(0.02, 0.15, n_stages - 1)]
    return sw.ContextualInstance(NestedErrors(theta), sw.Cascade(costs=costs))
