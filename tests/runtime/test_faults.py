"""What must not go wrong: cancelled cases, user code that fails, closing, several event loops."""

import asyncio
import logging
import random
import threading
import time

import pytest

import stopwise as sw
from stopwise.errors import OutputsError, SettingError, StageError, StoreUnavailableError
from stopwise.monitor import Alarm, AlarmKind
from stopwise.runtime import LabelSettings, Runtime, Stage
from stopwise.runtime.calling import Caller
from stopwise.runtime.comparing import as_it_is
from tests.runtime.test_runtime import bit, fixed, run, runtime

BROKEN = Alarm(AlarmKind.ODD_ONE_OUT, 60.0, 0.0, 2, 0, 0.1, 0.9, 40)


def away(*args, **settings):
    raise StoreUnavailableError("away")


async def cancelled(work, after=0.02):
    task = asyncio.create_task(work)
    await asyncio.sleep(after)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


class TestCalls:
    def test_a_probe_that_is_cancelled_while_it_waits_leaves_room_for_another(self):
        now, calls = [0.0], []

        async def down(case):
            calls.append(case)
            raise ConnectionError

        stage = Stage(down, retries=1, backoff=60, breaker_failures=1, breaker_cooldown=10)
        caller = Caller(stage, as_it_is, lambda: now[0])

        async def play():
            caller.breaker.failed()
            now[0] = 10.0
            await cancelled(caller("probe"))
            await cancelled(caller("again"))

        asyncio.run(play())
        assert calls == ["probe", "again"]

    def test_an_own_rule_for_retries_that_fails_names_the_stage(self):
        stage = Stage(lambda case: 1 / 0, retries=1, retry_if=lambda error: error.code, name="odd")
        with pytest.raises(StageError, match=r"retry_if of stage 'odd' failed: .*'code'"):
            asyncio.run(Caller(stage, as_it_is, time.monotonic)(1))

    def test_a_limit_is_on_calls_and_not_on_the_cases_of_a_batch(self):
        sizes = []

        def double(cases):
            sizes.append(len(cases))
            return cases

        stage = Stage(double, batch=True, max_batch=10, max_wait=0.05, concurrency=1)

        async def play():
            caller = Caller(stage, as_it_is, time.monotonic)
            await asyncio.gather(*map(caller, range(20)))

        asyncio.run(play())
        assert sizes == [10, 10]

    def test_a_batch_that_is_cancelled_ends_its_cases(self):
        async def gives_up(cases):
            raise asyncio.CancelledError

        async def play():
            caller = Caller(Stage(gives_up, batch=True), as_it_is, time.monotonic)
            with pytest.raises(asyncio.CancelledError):
                await asyncio.wait_for(caller(1), 5)

        asyncio.run(play())

    def test_a_price_does_not_close_a_circuit_breaker(self):
        made = runtime()
        breaker = made.engine.stages.callers[1].breaker
        made.set_costs([1, 2, 3])
        assert made.engine.stages.callers[1].breaker is breaker

    def test_an_error_of_user_code_among_stages_that_run_ahead(self):
        done = []

        async def slow(case):
            await asyncio.sleep(0.02)
            done.append(case)
            return 1

        stages = [
            Stage(slow, cost=1, name="slow"),
            Stage(lambda case: 1, cost=lambda said: 1 / 0, inline=True, name="odd"),
        ]
        made = runtime(stages=stages, policy=fixed(1, 2), speculate=0)
        with pytest.raises(StageError, match="'odd' cannot be used: division by zero"):
            run(made, [7])
        assert done == [7]
        assert made.learning.patterns() == {(1,): 1}


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
        monkeypatch.setattr(made.worker.store, "open_epoch", away)
        monkeypatch.setattr(made.worker.store, "put_cascade", away)
        before = made.cascade
        with pytest.raises(StoreUnavailableError):
            getattr(made, change)(*arguments)
        assert made.cascade == made.engine.stages.cascade(made.mistake_cost) == before
        assert not made.learning.is_frozen
        assert made.engine.distrusted == {2}


class TestClosing:
    def test_cases_under_way_are_waited_for(self):
        async def slow(case):
            await asyncio.sleep(0.05)
            return case

        made = runtime(stages=[Stage(slow, cost=1)], policy=fixed(0, 1))

        async def play():
            task = asyncio.create_task(made.run(1))
            await asyncio.sleep(0.01)
            await made.aclose()
            return await task

        assert asyncio.run(play()).answer == 1
        assert made.learning.patterns() == {(1,): 1}
        assert made.n_not_counted == 0

    def test_a_closed_runtime_says_so_and_closes_again(self):
        made = runtime()
        run(made, [1])
        with pytest.raises(SettingError, match="runtime 'test' must be open, but it is closed"):
            asyncio.run(made.run(1))
        made.close()
        asyncio.run(made.aclose())

    def test_shadow_cases_of_another_event_loop_are_waited_for(self):
        async def slow(case):
            await asyncio.sleep(0.1)
            return case

        made = runtime(stages=[bit(0), Stage(slow, cost=1)], policy=fixed(0, 2), shadow=1.0)

        async def play():
            await made.run(1)
            await asyncio.to_thread(made.close)

        asyncio.run(play())
        assert made.learning.patterns() == {(1, 1): 1}

    def test_the_thread_of_run_sync_ends_with_the_runtime(self):
        made = runtime()
        made.run_sync(1)
        asyncio.run(made.aclose())
        assert "stopwise-runtime" not in {thread.name for thread in threading.enumerate()}

    def test_a_stage_that_waits_for_its_own_runtime_is_told_so(self):
        async def calls_itself(case):
            return made.run_sync(case).answer

        made = runtime(stages=[Stage(calls_itself)], policy=fixed(0, 1))
        with made, pytest.raises(StageError, match="must not wait for its own runtime"):
            made.run_sync(1)

    def test_a_shadow_case_cut_short_is_not_taken_for_a_random_one(self, monkeypatch):
        async def hangs(case):
            await asyncio.sleep(60)

        made = runtime(stages=[bit(0), bit(1), Stage(hangs)], policy=fixed(1), shadow=1.0)
        seen = []
        monkeypatch.setattr(
            made, "_learn", lambda outcomes, course, is_shadow=False: seen.append(is_shadow)
        )

        async def play():
            await made.run(1)
            await asyncio.sleep(0.02)

        asyncio.run(play())  # its end cancels the shadow case
        assert seen == [False]


