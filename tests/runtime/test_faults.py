"""What must not go wrong: user code that fails, closing, several event loops."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from stopwise.errors import SettingError, StageError
from stopwise.runtime import Runtime, Stage
from tests.runtime.bit_cascade import bit, bit_runtime, fixed, hang, run, slow


@pytest.mark.parametrize("speculate", [None, 0])
def test_an_answer_that_cannot_be_used_leaves_the_case_to_the_next_stage(speculate):
    odd = Stage(lambda case: 1, cost=lambda output: 1 / 0, inline=True, name="odd")
    stages = [bit(0), odd, bit(1)]
    runtime = bit_runtime(stages=stages, policy=fixed(1), speculate=speculate)
    (result,) = run(runtime, [0b10])
    assert (result.outputs, result.answer, result.is_fallback) == ((0, None, 1), 1, True)
    (failure,) = result.failures
    assert failure.stage == "odd"
    assert "the answer cannot be used: ZeroDivisionError: division by zero" in failure.reason
    assert runtime.learning.patterns() == {(0, None, 1): 1}


class TestClosing:
    def test_cases_under_way_are_waited_for(self):
        runtime = bit_runtime(stages=[Stage(slow(0.05), cost=1)], policy=fixed(0, 1))

        async def play():
            task = asyncio.create_task(runtime.run(1))
            await asyncio.sleep(0.01)
            await runtime.aclose()
            return await task

        assert asyncio.run(play()).answer == 1
        assert runtime.learning.patterns() == {(1,): 1}
        assert runtime.n_not_counted == 0

    def test_a_closed_runtime_says_so_and_closes_again(self):
        runtime = bit_runtime()
        run(runtime, [1])
        with pytest.raises(SettingError, match="runtime 'test' must be open, but it is closed"):
            asyncio.run(runtime.run(1))
        runtime.close()
        asyncio.run(runtime.aclose())

    def test_shadow_cases_of_another_event_loop_are_waited_for(self):
        stages = [bit(0), Stage(slow(0.1), cost=1)]
        runtime = bit_runtime(stages=stages, policy=fixed(0, 2), shadow=1.0)

        async def play():
            await runtime.run(1)
            await asyncio.to_thread(runtime.close)

        asyncio.run(play())
        assert runtime.learning.patterns() == {(1, 1): 1}

    def test_the_thread_of_run_sync_ends_with_the_runtime(self):
        runtime = bit_runtime()
        runtime.run_sync(1)
        asyncio.run(runtime.aclose())
        assert "stopwise-runtime" not in {thread.name for thread in threading.enumerate()}

    def test_a_stage_that_waits_for_its_own_runtime_is_told_so(self):
        async def call_itself(case):
            return runtime.run_sync(case).answer

        runtime = bit_runtime(stages=[Stage(call_itself)], policy=fixed(0, 1))
        with runtime, pytest.raises(StageError, match="must not wait for its own runtime"):
            runtime.run_sync(1)

    def test_a_shadow_case_cut_short_is_not_taken_for_a_random_one(self, monkeypatch):
        runtime = bit_runtime(stages=[bit(0), bit(1), Stage(hang)], policy=fixed(1), shadow=1.0)
        are_random = []
        monkeypatch.setattr(
            runtime, "_learn", lambda outcomes, rule, is_shadow=False: are_random.append(is_shadow)
        )

        async def play():
            await runtime.run(1)
            await asyncio.sleep(0.02)

        asyncio.run(play())  # its end cancels the shadow case
        assert are_random == [False]


def test_several_event_loops_share_a_runtime():
    runtime = Runtime("test", stages=[bit(0), bit(1)], policy="beliefs", shadow=0.2, seed=0)

    def play(_):
        async def many():
            await asyncio.gather(*(runtime.run(k % 4) for k in range(50)))
            await asyncio.sleep(0.05)

        asyncio.run(many())

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(play, range(4)))
    runtime.close()
    assert sum(runtime.learning.patterns().values()) == 200
