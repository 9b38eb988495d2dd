"""A cascade that runs: answers, failures, learning, shadow cases, alarms, changes."""

import asyncio
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import SettingError, StageError
from stopwise.monitor import MonitorSettings
from stopwise.runtime import Stage, choices
from tests.runtime.bit_cascade import Overlap, bit, fixed, run, runtime


def test_an_answer_and_how_it_came_about():
    made = runtime(policy=fixed(1))
    (result,) = run(made, [0b10], ["visit-1"])
    assert result.answer == 1
    assert result.stage == 1
    assert result.cost == 2.0
    assert result.outputs == (0, 1)
    assert result.key == "visit-1"
    assert not result.is_fallback
    assert result.belief is None
    assert made.learning.patterns() == {(0, 1): 1}


def test_it_learns_where_to_stop():
    """Stage 2 repeats stage 1, so going on cannot pay."""

    async def same(case):
        return case & 1

    stages = [Stage(same, cost=0, name="first"), Stage(same, cost=1, name="second")]
    made = runtime(stages=stages)
    results = run(made, np.random.default_rng(0).integers(0, 2, 500).tolist())
    assert {result.stage for result in results[-200:]} == {0}


@pytest.mark.parametrize(("on_failure", "stage"), [("next", 2), ("last", 0)])
def test_a_stage_that_fails_is_missing_and_another_one_answers(on_failure, stage):
    async def fails(case):
        raise TimeoutError

    stages = [bit(0), Stage(fails, cost=1, name="broken"), bit(2)]
    made = runtime(stages=stages, policy=fixed(1), on_failure=on_failure)
    (result,) = run(made, [0b101])
    assert result.stage == stage
    assert result.is_fallback
    assert result.outputs[1] is None
    assert [(f.stage, f.attempts) for f in result.failures] == [("broken", 1)]
    assert "TimeoutError" in result.failures[0].reason
    assert made.learning.policy.counts.n_seen[0, 1] == 0, "a failure is no disagreement"


def test_a_case_without_any_answer_is_an_error_that_names_the_stages():
    made = runtime()
    with pytest.raises(StageError, match=r"no stage gave an answer: stage 'bit 0': Connection"):
        run(made, [-1])
    assert made.learning.patterns() == {(None, None, None): 1}


def test_what_is_no_answer_is_missing():
    async def said(case):
        return case

    made = runtime(
        stages=[Stage(said, name="model"), Stage(lambda case: "routine", inline=True, cost=1)],
        normalise=choices("urgent", "routine"),
    )
    (result,) = run(made, ["I cannot help with that"])
    assert result.outputs == (None, "routine")
    assert result.failures[0].reason == "gave no answer that counts"


def test_an_error_in_the_comparison_names_the_stage_and_loses_no_case():
    def breaks(raw):
        raise ZeroDivisionError("oops")

    made = runtime(normalise=breaks)
    with pytest.raises(
        StageError, match="the answer of stage 'bit 0' cannot be used: ZeroDivisionError: oops"
    ):
        run(made, [3])


def test_shadow_cases_show_every_pair_after_the_answer():
    made = runtime(policy=fixed(0), shadow=1.0)
    (result,) = run(made, [0b110])
    assert result.outputs == (0,)
    assert result.cost == 1.0
    assert result.is_shadow
    assert made.learning.patterns() == {(0, 1, 1): 1}


def test_the_share_of_shadow_cases():
    """Of 4,000 cases 400 are expected; beyond 5.2 deviations once in ten million."""
    made = runtime(policy=fixed(0), shadow=0.1)
    results = run(made, [0] * 4000)
    assert abs(sum(result.is_shadow for result in results) - 400) < 100


def test_a_cancelled_case_is_learned_as_far_as_it_went():
    async def hangs(case):
        await asyncio.sleep(60)

    made = runtime(stages=[bit(0), Stage(hangs, cost=1, name="slow")])

    async def play():
        task = asyncio.create_task(made.run(1))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await made.aclose()

    asyncio.run(play())
    assert made.learning.patterns() == {(1,): 1}


