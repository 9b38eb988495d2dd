"""The laws of a policy, as tests that you can run on your own policies.

Derive a test class and define how a policy is made; pytest finds the laws in it::

    class TestMyPolicy(PolicyContract):
        @pytest.fixture
        def make(self):
            return MyPolicy  # or any function from a cascade to a new policy

The laws hold for policies that choose a stage, look at outputs or at features, whatever their rule.
"""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from stopwise.cascade import Cascade
from stopwise.errors import OutputsError, OutputsWarning, SettingError, StateError
from stopwise.outputs import Told
from stopwise.policies.batches import parts
from stopwise.policies.state import policy_from_state
from stopwise.policies.stopping_policy import Decision

CHAIN = Cascade([0.0, 0.15, 0.1], names=["quick", "slow", "all"])
LONG = Cascade([0.01, 0.1, 0.0, 0.3, 0.05])

Make = Callable[[Cascade], Any]


class Case(NamedTuple):
    """What all tests would answer to a case, the right answer, and features known beforehand."""

    outputs: Told
    label: Any
    context: Any = (0.0,)

    def told(self, policy: Any, stage: int) -> Any:
        """Return the case as ``policy`` is told it when it was stopped at ``stage``."""
        outputs = tuple(self.outputs[test] for test in policy.cascade.path(stage))
        return told_as(policy, outputs, self.label, stage, self.context)


def told_as(
    policy: Any, outputs: Any, label: Any = 1, stage: int | None = None, context: Any = (0.0,)
) -> Any:
    """Return outputs as a case of ``policy``: with the label, features and stage that it needs."""
    values = {"outputs": outputs, "label": label, "stage": stage}
    if policy.needs_context:
        values["context"] = features(policy, context)
    case = tuple(values[name] for name in policy._case_names())
    return case if len(case) > 1 else outputs


def features(policy: Any, context: Any) -> tuple[float, ...]:
    """Return as many features as ``policy`` looks at, those of ``context`` again and again."""
    return tuple(np.resize(context, policy.n_features).tolist())


def tell(policy: Any, case: Any) -> None:
    """Tell a case that `told_as` returned."""
    values = parts(case, policy._case_names())
    outputs = values["outputs"]
    if policy.looks_at_outputs and isinstance(outputs, tuple):
        values["stage"] = len(outputs) - 1 if outputs else None
    policy.tell(**values)


def ask(policy: Any, case: Case) -> int:
    """Return the stage at which ``policy`` stops a case."""
    if policy.needs_context:
        return int(policy.ask(features(policy, case.context)))
    if policy.looks_at_outputs:
        stage = 0
        while policy.next(case.outputs[: stage + 1]) is Decision.CONTINUE:
            stage += 1
        return stage
    stage = policy.ask()
    assert type(stage) is int
    return stage


def play(policy: Any, cases: list[Case]) -> list[int]:
    """Return the stages at which a policy stops the cases, each told before the next is asked."""
    stages = []
    for case in cases:
        stages.append(ask(policy, case))
        tell(policy, case.told(policy, stages[-1]))
    return stages


def twin(policy: Any) -> Any:
    """Return a policy rebuilt from the state of another one, as it comes out of JSON."""
    text = json.dumps(policy.to_state(), allow_nan=False)
    return policy_from_state(json.loads(text), classes=(type(policy),))


def draw_cases(n_stages: int, n: int, seed: Any, *, missing: float = 0.0) -> list[Case]:
    """Return cases with binary outputs that err less and less often, some outputs missing."""
    rng = np.random.default_rng(seed)
    errors = np.sort(rng.random(n_stages) * 0.6)[::-1]
    labels = rng.integers(2, size=n)
    outputs = labels[:, None] ^ (rng.random((n, n_stages)) < errors)
    gaps = rng.random((n, n_stages)) < missing
    contexts = np.column_stack([labels, outputs[:, 0]]) + rng.normal(size=(n, 2))
    return [
        Case(tuple(None if g else int(y) for y, g in zip(row, gap, strict=True)), int(y), tuple(x))
        for row, gap, y, x in zip(outputs, gaps, labels, contexts.tolist(), strict=True)
    ]


