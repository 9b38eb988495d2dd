"""What the monitor notices, how soon, and how seldom it is wrong."""

import numpy as np
import pytest

from stopwise.errors import SettingError
from stopwise.monitor import AlarmKind, Monitor, MonitorSettings
from stopwise.monitor.buckets import MAX_BUCKETS
from stopwise.monitor.change import YEAR, changes_found


def play(monitor, patterns, *, start=0.0, seconds=1.0):
    """Show one case every few seconds; return the alarms."""
    return [
        alarm
        for k, pattern in enumerate(patterns)
        for alarm in monitor.observe(pattern, start + k * seconds)
    ]


def cases(rng, n):
    """Outputs of three tests that err independently."""
    labels = rng.integers(0, 2, n)
    return [
        tuple(y ^ int(rng.random() < rate) for rate in (0.2, 0.1, 0.05)) for y in labels.tolist()
    ]


def test_a_broken_stage_is_named_the_odd_one_out():
    rng = np.random.default_rng(0)
    monitor = Monitor(3, now=0.0)
    good = cases(rng, 2000)
    bad = [(a, b, 1 - c) for a, b, c in cases(rng, 200)]
    alarms = play(monitor, good + bad)
    assert [(a.kind, a.stage) for a in alarms[:1]] == [(AlarmKind.ODD_ONE_OUT, 2)]
    assert 2000 <= alarms[0].at <= 2130
    assert abs(alarms[0].since - 2000) <= 120
    assert "'c' now disagrees with every other stage" in alarms[0].describe(("a", "b", "c"))


def test_missing_outputs_are_noticed():
    rng = np.random.default_rng(1)
    monitor = Monitor(3, now=0.0)
    good = cases(rng, 1000)
    alarms = play(monitor, good + [(a, None, c) for a, _, c in cases(rng, 200)])
    assert [(a.kind, a.stage) for a in alarms] == [(AlarmKind.MISSING, 1)]


def test_one_and_the_same_answer_is_noticed():
    rng = np.random.default_rng(2)
    monitor = Monitor(3, now=0.0)
    skewed = [(0, 0, int(rng.random() < 0.5)) for _ in range(1500)]
    alarms = play(monitor, skewed + [(0, 0, 0)] * 300)
    assert [(a.kind, a.stage) for a in alarms[:1]] in (
        [(AlarmKind.ONE_ANSWER, 2)],
        [(AlarmKind.CHANGED, 2)],
    )


def changed_answers(seed, n_before, n_after, *, often):
    """Two tests; from some case on the second hardly looks at the case: it says 1 seldom."""
    rng = np.random.default_rng(seed)
    labels = (rng.random(n_before + n_after) < 0.55).astype(int).tolist()
    first = [y ^ int(rng.random() < 0.1) for y in labels]
    second = [y ^ int(rng.random() < 0.05) for y in labels[:n_before]]
    second += [int(rng.random() < often) for _ in range(n_after)]
    return list(zip(first, second, strict=True))


