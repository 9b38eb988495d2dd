"""Explanations and reports, stages that run elsewhere, and tells with keys."""

import numpy as np
import pytest

from stopwise.errors import OutputsError, SettingError
from stopwise.runtime import Runtime
from tests.runtime.running import bit, fixed, run, runtime


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


class TestTells:
    def test_a_key_is_counted_once(self):
        made = runtime()
        assert made.tell((0, 1), key="a")
        assert not made.tell((0, 1), key="a")
        assert made.learning.policy.n_rounds == 1
        with pytest.raises(OutputsError, match="'a' was told before with other outputs"):
            made.tell((0, 0), key="a")

    @pytest.mark.parametrize("key", [5, 1.5, True, b"a", ""])
    def test_a_key_that_is_no_text_is_refused(self, key):
        """Databases gave 5 back as "5": the case was taken for a repetition and not counted."""
        made = runtime()
        with pytest.raises(SettingError, match="key must be a text"):
            made.tell((0, 1), key=key)
        assert made.tell((0, 1), key="5")

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
