"""Logs with holes: what is missing, and three readings of it."""

import re

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import MissingAtRandom
from stopwise.auditing.advice import Basis, Certainty, NextStep
from stopwise.auditing.evidence.missing import missing_outputs
from stopwise.auditing.evidence.verdict import Finding
from stopwise.cascade import Cascade
from tests.auditing.worlds import draw, histogram_of

CASCADE = Cascade([0.0, 0.1, 0.1])


def stopped_early(seed, *, by_output):
    """A log in which somebody stopped: by the first output, or by a coin."""
    rng = np.random.default_rng(seed)
    _, outputs = draw(rng, 4_000, [0.35, 0.2, 0.1])
    log = outputs.astype(object)
    coin = rng.random(len(outputs)) < 0.5
    stop = coin & (outputs[:, 0] == 0) if by_output else coin
    log[stop, 1:] = None
    later = rng.random(len(outputs)) < np.where(outputs[:, 1] == 1, 0.6, 0.1)
    log[later & ~stop if by_output else coin, 2] = None
    return outputs, log


def test_readings_of_the_disagreement():
    """The adjusted share is near the truth where gaps depend on outputs, the plain one is not."""
    outputs, log = stopped_early(3, by_output=True)
    gaps = missing_outputs(histogram_of(log, CASCADE))
    for pair in gaps.pairs:
        i, j = pair.shallow, pair.deep
        truth = (outputs[:, i] != outputs[:, j]).mean()
        assert truth in pair.worst
        assert pair.adjusted == pytest.approx(truth, abs=0.05)


def test_gaps_by_chance_in_a_sparse_log_do_not_shift_the_adjusted_share():
    rng = np.random.default_rng(5)
    _, outputs = draw(rng, 3_000, [0.3] * 12)
    log = outputs.astype(object)
    log[rng.random(log.shape) < 0.1] = None
    gaps = missing_outputs(histogram_of(log, Cascade([0.01] * 12)))
    assert gaps.dependent_tests == ()
    for pair in gaps.pairs:
        truth = (outputs[:, pair.shallow] != outputs[:, pair.deep]).mean()
        assert pair.adjusted_range.low - 0.02 <= truth <= pair.adjusted_range.high + 0.02
        assert np.isnan(pair.adjusted)


def routed(seed=0, n_cases=8_000):
    """Cases with 1 from the cheap test mostly ended there, though the answer would have changed."""
    rng = np.random.default_rng(seed)
    first = (rng.random(n_cases) < 0.65).astype(int)
    second = np.where(rng.random(n_cases) < np.where(first == 1, 0.31, 0.08), 1 - first, first)
    log = np.column_stack([first, second]).astype(object)
    log[(first == 1) & (rng.random(n_cases) < 0.95), 1] = None
    return (first != second).mean(), log


def sent_on_where_two_differ():
    """The last test ran where the first two differ, and on a random twentieth."""
    rng = np.random.default_rng(11)
    labels, outputs = draw(rng, 20_000, [0.2, 0.08, 0.03])
    log = outputs.astype(object)
    log[(outputs[:, 0] == outputs[:, 1]) & (rng.random(20_000) > 0.05), 2] = None
    return labels, outputs, log


@pytest.mark.parametrize("assumptions", [[], [MissingAtRandom()]])
def test_a_router_log_does_not_make_the_tests_that_it_doubts_look_bad(assumptions):
    labels, outputs, log = sent_on_where_two_differ()
    errors = (outputs != labels[:, None]).mean(axis=0)
    for price in (0.135, 0.15, 0.16):
        report = sw.audit(log, Cascade([0, price, 0.2]), assumptions=assumptions)
        assert report.facts.belief.error_rates == pytest.approx(errors, abs=0.015)
        assert report.advice.stage == 0
    cheap = sw.audit(log, Cascade([0, 0.06, 0.2]), assumptions=assumptions)
    assert cheap.advice.stage == 1
    assert (cheap.advice.certainty is Certainty.LIKELY) == bool(assumptions)


@pytest.mark.parametrize(
    ("price", "assumptions", "next_step"),
    [
        (0.2, [MissingAtRandom()], NextStep.LABEL),  # other cases show what is missing
        (1.0, [], NextStep.LABEL),  # the test with gaps is too dear in any case
        (0.2, [], NextStep.RUN_ALL_TESTS),
    ],
)
def test_labels_are_asked_for_where_gaps_do_not_matter(price, assumptions, next_step):
    labels, outputs, log = sent_on_where_two_differ()
    cascade = Cascade([0, 0.15, price], names=["a", "b", "c"])
    report = sw.audit(log, cascade, assumptions=assumptions)
    assert (report.advice.certainty, report.advice.next_step) == (Certainty.GUESS, next_step)
    if next_step is NextStep.LABEL:
        differ = np.flatnonzero(outputs[:, 0] != outputs[:, 1])[:400]
        told = pd.DataFrame(log, columns=cascade.names).assign(label=labels).iloc[differ]
        report = sw.audit(log, cascade, assumptions=assumptions, labels=told)
        assert (report.advice.stage, report.advice.certainty) == (0, Certainty.LIKELY)
        assert report.advice.next_step in {NextStep.LABEL, NextStep.NOTHING}


