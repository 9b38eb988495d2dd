"""What both policies that look at outputs refuse or warn of."""

import math

import pytest

import stopwise as sw
from stopwise.errors import OutputsError, OutputsWarning
from tests.policies.helpers import CHAIN

both = pytest.mark.parametrize("kind", [sw.OutputConditional, sw.BeliefStopping])
BAD = [
    ((0, 1, 0, 1), "the first 1 to 3 tests, got 4"),
    ("ab", "must be a sequence"),
    ({0: 1}, "must be a sequence"),
    (7, "must be a sequence"),
    ((0, math.nan), r"must equal themselves, got nan at stage 2 \('slow'\): use None"),
    ((0, [1]), "must be hashable labels"),
]


@both
@pytest.mark.parametrize(("outputs", "message"), BAD)
def test_bad_outputs_are_refused_and_nothing_changes(kind, outputs, message):
    policy = kind(CHAIN)
    policy.tell_many([(0, 1), (1, None, 1)] * 20)
    before = policy.to_state()
    for name in ("tell", "next", "ask", "recommend", "outlook", "choose", "conclude"):
        if hasattr(policy, name):
            with pytest.raises(OutputsError, match=message):
                getattr(policy, name)(outputs)
    with pytest.raises(OutputsError, match=message + ".*; it is case 2 of the batch"):
        policy.tell_many([(0, 0), outputs])
    with pytest.raises(OutputsError, match="times must be a whole number >= 1, got 0"):
        policy.tell_many({(0, 0): 0})
    with pytest.raises(OutputsError, match="batch must be cases"):
        policy.tell_many(3)
    assert policy.to_state() == before


@pytest.mark.parametrize("name", ["tell", "next", "recommend", "outlook"])
def test_no_outputs_are_too_few_to_count_prefixes(name):
    with pytest.raises(OutputsError, match="the first 1 to 3 tests, got 0"):
        getattr(sw.OutputConditional(CHAIN), name)(())


@both
def test_what_cannot_be_saved_is_refused_at_once(kind):
    """An Enum or a tuple would be counted, and the state refused a week later."""
    policy = kind(CHAIN)
    for output in (sw.Decision.STOP, ("a", 1), frozenset()):
        with pytest.raises(OutputsError, match="text, finite numbers or None to be saved, got"):
            policy.tell([0, output])
    assert policy.n_rounds == 0


def test_what_cannot_be_saved_may_agree():
    """With ``max_prefixes=0`` agreement alone is counted, no outputs."""
    sw.OutputConditional(CHAIN, max_prefixes=0).tell([sw.Decision.STOP, ("a", 1)])


@both
def test_whether_a_last_test_was_run_has_to_be_said(kind):
    many = kind(CHAIN)
    many.tell_many({(0, None, None): 2})  # whoever has counted knows what was run
    with pytest.warns(OutputsWarning, match="outputs end with None"):
        many.tell_many(iter([[0], [0, None, None]]))
    many.tell_many([[0, None, None]])  # warned once
    assert many.n_stopped == (1, 0, 4)
    policy = kind(CHAIN)
    with pytest.warns(OutputsWarning, match="outputs end with None"):
        policy.tell([0, None, None])
    policy.tell([0, None, None])  # warned once
    policy.tell([0, None, None], stage=2)
    policy.tell([0])
    assert policy.n_stopped == (1, 0, 3)
