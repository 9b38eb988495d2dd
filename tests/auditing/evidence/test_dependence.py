"""Whether gaps depend on what other tests said: seen where they do, and not where they do not."""

import math

import numpy as np
import pytest
from scipy.stats import binom, chi2, chi2_contingency

import stopwise as sw
from stopwise.auditing import MissingAtRandom
from stopwise.auditing.evidence.dependence import dependence
from stopwise.auditing.evidence.missing import missing_outputs
from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.facts import disagreement_bounds
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, histogram_of

CASCADE = Cascade([0.01, 0.1, 0.1])


def rows_of(*counted):
    return [list(row) for row, n in counted for _ in range(n)]


def test_the_groups_are_those_in_which_the_same_is_missing():
    """Two tables by hand: with the second output, and without it."""
    log = histogram_of(
        rows_of(
            ((0, 0, 1), 40), ((0, 0, None), 10), ((1, 0, 1), 30), ((1, 0, None), 20),
            ((0, None, 1), 15), ((0, None, None), 25), ((1, None, 1), 50), ((1, None, None), 10),
        ),
        CASCADE,
    )  # fmt: skip
    tables = [[[40, 10], [30, 20]], [[15, 25], [50, 10]]]
    found = [chi2_contingency(t, correction=False) for t in tables]
    expected = chi2.sf(sum(f.statistic for f in found), 2)
    assert expected < found[0].pvalue  # that of who agrees with whom, seen in the first alone
    assert dependence(log, 2, [0, 1]) == pytest.approx(2 * expected)
    # Given the first output nothing is left to compare with the second, which is always 0.
    assert math.isnan(dependence(log, 2, [1], given=[0]))
    assert math.isnan(dependence(log, 0, []))


def test_what_is_rare_is_taken_together():
    """Of 40 values two are common; 38 with three cases each expect too few gaps one by one."""
    common = [((0, 0), 60), ((0, None), 20), ((1, 0), 45), ((1, None), 30)]
    rare = [((v, w), n) for v in range(2, 40) for w, n in ((0, 2), (None, 1))]
    log = histogram_of(rows_of(*common, *rare), Cascade([0.1, 0.1]))
    table = [[60, 20], [45, 30], [76, 38]]
    assert dependence(log, 1, [0]) == pytest.approx(
        chi2_contingency(table, correction=False).pvalue
    )
    few = histogram_of(rows_of(*common, *rare[:4]), Cascade([0.1, 0.1]))  # too few even together
    table = [[60, 20], [49, 32]]
    assert dependence(few, 1, [0]) == pytest.approx(
        chi2_contingency(table, correction=False).pvalue
    )


def intents(rng, n, n_classes=77):
    """Many values, each of them rare; the large model runs where the others are not at one."""
    _, outputs = draw(rng, n, [0.15, 0.10, 0.03], n_classes=n_classes)
    shown = outputs.astype(object)
    shown[outputs[:, 0] == outputs[:, 1], 2] = None
    return outputs, shown


def test_of_many_values_who_agrees_with_whom_is_tried():
    rng = np.random.default_rng(4)
    outputs, shown = intents(rng, 1_000)
    ran = (outputs[:, 0] != outputs[:, 1]) ^ (rng.random(1_000) < 0.4)
    blurred = outputs.astype(object)
    blurred[~ran, 2] = None
    apart = outputs[:, 0] != outputs[:, 1]
    table = [[(apart & ran).sum(), (apart & ~ran).sum()],
             [(~apart & ran).sum(), (~apart & ~ran).sum()]]  # fmt: skip
    expected = chi2_contingency(table, correction=False).pvalue
    one_by_one = dependence(histogram_of(blurred[:, [0, 2]], Cascade([0.1, 0.1])), 1, [0])
    assert 1e-20 < expected < 1e-6 < one_by_one
    assert dependence(histogram_of(blurred, CASCADE), 2, [0, 1]) == pytest.approx(2 * expected)
    assert missing_outputs(histogram_of(shown, CASCADE)).dependent_tests == (2,)


