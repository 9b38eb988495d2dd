"""Which cases to label: only those that tell, drawn evenly, and as many as promised."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing.bounds.identify import IdentifiedSet
from stopwise.auditing.labels.label_plan import draw_cases, plan_labels
from stopwise.cascade import Cascade
from stopwise.patterns import MISSING, agreement
from stopwise.reading import open_log
from tests.auditing.worlds import draw, histogram_of
from tests.strategies import hoeffding


def planned(n_labels, n_classes=2):
    _, outputs = draw(np.random.default_rng(4), 4_000, [0.35, 0.2, 0.1], n_classes=n_classes)
    cascade = Cascade([1, 2, 3], 30, ["a", "b", "c"])
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