@pytest.mark.parametrize(("speculate", "most"), [(None, 1), (0, 3)])
def test_stages_that_run_anyway_can_run_together(speculate, most):
    slow = Overlap()
    stages = [Stage(slow, cost=1, name=f"s{k}") for k in range(3)]
    made = runtime(stages=stages, policy=fixed(2), speculate=speculate)
    (result,) = run(made, [1])
    assert slow.most == most
    assert result.cost == 3
    assert made.engine.speculated_cost == 0


def test_what_is_started_ahead_in_vain_is_counted():
    made = runtime(policy=fixed(0), speculate=2)
    (result,) = run(made, [1])
    assert result.outputs == (1,)
    assert made.engine.speculated_cost == 2


def test_many_cases_keep_their_order_and_their_errors():
    made = runtime()

    async def play():
        async with made:
            return await made.run_many([1, -1, 2], keys=["a", "b", "c"], concurrency=2)

    first, second, third = asyncio.run(play())
    assert (first.key, third.key) == ("a", "c")
    assert isinstance(second, StageError)


def test_threads_lose_and_invent_nothing():
    old = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    made = runtime()
    try:
        with made:
            with ThreadPoolExecutor(8) as pool:
                list(pool.map(made.run_sync, [k % 8 for k in range(800)]))
            assert sum(made.learning.patterns().values()) == 800
            assert made.learning.policy.n_rounds == 800
    finally:
        sys.setswitchinterval(old)


def test_a_store_remembers(tmp_path):
    url = f"sqlite:///{tmp_path / 'triage.db'}"
    run(runtime(store=url), [1, 2, 3])
    again = runtime(store=url)
    assert sum(again.learning.patterns().values()) == 3
    assert again.learning.policy.n_rounds == 3
    run(again, [4])
    assert sum(runtime(store=url).learning.patterns().values()) == 4


def test_two_workers_learn_together(tmp_path):
    url = f"sqlite:///{tmp_path / 'triage.db'}"
    first, second = runtime(store=url), runtime(store=url)
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
        ({"speculate": -1}, "speculate must be a whole number >= 0"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, message):
    with pytest.raises(SettingError, match=message):
        runtime(**settings)


def test_memory_does_not_grow_with_traffic():
    now = [0.0]
    made = runtime(clock=lambda: now[0], monitor=MonitorSettings(bucket_seconds=60))

    def size():
        buckets = len(made.alarm_handler.monitor._buckets)
        return buckets, len(made.learning.patterns()), len(made.background.tasks)

    async def play(n):
        for k in range(n):
            now[0] += 10.0
            await made.run(k % 8)

    asyncio.run(play(2000))
    before = size()
    asyncio.run(play(6000))
    assert size() <= before


def test_free_text_is_answered_but_no_longer_counted(caplog):
    """It begins after 1,000 cases like any other and is seen at the end of the next thousand."""

    async def writes(case):
        return f"text {case}" if case >= 1000 else case % 2

    made = runtime(stages=[Stage(writes, cost=1, name="a"), Stage(writes, cost=1, name="b")])
    results = run(made, range(2100))
    assert results[-1].answer == "text 2099"
    assert made.n_not_counted == 101
    assert "say what counts as the same answer" in caplog.text


def test_a_full_journal_refuses_tells_and_never_answers(tmp_path, caplog):
    made = runtime(store=f"sqlite:///{tmp_path / 'triage.db'}")
    made.worker.journal.max_bytes = 0
    result = asyncio.run(made.run(3))
    assert result.outputs[0] == 1
    assert made.n_not_counted == 1
    assert "not counted" in caplog.text


def test_shadow_cases_run_though_the_caller_never_waits():
    inline = [Stage(lambda case: case, cost=1, name=f"s{k}", inline=True) for k in range(2)]
    fixed = sw.FixedStage(sw.Cascade([1, 1], 10), stage=0)
    made = runtime(stages=inline, policy=fixed, shadow=1.0)

    async def play():
        for case in range(50):
            await made.run(case % 2)
        return sum(times for seen, times in made.learning.patterns().items() if len(seen) == 2)

    assert asyncio.run(play()) >= 40
