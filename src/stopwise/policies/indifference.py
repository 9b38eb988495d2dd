"""The zone of indifference above each price, of fixed width or vanishing with time.

A zone is a number in error units. A negative one, -c, has the width c (q² (1 - q))^(1/3) for a
price q. Numba compiles these functions as well.
"""

from __future__ import annotations

VANISHING = "vanishing"
# c H^(1/3) of a vanishing zone.
VANISHING_SCALE = 3.0


def zone_until(zone: float, horizon: int) -> float:
    """Return the zone of an epoch: a negative one vanishes with its end H like H^(-1/3)."""
    return zone if zone >= 0 else zone * float(horizon) ** (-1 / 3)


def width(price: float, zone: float) -> float:
    """Return the width of the zone above a price."""
    if zone >= 0:
        return zone
    return float(-zone * (price * price * max(1 - price, 0.0)) ** (1 / 3))


def other_side_of(n: int, d: int, price: float, zone: float) -> float:
    """Return the nearest chance on the other side of the zone than the share d / n."""
    w = width(price, zone)
    return price if d > n * (price + w / 2) else price + w
