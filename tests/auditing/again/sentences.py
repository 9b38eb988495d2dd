"""Sentences with places for numbers, and whether a text is one of them.

A sentence is a template and the values of its places: {n} a number, {s} a stage in quotes, {x} a
given text, {t} any words without a digit.
"""

import math
import re
from decimal import Decimal

PLACES = {
    "n": r"([-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?|∞)",
    "s": r"('[^']*'|–)",
    "x": r"(.*?)",
    "t": r"[^\d]*",
}


def shows(text, value):
    """Whether a number is ``value`` rounded to the digits that it has."""
    if text == "∞":
        return value is None
    if value is None:
        return False
    number = Decimal(text.replace(",", ""))
    unit = float(Decimal(1).scaleb(number.as_tuple().exponent))
    return abs(float(number) - value) <= 0.5 * unit * (1 + 1e-6) + 1e-9


def is_exact(text, value):
    """Whether two digits that count are right, also where zeros at the end are left out."""
    if value is None or abs(value) < 1e-7:
        return True
    unit = 10 ** (math.floor(math.log10(abs(value))) - 1)
    return abs(float(text.replace(",", "")) - value) <= 0.5 * unit * (1 + 1e-6)


def assert_said(text, template, values):
    """The text is the template with these values, and no other number stands in it."""
    parts = re.split(r"\{(\w)\}", template)
    pattern = "".join(
        PLACES[part] if odd % 2 else re.escape(part) for odd, part in enumerate(parts)
    )
    found = re.fullmatch(pattern, text, re.DOTALL)
    assert found, (text, template)
    assert len(found.groups()) == len(values), (template, values)
    for said, value in zip(found.groups(), values, strict=True):
        if isinstance(value, str):
            same = said == value
        else:
            same = shows(said, value) and is_exact(said, value)
        assert same, f"{said} is not {value} in {text!r}"


def join(sentences, between=", "):
    """Several sentences as one."""
    parts = list(sentences)
    return between.join(t for t, _ in parts), [v for _, values in parts for v in values]
