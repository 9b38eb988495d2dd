"""Labels on disagreements: estimates, intervals that hold, weak dominance, and which to ask for."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

import stopwise as sw
from stopwise.audit.bounds.assumptions import Ordered
from stopwise.audit.bounds.corners import LabelSpace
from stopwise.audit.bounds.identify import IdentifiedSet
from stopwise.audit.bounds.regrets import possible_stages
from stopwise.audit.evidence.pair_bounds import DisagreementBounds
from stopwise.audit.evidence.verdict import judge
from stopwise.audit.labels.cases import LabelledCases, agreement
from stopwise.audit.labels.evidence import Holds, label_evidence
from stopwise.audit.labels.plan import draw_cases, plan_labels
from stopwise.audit.labels.reading import read_labels
from stopwise.audit.reading.log import open_log
from stopwise.cascade import Cascade
from stopwise.errors import LogError
from tests.audit.worlds import ORDER, draw, highs_bound, histogram_of, law_of
from tests.strategies import hoeffding

CASCADE = Cascade([1, 2, 3], mistake_cost=30, names=["a", "b", "c"])


def labelled(outputs, labels, cases):
    told = Counter((tuple(outputs[c].tolist()), labels[c].item()) for c in cases)
    return [(row, label, n) for (row, label), n in told.items()]


def test_agreement_is_who_agrees_with_whom():
    assert agreement([4, 4, 2, 2, 9]) == (0, 0, 2, 2, 4)
    assert agreement([-1, 3, -1, 3]) == (-1, 1, -1, 1)


@pytest.mark.parametrize("by_agreement", [True, False])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_all_labels_give_the_differences_themselves(by_agreement, n_classes):
    rng = np.random.default_rng(0)
    labels, outputs = draw(rng, 3_000, [0.4, 0.3, 0.1], n_classes=n_classes)
    cases = LabelledCases.of(
        histogram_of(outputs, CASCADE),
        labelled(outputs, labels, range(3_000)),
        by_agreement=by_agreement,
    )
    assert cases.n_labels == 3_000
    errors = (outputs != labels[:, None]).mean(axis=0)
    for i in range(3):
        for j in range(3):
            interval = cases.difference(i, j, alpha=0.05)
            assert cases.estimate(i, j) == pytest.approx(errors[i] - errors[j])
            assert errors[i] - errors[j] in interval
            assert interval.width < 1e-8
        assert errors[i] in cases.error_rate(i, alpha=0.05)
        assert cases.error_rate(i, alpha=0.05).width < 1e-8


@pytest.mark.parametrize("allocation", ["planned", "uneven"])
def test_intervals_hold_and_are_of_use(allocation):
    """Coverage of 95 % over draws of 60 labels, in proportion or five to each pattern."""
    rng = np.random.default_rng(1)
    labels, outputs = draw(rng, 5_000, [0.35, 0.2, 0.1])
    histogram = histogram_of(outputs, CASCADE)
    errors = (outputs != labels[:, None]).mean(axis=0)
    strata = {}
    for case, row in enumerate(outputs.tolist()):
        if len(set(row)) > 1:
            strata.setdefault(tuple(row), []).append(case)
    apart = sum(map(len, strata.values()))
    runs, missed, widths = 400, 0, []
    for _ in range(runs):
        sizes = {
            row: max(round(60 * len(found) / apart), 1) if allocation == "planned" else 5
            for row, found in strata.items()
        }
        chosen = [c for row, n in sizes.items() for c in rng.choice(strata[row], n, replace=False)]
        cases = LabelledCases.of(histogram, labelled(outputs, labels, chosen))
        interval = cases.difference(0, 2, alpha=0.05)
        missed += errors[0] - errors[2] not in interval
        widths.append(interval.width)
    assert missed / runs <= 0.05 + hoeffding(runs)
    share = (outputs[:, 0] != outputs[:, 2]).mean()
    assert np.mean(widths) < (0.45 if allocation == "planned" else 0.9) * 2 * share


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5, 0.9])
def test_the_chance_that_an_interval_misses(chance):
    """Exactly, summed over all numbers of labels in favour: at most alpha, and not far below it."""
    rows = np.array([[0, 1, 1]] * 40 + [[0, 0, 0]] * 60)
    histogram = histogram_of(rows, CASCADE)
    N, share, missed = 30, 0.4, 0.0
    for wrong in range(N + 1):
        told = [((0, 1, 1), 1, wrong), ((0, 1, 1), 0, N - wrong)]
        interval = LabelledCases.of(histogram, told).difference(0, 1, alpha=0.05)
        missed += binom.pmf(wrong, N, chance) * (share * (2 * chance - 1) not in interval)
    assert missed <= 0.05
    if chance == 0.5:
        assert missed > 0.005


def test_patterns_count_by_their_share_however_many_labels_they_have():
    """Test 1 is wrong in all of one pattern, test 2 in all of a rarer one with as many labels."""
    rows = np.array([[0, 1, 1]] * 30 + [[1, 0, 0]] * 10 + [[0, 0, 0]] * 60)
    told = [((0, 1, 1), 1, 200), ((1, 0, 0), 1, 200)]
    cases = LabelledCases.of(histogram_of(rows, CASCADE), told)
    interval = cases.difference(0, 1, alpha=0.05)
    assert cases.estimate(0, 1) == pytest.approx(0.3 - 0.1, abs=0.005)
    assert 0.2 in interval
    assert 0.1 < interval.low < interval.high < 0.3


def test_patterns_without_labels_may_be_anything():
    rows = np.array([[0, 1, 1]] * 30 + [[1, 0, 0]] * 20 + [[0, 0, 0]] * 50)
    cases = LabelledCases.of(histogram_of(rows, CASCADE), [((0, 1, 1), 1, 29)])
    interval = cases.difference(0, 1, alpha=0.05)
    assert interval.high == pytest.approx(0.5)
    assert interval.low < 0.3 - 0.2 - 1e-6
    blind = LabelledCases.of(histogram_of(rows, CASCADE), []).difference(0, 1, alpha=0.05)
    assert blind.low == pytest.approx(-0.5)


def test_cases_that_agree_add_nothing():
    rows = np.array([[0, 1, 1]] * 30 + [[1, 1, 1]] * 70)
    histogram = histogram_of(rows, CASCADE)
    few = LabelledCases.of(histogram, [((0, 1, 1), 1, 10)])
    more = LabelledCases.of(histogram, [((0, 1, 1), 1, 10), ((1, 1, 1), 1, 60)])
    assert few.difference(0, 1, alpha=0.05) == more.difference(0, 1, alpha=0.05)
    assert few.estimate(0, 1) == more.estimate(0, 1)


def test_missing_outputs_leave_room():
    rows = [[0, 1, None]] * 20 + [[0, 1, 1]] * 80
    cases = LabelledCases.of(histogram_of(rows, CASCADE), [((0, 1, 1), 1, 79)])
    assert cases.difference(0, 2, alpha=0.05).high == pytest.approx(1.0)
    assert cases.difference(0, 2, alpha=0.05).low < 0.8 - 0.2 - 1e-6


@pytest.mark.parametrize("at_random", [True, False])
def test_gaps_by_chance_do_not_shrink_an_estimate(at_random):
    """Cases without the third output are taken to be like those with it, not to be without gain."""
    rng = np.random.default_rng(12)
    labels, outputs = draw(rng, 20_000, [0.25, 0.2, 0.05])
    shown = outputs.astype(object)
    shown[rng.random(20_000) < np.where(outputs[:, 1] == 1, 0.8, 0.5), 2] = None
    errors = (outputs != labels[:, None]).mean(axis=0)
    complete = [c for c in range(20_000) if shown[c, 2] is not None][:2_000]
    cases = LabelledCases.of(
        histogram_of(shown, CASCADE), labelled(shown, labels, complete), at_random=at_random
    )
    assert cases.estimate(0, 2) == pytest.approx(errors[0] - errors[2], abs=0.03)
    assert errors[0] - errors[2] in cases.difference(0, 2, alpha=0.05)
    assert (cases.difference(0, 2, alpha=0.05).width < 0.3) == at_random
    never = [[0, None, 1], [1, None, 0], [0, 1, None], [1, 1, None]]
    apart = LabelledCases.of(histogram_of(never, CASCADE), [((0, None, 1), 0, 1)])
    assert np.isnan(apart.estimate(1, 2))
    assert apart.difference(1, 2, alpha=0.05).width == pytest.approx(2)


def test_error_rates_by_random_labels_hold_and_are_of_use():
    """Coverage of 95 % over draws of 200 labels from all cases; of a plan's labels, at all."""
    rng = np.random.default_rng(13)
    labels, outputs = draw(rng, 4_000, [0.3, 0.1, 0.05], n_classes=3)
    histogram = histogram_of(outputs, CASCADE)
    errors = (outputs != labels[:, None]).mean(axis=0)
    runs, missed, widths = 200, np.zeros(3), []
    for _ in range(runs):
        chosen = rng.choice(4_000, 200, replace=False)
        cases = LabelledCases.of(histogram, labelled(outputs, labels, chosen), by_agreement=True)
        found = [cases.error_rate(k, alpha=0.05) for k in range(3)]
        missed += [errors[k] not in found[k] for k in range(3)]
        widths.append([f.width for f in found])
    assert (missed / runs <= 0.05 + hoeffding(runs)).all()
    assert (np.mean(widths, axis=0) < [0.35, 0.35, 0.35]).all()
    apart = [c for c in range(4_000) if len(set(outputs[c].tolist())) > 1][:100]
    agree = (outputs == outputs[:, :1]).all(axis=1).mean()
    planned = LabelledCases.of(histogram, labelled(outputs, labels, apart), by_agreement=True)
    assert planned.error_rate(0, alpha=0.05).width > agree  # cases that agree may all be wrong


