"""Every policy in several settings, and what the tests of all of them need."""

import json
from functools import partial
from typing import NamedTuple

import numpy as np

import stopwise as sw
from stopwise.policies.batches import parts
from stopwise.policies.registry import POLICIES, policy_class

CHAIN = sw.Cascade([0.0, 0.15, 0.1], names=["quick", "slow", "all"])
LONG = sw.Cascade([0.01, 0.1, 0.0, 0.3, 0.05])
TREE = sw.Cascade([0, 0.125, 0.125, 0.25], parents=[None, 0, 0, 1])

# Every stage policy of the registry with its defaults: name -> factory(cascade). A new policy is
# covered as soon as it has an entry there. Further settings are added by hand.
FACTORIES = {
    name: partial(policy_class(name).with_defaults, horizon=400)
    for name in POLICIES
    if issubclass(policy_class(name), sw.Policy)
} | {
    "FixedStage-middle": lambda c: sw.FixedStage(c, stage=c.n_stages // 2),
    "Resolve-memory": lambda c: sw.Resolve(c, memory=8_000),
    "Resolve-indifferent": lambda c: sw.Resolve(c, indifference=0.04 * c.mistake_cost),
    "StrongDominance-eager": lambda c: sw.StrongDominance(
        c, alpha=0.02, beta=sw.PowerLaw(0.5, 0.9)
    ),
    "StrongDominance-literal": lambda c: sw.StrongDominance(c, literal=True),
    "Supervised-eager": lambda c: sw.Supervised(c, exploration=0.1),
    "WeakDominance-eager": lambda c: sw.WeakDominance(c, exploration=0.1),
}


class Case(NamedTuple):
    """What all tests would answer to one case, and the truth that only Supervised is told."""

    outputs: tuple
    label: object

    def told(self, policy, stage):
        """The case as ``policy`` is told it when it was stopped at ``stage``."""
        shown = tuple(self.outputs[test] for test in policy.cascade.path(stage))
        return told_as(policy, shown, self.label, stage)


def told_as(policy, shown, label=1, stage=None):
    """Outputs as a case of ``policy``: with the label and the stage where they are needed."""
    label = (label,) if policy.needs_label else ()
    stage = () if policy.cascade.is_chain else (stage,)
    return (shown, *label, *stage) if label or stage else shown


def tell(policy, case):
    """Tell what `told_as` made."""
    policy.tell(**parts(case, policy._case_names()))


def twin(policy):
    """A policy rebuilt from the state of another one, as it comes out of JSON."""
    return sw.policy_from_state(json.loads(json.dumps(policy.to_state(), allow_nan=False)))


def play(policy, cases):
    """The stages at which a policy stops the cases, each told before the next is asked."""
    stages = []
    for case in cases:
        stages.append(policy.ask())
        tell(policy, case.told(policy, stages[-1]))
    return stages


def draw_cases(n_stages, n, seed, *, missing=0.0):
    """Cases with binary outputs that err less and less often, some outputs missing."""
    rng = np.random.default_rng(seed)
    errors = np.sort(rng.random(n_stages) * 0.6)[::-1]
    labels = rng.integers(2, size=n)
    outputs = labels[:, None] ^ (rng.random((n, n_stages)) < errors)
    gone = rng.random((n, n_stages)) < missing
    return [
        Case(tuple(None if g else int(y) for y, g in zip(row, lost, strict=True)), int(label))
        for row, lost, label in zip(outputs, gone, labels, strict=True)
    ]


def sample_cases(instance, n, seed):
    """Cases drawn from an instance."""
    labels, outputs = instance.sample(n, seed)
    return [
        Case(tuple(row), label)
        for row, label in zip(outputs.tolist(), labels.tolist(), strict=True)
    ]


def regret(policy, instance, horizon, seed):
    """The expected regret of a run: the gaps of the stages that it played, summed."""
    return float(instance.gaps[play(policy, sample_cases(instance, horizon, seed))].sum())


def without(state, *names):
    """A state without some of its entries."""
    return {name: value for name, value in state.items() if name not in names}


def order_free(policy):
    """The part of the state that may not depend on the order of the tells."""
    state = policy.to_state()
    if isinstance(policy, sw.StrongDominance):  # n_explored depends on it, and the printed average
        return without(state, "n_explored", *(["printed"] if policy.literal else []))
    return state