class PolicyContract:
    """What holds for every policy; ``make`` is a function from a cascade to a new one."""

    def test_asks_are_stages(self, make: Make) -> None:
        for cascade in (CHAIN, LONG):
            policy = make(cascade)
            stages = play(policy, draw_cases(cascade.n_stages, 200, 0))
            assert set(stages) <= set(range(cascade.n_stages))
            assert policy.n_rounds == 200

    def test_asking_changes_nothing_but_the_generator(self, make: Make) -> None:
        policy, cases = make(CHAIN), draw_cases(3, 90, 1)
        for part in (cases[:5], cases[5:80]):
            play(policy, part)
            before = policy.to_state()
            for case in cases[80:]:
                ask(policy, case)
            _ = repr(policy), policy.n_rounds
            after = policy.to_state()
            assert {**after, "generator": 0} == {**before, "generator": 0}
            assert after == before or policy.draws

    def test_a_batch_is_its_cases_one_by_one(self, make: Make) -> None:
        rng = np.random.default_rng(4)
        one, listed, lazy, mapped = (make(LONG) for _ in range(4))
        cases = draw_cases(5, 150, rng, missing=0.1)
        told = [case.told(one, int(rng.integers(5))) for case in cases]
        told += [told[-1]] * 40
        for case in told:
            tell(one, case)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutputsWarning)  # of a last test that gave nothing
            listed.tell_many(told)
            lazy.tell_many(case for case in told)
            mapped.tell_many(told[:-41])
            mapped.tell_many({told[-1]: np.int64(41)})
        assert _counted(one) == _counted(listed) == _counted(lazy) == _counted(mapped)

    def test_a_batch_is_taken_whole_or_not_at_all(self, make: Make) -> None:
        policy, cases = make(CHAIN), draw_cases(3, 120, 6)
        play(policy, cases[:60])
        good, bad = cases[0].told(policy, 2), told_as(policy, (0, 1, 1, 0))

        def breaks_off() -> Iterator[Any]:
            yield good
            raise RuntimeError("the log ends here")

        other = twin(policy)
        batches = [[good, bad], [good, None], {good: 3, bad: 1}, {good: 0}, {good: True}, "ab", 7]
        for batch in batches:
            _refused(policy, OutputsError, lambda batch=batch: policy.tell_many(batch))
        _refused(policy, RuntimeError, lambda: policy.tell_many(breaks_off()))
        assert play(policy, cases[60:]) == play(other, cases[60:])

    def test_bad_outputs_are_refused_and_nothing_changes(self, make: Make) -> None:
        policy, cases = make(CHAIN), draw_cases(3, 130, 7)
        for part in (cases[:3], cases[3:70]):
            play(policy, part)
            sized = (np.zeros((2, 2)), np.zeros(0), np.array(3), np.array([0.0, np.nan]))
            plain = ((), (0, 1, 1, 0), "01", b"01", None, 2.5, object(), ([0], 1), (0, {1}))
            for bad in (*plain, *sized, (float("nan"), 1)):
                case = told_as(policy, bad)
                _refused(policy, OutputsError, lambda case=case: tell(policy, case))
                _refused(policy, OutputsError, lambda case=case: policy.tell_many([case]))
        assert play(twin(policy), cases[70:]) == play(policy, cases[70:])

    def test_nothing_is_ever_shown(self, make: Make) -> None:
        policy = make(CHAIN)
        play(policy, [Case((None, None, None), 1)] * 80)
        assert policy.n_rounds == twin(policy).n_rounds == 80

    def test_a_saved_policy_goes_on_as_if_nothing_had_happened(self, make: Make) -> None:
        cases, policy = draw_cases(3, 160, 11, missing=0.15), make(CHAIN)
        start = 0
        for n in (0, 1, 37, 110):
            play(policy, cases[start:n])
            start, again = n, twin(policy)
            assert type(again) is type(policy)
            assert repr(again) == repr(policy)
            assert again.to_state() == policy.to_state()
            assert play(again, cases[n:]) == play(copy.deepcopy(policy), cases[n:])

    def test_a_state_is_apart_from_its_policy(self, make: Make) -> None:
        policy = make(CHAIN)
        play(policy, draw_cases(3, 50, 12))
        state = policy.to_state()
        before, again = copy.deepcopy(state), policy_from_state(state, classes=(type(policy),))
        play(policy, draw_cases(3, 30, 13))
        play(again, draw_cases(3, 30, 14))
        assert state == before

    def test_a_damaged_state_is_refused(self, make: Make) -> None:
        policy = make(CHAIN)
        play(policy, draw_cases(3, 50, 15))
        state, classes = policy.to_state(), (type(policy),)
        damages: list[dict[str, Any]] = []
        values: list[Any] = [None, [], "much", -1, True]
        for name in ("policy", "version", "cascade", "settings", "statistics"):
            damages.append({k: v for k, v in state.items() if k != name})
            damages += [{**state, name: value} for value in values]
        damages += [{**state, "colour": 1}, {**state, "settings": {"colour": "red"}}]
        damages += [{**state, "version": 3}, {**state, "cascade": Cascade([0.0, 1.0]).to_state()}]
        for damaged in damages:
            _refused(policy, StateError, lambda d=damaged: policy_from_state(d, classes=classes))

    def test_merged_policies_know_what_both_know(self, make: Make) -> None:
        one, other, both = make(LONG), make(LONG), make(LONG)
        if one.merge_refusal:
            assert one.merge_refusal in _refused(one, SettingError, lambda: one.merge(other))
            return
        cases, all_told = draw_cases(5, 260, 3, missing=0.05), []
        for policy, part in ((one, cases[:90]), (other, cases[90:200])):
            for case in part:
                all_told.append(case.told(policy, ask(policy, case)))
                tell(policy, all_told[-1])
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OutputsWarning)
            both.tell_many(all_told)
        before = one.to_state(), other.to_state()
        merged = one.merge(other)
        assert (one.to_state(), other.to_state()) == before
        assert merged.n_rounds == 200
        assert _counted(merged)["statistics"] == _counted(both)["statistics"]
        worker = merged.fork()
        tell(worker, cases[0].told(worker, 0))
        assert merged.merge(twin(worker)).n_rounds == 201
        for policy in (merged, both):
            policy.reseed(2)
        assert play(merged, cases[200:]) == play(both, cases[200:])
        for stranger in (make(CHAIN), None):
            _refused(one, SettingError, lambda stranger=stranger: one.merge(stranger))

    def test_the_order_of_cases_does_not_matter_where_policies_merge(self, make: Make) -> None:
        one, other = make(LONG), make(LONG)
        if one.merge_refusal:
            return
        rng = np.random.default_rng(5)
        cases = draw_cases(5, 60, rng, missing=0.1)
        told = [case.told(one, int(rng.integers(5))) for case in cases]
        for k, turn in enumerate(rng.permutation(60).tolist()):
            tell(one, told[k])
            tell(other, told[turn])
        assert _counted(one)["statistics"] == _counted(other)["statistics"]

    def test_a_cascade_of_one_test(self, make: Make) -> None:
        policy = make(Cascade([0.3]))
        assert set(play(policy, draw_cases(1, 60, 18))) == {0}
        assert ask(twin(policy), Case((1,), 1, (0.0, 1.0))) == 0

    def test_settings_are_public_and_read_only(self, make: Make) -> None:
        policy = make(CHAIN)
        assert policy.cascade is CHAIN
        for name in policy.settings:
            assert f"{name}={getattr(policy, name)!r}" in repr(policy)
        for name in ("cascade", *policy.settings):
            _refused(policy, AttributeError, lambda name=name: setattr(policy, name, 1))


def _counted(policy: Any) -> dict[str, Any]:
    """Return the state without what depends on when the policy was asked or fitted."""
    return {k: v for k, v in policy.to_state().items() if k not in ("generator", "since_fit")}


def _refused(policy: Any, error: type[Exception], act: Callable[..., Any]) -> str:
    """Assert that ``act`` raises ``error`` and leaves the policy as it was; return the message."""
    before, message = policy.to_state(), None
    try:
        act()
    except error as refusal:
        message = str(refusal)
    assert message is not None, f"{error.__name__} was not raised"
    assert policy.to_state() == before
    return message
