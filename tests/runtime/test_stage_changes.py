"""Stages that change: in a running process, beside others, and where one starts with others."""

import asyncio

import pytest

import stopwise as sw
from stopwise.errors import SettingError
from stopwise.runtime import Stage
from stopwise.store import KeyedTell, Worker
from tests.runtime.bit_cascade import bit, bit_runtime, fixed, run


def test_a_replaced_stage_keeps_the_pairs_of_the_others():
    runtime = bit_runtime()
    run(runtime, [0b000, 0b100])
    runtime.replace_stage("bit 1", Stage(lambda case: 1, cost=2, name="new"))
    counts = runtime.learning.policy.counts
    assert runtime.cascade.names == ("bit 0", "new", "bit 2")
    assert counts.n_seen[0, 2] == 2
    assert counts.n_seen[0, 1] == 0


def test_a_stage_more_and_a_stage_less():
    runtime = bit_runtime()
    run(runtime, [0b000, 0b111])
    runtime.add_stage(bit(5), before="bit 1")
    assert runtime.cascade.names == ("bit 0", "bit 5", "bit 1", "bit 2")
    assert runtime.learning.policy.counts.n_seen[0, 3] == 2
    runtime.remove_stage("bit 0")
    assert runtime.cascade.names == ("bit 5", "bit 1", "bit 2")
    assert runtime.learning.policy.counts.n_seen[1, 2] == 2


def test_a_change_of_stages_loses_no_case(url):
    """Neither those with keys nor those that another process has yet to write."""
    with bit_runtime(store=url) as first, bit_runtime(store=url) as second:
        for k in range(5):
            first.tell((0, 1, 1))
            second.tell((0, 1, 1))
            first.worker.tell_keyed([KeyedTell("test", f"k{k}", "[0,1,1]")])
        first.add_stage(bit(5), before="bit 1")
        assert first.learning.patterns() == {(0, None, 1, 1): 10}
        second.worker.tell_keyed([KeyedTell("test", "late", "[0,1,1]")])
        second.sync()
        first.sync()
        assert first.learning.patterns() == {(0, None, 1, 1): 16}
        with pytest.raises(SettingError, match="another process has changed"):
            second.remove_stage(1)
    with bit_runtime(store=url) as third:
        assert third.learning.patterns() == {(0, 1, 1): 16}


def test_a_replaced_stage_is_another_one_under_the_same_name_too(url):
    with bit_runtime(store=url) as first, bit_runtime(store=url) as second:
        first.add_stage(bit(5))
        first.remove_stage("bit 5")
        second.tell((0, 1, 1))
        second.sync()
        second.tell((0, 1, 1))  # the stages are the same again
        first.replace_stage("bit 1", bit(1))
        second.sync()
        for key in (None, "a"):
            with pytest.raises(SettingError, match="another process has changed"):
                second.tell((0, 1, 1), key=key)
        first.sync()
        assert first.learning.patterns() == {(0, None, 1): 2}


def test_a_program_with_its_own_worker_may_start_with_other_stages(url):
    with bit_runtime(store=Worker(url)) as old:
        old.tell((0, 0, 1))
    for _ in range(2):
        with bit_runtime(stages=[bit(2), bit(0)], store=Worker(url)) as new:
            assert new.learning.patterns() == {(1, 0): 1}
            records = new.worker.store.records("event", "test")
            assert [record.body["what"] for record in records] == ["started", "started"]


def test_a_process_may_start_with_other_stages(url, caplog):
    with bit_runtime(store=url) as old:
        old.tell((0, 0, 0))
        old.tell((0, 0, 1))
        old.sync()
        with bit_runtime(stages=[bit(2), bit(0)], store=url) as new:
            assert new.learning.patterns() == {(0, 0): 1, (1, 0): 1}
            old.sync()
            assert old.run_sync(0b111).answer == 1
            assert "another process has changed the stages" in caplog.text
            for change in (
                lambda: old.set_mistake_cost(20),
                lambda: old.tell((0, 0, 1)),
                lambda: old.tell((0, 0, 1), key="a"),
                lambda: old.learning.tell_many({(0, 0, 1): 1}),
            ):
                with pytest.raises(SettingError, match="another process has changed"):
                    change()
            old.sync()
            new.sync()
            assert new.learning.policy.n_rounds == 2


def test_a_case_goes_on_with_the_stages_it_began_with():
    start = asyncio.Event()

    async def signal(case):
        start.set()
        await asyncio.sleep(0.02)
        return 5

    runtime = bit_runtime(stages=[Stage(signal, cost=1), bit(1), bit(2)], policy=fixed(2))

    async def play():
        async with runtime:
            task = asyncio.create_task(runtime.run(0b110))
            await start.wait()
            runtime.remove_stage(2)
            return await task

    runtime.learning._make = lambda cascade: sw.FixedStage(cascade, stage=cascade.n_stages - 1)
    assert asyncio.run(play()).outputs == (5, 1, 1)
    assert runtime.learning.patterns() == {}