def test_with_all_labels_nothing_is_left_open():
    labels, outputs = draw(np.random.default_rng(14), 900, [0.3, 0.2, 0.1], n_classes=3)
    table = pd.DataFrame(outputs, columns=["a", "b", "c"])
    report = sw.audit(table, CASCADE, labels=table.assign(label=labels))
    for bounds, error in zip(
        report.error_bounds, (outputs != labels[:, None]).mean(axis=0), strict=True
    ):
        assert bounds.low == pytest.approx(error, abs=1e-6)
        assert bounds.high == pytest.approx(error, abs=1e-6)
    assert report.guarantee == pytest.approx(0, abs=1e-6)


def evidence_at(costs, n_labels=2_000):
    rng = np.random.default_rng(3)
    labels, outputs = draw(rng, 20_000, [0.4, 0.1, 0.08])
    cascade = Cascade(costs)
    histogram = histogram_of(outputs, cascade)
    verdict = judge(DisagreementBounds.of(histogram, alpha=0.05), cascade)
    cases = LabelledCases.of(histogram, labelled(outputs, labels, range(n_labels)))
    errors = (outputs != labels[:, None]).mean(axis=0)
    return label_evidence(cases, verdict, cascade, alpha=0.05), errors + cascade.cumulative_costs


@pytest.mark.parametrize(
    ("costs", "stage", "weak_dominance"),
    [
        ([0, 0.1, 0.3], 1, Holds.YES),  # 2 to 3 changes 16 % and costs 30
        ([0, 0.1, 0.1], 1, Holds.NO),  # it costs 10
        ([0, 0.6, 0.3], 0, Holds.YES),
        ([0, 0.001, 0.001], 2, Holds.YES),  # nothing comes after the last
        ([0, 0.4, 0.3], 0, Holds.NO),
    ],
)
def test_labels_choose_the_stage_and_tell_weak_dominance(costs, stage, weak_dominance):
    found, total = evidence_at(costs)
    assert found.stage == stage == int(np.argmin(total))
    assert stage in found.possible_stages
    if found.possible_stages == (stage,):
        assert found.weak_dominance is weak_dominance
    else:
        assert found.weak_dominance in {weak_dominance, Holds.OPEN}


