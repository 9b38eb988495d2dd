"""A stage that breaks, and alarms in several processes and without the store."""

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

import stopwise as sw
from stopwise.monitor import Alarm, AlarmKind
from stopwise.runtime import Stage
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, bit_runtime, fixed, run


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
        runtime = bit_runtime(
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
                result = await runtime.run(case)
                deep += len(result.outputs) == len(rates) and result.outputs[-1] is not None
            await runtime.background.wait()
            return deep / n

        async def story():
            assert await play(1500) > 0.5
            broken[0] = True
            await play(2000)
            return await play(500)

        assert asyncio.run(story()) <= 0.1
        assert alarms[0].kind is kind
        assert runtime.engine.distrusted == {last}
        assert runtime.worker.store.records("alarm", "test")
        runtime.trust(f"s{last}")
        assert not runtime.engine.distrusted


BROKEN = Alarm(AlarmKind.ODD_ONE_OUT, 60.0, 0.0, 2, 0, 0.1, 0.9, 40)


class TestAlarms:
    def test_user_code_that_fails_on_an_alarm_is_logged(self, caplog):
        def fail(alarm):
            raise ZeroDivisionError

        runtime = bit_runtime(on_alarm=fail)
        runtime.alarm_handler.handle(BROKEN)
        assert "test: on_alarm failed" in caplog.text

    def test_an_alarm_may_change_prices_while_another_thread_does(self):
        runtime = bit_runtime(on_alarm=lambda alarm: runtime.set_mistake_cost(20))

        def raise_alarm():
            with runtime.learning.lock:  # as where a case is counted
                runtime.alarm_handler.handle(BROKEN)

        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(raise_alarm) for _ in range(10)]
            jobs += [pool.submit(work) for work in (runtime.sync, runtime.follow_owner) * 10]
            for job in jobs:
                job.result(30)
        assert runtime.cascade.mistake_cost == 20

    def test_an_alarm_outlives_the_process(self, url):
        with bit_runtime(store=url) as first:
            first.alarm_handler.handle(BROKEN)
        with bit_runtime(store=url) as second, bit_runtime(store=url) as third:
            assert second.engine.distrusted == third.engine.distrusted == {2}
            second.trust("bit 2")
            third.sync()
            assert third.engine.distrusted == set(), "other workers follow"
        with bit_runtime(store=url) as fourth:
            assert fourth.engine.distrusted == set()

    def test_an_alarm_reaches_other_workers_once(self, url):
        first, second = bit_runtime(store=url), bit_runtime(store=url)
        for runtime, outputs in ((first, (0, 0, 1)), (second, (1, 1, 0))):
            runtime.tell(outputs, is_random=True)
            runtime.alarm_handler.handle(BROKEN)
            runtime.sync()
        assert first.learning.counts.worker.store.cascade("test").epoch == 1
        assert second.learning.policy.n_rounds == 2, "what the first one told is known too"
        third = bit_runtime(store=url)
        first.alarm_handler.handle(BROKEN)
        monitor = third.alarm_handler.monitor
        third.sync()
        assert third.engine.distrusted == {2}
        assert third.alarm_handler.monitor is not monitor
        for runtime in (first, second, third):
            runtime.close()

    def test_an_epoch_begins_with_what_all_workers_saw_since_the_change(self, url):
        now = [0.0]
        with (
            bit_runtime(store=url, clock=lambda: now[0]) as first,
            bit_runtime(store=url, clock=lambda: now[0]) as second,
        ):
            for seconds, outputs in ((10, (0, 0, 0)), (80, (0, 0, 0)), (90, (0, 0, 1))):
                now[0] = seconds
                first.tell(outputs, is_random=True)
                second.tell(outputs, is_random=True)
            first.alarm_handler.handle(replace(BROKEN, since=20.0))
            second.tell((0, 1, 1), is_random=True)  # it does not know yet
            second.sync()
            second.tell((1, 1, 1), is_random=True)
            for runtime in (first, second, first):
                runtime.sync()
            for runtime in (first, second):
                assert runtime.learning.patterns() == {(0, 0, 1): 2, (0, 1, 1): 1, (1, 1, 1): 1}
                assert runtime.learning.policy.n_rounds == 4

    def test_without_the_store_an_alarm_waits_and_no_case_is_lost(self, monkeypatch, caplog):
        runtime = bit_runtime()
        runtime.tell((0, 1, 1), is_random=True)
        with monkeypatch.context() as patch:
            for name in ("open_epoch", "put", "get"):
                patch.setattr(runtime.worker.store, name, unavailable)
            runtime.alarm_handler.handle(BROKEN)
            assert runtime.engine.distrusted == {2}
            assert runtime.learning.counts.epoch == 0
        runtime.sync()
        assert runtime.learning.counts.epoch == 1

    def test_a_stage_that_broke_between_two_processes_is_noticed(self, url):
        rng, now, flip = random.Random(0), [0.0], [0]
        alarms = []

        async def last(case):
            return (case & 1) ^ flip[0]

        def run_process(n_cases):
            def cases():
                for _ in range(n_cases):
                    now[0] += 1.0
                    yield 3 * rng.getrandbits(1) ^ (rng.random() < 0.1)

            runtime = bit_runtime(
                stages=[bit(0), bit(1), Stage(last, cost=1, name="last")],
                policy=fixed(2),
                store=url,
                clock=lambda: now[0],
                on_alarm=alarms.append,
            )
            run(runtime, cases())

        run_process(300)
        assert alarms == []
        now[0] += 86_400.0
        flip[0] = 1
        run_process(100)
        assert [(alarm.kind, alarm.stage) for alarm in alarms] == [(AlarmKind.ODD_ONE_OUT, 2)]

    def test_what_each_process_saw_is_kept_beside_that_of_others(self, url):
        def known():
            with bit_runtime(store=url) as runtime:
                return runtime.alarm_handler.monitor.recent()

        idle = bit_runtime(store=url)
        for outputs in ((0, 0, 1), (0, 1, 1)):
            with bit_runtime(store=url) as runtime:
                runtime.tell(outputs, is_random=True)
        idle.close()
        assert known() == known() == {(0, 0, 1): 1, (0, 1, 1): 1}

    def test_while_frozen_alarms_are_raised_and_change_nothing(self):
        alarms = []
        runtime = bit_runtime(on_alarm=alarms.append)
        runtime.freeze()
        runtime.alarm_handler.handle(BROKEN)
        assert alarms == [BROKEN]
        assert not runtime.engine.distrusted
        assert runtime.learning.counts.epoch == 0

    def test_spending_is_watched_while_frozen(self):
        alarms = []
        settings = sw.monitor.MonitorSettings(daily_budget=2.5)
        runtime = bit_runtime(policy=fixed(2), monitor=settings, on_alarm=alarms.append)
        runtime.freeze()
        run(runtime, [1])
        assert [alarm.kind for alarm in alarms] == [AlarmKind.BUDGET]
        assert runtime.learning.patterns() == {}
