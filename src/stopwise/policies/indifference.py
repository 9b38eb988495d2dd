"""The zone of indifference on top of each price, of fixed width or vanishing with time.

A zone is a number in error units. One below 0 is -c: the width of a price q is then
c (q² (1 - q))^(1/3). Numba compiles these functions as well.
"""

from __future__ import annotations

VANISHING = "vanishing"
# c H^(1/3) of a zone that vanishes.
VANISHING_SCALE = 3.0


def zone_until(zone: float, horizon: int) -> float:
    """Return the zone of an epoch: one below 0 vanishes with its end H like H^(-1/3)."""
    return zone if zone >= 0 else zone * float(horizon) ** (-1 / 3)


def width(price: float, zone: float) -> float:
    """Return the width of the zone on top of a price."""
    if zone >= 0:
        return zone
    return float(-zone * (price * price * max(1 - price, 0.0)) ** (1 / 3))


def other_side_of(n: int, d: int, price: float, zone: float) -> float:
    """Return the nearest chance on the other side of the price than d of n cases are."""
    on_top = width(price, zone)
    return price if d > n * (price + on_top / 2) else price + on_top