class TestAlarms:
    def test_user_code_that_fails_on_an_alarm_is_logged(self, caplog):
        def breaks(alarm):
            raise ZeroDivisionError

        made = runtime(on_alarm=breaks)
        made.watching._react(BROKEN)
        assert "test: on_alarm failed" in caplog.text

    def test_an_alarm_outlives_the_process(self, tmp_path):
        url = f"sqlite:///{tmp_path / 'triage.db'}"
        first = runtime(store=url)
        first.watching._react(BROKEN)
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
            made.watching._react(BROKEN)
            made.sync()
        assert first.learning.counts.worker.store.cascade("test").epoch == 1
        assert second.learning.policy.n_rounds == 2, "what the first one told is known too"
        third = runtime(store=url)
        first.watching._react(BROKEN)
        watched = third.watching.monitor
        third.sync()
        assert third.engine.distrusted == {2}
        assert third.watching.monitor is not watched
        for made in (first, second, third):
            made.close()

    def test_without_the_store_an_alarm_waits_and_no_case_is_lost(self, monkeypatch, caplog):
        made = runtime()
        made.tell((0, 1, 1), is_random=True)
        with monkeypatch.context() as patch:
            for name in ("open_epoch", "put", "get"):
                patch.setattr(made.worker.store, name, away)
            made.watching._react(BROKEN)
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
        made.watching._react(BROKEN)
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


class TestLabels:
    def made(self, **labels):
        settings = LabelSettings(**labels)
        return runtime(policy="beliefs", labels=settings, shadow=1.0)

    def test_labels_are_not_bought_for_a_policy_that_ignores_them(self):
        with pytest.raises(SettingError, match="learns nothing from them"):
            runtime(policy="resolve", labels=LabelSettings(buy_label=len, budget=1))

    def test_labels_of_an_earlier_epoch_say_nothing_of_the_present_one(self):
        made = self.made(keep=10)
        run(made, [0b001] * 2, "ab")
        made.labels.add("a", 1)
        assert made.learning.policy.n_labels == 1
        made.replace_stage(1, bit(5))
        made.learning.tell_patterns({(1, 0, 0): 5})
        made.set_mistake_cost(20)
        assert made.learning.policy.n_labels == 0
        made.labels.add("b", 1)
        assert made.learning.policy.n_labels == 0
        assert made.labels.wanted(5) == []

    def test_a_label_that_was_not_delivered_is_not_paid_for(self, caplog):
        def fails(case):
            raise ConnectionError("nobody there")

        made = self.made(buy_label=fails, label_cost=0.01, budget=1)
        run(made, [0b001] * 20)
        assert made.labels.spent == 0
        assert "nobody there" in caplog.text

    def test_a_label_may_come_after_a_restart(self, tmp_path):
        def opened():
            url = f"sqlite:///{tmp_path / 'triage.db'}"
            return runtime(policy="beliefs", labels=LabelSettings(keep=2), shadow=1.0, store=url)

        run(opened(), [0b001] * 3, "abc")
        again = opened()
        kept = again.labels.wanted(5)
        assert [(case.case, case.outputs) for case in kept] == [(0b001, (1, 0, 0))] * 2
        with opened() as third:
            again.labels.add(kept[0].key, 1)
            third.labels.add(kept[1].key, 1)
        assert again.labels.wanted(5) == [], "another worker has its label"
        again.close()
        assert opened().learning.policy.n_labels == 2

    def test_many_labels_cost_few_fits(self):
        made = self.made(keep=30)
        run(made, [0b001] * 30, map(str, range(30)))
        rebuilt = made.learning._n_rebuilt
        for k in range(30):
            made.labels.add(f"{k}", 1)
        assert made.learning._n_rebuilt - rebuilt <= 21
        made.learning.rebuild(made.cascade)
        assert made.learning.policy.n_labels == 30

    def test_labels_are_known_while_the_store_is_away(self, monkeypatch, caplog):
        made = self.made(keep=10)
        run(made, [0b001], "a")
        made.labels.add("a", 1)
        monkeypatch.setattr(made.worker.store, "records", away)
        with caplog.at_level(logging.WARNING):
            made.learning.rebuild(made.cascade)
        assert made.learning.policy.n_labels == 1


class TestTells:
    def test_a_key_is_counted_once(self):
        made = runtime()
        assert made.tell((0, 1), key="a")
        assert not made.tell((0, 1), key="a")
        assert made.learning.policy.n_rounds == 1
        with pytest.raises(OutputsError, match="'a' was told before with other outputs"):
            made.tell((0, 0), key="a")

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


def test_several_event_loops_share_a_runtime():
    made = Runtime("test", stages=[bit(0), bit(1)], policy="beliefs", shadow=0.2, seed=0)

    def play():
        async def many():
            await asyncio.gather(*(made.run(k % 4) for k in range(50)))
            await asyncio.sleep(0.05)

        asyncio.run(many())

    threads = [threading.Thread(target=play) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made.close()
    assert sum(made.learning.patterns().values()) == 200
