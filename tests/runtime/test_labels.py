"""Labels: which cases are worth one, and what they cost."""

import asyncio
import logging

import pytest

from stopwise.errors import SettingError
from stopwise.runtime import LabelSettings
from tests.faults import unavailable
from tests.runtime.bit_cascade import bit, fixed, run, runtime


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

    def test_a_label_of_a_case_whose_last_stage_failed_is_learned(self):
        made = runtime(policy="beliefs", labels=LabelSettings(keep=5))
        made.tell([0, 1, None])
        made.labels.offer("a", "a case", (0, 1, None))
        made.labels.add("a", 1)  # without a warning of outputs that end with None
        assert made.learning.policy.n_labels == 1

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


class TestLabelsInTrouble:
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
        made.learning.tell_many({(1, 0, 0): 5})
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
        monkeypatch.setattr(made.worker.store, "records", unavailable)
        with caplog.at_level(logging.WARNING):
            made.learning.rebuild(made.cascade)
        assert made.learning.policy.n_labels == 1
