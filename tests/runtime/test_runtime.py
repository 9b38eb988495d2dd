"""A cascade that runs: answers, failures, learning, shadow cases, alarms, changes."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from stopwise.errors import SettingError, StageError
from stopwise.monitor import MonitorSettings
from stopwise.runtime import Result, Stage, choices
from tests.runtime.bit_cascade import Overlap, bit, bit_runtime, cancel, echo, fixed, hang, run


def test_an_answer_and_how_it_came_about():
    runtime = bit_runtime(policy=fixed(1))
    (result,) = run(runtime, [0b10], ["visit-1"])
    assert result._replace(seconds=0.0) == Result(1, 1, 2.0, (0, 1), "visit-1")
    assert runtime.learning.patterns() == {(0, 1): 1}


def test_it_learns_where_to_stop():
    """Stage 2 repeats stage 1, so going on cannot pay."""

    runtime = bit_runtime(stages=[Stage(echo, cost=0), Stage(echo, cost=1)])
    results = run(runtime, np.random.default_rng(0).integers(0, 2, 500).tolist())
    assert {result.stage for result in results[-200:]} == {0}


@pytest.mark.parametrize(("on_failure", "stage"), [("next", 2), ("last", 0)])
def test_a_stage_that_fails_is_missing_and_another_one_answers(on_failure, stage):
    async def fail(case):
        raise TimeoutError

    stages = [bit(0), Stage(fail, cost=1, name="broken"), bit(2)]
    runtime = bit_runtime(stages=stages, policy=fixed(1), on_failure=on_failure)
    (result,) = run(runtime, [0b101])
    assert result.stage == stage
    assert result.is_fallback
    assert result.outputs[1] is None
    assert [(f.stage, f.attempts) for f in result.failures] == [("broken", 1)]
    assert "TimeoutError" in result.failures[0].reason
    assert runtime.learning.policy.counts.n_seen[0, 1] == 0, "a failure is no disagreement"


def test_a_case_without_any_answer_is_an_error_that_names_the_stages():
    runtime = bit_runtime()
    with pytest.raises(StageError, match=r"no stage gave an answer: stage 'bit 0': Connection"):
        run(runtime, [-1])
    assert runtime.learning.patterns() == {(None, None, None): 1}


def test_what_is_no_answer_is_missing():
    runtime = bit_runtime(
        stages=[Stage(echo, name="model"), Stage(lambda case: "routine", inline=True, cost=1)],
        normalise=choices("urgent", "routine"),
    )
    (result,) = run(runtime, ["I cannot help with that"])
    assert result.outputs == (None, "routine")
    assert result.failures[0].reason == "gave no answer that counts"


def test_shadow_cases_show_every_pair_after_the_answer():
    runtime = bit_runtime(policy=fixed(0), shadow=1.0)
    (result,) = run(runtime, [0b110])
    assert result.outputs == (0,)
    assert result.cost == 1.0
    assert result.is_shadow
    assert runtime.learning.patterns() == {(0, 1, 1): 1}


def test_the_share_of_shadow_cases():
    """Of 4,000 cases 400 are expected; beyond 5.2 deviations once in ten million."""
    runtime = bit_runtime(policy=fixed(0), shadow=0.1)
    results = run(runtime, [0] * 4000)
    assert abs(sum(result.is_shadow for result in results) - 400) < 100


def test_a_cancelled_case_is_learned_as_far_as_it_went():
    runtime = bit_runtime(stages=[bit(0), Stage(hang, cost=1)])
    cancel(runtime.run(1))
    runtime.close()
    assert runtime.learning.patterns() == {(1,): 1}


@pytest.mark.parametrize(("speculate", "most"), [(None, 1), (0, 3)])
def test_stages_that_run_anyway_can_run_together(speculate, most):
    overlap = Overlap()
    stages = [Stage(overlap, cost=1, name=f"s{k}") for k in range(3)]
    runtime = bit_runtime(stages=stages, policy=fixed(2), speculate=speculate)
    (result,) = run(runtime, [1])
    assert overlap.most == most
    assert result.cost == 3
    assert runtime.engine.speculated_cost == 0


def test_what_is_started_ahead_in_vain_is_counted():
    runtime = bit_runtime(policy=fixed(0), speculate=2)
    (result,) = run(runtime, [1])
    assert result.outputs == (1,)
    assert runtime.engine.speculated_cost == 2


def test_many_cases_keep_their_order_and_their_errors():
    runtime = bit_runtime()

    async def play():
        async with runtime:
            return await runtime.run_many([1, -1, 2], keys=["a", "b", "c"], concurrency=2)

    first, second, third = asyncio.run(play())
    assert (first.key, third.key) == ("a", "c")
    assert isinstance(second, StageError)


def test_threads_lose_and_invent_nothing():
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with bit_runtime() as runtime:
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(runtime.run_sync, [k % 8 for k in range(800)]))
            assert sum(runtime.learning.patterns().values()) == 800
            assert runtime.learning.policy.n_rounds == 800
    finally:
        sys.setswitchinterval(interval)


def test_a_store_remembers(url):
    run(bit_runtime(store=url), [1, 2, 3])
    again = bit_runtime(store=url)
    assert sum(again.learning.patterns().values()) == 3
    assert again.learning.policy.n_rounds == 3
    run(again, [4])
    assert sum(bit_runtime(store=url).learning.patterns().values()) == 4


def test_two_workers_learn_together(url):
    first, second = bit_runtime(store=url), bit_runtime(store=url)
    run(first, [1, 2, 3])
    second.learning.sync()
    assert second.learning.policy.n_rounds == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"shadow": 1.5}, r"shadow must lie in \[0, 1\]"),
        ({"stages": []}, "stages must be one or more"),
        ({"policy": "belief"}, "policy must be one of beliefs, resolve, got 'belief'"),
        ({"on_failure": "stop"}, "on_failure must be one of next, last"),
        ({"store": "redis://x"}, "store must be memory://"),
        ({"store": Path("x.db")}, "store must be a URL such as sqlite:///file.db, .* got Po"),
        ({"store": None}, "store must be a URL .* got None"),
        ({"name": "half \ud800"}, "name must have no NUL and no half of a surrogate pair"),
        ({"speculate": -1}, "speculate must be a whole number >= 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        bit_runtime(**settings)


def test_memory_does_not_grow_with_traffic():
    now = [0.0]
    runtime = bit_runtime(clock=lambda: now[0], monitor=MonitorSettings(bucket_seconds=60))

    def size():
        buckets = len(runtime.alarm_handler.monitor._buckets)
        return buckets, len(runtime.learning.patterns()), len(runtime.background.tasks)

    async def play(n):
        for k in range(n):
            now[0] += 10.0
            await runtime.run(k % 8)

    asyncio.run(play(2000))
    before = size()
    asyncio.run(play(6000))
    assert size() <= before


def test_free_text_is_answered_but_no_longer_counted(caplog):
    """It begins after 1,000 cases like any other and is seen at the end of the next thousand."""

    async def write(case):
        return f"text {case}" if case >= 1000 else case % 2

    runtime = bit_runtime(stages=[Stage(write, cost=1, name="a"), Stage(write, cost=1, name="b")])
    results = run(runtime, range(2100))
    assert results[-1].answer == "text 2099"
    assert runtime.n_not_counted == 101
    assert "say what counts as the same answer" in caplog.text


def test_a_full_journal_refuses_tells_and_never_answers(url, caplog):
    runtime = bit_runtime(store=url)
    runtime.worker.journal.max_bytes = 0
    result = asyncio.run(runtime.run(3))
    assert result.outputs[0] == 1
    assert runtime.n_not_counted == 1
    assert "not counted" in caplog.text


def test_shadow_cases_run_though_the_caller_never_waits():
    stages = [Stage(lambda case: case, cost=1, name=f"s{k}", inline=True) for k in range(2)]
    runtime = bit_runtime(stages=stages, policy=fixed(0, 2), shadow=1.0)

    async def play():
        for case in range(50):
            await runtime.run(case % 2)
        return sum(n for pattern, n in runtime.learning.patterns().items() if len(pattern) == 2)

    assert asyncio.run(play()) >= 40
