"""How numbers are written: rounded, with the digits that matter, never as a power of ten."""

from __future__ import annotations

import math

from stopwise.auditing.bounds.regrets import TINY
from stopwise.auditing.interval import Interval

NOTHING = 1e-12  # smaller values come from rounding


def percent(share: float) -> str:
    """Return a share in percent with as many digits as matter.

    >>> percent(0.18049), percent(0.0301), percent(0.000016), percent(0.0)
    ('18.0 %', '3.01 %', '0.0016 %', '0 %')
    """
    if math.isnan(share):
        return "unknown"
    if abs(share - 1) < NOTHING:
        return "100 %"
    value = 100 * share
    return f"{value:.1f} %" if abs(value) >= 10 else f"{figure(value)} %"


def whole_percent(share: float) -> str:
    """Return a share in whole percent, for readers who have to judge it.

    >>> whole_percent(0.549), whole_percent(0.004), whole_percent(0.9996)
    ('55 %', 'under 1 %', 'over 99 %')
    """
    if 0 < share < 0.005:
        return "under 1 %"
    if 0.995 <= share < 1:
        return "over 99 %"
    return f"{100 * share:.0f} %"


def figure(value: float) -> str:
    """Return a ratio with two decimals, or more until two digits are not 0.

    >>> figure(2.5), figure(0.000234), figure(math.inf)
    ('2.50', '0.00023', '∞')
    """
    if math.isinf(value):
        return "∞"
    if abs(value) < NOTHING:
        return "0"
    return f"{value:,.{max(_decimals(value, 2), 2)}f}"


def amount(value: float) -> str:
    """Return a price or a sum of money in three digits.

    >>> amount(18167.6), amount(24.0), amount(0.0000115), amount(1999.6)
    ('18,200', '24', '0.0000115', '2,000')
    """
    return _short(rounded(value, 3), 3)


def count(value: float) -> str:
    """Return how many, in two digits where these are few.

    >>> count(229.3), count(4.04), count(0.4812), count(0.0)
    ('229', '4', '0.48', '0')
    """
    return _short(value, 2)


def counted(value: float, noun: str) -> str:
    """Return how many of what.

    >>> counted(1.0, "mistake"), counted(0.75, "mistake")
    ('1 mistake', '0.75 mistakes')
    """
    number = count(value)
    return f"{number} {noun}" if number == "1" else f"{number} {noun}s"


def rounded(value: float, digits: int = 2) -> float:
    """Return a value with its first digits only.

    >>> rounded(364_218), rounded(0.01234)
    (360000.0, 0.012)
    """
    if abs(value) < NOTHING or not math.isfinite(value):
        return value
    return float(f"{value:.{digits - 1}e}")


def rounded_down(value: float, digits: int = 3) -> float:
    """Return a value that is not larger, for what is said to be the least.

    >>> rounded_down(86_666.7), rounded_down(123_999.0), rounded_down(250.0)
    (86600.0, 123000.0, 250.0)
    """
    if value < NOTHING:
        return 0.0
    scale = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
    return math.floor(value / scale + NOTHING) * scale


def span(interval: Interval) -> str:
    """Return an interval in percent."""
    return f"{percent(cleaned(interval.low))} to {percent(cleaned(interval.high))}"


def cleaned(value: float) -> float:
    """Return a value, or 0 where it differs from 0 only by what a linear programme left."""
    return 0.0 if abs(value) <= TINY else value


def _decimals(value: float, digits: int) -> int:
    return max(digits - 1 - math.floor(math.log10(abs(value))), 0)


def _short(value: float, digits: int) -> str:
    if abs(value) < NOTHING:
        return "0"
    text = f"{value:,.{_decimals(value, digits)}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
