"""Explanations, reports, stages that run elsewhere, and changes while a cascade runs."""

import asyncio

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import OutputsError, SettingError, StoreUnavailableError
from stopwise.runtime import Runtime, Stage
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, fixed, run, runtime


class TestExplanationsAndReports:
    def test_an_explanation_says_who_said_what_and_why_it_stopped(self):
        made = runtime(policy=fixed(1))
        (result,) = run(made, [0b10])
        assert made.explain(result).splitlines() == [
            "The answer is 1: bit 0 said 0, bit 1 said 1. It cost 2.",
            "It stopped because going on to bit 2 cannot pay, or is not known to.",
        ]

    def test_the_report_is_the_audit_of_what_was_seen(self):
        made = runtime(shadow=1.0)
        run(made, np.random.default_rng(0).integers(0, 8, 300).tolist())
        assert made.report().facts.table.n_cases == 300

    def test_a_log_is_a_start(self, tmp_path):
        path = tmp_path / "log.csv"
        path.write_text("bit 0,bit 1,bit 2\n" + "0,0,1\n" * 5 + "1,,\n" * 3)
        for _ in range(2):  # a second start does not count the log again
            made = Runtime.from_log(
                path,
                "warm",
                stages=[bit(k) for k in range(3)],
                policy="resolve",
                store=f"sqlite:///{tmp_path / 'warm.db'}",
            )
            assert sorted(made.learning.patterns().values()) == [3, 5]
            assert made.learning.policy.n_rounds == 8
            made.close()


class TestStagesElsewhere:
    """Stages that run in other programs: ask how far to go, tell what was seen."""

    def test_a_stage_before_the_case(self):
        made = runtime(policy=fixed(1))
        assert made.ask() == 1
        made.tell((0, 1), is_random=True)
        assert made.learning.patterns() == {(0, 1): 1}

    def test_a_look_after_each_output(self):
        made = runtime(policy="beliefs")
        assert made.ask() == 0
        assert made.ask([0]) == 1
        assert made.ask([0, 0, 0]) == 2

    def test_a_stage_out_of_service_is_left_out(self):
        made = runtime(policy=fixed(2))
        made.engine.distrusted = frozenset({2})
        assert made.ask() == 1

    def test_frozen_beliefs_do_not_explore(self):
        made = runtime(policy="beliefs")
        rows = {(0, 0, 0): 500, (1, 1, 1): 500, (0, 1, 1): 20, (1, 1, 0): 10, (0, 0, 1): 10}
        made.learning.tell_many(rows)
        made.freeze()
        decided = {made.ask([0]) for _ in range(200)}
        assert len(decided) == 1


class TestTells:
    def test_a_key_is_counted_once(self):
        made = runtime()
        assert made.tell((0, 1), key="a")
        assert not made.tell((0, 1), key="a")
        assert made.learning.policy.n_rounds == 1
        with pytest.raises(OutputsError, match="'a' was told before with other outputs"):
            made.tell((0, 0), key="a")

    @pytest.mark.parametrize("key", [5, 1.5, True, b"a", ""])
    def test_a_key_that_is_no_text_is_refused(self, key):
        """Databases gave 5 back as "5": the case was taken for a repetition and not counted."""
        made = runtime()
        with pytest.raises(SettingError, match="key must be a non-empty text"):
            made.tell((0, 1), key=key)
        assert made.tell((0, 1), key="5")

    def test_a_key_may_be_amended(self):
        made = runtime()
        made.tell((0,), key="a")
        assert made.tell((0, 1), key="a", amend=True)
        assert not made.tell((0, 1), key="a", amend=True)
        assert made.learning.patterns() == {(0, 1): 1}
        assert made.learning.policy.counts.n_seen[0, 1] == made.learning.policy.n_rounds == 1

    @pytest.mark.parametrize("outputs", [(), (0, 1, 1, 0), "ab", ([1], 2)])
    def test_outputs_that_cannot_be(self, outputs):
        made = runtime()
        with pytest.raises(OutputsError, match="output"):
            made.tell(outputs)


