"""The bands of prices a second time: what would be advised at a price, and where that changes."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np

NEXT_TO = 1e-5  # how far beside an edge one looks, as a share of the price
N_PRICES = 5  # within each band
# what is known of a log does not depend on the price of a mistake
KNOWN = ("belief", "left_out", "differences", "proven", "error_bounds", "interval", "adjusted",
         "estimated", "label_intervals", "estimates", "label_least")  # fmt: skip


def at(a, price):
    """The stages that may stand at a price and how sure they are; rounding leaves both open."""
    regrets, proven = a.regrets(price), a.regrets(price, a.proven)
    best = min(regrets)
    sure = set()
    if best <= 1e-7:
        stages = {k for k in a.stages if regrets[k] <= 1e-7}
        gap = min(proven[k] for k in stages)
        levels = (
            ("proven",) if gap <= 1e-10 else ("likely",) if gap > 1e-7 else ("proven", "likely")
        )
        sure = {(k, level) for k in stages for level in levels}
        if best <= 1e-10:
            return sure
    repriced = type(a)(replace(a.log, mistake_cost=price))
    for name in KNOWN:
        setattr(repriced, name, getattr(a, name))
    if repriced.belief[1]:
        repriced.model, repriced.per_row = a.model, a.per_row
    vars(repriced)["ground"] = None  # nothing is sure
    stage, certainty, basis = repriced.choice
    return sure | {(None if basis in {"disagreement", "worst case"} else stage, certainty)}


def check_bands(a, bands, _report):
    """Bands join, hold what a fresh look at their prices says, and end where that changes."""
    assert bands[0]["low"] < a.log.mistake_cost < bands[-1]["high"]
    values = [(band["stage"], band["certainty"]) for band in bands]
    for (left, right), (before, after) in zip(pairwise(bands), pairwise(values), strict=True):
        edge = left["high"]
        assert math.isclose(edge, right["low"], rel_tol=1e-11)
        assert before != after
        assert before in at(a, edge * (1 - NEXT_TO)), edge
        assert after in at(a, edge * (1 + NEXT_TO)), edge
    for band, value in zip(bands, values, strict=True):
        for price in np.geomspace(band["low"], band["high"], N_PRICES + 2)[1:-1].tolist():
            assert value in at(a, price), price
    (band,) = (b for b in bands if b["low"] <= a.log.mistake_cost < b["high"])
    stage, certainty, _ = a.choice
    assert (band["stage"], band["certainty"]) in {(stage, certainty), (None, certainty)}
