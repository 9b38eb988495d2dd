"""Every policy in several settings, and what the tests of all of them need."""

import copy
from functools import partial

import stopwise as sw
from stopwise.policies.compiled_rule import Tables, price_rows
from stopwise.policies.contract import (  # noqa: F401
    CHAIN,
    LONG,
    Case,
    draw_cases,
    play,
    tell,
    told_as,
    twin,
)
from stopwise.policies.registry import POLICIES, policy_class

TREE = sw.Cascade([0.0, 0.1, 0.05, 0.15, 0.1, 0.2], parents=[None, 0, 0, 1, 2, 2])

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


# Likewise of those that look at outputs.
STOPPING = {
    name: policy_class(name).with_defaults
    for name in POLICIES
    if issubclass(policy_class(name), sw.StoppingPolicy)
} | {
    "OutputConditional-agreement": lambda c: sw.OutputConditional(c, max_prefixes=0),
    "OutputConditional-indifferent": lambda c: sw.OutputConditional(
        c, indifference=0.05 * c.mistake_cost
    ),
    "OutputConditional-memory": lambda c: sw.OutputConditional(c, memory=8_000),
    "BeliefStopping-memory": lambda c: sw.BeliefStopping(c, memory=8_000, seed=2),
    "BeliefStopping-believed": lambda c: sw.BeliefStopping(c, answer="believed", seed=1),
}


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


def altered(state, path, value):
    """A copy of a state with one entry, given by the keys to it, set or (...) left out."""
    state = copy.deepcopy(state)
    inner = state
    for key in path[:-1]:
        inner = inner[key]
    if value is ...:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return state


def tables(counts, *settings):
    """What a rule over pairs decides by, from pair counts."""
    c, prices = counts.cascade, price_rows(counts.cascade)
    pairs = prices, counts.seen, counts.disagreed, counts.stopped
    return Tables(*pairs, c.parents, c.branches, settings, None)


def resolve_told(costs, rows, **settings):
    """A Resolve that has been told rows as often as they say."""
    policy = sw.Resolve(sw.Cascade(costs), **settings)
    policy.tell_many(rows)
    return policy
