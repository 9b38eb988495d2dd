"""A stage that breaks, and alarms in several processes and without the store."""

import asyncio
import random

import numpy as np
import pytest

import stopwise as sw
from stopwise.monitor import Alarm, AlarmKind
from stopwise.runtime import Stage
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, fixed, run, runtime


class TestABrokenStage:
    @pytest.mark.parametrize(
        ("rates", "kind"),
        [((0.25, 0.15, 0.02), AlarmKind.ODD_ONE_OUT), ((0.2, 0.03), AlarmKind.CHANGED)],
    )
    def test_a_broken_last_stage_gets_exploration_only(self, rates, kind):
        """It begins to say the opposite after 1,500 cases; what counts is the traffic it gets."""
        last = len(rates) - 1
        rng = np.random.default_rng(0)
        now, broken = [0.0], [False]

        def stage(k, rate):
            async def call(case):
                label, noise = case
                wrong = noise[k] < rate
                return label ^ int(wrong) ^ int(broken[0] and k == last)

            return Stage(call, cost=k, name=f"s{k}")

        alarms = []
        made = runtime(
            stages=[stage(k, rate) for k, rate in enumerate(rates)],
            mistake_cost=100,
            shadow=0.01,
            clock=lambda: now[0],
            on_alarm=alarms.append,
        )

        async def play(n):
            deep = 0
            for _ in range(n):
                now[0] += 1.0
                case = (int(rng.integers(0, 2)), rng.random(3))
                result = await made.run(case)
                deep += len(result.outputs) == len(rates) and result.outputs[-1] is not None
            await made.background.wait()
            return deep / n

        async def story():
            assert await play(1500) > 0.5
            broken[0] = True
            await play(2000)
            return await play(500)

        assert asyncio.run(story()) <= 0.1
        assert alarms[0].kind is kind
        assert made.engine.distrusted == {last}
        assert made.worker.store.records("alarm", "test")
        made.trust(f"s{last}")
        assert not made.engine.distrusted


BROKEN = Alarm(AlarmKind.ODD_ONE_OUT, 60.0, 0.0, 2, 0, 0.1, 0.9, 40)


class TestAlarms:
    def test_user_code_that_fails_on_an_alarm_is_logged(self, caplog):
        def breaks(alarm):
            raise ZeroDivisionError

        made = runtime(on_alarm=breaks)
        made.alarm_handler.handle(BROKEN)
        assert "test: on_alarm failed" in caplog.text

    def test_an_alarm_outlives_the_process(self, tmp_path):
        url = f"sqlite:///{tmp_path / 'triage.db'}"
        first = runtime(store=url)
        first.alarm_handler.handle(BROKEN)
        first.close()
        second = runtime(store=url)
        fourth = runtime(store=url)
        assert second.engine.distrusted == fourth.engine.distrusted == {2}
        second.trust("bit 2")
        fourth.sync()
        assert fourth.engine.distrusted == set(), "other workers follow"
        fourth.close()
        second.close()
        third = runtime(store=url)
        assert third.engine.distrusted == set()
        third.close()

    def test_an_alarm_reaches_other_workers_once(self, tmp_path):
        url = f"sqlite:///{tmp_path / 'triage.db'}"
        first, second = runtime(store=url), runtime(store=url)
        for made, outputs in ((first, (0, 0, 1)), (second, (1, 1, 0))):
            made.tell(outputs, is_random=True)
            made.alarm_handler.handle(BROKEN)
            made.sync()
        assert first.learning.counts.worker.store.cascade("test").epoch == 1
        assert second.learning.policy.n_rounds == 2, "what the first one told is known too"
        third = runtime(store=url)
        first.alarm_handler.handle(BROKEN)
        watched = third.alarm_handler.monitor
        third.sync()
        assert third.engine.distrusted == {2}
        assert third.alarm_handler.monitor is not watched
        for made in (first, second, third):
            made.close()

    def test_without_the_store_an_alarm_waits_and_no_case_is_lost(self, monkeypatch, caplog):
        made = runtime()
        made.tell((0, 1, 1), is_random=True)
        with monkeypatch.context() as patch:
            for name in ("open_epoch", "put", "get"):
                patch.setattr(made.worker.store, name, unavailable)
            made.alarm_handler.handle(BROKEN)
            assert made.engine.distrusted == {2}
            assert made.learning.counts.epoch == 0
        made.sync()
        assert made.learning.counts.epoch == 1

    def test_a_stage_that_broke_between_two_processes_is_noticed(self, tmp_path):
        rng, now, flip = random.Random(0), [0.0], [0]
        alarms = []

        async def last(case):
            return (case & 1) ^ flip[0]

        def opened():
            return runtime(
                stages=[bit(0), bit(1), Stage(last, cost=1, name="last")],
                policy=fixed(2),
                store=f"sqlite:///{tmp_path / 'triage.db'}",
                clock=lambda: now[0],
                on_alarm=alarms.append,
            )

        def cases(n):
            for _ in range(n):
                now[0] += 1.0
                yield 3 * rng.getrandbits(1) ^ (rng.random() < 0.1)

        run(opened(), cases(300))
        assert alarms == []
        now[0] += 86_400.0
        flip[0] = 1
        run(opened(), cases(100))
        assert [(alarm.kind, alarm.stage) for alarm in alarms] == [(AlarmKind.ODD_ONE_OUT, 2)]

    def test_while_frozen_alarms_are_raised_and_change_nothing(self):
        alarms = []
        made = runtime(on_alarm=alarms.append)
        made.freeze()
        made.alarm_handler.handle(BROKEN)
        assert alarms == [BROKEN]
        assert not made.engine.distrusted
        assert made.learning.counts.epoch == 0

    def test_spending_is_watched_while_frozen(self):
        alarms = []
        settings = sw.monitor.MonitorSettings(daily_budget=2.5)
        made = runtime(policy=fixed(2), monitor=settings, on_alarm=alarms.append)
        made.freeze()
        run(made, [1])
        assert [alarm.kind for alarm in alarms] == [AlarmKind.BUDGET]
        assert made.learning.patterns() == {}
