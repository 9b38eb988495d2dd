"""The price map a second time: what holds at a price, and where that changes."""

import math
from itertools import pairwise

import numpy as np

NEXT_TO = 1e-7  # how far beside an edge one looks, as a share of the price
N_PRICES = 120


def map_ends(a):
    """A third of the lowest and three times the highest price at which a pair's price is met."""
    turns = [
        float(a.spent[j] - a.spent[i]) / p
        for i, j in a.pairs
        for p in (*a.interval[i, j], a.share[i, j])
        if p and a.spent[j] > a.spent[i]
    ]
    turns.append(a.log.mistake_cost)
    return min(turns) / 3, max(turns) * 3


def guarantee(a, price):
    return min(a.regrets(price))


def minimax_at(a, price):
    """The stages with the smallest worst-case regret: rounding leaves open which of equals."""
    regrets = a.regrets(price)
    return {k for k in a.stages if regrets[k] <= min(regrets) + 1e-7}


def known_at(a, price):
    """The stages that are best for all labels; ``{None}`` where there is none."""
    least = guarantee(a, price)
    if 1e-10 < least < 1e-7:
        return {None, *minimax_at(a, price)}
    return minimax_at(a, price) if least <= 1e-10 else {None}


def _fits(value, expected):
    return value in expected if isinstance(expected, set) else tuple(value) == expected


def check_bands(a, bands, at):
    """Bands join, hold what a fresh look at their prices says, and end where that changes."""
    low, high = map_ends(a)
    np.testing.assert_allclose((bands[0]["low"], bands[-1]["high"]), (low, high))
    for left, right in pairwise(bands):
        edge = left["high"]
        assert math.isclose(edge, right["low"], rel_tol=1e-11)  # turns may differ by rounding
        assert left["value"] != right["value"]
        assert _fits(left["value"], at(a, edge * (1 - NEXT_TO))), edge
        assert _fits(right["value"], at(a, edge * (1 + NEXT_TO))), edge
        # the edge is no accident: a step further the value to the left is no longer right
        assert not _fits(left["value"], at(a, edge * (1 + 1000 * NEXT_TO))), edge
    for price in np.geomspace(low * (1 + NEXT_TO), high * (1 - NEXT_TO), N_PRICES).tolist():
        if min(abs(price / band["low"] - 1) for band in bands) < NEXT_TO:
            continue
        (band,) = (b for b in bands if b["low"] <= price < b["high"])
        assert _fits(band["value"], at(a, price)), price