def test_few_labels_leave_weak_dominance_open():
    found, _ = evidence_at([0, 0.29, 0.1], n_labels=10)
    assert len(found.possible_stages) > 1
    assert found.weak_dominance is Holds.OPEN


def planned(n_labels, costs=(1, 2, 3), mistake_cost=30, n_classes=2, assumptions=()):
    rng = np.random.default_rng(4)
    labels, outputs = draw(rng, 4_000, [0.35, 0.2, 0.1], n_classes=n_classes)
    cascade = Cascade(list(costs), mistake_cost, ["a", "b", "c"])
    histogram = histogram_of(outputs, cascade)
    differences = IdentifiedSet(law_of(outputs, cascade), assumptions).largest_differences
    plan = plan_labels(histogram, differences, cascade, n_labels=n_labels, alpha=0.05)
    return labels, outputs, cascade, differences, plan


def test_a_plan_asks_only_where_stages_that_may_be_best_disagree():
    _, outputs, cascade, differences, plan = planned(50, costs=(1, 2, 60))
    stages = possible_stages(differences, cascade.cumulative_costs)
    assert stages == (0, 1)
    assert plan.n_labels == 50
    groups = Counter(agreement(row) for row in outputs.tolist())
    asked = {blocks: n for blocks, n in groups.items() if blocks[0] != blocks[1]}
    total = sum(asked.values())
    assert {group.blocks for group in plan.groups} == set(asked)
    for group in plan.groups:
        assert group.n_cases == asked[group.blocks]
        assert abs(group.n_labels - 50 * group.n_cases / total) < 1
    assert [(i, j) for i, j, _ in plan.resolution] == [(0, 1)]