class TestChanges:
    def test_a_price_that_is_none_changes_nothing(self):
        made = runtime()
        with pytest.raises(SettingError, match="cost of stage 'bit 1' must be >= 0"):
            made.set_costs([0, -5, 7])
        assert made.cascade.prices == (1, 1, 1)

    def test_a_replaced_stage_keeps_the_pairs_of_the_others(self):
        made = runtime()
        run(made, [0b000, 0b100])
        made.replace_stage("bit 1", Stage(lambda case: 1, cost=2, name="new"))
        counts = made.learning.policy.counts
        assert made.cascade.names == ("bit 0", "new", "bit 2")
        assert counts.n_seen[0, 2] == 2
        assert counts.n_seen[0, 1] == 0

    def test_a_stage_more_and_a_stage_less(self):
        made = runtime()
        run(made, [0b000, 0b111])
        made.add_stage(bit(5), before="bit 1")
        assert made.cascade.names == ("bit 0", "bit 5", "bit 1", "bit 2")
        assert made.learning.policy.counts.n_seen[0, 3] == 2
        made.remove_stage("bit 0")
        assert made.cascade.names == ("bit 5", "bit 1", "bit 2")
        assert made.learning.policy.counts.n_seen[1, 2] == 2

    def test_a_process_may_start_with_other_stages(self, tmp_path, caplog):
        def opened(*bits):
            url = f"sqlite:///{tmp_path / 'triage.db'}"
            return runtime(stages=[bit(k) for k in bits], store=url)

        with opened(0, 1, 2) as old:
            old.tell((0, 0, 0))
            old.tell((0, 0, 1))
            old.sync()
            with opened(2, 0) as new:
                assert new.learning.patterns() == {(0, 0): 1, (1, 0): 1}
                old.sync()
                assert old.run_sync(0b111).answer == 1
                assert "another process has changed the stages" in caplog.text
                with pytest.raises(SettingError, match="another process has changed the stages"):
                    old.set_mistake_cost(20)
                old.sync()
                new.sync()
                assert new.learning.policy.n_rounds == 2

    def test_what_the_owner_changes_holds_in_every_process(self, tmp_path):
        """In one that runs and in one that starts; not in one whose program has other prices."""

        def opened(mistake_cost=10):
            return runtime(store=f"sqlite:///{tmp_path / 'triage.db'}", mistake_cost=mistake_cost)

        def now(made):
            cascade = made.learning.policy.cascade
            return cascade.prices, cascade.mistake_cost, made.learning.is_frozen

        with opened() as first, opened() as second:
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
        with opened() as third:
            assert now(third) == ((0, 5, 7), 100, True)
        with opened(mistake_cost=30) as other:
            assert now(other) == ((1, 1, 1), 30, True)
            other.remove_stage(0)
        with opened(mistake_cost=30) as again:
            assert now(again) == ((1, 1, 1), 30, True)

    def test_every_change_is_an_event_with_a_version(self):
        made = runtime()
        made.set_mistake_cost(20)
        made.remove_stage(2)
        records = made.worker.store.records("event", "test")
        assert [r.body["what"] for r in records] == [
            "started",
            "mistake cost changed",
            "stage removed",
        ]
        assert [r.body["version"] for r in records] == [1, 2, 3]

    def test_a_case_that_began_before_a_change_of_stages_is_not_told(self):
        made = runtime()

        async def play():
            rule = made.learning.stopping_rule()
            outcomes = []
            await made.engine.run(3, rule, made.engine.stages.callers, outcomes)
            made.remove_stage(0)
            made._learn(outcomes, rule)

        asyncio.run(play())
        assert made.learning.patterns() == {}

    def test_frozen_means_no_learning(self):
        made = runtime()
        asyncio.run(made.run(1))
        made.freeze()
        asyncio.run(made.run(2))
        assert made.learning.policy.n_rounds == 1


class TestCostsByCall:
    def test_decisions_use_the_mean_and_totals_the_true_cost(self):
        async def said(case):
            return case

        stages = [Stage(said, cost=len, name="by token"), bit(0)]
        made = runtime(stages=stages, policy=sw.FixedStage(sw.Cascade([0, 1], 10), stage=0))
        results = run(made, ["a", "abc"])
        assert [result.cost for result in results] == [1, 3]
        assert made.cascade.prices[0] == 2.0


class TestChangesUnderWay:
    def test_a_case_goes_on_with_the_stages_it_began_with(self):
        started = asyncio.Event()

        async def slow(case):
            started.set()
            await asyncio.sleep(0.02)
            return 5

        made = runtime(stages=[Stage(slow, name="slow", cost=1), bit(1), bit(2)], policy=fixed(2))

        async def play():
            async with made:
                task = asyncio.create_task(made.run(0b110))
                await started.wait()
                made.remove_stage(2)
                return await task

        made.learning._make = lambda cascade: sw.FixedStage(cascade, stage=cascade.n_stages - 1)
        assert asyncio.run(play()).outputs == (5, 1, 1)
        assert made.learning.patterns() == {}

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
        made = runtime()
        made.engine.distrusted = frozenset({2})
        monkeypatch.setattr(made.worker.store, "open_epoch", unavailable)
        monkeypatch.setattr(made.worker.store, "put_cascade", unavailable)
        before = made.cascade
        with pytest.raises(StoreUnavailableError):
            getattr(made, change)(*arguments)
        assert made.cascade == made.engine.stages.cascade(made.mistake_cost) == before
        assert not made.learning.is_frozen
        assert made.engine.distrusted == {2}
