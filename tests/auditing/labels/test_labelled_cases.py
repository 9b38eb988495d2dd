"""Labels on disagreements: estimates, and intervals that hold."""

import numpy as np
import pytest
from scipy.stats import binom

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.labels.labelled_cases import LabelledCases
from stopwise.cascade import Cascade
from stopwise.errors import LogError
from tests.auditing.worlds import draw, histogram_of, labelled
from tests.strategies import hoeffding

CASCADE = Cascade([1, 2, 3], mistake_cost=30, names=["a", "b", "c"])


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
    disputed = sum(map(len, strata.values()))
    runs, n_missed, widths = 400, 0, []
    for _ in range(runs):
        sizes = {
            row: max(round(60 * len(members) / disputed), 1) if allocation == "planned" else 5
            for row, members in strata.items()
        }
        sample = [c for row, n in sizes.items() for c in rng.choice(strata[row], n, replace=False)]
        cases = LabelledCases.of(histogram, labelled(outputs, labels, sample))
        interval = cases.difference(0, 2, alpha=0.05)
        n_missed += errors[0] - errors[2] not in interval
        widths.append(interval.width)
    assert n_missed / runs <= 0.05 + hoeffding(runs)
    share = (outputs[:, 0] != outputs[:, 2]).mean()
    assert np.mean(widths) < (0.45 if allocation == "planned" else 0.9) * 2 * share


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.5, 0.9])
def test_the_chance_that_an_interval_misses(chance):
    """Exactly, summed over all numbers of labels in favour: at most alpha, and not far below it."""
    rows = np.array([[0, 1, 1]] * 40 + [[0, 0, 0]] * 60)
    histogram = histogram_of(rows, CASCADE)
    N, share, chance_of_miss = 30, 0.4, 0.0
    for wrong in range(N + 1):
        labels = [((0, 1, 1), 1, wrong), ((0, 1, 1), 0, N - wrong)]
        interval = LabelledCases.of(histogram, labels).difference(0, 1, alpha=0.05)
        chance_of_miss += binom.pmf(wrong, N, chance) * (share * (2 * chance - 1) not in interval)
    assert chance_of_miss <= 0.05
    if chance == 0.5:
        assert chance_of_miss > 0.005


@pytest.mark.parametrize("by_agreement", [True, False])
def test_gaps_by_chance_do_not_shrink_an_estimate(by_agreement):
    """Cases without the third output are taken to be like those with it, not to be without gain."""
    rng = np.random.default_rng(12)
    labels, outputs = draw(rng, 20_000, [0.25, 0.2, 0.05])
    log = outputs.astype(object)
    log[rng.random(20_000) < np.where(outputs[:, 1] == 1, 0.8, 0.5), 2] = None
    errors = (outputs != labels[:, None]).mean(axis=0)
    complete = [c for c in range(20_000) if log[c, 2] is not None][:2_000]
    cases = LabelledCases.of(
        histogram_of(log, CASCADE), labelled(log, labels, complete), by_agreement=by_agreement
    )
    assert cases.estimate(0, 2) == pytest.approx(errors[0] - errors[2], abs=0.03)
    assert errors[0] - errors[2] in cases.difference(0, 2, alpha=0.05)
    never = [[0, None, 1], [1, None, 0], [0, 1, None], [1, 1, None]]
    disputed = LabelledCases.of(histogram_of(never, CASCADE), [((0, None, 1), 0, 1)])
    assert np.isnan(disputed.estimate(1, 2))
    assert disputed.difference(1, 2, alpha=0.05).width == pytest.approx(2)


def test_a_plan_of_a_router_counts_each_pattern_for_what_it_stands_for():
    """After 0 one in ten went on, after 1 all: among those who disagree, labels of 0 weigh more."""
    rng = np.random.default_rng(15)
    n = 30_000
    labels = (rng.random(n) < 0.4).astype(int)
    first = np.where(rng.random(n) < np.where(labels == 1, 0.4, 0.02), 1 - labels, labels)
    second = np.where(rng.random(n) < 0.08, 1 - labels, labels)
    log = np.column_stack([first, second]).astype(object)
    log[(first == 0) & (rng.random(n) < 0.9), 1] = None
    truth = (first != labels).mean() - (second != labels).mean()
    disputed = [c for c in range(n) if log[c, 1] is not None and log[c, 0] != log[c, 1]]
    cascade = Cascade([0.1, 0.1])
    for by_agreement in (True, False):
        sample = rng.choice(disputed, 400, replace=False)
        cases = LabelledCases.of(
            histogram_of(log, cascade),
            labelled(log, labels, sample),
            by_agreement=by_agreement,
        )
        assert cases.estimate(0, 1) == pytest.approx(truth, abs=0.03)
        assert truth in cases.difference(0, 1, alpha=0.05)


def test_under_a_label_that_no_test_gives_nobody_is_right():
    log = histogram_of([[0, None, 1]] * 3 + [[1, 0, 0]], CASCADE)
    cases = LabelledCases.of(log, [((0, None, 1), 7, 1)], space=LabelSpace(unseen=True))
    assert cases.counts.sum(axis=0).tolist() == [0, 0, 0, 1]


def test_more_labels_than_cases_are_refused():
    log = histogram_of([[0, 1, 1]] * 3 + [[1, 0, 0]] * 5, CASCADE)
    with pytest.raises(LogError, match=r"got 4 labels for outputs \[0, 1, 1\], .* has 3 times"):
        LabelledCases.of(log, [((0, 1, 1), 1, 2), ((0, 1, 1), 0, 2)])


def test_error_rates_by_random_labels_hold_and_are_of_use():
    """Coverage of 95 % over draws of 200 labels from all cases; of a plan's labels, at all."""
    rng = np.random.default_rng(13)
    labels, outputs = draw(rng, 4_000, [0.3, 0.1, 0.05], n_classes=3)
    histogram = histogram_of(outputs, CASCADE)
    errors = (outputs != labels[:, None]).mean(axis=0)
    runs, n_missed, widths = 200, np.zeros(3), []
    for _ in range(runs):
        sample = rng.choice(4_000, 200, replace=False)
        cases = LabelledCases.of(histogram, labelled(outputs, labels, sample), by_agreement=True)
        intervals = [cases.error_rate(k, alpha=0.05) for k in range(3)]
        n_missed += [errors[k] not in intervals[k] for k in range(3)]
        widths.append([interval.width for interval in intervals])
    assert (n_missed / runs <= 0.05 + hoeffding(runs)).all()
    assert (np.mean(widths, axis=0) < [0.35, 0.35, 0.35]).all()
    disputed = [c for c in range(4_000) if len(set(outputs[c].tolist())) > 1][:100]
    agree = (outputs == outputs[:, :1]).all(axis=1).mean()
    planned = LabelledCases.of(histogram, labelled(outputs, labels, disputed), by_agreement=True)
    assert planned.error_rate(0, alpha=0.05).width > agree  # cases that agree may all be wrong
