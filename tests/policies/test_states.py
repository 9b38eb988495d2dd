"""Saved states: version 1 goes on as it did, workers count each case once."""

import json
from pathlib import Path

import pytest

import stopwise as sw
from stopwise.errors import SettingError, StateError
from stopwise.policies.registry import POLICIES
from tests.policies.helpers import CHAIN, FACTORIES, draw_cases, play, twin

# Written by the last release of version 1: a state, and what the policy was then asked and said.
OLD = sorted((Path(__file__).parent / "states_v1").glob("*.json"))


def answers(policy):
    if isinstance(policy, sw.StoppingPolicy):
        prefixes = ((), ["well"], ["ill"], ["well", "ill"], ["ill", "ill"], ["ill", None])
        return [policy.ask(prefix) for prefix in prefixes]
    if isinstance(policy, sw.ContextualPolicy):
        return policy.ask_many([[a, b] for a in (-1, 0, 1, 2) for b in (-1, 0, 1)])
    return policy.ask_many(20)


@pytest.mark.parametrize("file", OLD, ids=lambda file: file.stem)
def test_a_state_of_version_1_goes_on_as_it_did(file):
    old = json.loads(file.read_text(encoding="utf-8"))
    policy = sw.policy_from_state(old["state"])
    assert policy.to_state()["version"] == 2
    assert answers(twin(policy)) == answers(policy) == old["asked"]


def test_every_policy_of_version_1_has_a_file():
    assert len({file.stem.partition("-")[0] for file in OLD} & set(POLICIES)) == 11


def test_policies_of_others_are_read_by_their_class():
    class Mine(sw.WeakDominance):
        pass

    state = Mine(CHAIN).to_state()
    with pytest.raises(StateError, match="must name one of"):
        sw.policy_from_state(state)
    assert type(sw.policy_from_state(state, classes=(Mine,))) is Mine


# Workers

MERGING = [n for n in FACTORIES if "Strong" not in n]


@pytest.mark.parametrize("name", MERGING)
@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_two_workers_of_one_parent_count_each_case_once(name, order):
    """Ten cases of the parent, twenty and thirty of the workers, ten more of the parent: 70."""
    cases = draw_cases(3, 70, 0)
    parent = FACTORIES[name](CHAIN)
    play(parent, cases[:10])
    workers = [twin(parent.fork()) for _ in range(2)]
    play(workers[0], cases[10:30])
    play(workers[1], cases[30:60])
    play(parent, cases[60:])
    merged = parent
    for k in order:
        merged = merged.merge(workers[k])
    assert merged.n_rounds == 70
    # Workers may be merged first, or the parent into a worker.
    assert workers[0].merge(workers[1]).n_rounds == 60
    together = parent.merge(workers[0].merge(workers[1]))
    assert together.counts == merged.counts == workers[1].merge(parent.merge(workers[0])).counts


def test_workers_of_different_parents_are_not_merged():
    one, other = sw.Resolve(CHAIN), sw.Resolve(CHAIN)
    other.tell([0, 1])
    with pytest.raises(SettingError, match="forked from the same state"):
        one.fork().merge(other.fork())
