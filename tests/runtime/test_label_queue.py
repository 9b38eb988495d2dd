"""Labels: which cases are worth one, and what they cost."""

import asyncio
import logging

import pytest

from stopwise.errors import SettingError
from stopwise.runtime import LabelSettings
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, bit_runtime, fixed, run


class TestLabels:
    def make(self):
        return bit_runtime(policy=fixed(2), labels=LabelSettings(keep=20))

    def test_only_cases_with_different_outputs_are_kept(self):
        runtime = self.make()
        run(runtime, [0b000, 0b001, 0b111, 0b110], "abcd")
        assert {case.key for case in runtime.labels.wanted(10)} == {"b", "d"}

    def test_a_label_is_counted_once(self):
        runtime = self.make()
        asyncio.run(runtime.run(0b001, key="a"))
        runtime.labels.add("a", 1)
        runtime.labels.add("a", 1)
        assert runtime.labels.n_labels == 1
        assert runtime.labels.wanted(5) == []

    def test_a_label_of_a_case_whose_last_stage_failed_is_learned(self):
        runtime = bit_runtime(policy="beliefs", labels=LabelSettings(keep=5))
        runtime.tell([0, 1, None])
        runtime.labels.offer("a", "a case", (0, 1, None))
        runtime.labels.add("a", 1)  # without a warning of outputs that end with None
        assert runtime.learning.policy.n_labels == 1

    def test_a_key_that_nobody_knows_is_refused(self):
        with pytest.raises(SettingError, match="key must name a case that was kept, got 'b'"):
            self.make().labels.add("b", 1)

    def test_a_key_that_no_store_can_hold_is_refused(self):
        runtime = self.make()
        for use in (
            lambda key: runtime.run_sync(1, key=key),
            lambda key: runtime.labels.add(key, 1),
        ):
            with pytest.raises(SettingError, match="key must have no NUL and no half"):
                use("\ud800")

    def test_nothing_is_kept_unless_asked_for(self):
        runtime = bit_runtime()
        asyncio.run(runtime.run(0b001, key="a"))
        assert runtime.labels.wanted(5) == []

    def test_the_sample_is_bounded(self):
        runtime = self.make()
        run(runtime, [0b001] * 200, map(str, range(200)))
        assert len(runtime.labels.wanted(1000)) == 20

    def test_labels_are_bought_within_the_budget(self):
        purchases = []

        def buy(case):
            purchases.append(case)
            return 1

        settings = LabelSettings(buy_label=buy, label_cost=2.0, budget=7.0)
        runtime = bit_runtime(policy="beliefs", mistake_cost=1000, shadow=1.0, labels=settings)
        run(runtime, [0b000] * 5 + [0b001] * 20)
        assert purchases == [0b001] * 3
        assert runtime.labels.spent == 6.0

    @pytest.mark.parametrize(("costs", "buys"), [([1, 1, 9], False), ([1, 1, 1], True)])
    def test_labels_are_bought_only_where_a_stage_that_may_pay_differs(self, costs, buys):
        settings = LabelSettings(buy_label=lambda case: 1, label_cost=0.1, budget=100.0)
        runtime = bit_runtime(policy="beliefs", mistake_cost=10, shadow=1.0, labels=settings)
        runtime.set_costs(costs)
        run(runtime, [0b000, 0b000, 0b011, 0b100] * 20)
        assert (runtime.labels.spent > 0) is buys


class TestLabelsInTrouble:
    def make(self, store="memory://", **labels):
        settings = LabelSettings(**labels)
        return bit_runtime(policy="beliefs", labels=settings, shadow=1.0, store=store)

    def test_labels_are_not_bought_for_a_policy_that_ignores_them(self):
        with pytest.raises(SettingError, match="learns nothing from them"):
            bit_runtime(policy="resolve", labels=LabelSettings(buy_label=len, budget=1))

    def test_labels_of_an_earlier_epoch_say_nothing_of_the_present_one(self):
        runtime = self.make(keep=10)
        run(runtime, [0b001] * 2, "ab")
        runtime.labels.add("a", 1)
        assert runtime.learning.policy.n_labels == 1
        runtime.replace_stage(1, bit(5))
        runtime.learning.tell_many({(1, 0, 0): 5})
        runtime.set_mistake_cost(20)
        assert runtime.learning.policy.n_labels == 0
        runtime.labels.add("b", 1)
        assert runtime.learning.policy.n_labels == 0
        assert runtime.labels.wanted(5) == []

    def test_a_label_that_was_not_delivered_is_not_paid_for(self, caplog):
        def fail(case):
            raise ConnectionError("nobody there")

        runtime = self.make(buy_label=fail, label_cost=0.01, budget=1)
        run(runtime, [0b001] * 20)
        assert runtime.labels.spent == 0
        assert "nobody there" in caplog.text

    def test_a_label_may_come_after_a_restart(self, url):
        run(self.make(url, keep=2), [0b001] * 3, "abc")
        with self.make(url, keep=2) as second:
            cases = second.labels.wanted(5)
            assert [(case.case, case.outputs) for case in cases] == [(0b001, (1, 0, 0))] * 2
            with self.make(url, keep=2) as third:
                second.labels.add(cases[0].key, 1)
                third.labels.add(cases[1].key, 1)
            assert second.labels.wanted(5) == [], "another worker has its label"
        assert self.make(url, keep=2).learning.policy.n_labels == 2

    def test_many_labels_cost_few_fits(self):
        runtime = self.make(keep=30)
        run(runtime, [0b001] * 30, map(str, range(30)))
        before = runtime.learning._n_rebuilt
        for k in range(30):
            runtime.labels.add(f"{k}", 1)
        assert runtime.learning._n_rebuilt - before <= 21
        runtime.learning.rebuild(runtime.cascade)
        assert runtime.learning.policy.n_labels == 30

    def test_labels_are_known_while_the_store_is_away(self, monkeypatch, caplog):
        runtime = self.make(keep=10)
        run(runtime, [0b001], "a")
        runtime.labels.add("a", 1)
        monkeypatch.setattr(runtime.worker.store, "records", unavailable)
        with caplog.at_level(logging.WARNING):
            runtime.learning.rebuild(runtime.cascade)
        assert runtime.learning.policy.n_labels == 1
