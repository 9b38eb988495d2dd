"""The bands of prices a second time: what holds at a price, and where that changes."""

import math
from itertools import pairwise

import numpy as np

NEXT_TO = 1e-7  # how far beside an edge one looks, as a share of the price
N_PRICES = 120


def at(a, price):
    """The stages that may stand at a price, and whether that is sure; rounding leaves both open."""
    regrets = a.regrets(price)
    best = min(regrets)
    if best <= 1e-10:
        return {k for k in a.stages if regrets[k] <= 1e-7}, {True}
    C = [float(spent) / price for spent in a.spent]
    D = a.differences
    possible = [k for k in a.stages if all(D[j, k] + C[j] - C[k] >= -1e-9 for j in a.stages)]
    rates = a.deciding_rates
    if rates is None:
        return {None}, {False} if best > 1e-7 else {True, False}
    cost = {k: rates[k] + C[k] for k in possible}
    stages = {k for k in possible if cost[k] <= min(cost.values()) + 1e-7}
    return stages, {False} if best > 1e-7 else {True, False}


def fits(a, band, price):
    stages, sure = at(a, price)
    gap = min(a.regrets(price, a.proven))
    proven = {True} if gap <= 1e-10 else {False} if gap > 1e-7 else {True, False}
    return band["stage"] in stages and band["is_sure"] in sure and band["is_proven"] in proven


def check_bands(a, bands, _report):
    """Bands join, hold what a fresh look at their prices says, and end where that changes."""
    assert bands[0]["low"] < a.log.mistake_cost < bands[-1]["high"]
    for left, right in pairwise(bands):
        edge = left["high"]
        assert math.isclose(edge, right["low"], rel_tol=1e-11)
        assert any(left[key] != right[key] for key in ("stage", "is_sure", "is_proven"))
        assert fits(a, left, edge * (1 - NEXT_TO)), edge
        assert fits(a, right, edge * (1 + NEXT_TO)), edge
        # the edge is no accident: a step further the value to the left is no longer right
        assert not fits(a, left, edge * (1 + 1e5 * NEXT_TO)), edge
    low, high = bands[0]["low"], bands[-1]["high"]
    for price in np.geomspace(low * (1 + NEXT_TO), high * (1 - NEXT_TO), N_PRICES).tolist():
        if min(abs(price / band["low"] - 1) for band in bands) < NEXT_TO:
            continue
        (band,) = (b for b in bands if b["low"] <= price < b["high"])
        assert fits(a, band, price), price
