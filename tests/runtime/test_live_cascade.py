"""Explanations, reports, stages that run elsewhere, and changes while a cascade runs."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import CascadeError, OutputsError, SettingError, StoreUnavailableError
from stopwise.runtime import Runtime, Stage
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, bit_runtime, echo, fixed, run


class TestExplanationsAndReports:
    def test_an_explanation_says_who_said_what_and_why_it_stopped(self):
        runtime = bit_runtime(policy=fixed(1))
        (result,) = run(runtime, [0b10])
        assert runtime.explain(result).splitlines() == [
            "The answer is 1: bit 0 said 0, bit 1 said 1. It cost 2.",
            "It stopped because going on to bit 2 cannot pay, or is not known to.",
        ]

    def test_the_report_is_the_audit_of_what_was_seen(self):
        runtime = bit_runtime(shadow=1.0)
        run(runtime, np.random.default_rng(0).integers(0, 8, 300).tolist())
        assert runtime.report().facts.table.n_cases == 300

    def test_a_log_is_a_start(self, tmp_path, url):
        path = tmp_path / "log.csv"
        path.write_text("bit 0,bit 1,bit 2\n" + "0,0,1\n" * 5 + "1,,\n" * 3)
        settings = {"stages": [bit(k) for k in range(3)], "policy": "resolve", "store": url}
        for _ in range(2):  # a second start does not count the log again
            with Runtime.from_log(path, "warm", **settings) as runtime:
                assert sorted(runtime.learning.patterns().values()) == [3, 5]
                assert runtime.learning.policy.n_rounds == 8


class TestStagesElsewhere:
    """Stages that run in other programs: ask how far to go, tell what was seen."""

    def test_a_stage_before_the_case(self):
        runtime = bit_runtime(policy=fixed(1))
        assert runtime.ask() == 1
        runtime.tell((0, 1), is_random=True)
        assert runtime.learning.patterns() == {(0, 1): 1}

    def test_a_look_after_each_output(self):
        runtime = bit_runtime(policy="beliefs")
        assert runtime.ask() == 0
        assert runtime.ask([0]) == 1
        assert runtime.ask([0, 0, 0]) == 2

    def test_a_stage_out_of_service_is_left_out(self):
        runtime = bit_runtime(policy=fixed(2))
        runtime.engine.distrusted = frozenset({2})
        assert runtime.ask() == 1

    def test_frozen_beliefs_do_not_explore(self):
        runtime = bit_runtime(policy="beliefs")
        rows = {(0, 0, 0): 500, (1, 1, 1): 500, (0, 1, 1): 20, (1, 1, 0): 10, (0, 0, 1): 10}
        runtime.learning.tell_many(rows)
        runtime.freeze()
        assert len({runtime.ask([0]) for _ in range(200)}) == 1


class TestTells:
    def test_nothing_is_learned_while_frozen(self):
        runtime = bit_runtime(policy="beliefs")
        runtime.tell((0, 1))
        runtime.freeze()
        policy = runtime.learning.policy
        assert not runtime.tell((0, 1))
        assert not runtime.tell((0, 1), key="a")
        runtime.learning.label("b", (0, 1), 1, epoch=0)
        assert runtime.learning.patterns() == {(0, 1): 1}
        assert (policy.n_rounds, runtime.learning.policy.n_labels) == (1, 0)
        assert len(runtime.recent) == 3, "the monitor sees all cases"
        runtime.freeze(frozen=False)
        assert runtime.learning.policy.n_labels == 1
        assert runtime.tell((0, 1), key="a")

    def test_a_key_is_counted_once(self):
        runtime = bit_runtime()
        assert runtime.tell((0, 1), key="a")
        assert not runtime.tell((0, 1), key="a")
        assert runtime.learning.policy.n_rounds == 1
        with pytest.raises(OutputsError, match="'a' was told before with other outputs"):
            runtime.tell((0, 0), key="a")

    @pytest.mark.parametrize("key", [5, 1.5, True, b"a", ""])
    def test_a_key_that_is_no_text_is_refused(self, key):
        """Databases gave 5 back as "5": the case was taken for a repetition and not counted."""
        runtime = bit_runtime()
        with pytest.raises(SettingError, match="key must"):
            runtime.tell((0, 1), key=key)
        assert runtime.tell((0, 1), key="5")

    def test_a_key_may_be_amended(self):
        runtime = bit_runtime()
        runtime.tell((0,), key="a")
        assert runtime.tell((0, 1), key="a", amend=True)
        assert not runtime.tell((0, 1), key="a", amend=True)
        assert runtime.learning.patterns() == {(0, 1): 1}
        assert runtime.learning.policy.counts.n_seen[0, 1] == runtime.learning.policy.n_rounds == 1

    @pytest.mark.parametrize("outputs", [(), (0, 1, 1, 0), "ab", ([1], 2)])
    def test_outputs_that_cannot_be(self, outputs):
        runtime = bit_runtime()
        with pytest.raises(OutputsError, match="output"):
            runtime.tell(outputs)


class TestChanges:
    def test_a_price_that_is_none_changes_nothing(self):
        runtime = bit_runtime()
        with pytest.raises(
            CascadeError, match=r"costs must be >= 0 and finite, got -5 at stage 2 \('bit 1'\)"
        ):
            runtime.set_costs([0, -5, 7])
        assert runtime.cascade.prices == (1, 1, 1)

    def test_what_the_owner_changes_holds_in_every_process(self, url):
        """In one that runs and in one that starts; not in one whose program has other prices."""

        def now(runtime):
            cascade = runtime.learning.policy.cascade
            return cascade.prices, cascade.mistake_cost, runtime.learning.is_frozen

        with bit_runtime(store=url) as first, bit_runtime(store=url) as second:
            first.tell((0, 1))
            first.set_costs([0, 5, 7])
            first.set_mistake_cost(100)
            first.freeze()
            second.sync()
            assert now(second) == now(first) == ((0, 5, 7), 100, True)
            assert first.learning.policy.n_rounds == 1, "what was seen stays"
            second.freeze(frozen=False)
            first.sync()
            assert now(first) == ((0, 5, 7), 100, False)
            second.freeze()
        with bit_runtime(store=url) as third:
            assert now(third) == ((0, 5, 7), 100, True)
        with bit_runtime(store=url, mistake_cost=30) as other:
            assert now(other) == ((1, 1, 1), 30, True)
            other.remove_stage(0)
        with bit_runtime(store=url, mistake_cost=30) as again:
            assert now(again) == ((1, 1, 1), 30, True)

    def test_a_change_undoes_no_change_of_another_process(self, url):
        """Neither process has read what the other one changed."""
        with bit_runtime(store=url) as first, bit_runtime(store=url) as second:
            first.set_costs([0, 5, 7])
            second.set_mistake_cost(100)
            first.freeze()
            second.set_costs([0, 5, 9])
            first.sync()
            for runtime in (first, second):
                cascade = runtime.learning.policy.cascade
                assert (cascade.prices, cascade.mistake_cost) == ((0, 5, 9), 100)
                assert runtime.learning.is_frozen
            record = first.worker.store.cascade("test")
            assert record.description["mistake_cost"] == 100

    def test_every_change_is_an_event_with_a_version(self):
        runtime = bit_runtime()
        runtime.set_mistake_cost(20)
        runtime.remove_stage(2)
        records = runtime.worker.store.records("event", "test")
        assert [(record.body["version"], record.body["what"]) for record in records] == [
            (1, "started"),
            (2, "mistake cost changed"),
            (3, "stage removed"),
        ]

    def test_decisions_use_the_mean_of_costs_by_call_and_totals_the_true_cost(self):
        stages = [Stage(echo, cost=len, name="by token"), bit(0)]
        runtime = bit_runtime(stages=stages, policy=sw.FixedStage(sw.Cascade([0, 1], 10), stage=0))
        results = run(runtime, ["a", "abc"])
        assert [result.cost for result in results] == [1, 3]
        assert runtime.cascade.prices[0] == 2.0

    def test_a_price_does_not_close_a_circuit_breaker(self):
        runtime = bit_runtime()
        breaker = runtime.engine.stages.callers[1].breaker
        runtime.set_costs([1, 2, 3])
        assert runtime.engine.stages.callers[1].breaker is breaker

    @pytest.mark.parametrize(
        ("change", "arguments"),
        [
            ("remove_stage", [1]),
            ("set_costs", [[5, 6, 7]]),
            ("set_mistake_cost", [99]),
            ("freeze", []),
            ("trust", [2]),
        ],
    )
    def test_nothing_changes_where_the_store_is_away(self, monkeypatch, change, arguments):
        runtime = bit_runtime()
        runtime.engine.distrusted = frozenset({2})
        monkeypatch.setattr(runtime.worker.store, "open_epoch", unavailable)
        monkeypatch.setattr(runtime.worker.store, "put_cascade", unavailable)
        before = runtime.cascade
        with pytest.raises(StoreUnavailableError):
            getattr(runtime, change)(*arguments)
        assert runtime.cascade == runtime.engine.stages.cascade(runtime.mistake_cost) == before
        assert not runtime.learning.is_frozen
        assert runtime.engine.distrusted == {2}