def test_stages_that_may_be_best_are_those_some_labels_favour():
    _, outputs, cascade, differences, _ = planned(10, costs=(1, 2, 60), assumptions=[Ordered()])
    C, law, unit = cascade.cumulative_costs, law_of(outputs, cascade), np.eye(3)
    expected = tuple(
        k
        for k in range(3)
        if all(
            highs_bound(law, unit[j] - unit[k], conditions=ORDER[3]) >= C[k] - C[j]
            for j in range(3)
        )
    )
    assert possible_stages(differences, C) == expected
    assert expected == (0, 1)


def test_a_plan_larger_than_the_log_asks_for_all_of_it():
    _, outputs, _, _, plan = planned(10**6)
    assert plan.n_labels == sum(len(set(row)) > 1 for row in outputs.tolist())


def test_what_a_plan_promises_it_settles():
    """A difference further from the price than the resolution is told from it."""
    labels, outputs, cascade, _, plan = planned(400)
    log = open_log(outputs.astype(np.uint8), cascade)
    chosen = [case.case - 1 for case in draw_cases(log, plan, seed=0)]
    cases = LabelledCases.of(
        histogram_of(outputs, cascade), labelled(outputs, labels, chosen), by_agreement=True
    )
    for i, j, width in plan.resolution:
        assert cases.difference(i, j, alpha=0.05 / 3).width / 2 <= 1.1 * width


@pytest.mark.parametrize("n_classes", [2, 4])
def test_drawn_cases_are_those_of_the_plan(n_classes):
    _, outputs, cascade, _, plan = planned(60, n_classes=n_classes)
    frame = pd.DataFrame(outputs, columns=["a", "b", "c"])
    frame["visit"] = [f"v{n:05}" for n in range(len(frame))]
    shuffled = frame.sample(frac=1, random_state=0)
    drawn = draw_cases(open_log(frame, cascade, case_id="visit"), plan, seed=5)
    again = draw_cases(open_log(shuffled, cascade, case_id="visit"), plan, seed=5)
    other = draw_cases(open_log(frame, cascade, case_id="visit"), plan, seed=6)
    assert drawn == again
    assert drawn != other
    assert len({case.case for case in drawn}) == 60
    sizes = Counter()
    for case in drawn:
        row = outputs[int(case.case[1:])]
        assert case.outputs == tuple(row.tolist())
        sizes[agreement(row.tolist())] += 1
    assert sizes == {group.blocks: group.n_labels for group in plan.groups}


@pytest.mark.parametrize("K", [12, 18])
def test_cases_of_many_tests_are_drawn(K):
    _, outputs = draw(np.random.default_rng(K), 3_000, np.linspace(0.4, 0.1, K), n_classes=3)
    names = [f"t{k}" for k in range(K)]
    frame = pd.DataFrame(outputs, columns=names)
    report = sw.audit(frame, sw.Cascade([0.01] * K, names=names), n_planned=25)
    assert len(report.planned_cases) == 25
    for case in report.planned_cases:
        assert case.outputs == tuple(outputs[case.case - 1].tolist())


