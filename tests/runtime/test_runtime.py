"""A cascade that runs: answers, failures, learning, shadow cases, alarms, changes."""

import asyncio
import itertools
import sys
import threading

import numpy as np
import pytest

import stopwise as sw
from stopwise.errors import SettingError, StageError
from stopwise.monitor import AlarmKind, MonitorSettings
from stopwise.runtime import LabelSettings, Runtime, Stage, choices


def bit(k):
    """A stage that reads one bit of the case; -1 in the case makes it fail."""

    async def stage(case):
        if case < 0:
            raise ConnectionError("no route")
        return (case >> k) & 1

    return Stage(stage, cost=1.0, name=f"bit {k}", breaker_failures=10**6)


def runtime(n_stages=3, **settings):
    given = {
        "stages": [bit(k) for k in range(n_stages)],
        "mistake_cost": 10,
        "policy": "resolve",
        "shadow": 0.0,
        "seed": 0,
        **settings,
    }
    return Runtime("test", **given)


def fixed(stage, n_stages=3):
    return sw.FixedStage(sw.Cascade([1] * n_stages, 10), stage=stage)


def run(made, cases, keys=None):
    """Answer cases one after the other and close the runtime."""

    async def play():
        async with made:
            given = zip(cases, keys or itertools.repeat(None), strict=False)
            return [await made.run(case, key=key) for case, key in given]

    return asyncio.run(play())


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
    with pytest.raises(StageError, match="the answer of stage 'bit 0' cannot be used: oops"):
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
    running, seen = 0, 0

    async def slow(case):
        nonlocal running, seen
        running += 1
        seen = max(seen, running)
        await asyncio.sleep(0.01)
        running -= 1
        return case

    stages = [Stage(slow, cost=1, name=f"s{k}") for k in range(3)]
    made = runtime(stages=stages, policy=fixed(2), speculate=speculate)
    (result,) = run(made, [1])
    assert seen == most
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
            threads = [
                threading.Thread(target=lambda: [made.run_sync(k % 8) for k in range(100)])
                for _ in range(8)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
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
            course = made.learning.start()
            outcomes = []
            await made.engine.run(3, course, made.engine.stages.callers, outcomes)
            made.remove_stage(0)
            made._learn(outcomes, course)

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


class TestAlarms:
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


class TestLabels:
    def made(self):
        return runtime(policy=fixed(2), labels=LabelSettings(keep=20))

    def test_only_cases_with_different_outputs_are_kept(self):
        made = self.made()
        run(made, [0b000, 0b001, 0b111, 0b110], "abcd")
        assert {case.key for case in made.labels.wanted(10)} == {"b", "d"}

    def test_a_label_is_counted_once(self):
        made = self.made()
        asyncio.run(made.run(0b001, key="a"))
        made.labels.add("a", 1)
        made.labels.add("a", 1)
        assert made.labels.n_labels == 1
        assert made.labels.wanted(5) == []

    def test_a_key_that_nobody_knows_is_refused(self):
        with pytest.raises(SettingError, match="key must name a case that was kept, got 'b'"):
            self.made().labels.add("b", 1)

    def test_nothing_is_kept_unless_asked_for(self):
        made = runtime()
        asyncio.run(made.run(0b001, key="a"))
        assert made.labels.wanted(5) == []

    def test_the_sample_is_bounded(self):
        made = self.made()
        run(made, [0b001] * 200, map(str, range(200)))
        assert len(made.labels.wanted(1000)) == 20

    def test_labels_are_bought_within_the_budget(self):
        bought = []

        def buy(case):
            bought.append(case)
            return 1

        settings = LabelSettings(buy_label=buy, label_cost=2.0, budget=7.0)
        made = runtime(policy="beliefs", mistake_cost=1000, shadow=1.0, labels=settings)
        run(made, [0b000] * 5 + [0b001] * 20)
        assert bought == [0b001] * 3
        assert made.labels.spent == 6.0

    @pytest.mark.parametrize(("costs", "buys"), [([1, 1, 9], False), ([1, 1, 1], True)])
    def test_labels_are_bought_only_where_a_stage_that_may_pay_differs(self, costs, buys):
        settings = LabelSettings(buy_label=lambda case: 1, label_cost=0.1, budget=100.0)
        made = runtime(policy="beliefs", mistake_cost=10, shadow=1.0, labels=settings)
        made.set_costs(costs)
        run(made, [0b000, 0b000, 0b011, 0b100] * 20)
        assert (made.labels.spent > 0) is buys


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
        buckets = len(made.watching.monitor._buckets)
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


class TestTelling:
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


class TestElsewhere:
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
        made.learning.tell_patterns(rows)
        made.freeze()
        decided = {made.ask([0]) for _ in range(200)}
        assert len(decided) == 1


def test_shadow_cases_run_though_the_caller_never_waits():
    inline = [Stage(lambda case: case, cost=1, name=f"s{k}", inline=True) for k in range(2)]
    fixed = sw.FixedStage(sw.Cascade([1, 1], 10), stage=0)
    made = runtime(stages=inline, policy=fixed, shadow=1.0)

    async def play():
        for case in range(50):
            await made.run(case % 2)
        return sum(times for seen, times in made.learning.patterns().items() if len(seen) == 2)

    assert asyncio.run(play()) >= 40
