"""Which cases to label: only those that tell, drawn evenly, and what a plan promises."""

from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing.advice import NextStep
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.labels.label_plan import draw_cases, plan_labels
from stopwise.cascade import Cascade
from stopwise.patterns import MISSING, agreement
from stopwise.reading import open_log
from tests.auditing.worlds import draw, histogram_of
from tests.strategies import hoeffding

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)


def labels_of(report, label):
    """A table with a label for each case of a plan."""
    return pd.DataFrame([{"case": c.case, "label": label(c)} for c in report.planned_cases])


def planned(n_labels, n_classes=2):
    _, outputs = draw(np.random.default_rng(4), 4_000, [0.35, 0.2, 0.1], n_classes=n_classes)
    cascade = Cascade([1, 2, 3], 30, NAMES)
    histogram = histogram_of(outputs, cascade)
    differences = IdentifiedSet(histogram).largest_differences
    return outputs, cascade, plan_labels(histogram, differences, n_labels=n_labels, alpha=0.05)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_drawn_cases_are_those_of_the_plan(n_classes):
    outputs, cascade, plan = planned(60, n_classes=n_classes)
    frame = pd.DataFrame(outputs, columns=["a", "b", "c"])
    frame["visit"] = [f"v{n:05}" for n in range(len(frame))]
    shuffled = frame.sample(frac=1, random_state=0)
    draws = draw_cases(open_log(frame, cascade, case_id="visit"), plan, seed=5)
    again = draw_cases(open_log(shuffled, cascade, case_id="visit"), plan, seed=5)
    other = draw_cases(open_log(frame, cascade, case_id="visit"), plan, seed=6)
    assert draws == again
    assert draws != other
    assert len({case.case for case in draws}) == 60
    sizes = Counter()
    for case in draws:
        row = outputs[int(case.case[1:])]
        assert case.outputs == tuple(row.tolist())
        sizes[agreement(row.tolist(), missing=MISSING)] += 1
    assert sizes == {group.blocks: group.n_labels for group in plan.groups}


@pytest.mark.parametrize("K", [12, 18])
def test_cases_of_many_tests_are_drawn(K):
    _, outputs = draw(np.random.default_rng(K), 600, np.linspace(0.4, 0.1, K), n_classes=3)
    names = [f"t{k}" for k in range(K)]
    frame = pd.DataFrame(outputs, columns=names)
    report = sw.audit(frame, sw.Cascade([0.01] * K, names=names), n_planned=25)
    assert len(report.planned_cases) == 25
    for case in report.planned_cases:
        assert case.outputs == tuple(outputs[case.case - 1].tolist())


def test_drawing_is_even_over_the_cases():
    """Each of the cases of an agreement is drawn about equally often."""
    outputs, cascade, plan = planned(100)
    log = open_log(outputs.astype(np.uint8), cascade)
    group = plan.groups[0]
    cases = [
        k
        for k, row in enumerate(outputs.tolist())
        if agreement(row, missing=MISSING) == group.blocks
    ]
    draws = Counter()
    for seed in range(30):
        draws.update(case.case - 1 for case in draw_cases(log, plan, seed=seed))
    early = sum(draws[c] for c in cases[: len(cases) // 2])
    total = sum(draws[c] for c in cases)
    assert abs(early / total - 0.5) < hoeffding(total)


@pytest.mark.parametrize("kinds", [("bool", "int64"), ("int8", "float64"), ("bool", "float32")])
def test_a_plan_for_columns_of_different_types(kinds, tmp_path):
    """A histogram takes true, 1 and 1.0 for one value, and so does the draw of cases."""
    _, outputs = draw(np.random.default_rng(3), 400, (0.3, 0.2))
    frame = pd.DataFrame({"a": outputs[:, 0].astype(kinds[0]), "b": outputs[:, 1].astype(kinds[1])})
    frame.to_parquet(tmp_path / "log.parquet")
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    report = sw.audit(tmp_path / "log.parquet", cascade, n_planned=5)
    assert len(report.planned_cases) == 5
    for case in report.planned_cases:
        assert tuple(frame.iloc[case.case - 1]) == case.outputs
        assert case.outputs[0] != case.outputs[1]


def test_a_larger_plan_is_a_draw_of_its_own():
    """Of 100 and of 101 cases among some 2,000, about five are the same, as chance has it."""
    outputs, cascade, plan = planned(100)
    *_, larger = planned(101)
    log = open_log(outputs.astype(np.uint8), cascade)
    draws, others = ({case.case for case in draw_cases(log, p, seed=0)} for p in (plan, larger))
    assert (len(draws), len(others)) == (100, 101)
    assert len(draws & others) < 20


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
