"""Whether gaps depend on what other tests said: seen where they do, and not where they do not."""

import numpy as np
import pytest
from scipy.stats import binom, chi2_contingency

import stopwise as sw
from stopwise.auditing import MissingAtRandom
from stopwise.auditing.evidence.dependence import dependence
from stopwise.auditing.evidence.missing import missing_outputs
from stopwise.auditing.evidence.verdict import Finding, judge
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, histogram_of

CASCADE = Cascade([0.01, 0.1, 0.1])


def intents(rng, n, n_classes=77):
    """Many values, each of them rare; the large model runs where the others disagree."""
    _, outputs = draw(rng, n, [0.15, 0.10, 0.03], n_classes=n_classes)
    log = outputs.astype(object)
    log[outputs[:, 0] == outputs[:, 1], 2] = None
    return outputs, log


def test_for_many_values_the_agreement_is_tested():
    rng = np.random.default_rng(4)
    outputs, log = intents(rng, 1_000)
    ran = (outputs[:, 0] != outputs[:, 1]) ^ (rng.random(1_000) < 0.4)
    blurred = outputs.astype(object)
    blurred[~ran, 2] = None
    disputed = outputs[:, 0] != outputs[:, 1]
    table = [[(disputed & ran).sum(), (disputed & ~ran).sum()],
             [(~disputed & ran).sum(), (~disputed & ~ran).sum()]]  # fmt: skip
    expected = chi2_contingency(table, correction=False).pvalue
    one_by_one = dependence(histogram_of(blurred[:, [0, 2]], Cascade([0.1, 0.1])), 1, [0])
    assert 1e-20 < expected < 1e-6 < one_by_one
    assert dependence(histogram_of(blurred, CASCADE), 2, [0, 1]) == pytest.approx(2 * expected)
    assert missing_outputs(histogram_of(log, CASCADE)).dependent_tests == (2,)


def test_a_router_over_many_values_is_covered():
    world = np.random.default_rng(6)
    outputs, _ = intents(world, 200_000)
    cascade = Cascade([0, 0.05, 0.2])
    for seed in range(6):
        table = histogram_of(intents(np.random.default_rng(seed), 1_000)[1], cascade)
        for adjustable in ((), missing_outputs(table).adjustable_pairs(cascade)):
            verdict = judge(table, table.disagreement, alpha=0.05 / 3, adjustable=adjustable)
            for pair in verdict.pairs:
                truth = (outputs[:, pair.shallow] != outputs[:, pair.deep]).mean()
                assert truth in pair.interval, (seed, adjustable)


@pytest.mark.parametrize(("K", "n_classes"), [(3, 2), (3, 40), (6, 5), (8, 2)])
@pytest.mark.slow
def test_gaps_by_chance_are_rarely_called_a_choice(K, n_classes):
    """At the level of 1 %: of 40 logs more than six are called so with chance 1e-6."""
    assert binom.sf(6, 40, 0.01) < 1e-6
    n_alarms = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        _, outputs = draw(rng, 1_500, [0.3] * K, n_classes=n_classes)
        log = outputs.astype(object)
        log[rng.random(1_500) < 0.03, K - 1] = None
        log[rng.random(1_500) < 0.2, 1:] = None
        n_alarms += bool(missing_outputs(histogram_of(log, Cascade([0.1] * K))).dependent_tests)
    assert n_alarms <= 6


def skipped_then_chosen(seed=2, n=20_000):
    """The second test is skipped by chance, and then the third runs where the first said 1."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, n)
    first = np.where(rng.random(n) < np.where(labels == 1, 0.35, 0.02), 1 - labels, labels)
    second = np.where(rng.random(n) < 0.02, 1 - first, first)
    third = np.where(rng.random(n) < 0.03, 1 - labels, labels)
    log = np.column_stack([first, second, third]).astype(object)
    skipped = rng.random(n) < 0.8
    log[skipped, 1] = None
    log[skipped & (first == 0), 2] = None
    return (first != third).mean(), log


def test_a_choice_among_cases_with_another_gap_is_seen():
    truth, log = skipped_then_chosen()
    report = sw.audit(log, Cascade([0, 4, 10], mistake_cost=100))
    assert report.facts.missing.dependent_tests == (2,)
    pair = report.facts.verdict.pair(0, 2)
    assert pair.disagreement < pair.price < truth  # as it is it would say: cannot pay
    assert truth in pair.interval
    assert pair.settled == 0
    assert report.facts.verdict.finding is Finding.UNDECIDED


def test_gaps_that_depend_on_what_came_after_are_seen_and_not_adjusted_by_what_came_before():
    rng = np.random.default_rng(3)
    _, outputs = draw(rng, 20_000, [0.2, 0.15, 0.05])
    log = outputs.astype(object)
    log[(outputs[:, 2] == 1) & (rng.random(20_000) < 0.6), 0] = None
    cascade = Cascade([0.01, 0.1, 0.1])
    plain, assumed = (
        sw.audit(log, cascade, assumptions=[MissingAtRandom()] * at) for at in (False, True)
    )
    assert plain.facts.missing.dependent_tests == (0,)
    assert plain.facts.missing.adjustable_pairs(cascade) == frozenset()
    for report in (plain, assumed):
        for i, j in ((0, 1), (0, 2)):
            assert report.facts.verdict.pair(i, j).is_biased
            assert (outputs[:, i] != outputs[:, j]).mean() in report.facts.verdict.pair(
                i, j
            ).interval
    assert not plain.facts.verdict.pair(1, 2).is_biased
