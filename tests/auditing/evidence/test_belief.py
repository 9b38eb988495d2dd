"""The report shows what the model says; the hedge against shared errors only decides."""

import numpy as np
import pytest

import stopwise as sw
from stopwise.auditing.advice import Basis, Certainty
from stopwise.beliefs import stage_costs
from tests.auditing.worlds import NAMES, frame_of


def test_error_rates_and_their_ranges_are_those_of_the_model():
    _, frame = frame_of(rates=(0.25, 0.1, 0.07))
    report = sw.audit(frame, sw.Cascade([5, 40, 400], 2_000, NAMES))
    table, belief = report.facts.table, report.facts.belief
    model = sw.LatentClasses.fit(table)
    assert belief.error_rates == pytest.approx(model.error_rates)
    limits = [(x.low, x.high) for x in belief.intervals]
    assert limits == pytest.approx(model.error_intervals)
    assert report.advice.steps[1].avoided == pytest.approx(np.diff(model.error_rates)[1] * -1)
    shown = f"about {1000 * 2_000 * model.error_rates[2]:,.0f}"[:9]  # three digits of it
    assert shown in report.to_html()


def test_the_hedge_decides_and_the_report_says_so():
    """By the model alone the last test is slightly too dear."""
    _, frame = frame_of(rates=(0.2, 0.1, 0.05))
    model = sw.LatentClasses.fit(sw.audit(frame, sw.Cascade([1] * 3, 100, NAMES)).facts.table)
    hedged = stage_costs(model, model.table, sw.Cascade([0] * 3))
    gains = [rates[1] - rates[2] for rates in (model.error_rates, hedged)]
    report = sw.audit(frame, sw.Cascade([0, 0.01, sum(gains) / 2], 1, NAMES))
    C = report.cascade.cumulative_costs
    assert (np.argmin(model.error_rates + C), np.argmin(hedged + C)) == (1, 2)
    assert (report.advice.stage, report.advice.basis) == (2, Basis.HEDGED_BELIEF)
    assert report.advice.certainty is Certainty.GUESS
    assert "If all err independently, another" in " ".join(
        report.summary().replace("│", "").split()
    )
