"""Labels on disagreements: estimates, and intervals that hold."""

import numpy as np
import pytest
from scipy.stats import binom

from stopwise.audit.labels.cases import LabelledCases, agreement
from stopwise.cascade import Cascade
from tests.audit.worlds import draw, histogram_of, labelled
from tests.strategies import hoeffding

CASCADE = Cascade([1, 2, 3], mistake_cost=30, names=["a", "b", "c"])


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
            assert cases.estimate(i, j) == pytest.approx(errors[i] - errors[j], abs=0.005)
            assert errors[i] - errors[j] in cases.interval(i, j, alpha=0.05)


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
        interval = cases.interval(0, 2, alpha=0.05)
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
        interval = LabelledCases.of(histogram, told).interval(0, 1, alpha=0.05)
        missed += binom.pmf(wrong, N, chance) * (share * (2 * chance - 1) not in interval)
    assert missed <= 0.05
    if chance == 0.5:
        assert missed > 0.005


def test_patterns_count_by_their_share_however_many_labels_they_have():
    """Test 1 is wrong in all of one pattern, test 2 in all of a rarer one with as many labels."""
    rows = np.array([[0, 1, 1]] * 30 + [[1, 0, 0]] * 10 + [[0, 0, 0]] * 60)
    told = [((0, 1, 1), 1, 200), ((1, 0, 0), 1, 200)]
    cases = LabelledCases.of(histogram_of(rows, CASCADE), told)
    interval = cases.interval(0, 1, alpha=0.05)
    assert cases.estimate(0, 1) == pytest.approx(0.3 - 0.1, abs=0.005)
    assert 0.2 in interval
    assert 0.1 < interval.low < interval.high < 0.3


def test_patterns_without_labels_may_be_anything():
    rows = np.array([[0, 1, 1]] * 30 + [[1, 0, 0]] * 20 + [[0, 0, 0]] * 50)
    cases = LabelledCases.of(histogram_of(rows, CASCADE), [((0, 1, 1), 1, 30)])
    interval = cases.interval(0, 1, alpha=0.05)
    assert interval.high == pytest.approx(0.5)
    assert interval.low < 0.3 - 0.2
    assert LabelledCases.of(histogram_of(rows, CASCADE), []).interval(0, 1, alpha=0.05).low == -0.5


def test_cases_that_agree_add_nothing():
    rows = np.array([[0, 1, 1]] * 30 + [[1, 1, 1]] * 70)
    histogram = histogram_of(rows, CASCADE)
    few = LabelledCases.of(histogram, [((0, 1, 1), 1, 10)])
    more = LabelledCases.of(histogram, [((0, 1, 1), 1, 10), ((1, 1, 1), 1, 60)])
    assert few.interval(0, 1, alpha=0.05) == more.interval(0, 1, alpha=0.05)
    assert few.estimate(0, 1) == more.estimate(0, 1)


def test_missing_outputs_leave_room():
    rows = [[0, 1, None]] * 20 + [[0, 1, 1]] * 80
    cases = LabelledCases.of(histogram_of(rows, CASCADE), [((0, 1, 1), 1, 80)])
    assert cases.interval(0, 2, alpha=0.05).high == pytest.approx(1.0)
    assert cases.interval(0, 2, alpha=0.05).low < 0.8 - 0.2