@pytest.mark.parametrize(("price", "stage"), [(0.06, 1), (0.09, 0), (0.13, 0)])
def test_half_of_what_the_last_test_changes_is_half_over_all_cases(price, stage):
    """It ran where it often differs: .29 of these cases, .15 of all."""
    rng = np.random.default_rng(0)
    truth = rng.random(5_000) < 0.3
    small, large = (truth ^ (rng.random(5_000) < rate) for rate in (0.15, 0.03))
    log = np.column_stack([small, large]).astype(object)
    log[~small & (rng.random(5_000) > 0.05), 1] = None
    for assumptions in ([], [MissingAtRandom()]):
        assert sw.audit(log, Cascade([0, price]), assumptions=assumptions).advice.stage == stage


def test_a_router_log_is_no_proof_that_going_on_cannot_pay():
    truth, log = routed()
    cascade = Cascade([1, 15], mistake_cost=100, names=["a", "b"])
    plain = sw.audit(log, cascade)
    (pair,) = plain.facts.verdict.pairs
    assert pair.disagreement < pair.price < truth  # the pairs alone would say the opposite
    assert pair.settled == 0
    assert truth in pair.interval
    assert plain.facts.verdict.finding is Finding.UNDECIDED
    adjusted = sw.audit(log, cascade, assumptions=[MissingAtRandom()])
    assert adjusted.facts.verdict.pairs[0].disagreement == pytest.approx(truth, abs=0.03)
    assert adjusted.facts.verdict.stage == 1


def test_a_step_changes_what_the_bounds_allow():
    """If gaps are random, the words and the chart leave out what the intervals exclude."""
    truth, log = routed()
    cascade = Cascade([1, 15], mistake_cost=100, names=["a", "b"])
    report = sw.audit(log, cascade, assumptions=[MissingAtRandom()])
    (step,), (pair,) = report.advice.steps, report.facts.verdict.pairs
    assert truth in step.changed
    assert step.changed.high == pair.interval.high < report.facts.missing.pairs[0].worst.high
    assert f"to {1000 * step.changed.high:.0f} answers" in report.summary()
    page = report.to_html()
    assert max(map(float, re.findall(r"width:([\d.]+)%", page))) <= 100
    report = sw.audit(log, Cascade([1, 95], 100, ["a", "b"]), assumptions=[MissingAtRandom()])
    assert "certainly it cannot pay" in report.summary()
    assert report.advice.steps[0].changed == report.facts.missing.pairs[0].worst


def test_no_proof_depends_on_the_confidence():
    """Intervals of gaps at random hold with some confidence, so what follows is likely at best."""
    _, log = routed()
    cascade = Cascade([1, 30], mistake_cost=100, names=["a", "b"])
    found = set()
    for confidence in (0.1, 0.5, 0.95, 0.999999):
        report = sw.audit(log, cascade, assumptions=[MissingAtRandom()], confidence=confidence)
        found.add((report.advice.basis, report.advice.certainty))
        bands = report.advice.prices
        sure = {band.high for band in bands if band.certainty is Certainty.PROVEN}
        assert max(sure) == pytest.approx(30 / report.facts.missing.pairs[0].worst.high)
        if report.advice.basis is Basis.GAPS:
            text = report.summary()
            assert f"with {100 * confidence:.6g} % confidence" in text
            assert "certainly" not in text
    assert found == {(Basis.GAPS, Certainty.LIKELY), (Basis.LAST_IS_BETTER, Certainty.GUESS)}


@pytest.mark.parametrize("seed", range(5))
def test_a_router_on_a_score_that_nobody_logged_is_covered(seed):
    """Hard cases were sent on, as no output shows: what is missing may be anything."""
    rng = np.random.default_rng(seed)
    hard = rng.random(4_000) < 0.3
    labels = rng.integers(0, 2, 4_000)
    wrong = rng.random((4_000, 2)) < np.where(hard, 0.5, 0.02)[:, None]
    outputs = np.where(wrong, 1 - labels[:, None], labels[:, None])
    log = outputs.astype(object)
    log[~hard & (rng.random(4_000) < 0.9), 1] = None
    truth = (outputs[:, 0] != outputs[:, 1]).mean()
    (pair,) = sw.audit(log, Cascade([0.0, 0.2])).facts.verdict.pairs
    assert pair.is_biased
    assert truth in pair.interval
    assert abs(pair.disagreement - truth) > 0.1