def test_drawing_is_even_over_the_cases():
    """Each of the cases of an agreement is drawn about equally often."""
    _, outputs, cascade, _, plan = planned(100)
    log = open_log(outputs.astype(np.uint8), cascade)
    group = plan.groups[0]
    cases = [k for k, row in enumerate(outputs.tolist()) if agreement(row) == group.blocks]
    drawn = Counter()
    for seed in range(30):
        drawn.update(case.case - 1 for case in draw_cases(log, plan, seed=seed))
    early = sum(drawn[c] for c in cases[: len(cases) // 2])
    total = sum(drawn[c] for c in cases)
    assert abs(early / total - 0.5) < hoeffding(total)


def test_labels_by_case_and_by_outputs_are_the_same(tmp_path):
    rng = np.random.default_rng(6)
    labels, outputs = draw(rng, 300, [0.4, 0.3, 0.1])
    frame = pd.DataFrame(outputs, columns=["a", "b", "c"]).assign(visit=range(1_000, 1_300))
    log = open_log(frame, CASCADE, case_id="visit")
    histogram = log.histogram()
    told = frame.assign(label=labels)[::7]
    told[["visit", "label"]].to_csv(tmp_path / "ids.csv", index=False)
    told[["a", "b", "c", "label"]].to_csv(tmp_path / "outputs.csv", index=False)
    told = told.assign(agreement="a = b against c")
    found = [
        read_labels(source, "label", log, histogram, LabelSpace())
        for source in (tmp_path / "ids.csv", tmp_path / "outputs.csv", told)
    ]
    np.testing.assert_array_equal(found[0].counts, found[1].counts)
    assert found[0].n_labels == found[2].n_labels == len(told)
    assert len(found[2].shares) < len(found[0].shares)  # a plan's cases are pooled by agreement


def test_labels_that_do_not_fit():
    frame = pd.DataFrame({"a": [0, 1, 1], "b": [0, 1, 0], "c": [1, 1, 0], "visit": [1, 2, 3]})
    log = open_log(frame, CASCADE, case_id="visit")
    histogram = log.histogram()

    def refused(match, **columns):
        with pytest.raises(LogError, match=match):
            read_labels(pd.DataFrame(columns), "label", log, histogram, LabelSpace())

    refused("column 'label', got visit", visit=[1])
    refused("tests' columns or the case id 'visit'", nr=[1], label=[0])
    refused("some 'visit' are not in it", visit=[9], label=[0])
    refused("got none", visit=[1], label=pd.Series([None], dtype="Int64"))
    refused("must be one of the log", a=[0], b=[1], c=[0], label=[0])


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


def refused(labels, match, **settings):
    log = pd.DataFrame({"id": range(6), "a": list("xyxyxz"), "b": list("xxyyxz")})
    log = settings.pop("log", log)
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    with pytest.raises(LogError, match=match):
        sw.audit(log, cascade, case_id="id", labels=labels, **settings)


def test_labels_that_cannot_be_are_refused():
    typo = pd.DataFrame({"id": [1, 2], "label": ["x", "yy"]})
    refused(typo, r"a value that some test gives, got 'yy'; the log has 'x', 'y', 'z'")
    never = pd.DataFrame({"id": [1, 2], "label": ["x", "z"]})
    refused(never, r"got 'z', which never is", never_right=["z"])
    twice = pd.DataFrame({"id": [5, 5, 5, 1], "label": ["x", "x", "y", "x"]})
    refused(twice, r"a case must have one label, got 3 for 5")
    refused(twice.assign(a="x", b="y"), r"a case must have one label, got 3 for 5")
    log = pd.DataFrame({"id": [1, 1, 2, 3], "a": list("xyxy"), "b": list("xxyy")})
    labels = pd.DataFrame({"id": [1, 2], "label": ["x", "y"]})
    refused(labels, r"a case id must name one case, some 'id' of labels name several", log=log)


def test_a_label_no_test_gives_is_fine_where_it_may_be():
    log = pd.DataFrame({"id": range(6), "a": list("xyxyxz"), "b": list("xxyyxz")})
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    labels = pd.DataFrame({"id": [1, 2, 3], "label": ["x", "new", None]})
    report = sw.audit(log, cascade, case_id="id", labels=labels, unseen_label=True)
    assert report.labels.n_labels == 2


def test_a_column_that_happens_to_be_called_agreement_makes_no_plan():
    labels, outputs = draw(np.random.default_rng(4), 300, (0.3, 0.2))
    log = pd.DataFrame(outputs, columns=["a", "b"])
    cascade = Cascade([1, 1], mistake_cost=10, names=["a", "b"])
    told = log.assign(label=labels)[:40]
    plain = sw.audit(log, cascade, labels=told).labels
    named = sw.audit(log, cascade, labels=told.assign(agreement="good")).labels
    drawn = sw.audit(log, cascade, labels=told.assign(agreement="a against b")).labels
    np.testing.assert_array_equal(named.estimates, plain.estimates)
    assert drawn.estimates[0, 1] != plain.estimates[0, 1]


def test_no_log_is_no_log():
    with pytest.raises(LogError, match="got NoneType"):
        sw.audit(None, Cascade([1, 1], names=["a", "b"]))