def test_agreement_with_what_is_given_counts_too():
    """Given the first output, the gaps of the second follow whether the third is at one with it."""
    values, n = 6, 400
    rng = np.random.default_rng(5)
    first = rng.integers(0, 2, n)
    third = np.where(rng.random(n) < 0.5, first, rng.integers(2, values, n))
    ran = rng.random(n) < np.where(first == third, 0.05, 0.25)
    shown = np.column_stack([first, np.where(ran, 0, -1), third]).astype(object)
    shown[~ran, 1] = None
    alike = [chi2_contingency(
        [[((first == y) & (agree == at) & (ran == r)).sum() for r in (0, 1)] for at in (0, 1)],
        correction=False,
    ) for agree in [first == third] for y in (0, 1)]  # fmt: skip
    expected = chi2.sf(sum(f.statistic for f in alike), 2)
    found = dependence(histogram_of(shown, CASCADE), 1, [2], given=[0])
    assert found == pytest.approx(2 * expected, abs=0)


def test_a_router_over_many_values_is_covered():
    world = np.random.default_rng(6)
    outputs, _ = intents(world, 200_000)
    cascade = Cascade([0, 0.05, 0.2])
    for seed in range(6):
        _, shown = intents(np.random.default_rng(seed), 1_000)
        table = histogram_of(shown, cascade)
        for taken in (False, True):
            bounds = disagreement_bounds(
                table, missing_outputs(table), [MissingAtRandom()] * taken, 0.05 / 3
            )
            for i, j in ((0, 1), (0, 2), (1, 2)):
                truth = (outputs[:, i] != outputs[:, j]).mean()
                assert bounds.low[i, j] <= truth <= bounds.high[i, j], (seed, taken)


@pytest.mark.parametrize(("K", "n_classes"), [(3, 2), (3, 40), (6, 5), (8, 2)])
@pytest.mark.slow
def test_gaps_by_chance_are_rarely_called_a_choice(K, n_classes):
    """At the level of 1 %: of 40 logs more than six are called so with chance 1e-6."""
    assert binom.sf(6, 40, 0.01) < 1e-6
    called = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _, outputs = draw(rng, 1_500, [0.3] * K, n_classes=n_classes)
        shown = outputs.astype(object)
        shown[rng.random(1_500) < 0.03, K - 1] = None
        shown[rng.random(1_500) < 0.2, 1:] = None
        called += bool(missing_outputs(histogram_of(shown, Cascade([0.1] * K))).dependent_tests)
    assert called <= 6


def skipped_then_chosen(seed=2, n=20_000):
    """The second test is skipped by chance, and then the third runs where the first said 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < np.where(labels == 1, 0.35, 0.02), 1 - labels, labels)
    second = np.where(rng.random(n) < 0.02, 1 - first, first)
    third = np.where(rng.random(n) < 0.03, 1 - labels, labels)
    shown = np.column_stack([first, second, third]).astype(object)
    skipped = rng.random(n) < 0.8
    shown[skipped, 1] = None
    shown[skipped & (first == 0), 2] = None
    return (first != third).mean(), shown


def test_a_choice_among_cases_with_another_gap_is_seen():
    truth, shown = skipped_then_chosen()
    report = sw.audit(shown, Cascade([0, 4, 10], mistake_cost=100))
    assert report.facts.missing.dependent_tests == (2,)
    pair = report.facts.verdict.pair(0, 2)
    assert pair.disagreement < pair.price < truth  # as it is it would say: cannot pay
    assert truth in pair.interval
    assert pair.settled == 0
    assert report.facts.verdict.finding is Finding.UNDECIDED


def test_gaps_that_depend_on_what_came_after_are_seen_and_not_adjusted_by_what_came_before():
    rng = np.random.default_rng(3)
    _, outputs = draw(rng, 20_000, [0.2, 0.15, 0.05])
    shown = outputs.astype(object)
    shown[(outputs[:, 2] == 1) & (rng.random(20_000) < 0.6), 0] = None
    cascade = Cascade([0.01, 0.1, 0.1])
    plain, taken = (
        sw.audit(shown, cascade, assumptions=[MissingAtRandom()] * at) for at in (False, True)
    )
    assert plain.facts.missing.dependent_tests == (0,)
    assert plain.facts.missing.pairs_with_gaps == ((0, 1), (0, 2))
    assert plain.facts.missing.adjustable_pairs(cascade) == frozenset()
    for report in (plain, taken):
        for i, j in ((0, 1), (0, 2)):
            assert report.facts.verdict.pair(i, j).is_biased
            assert (outputs[:, i] != outputs[:, j]).mean() in report.facts.verdict.pair(
                i, j
            ).interval
    assert not plain.facts.verdict.pair(1, 2).is_biased
