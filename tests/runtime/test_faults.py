"""What must not go wrong: cancelled cases, user code that fails, closing, several event loops."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from stopwise.errors import SettingError, StageError
from stopwise.runtime import Runtime, Stage
from stopwise.runtime.caller import Caller
from stopwise.runtime.normalisers import plain_value
from tests.runtime.bit_cascade import bit, fixed, run, runtime


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
        caller = Caller(stage, plain_value, lambda: now[0])

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
            asyncio.run(Caller(stage, plain_value, time.monotonic)(1))

    def test_a_limit_is_on_calls_and_not_on_the_cases_of_a_batch(self):
        sizes = []

        def double(cases):
            sizes.append(len(cases))
            return cases

        stage = Stage(double, batch=True, max_batch=10, max_wait=0.05, concurrency=1)

        async def play():
            caller = Caller(stage, plain_value, time.monotonic)
            await asyncio.gather(*map(caller, range(20)))

        asyncio.run(play())
        assert sizes == [10, 10]

    def test_a_batch_that_is_cancelled_ends_its_cases(self):
        async def gives_up(cases):
            raise asyncio.CancelledError

        async def play():
            caller = Caller(Stage(gives_up, batch=True), plain_value, time.monotonic)
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
        with pytest.raises(
            StageError, match="'odd' cannot be used: ZeroDivisionError: division by zero"
        ):
            run(made, [7])
        assert done == [7]
        assert made.learning.patterns() == {(1,): 1}


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
            made, "_learn", lambda outcomes, rule, is_shadow=False: seen.append(is_shadow)
        )

        async def play():
            await made.run(1)
            await asyncio.sleep(0.02)

        asyncio.run(play())  # its end cancels the shadow case
        assert seen == [False]


def test_several_event_loops_share_a_runtime():
    made = Runtime("test", stages=[bit(0), bit(1)], policy="beliefs", shadow=0.2, seed=0)

    def play():
        async def many():
            await asyncio.gather(*(made.run(k % 4) for k in range(50)))
            await asyncio.sleep(0.05)

        asyncio.run(many())

    with ThreadPoolExecutor(4) as pool:
        for future in [pool.submit(play) for _ in range(4)]:
            future.result()
    made.close()
    assert sum(made.learning.patterns().values()) == 200
