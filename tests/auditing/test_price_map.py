"""The map over all prices of a mistake: at each it says what an audit at that price says."""

import time
from itertools import pairwise

import numpy as np
import pytest

import stopwise as sw
from stopwise.auditing import MissingAtRandom, Ordered
from stopwise.auditing.advice import Certainty
from stopwise.auditing.price_map import PriceMap
from tests.auditing.worlds import draw, frame_of

BESIDE = 1e-5  # an edge, as a share of the price


def world(name):
    """A log, prices of tests, and what else an audit is told."""
    truth, frame = frame_of(1, 1_500, (0.3, 0.12, 0.04))
    more = {}
    if name == "four tests":
        _, frame = frame_of(2, 800, (0.3, 0.2, 0.12, 0.04), names=list("abcd"))
    elif name == "labels":
        more["labels"] = frame.assign(label=truth)[frame.nunique(axis=1) > 1][:40]
    elif name == "gaps":
        frame = frame.astype("Int64")
        frame.loc[(frame.history == frame.insulin) & (frame.index % 5 > 0), "all"] = None
        more["assumptions"] = [MissingAtRandom()]
    elif name == "assumptions":
        more["assumptions"] = [Ordered()]
    return frame, [1, 8, 60, 90][: frame.shape[1]], more


@pytest.mark.parametrize("name", ["complete", "four tests", "labels", "gaps", "assumptions"])
def test_the_map_says_what_an_audit_at_that_price_says(name):
    frame, costs, more = world(name)
    bands = sw.audit(frame, sw.Cascade(costs, 500, list(frame)), **more).advice.prices
    assert {band.certainty for band in bands} >= {Certainty.PROVEN, Certainty.GUESS}
    for band in bands:
        inside = np.geomspace(band.low * (1 + BESIDE), band.high * (1 - BESIDE), 3)
        for price in inside.tolist():
            advice = sw.audit(frame, sw.Cascade(costs, price, list(frame)), **more).advice
            assert (band.stage, band.certainty) == (advice.stage, advice.certainty), price
    assert all(left.high == right.low for left, right in pairwise(bands))


def test_the_price_at_which_the_advice_changes_is_in_the_band_of_the_advice():
    rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]] * 50)  # the second test changes a quarter
    report = sw.audit(rows, sw.Cascade([1, 5], 20))  # and costs as much
    (band,) = (b for b in report.advice.prices if b.low <= 20 < b.high)
    assert band.certainty is report.advice.certainty is Certainty.PROVEN
    assert band.high == pytest.approx(20, rel=1e-5)


def test_the_map_reaches_to_prices_far_from_the_users():
    """Calls of a model cost a hundred-thousandth of a mistake, or of what a mistake may cost."""
    frame, costs, _ = world("complete")
    bands = sw.audit(frame, sw.Cascade(costs, 500, list(frame))).advice.prices
    for scale in (1e-9, 1e9):
        cascade = sw.Cascade([cost * scale for cost in costs], 500, list(frame))
        scaled = sw.audit(frame, cascade).advice.prices
        assert [(b.stage, b.certainty) for b in scaled] == [(b.stage, b.certainty) for b in bands]
        expected = [band.high * scale for band in bands[:-1]]
        assert [band.high for band in scaled[:-1]] == pytest.approx(expected, rel=1e-5)


def test_the_map_of_thirty_tests_takes_less_than_a_second():
    rng = np.random.default_rng(0)
    _, outputs = draw(rng, 2_000, tuple(np.linspace(0.4, 0.05, 30)))
    report = sw.audit(outputs, sw.Cascade(rng.random(30).tolist(), 10))
    start = time.process_time()
    assert PriceMap(report.facts).bands() == report.advice.prices
    assert time.process_time() - start < 1