@pytest.mark.parametrize("often", [0.03, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_one_change_raises_one_alarm_with_its_own_numbers(seed, often):
    monitor, patterns = Monitor(2, now=0.0), changed_answers(seed, 3000, 6000, often=often)
    (alarm,) = play(monitor, patterns, seconds=5.0)
    assert 15_000 <= alarm.at <= 16_000
    now, start = int(alarm.at / 5) + 1, int(alarm.since / 5)
    numbers = {
        AlarmKind.CHANGED: lambda part: np.mean([a != b for a, b in part]),
        AlarmKind.ANSWERS: lambda part: np.mean([b == 1 for _, b in part]),
        AlarmKind.ONE_ANSWER: lambda part: np.mean([b == 0 for _, b in part]),
    }[alarm.kind]
    assert alarm.before == pytest.approx(numbers(patterns[:start]), abs=0.02)
    assert alarm.after == pytest.approx(numbers(patterns[start:now]), abs=0.02)


def test_answers_of_many_patterns_are_never_mixed_up_with_numbers():
    rng = np.random.default_rng(8)
    monitor = Monitor(
        10, now=0.0, settings=MonitorSettings(bucket_seconds=1000.0, bucket_cases=10**6)
    )
    patterns = [tuple(rng.choice(["a", "b"], 10).tolist()) for _ in range(4000)]
    assert not play(monitor, patterns)
    assert {output for pattern in monitor.recent() for output in pattern} == {"a", "b"}


def test_after_an_alarm_only_what_came_after_the_change_counts():
    rng = np.random.default_rng(3)
    monitor = Monitor(2, now=0.0)
    before = [(0, int(rng.random() < 0.1)) for _ in range(1000)]
    after = [(0, int(rng.random() < 0.7)) for _ in range(100)]
    assert play(monitor, before + after)
    recent = monitor.recent()
    assert recent.total() < 250
    assert recent[0, 1] / recent.total() > 0.4
    assert monitor.past.total() + recent.total() == 1100


def test_false_alarms_stay_within_their_budget(monkeypatch):
    """40 years of a case a minute, five alarms a year: at most 200 are expected; there are few."""
    rng = np.random.default_rng(5)
    week = 7 * 86_400.0
    # So that the whole budget is used.
    monkeypatch.setattr("stopwise.monitor.monitor.LONGEST_PAUSE", week)
    settings = MonitorSettings(false_alarms_per_year=5, bucket_seconds=week, bucket_cases=10**9)
    monitor = Monitor(2, now=0.0, settings=settings)
    n_alarms = 0
    for w in range(int(40 * YEAR / week)):
        differ = int(rng.binomial(10_080, 0.2))
        n_alarms += len(monitor.observe((0, 1), w * week + 1.0, times=differ))
        n_alarms += len(monitor.observe((0, 0), (w + 1) * week, times=10_080 - differ))
    assert n_alarms <= 200


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr("stopwise.monitor.buckets.MAX_PATTERNS", 50)
    monitor = Monitor(2, now=0.0)
    for k in range(6000):
        monitor.observe((f"text {k}", f"text {k + 1}"), float(k * 7))
    assert len(monitor._buckets) <= MAX_BUCKETS
    assert all(len(b.patterns) <= 52 for b in monitor._buckets)


def test_stale_evidence_is_said_once_until_it_is_fresh_again():
    monitor = Monitor(2, now=0.0, settings=MonitorSettings(stale_after=100.0))
    assert monitor.tick(99.0) == []
    (alarm,) = monitor.tick(101.0)
    assert alarm.kind is AlarmKind.STALE
    assert monitor.tick(200.0) == []
    monitor.observe((0, 0), 201.0)
    assert monitor.tick(250.0) == []
    assert len(monitor.tick(400.0)) == 1


def test_a_budget_is_for_the_last_day():
    monitor = Monitor(2, now=0.0, settings=MonitorSettings(daily_budget=10.0))
    assert monitor.spend(6.0, 0.0) == []
    (alarm,) = monitor.spend(6.0, 7200.0)
    assert (alarm.kind, alarm.before, alarm.after) == (AlarmKind.BUDGET, 10.0, 12.0)
    assert monitor.spend(1.0, 7300.0) == []
    assert monitor.spend(1.0, 200_000.0) == []
    text = "this process alone spent 12 in the last day, its budget is 10"
    assert alarm.describe(("a", "b")) == text


def test_a_jump_of_the_clock_spends_little_of_the_budget():
    monitor = Monitor(2, now=0.0)
    assert monitor._log_weight(10.0 * YEAR) == monitor._log_weight(3600.0)
    assert monitor._log_weight(-5.0) < monitor._log_weight(1.0)


@pytest.mark.parametrize(
    "settings",
    [
        {"false_alarms_per_year": 0},
        {"bucket_seconds": -1},
        {"bucket_cases": 0},
        {"daily_budget": 0},
    ],
)
def test_settings_that_make_no_sense_are_refused(settings):
    with pytest.raises(SettingError, match=next(iter(settings))):
        MonitorSettings(**settings)


def routed(rng, n, *, flipped=False, deep=0.5):
    """Cases of three stages that stop after two where these agree, or with some chance."""
    rows = []
    for a, b, c in cases(rng, n):
        goes_on = a != b or rng.random() < deep
        rows.append((a, b, c ^ flipped) if goes_on else (a, b))
    return rows


def test_a_broken_stage_is_noticed_on_cases_that_were_stopped_by_their_outputs():
    rng = np.random.default_rng(6)
    monitor = Monitor(3, now=0.0)
    rows = routed(rng, 1500) + routed(rng, 400, flipped=True)
    alarms = [a for t, row in enumerate(rows) for a in monitor.observe(row, t, is_random=False)]
    assert [(a.kind, a.stage) for a in alarms] == [(AlarmKind.CHANGED, 2)]
    assert 1500 <= alarms[0].at <= 1700


def test_another_rule_is_no_change():
    """How many cases go on changes from nearly all to few; given what was seen nothing does."""
    rng = np.random.default_rng(7)
    monitor = Monitor(3, now=0.0)
    rows = routed(rng, 2000, deep=0.9) + routed(rng, 2000, deep=0.05)
    assert not [a for t, row in enumerate(rows) for a in monitor.observe(row, t, is_random=False)]


def test_a_stage_is_odd_as_long_as_it_looks_broken():
    rng = np.random.default_rng(8)
    monitor = Monitor(3, now=0.0)
    good, bad = cases(rng, 600), cases(rng, 200)
    assert play(monitor, good + [(a, b, 1 - c) for a, b, c in bad])
    usual = [monitor.agreement(k) for k in range(3)]
    assert [monitor.is_odd(k, usual[k]) for k in range(3)] == [False, False, True]
    assert play(monitor, cases(rng, 300), start=800.0)
    assert not any(monitor.is_odd(k, usual[k]) for k in range(3))


def test_without_data_there_is_no_evidence():
    assert changes_found(np.zeros((3, 1)), np.zeros((3, 1)), np.full(2, -5.0)) == []
    assert changes_found(np.zeros((1, 1)), np.zeros((1, 1)), np.zeros(0)) == []
