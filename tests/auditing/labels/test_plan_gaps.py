"""A plan on a log with gaps, and a plan that cannot help: what is asked for and what is said."""

from itertools import combinations

import numpy as np
import pandas as pd

import stopwise as sw
from stopwise.auditing.advice import NextStep
from tests.auditing.worlds import draw, histogram_of

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)


def labels_of(report, label):
    """A table with a label for each case of a plan."""
    return pd.DataFrame([{"case": c.case, "label": label(c)} for c in report.planned_cases])


def test_a_plan_promises_only_what_some_labels_could_settle():
    """One label never settles a pair, whatever it says; promises are kept by extreme labels."""
    _, outputs = draw(np.random.default_rng(1), 2_000, (0.35, 0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=NAMES)
    one = sw.audit(frame, CASCADE, n_planned=1)
    assert one.facts.plan.resolution == ()
    many = sw.audit(frame, CASCADE, n_planned=400)
    assert "That would settle" in many.summary(details=True)
    C = CASCADE.cumulative_costs
    for (i, j), plan in [*((pair, many) for pair in combinations(range(3), 2)), ((0, 2), one)]:
        settled = []
        for right in (i, j):
            labels = labels_of(plan, lambda case, right=right: case.outputs[right])
            interval = sw.audit(frame, CASCADE, labels=labels).facts.labels.interval(i, j)
            settled.append(C[j] - C[i] not in interval)
        assert any(settled) == ((i, j) in [pair[:2] for pair in plan.facts.plan.resolution])


def test_labels_cannot_help_where_nobody_is_seen_to_disagree():
    """The tests agree where both ran: in the gaps they may differ, but no case shows it."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 2, 2_000)}).astype("Int64")
    frame["b"] = frame["a"].mask(rng.random(2_000) < 0.5)
    cascade = sw.Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    for report in (sw.audit(frame, cascade), sw.audit(frame, cascade, n_planned=20)):
        assert not report.facts.is_known
        assert report.facts.n_disputed == 0
        assert report.advice.next_step in {NextStep.NO_HELP, NextStep.RUN_ALL_TESTS}
    assert report.facts.plan.groups == report.facts.plan.resolution == report.planned_cases == ()


def test_no_larger_plan_is_named_than_there_are_cases():
    rng = np.random.default_rng(6)
    labels, outputs = draw(rng, 2_000, (0.3, 0.2, 0.1))
    frame = pd.DataFrame(outputs, columns=NAMES).astype("Int64")
    frame["c"] = frame["c"].mask(rng.random(2_000) < 0.5)
    disputed = sw.audit(frame, CASCADE).facts.n_disputed
    for n, step in ((disputed // 2, NextStep.LABEL), (disputed, NextStep.NO_HELP)):
        plan = sw.audit(frame, CASCADE, n_planned=n)
        sample = labels_of(plan, lambda case: labels[case.case - 1])
        report = sw.audit(frame, CASCADE, labels=sample)
        assert len(report.facts.labels.possible_stages) > 1
        if report.advice.next_step is not NextStep.RUN_ALL_TESTS:
            assert report.advice.next_step is step
            assert report.advice.n_next <= disputed


def test_a_plan_for_a_pattern_table_draws_no_cases():
    """Each case lacks the second or the third output."""
    rng = np.random.default_rng(5)
    _, outputs = draw(rng, 2_000, (0.3, 0.2, 0.1))
    rows = outputs.astype(object)
    rows[np.arange(2_000), rng.integers(1, 3, 2_000)] = None
    report = sw.audit(histogram_of(rows, CASCADE), CASCADE, n_planned=30)
    assert report.planned_cases == ()
    assert report.facts.plan.n_labels == 30
