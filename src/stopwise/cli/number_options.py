"""Numbers that a user types as options, with a hint where they cannot be read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from contextlib import suppress

from stopwise.errors import SettingError
from stopwise.lists import comma_separated

FORMS = {
    "--confidence": "0.95",
    "--costs": "6,16,24",
    "--error-rates": "0.4,0.1,0.05",
    "--errs-at-most": "all=0.02",
    "--mistake-cost": "1000",
    "--prevalence": "yes=0.1:0.3",
    "--ratio": "0.8,1,1.2",
}
MONEY = {"--costs", "--mistake-cost"}


def number(option: str, part: str, text: str = "", parts: Sequence[str] = ()) -> float:
    """Return the number in a ``part`` of the ``text`` of an option, or raise with a hint.

    ``parts`` are all numbers of a list.
    """
    bare = part.strip()
    if option in MONEY and re.fullmatch(r"[1-9]\d{0,2}\.000", bare):  # two, or two thousand?
        raise SettingError(
            f"{option} is ambiguous, got {bare}: write {bare[:-4]} or {bare[:-4]}000"
        )
    try:
        value = float(part)
    except ValueError:
        hint = _hint(part, parts or [part])
        raise SettingError(
            f"{option} must look like {FORMS[option]}, got {text or part!r}{hint}"
        ) from None
    if option == "--mistake-cost" and not value > 0:
        raise SettingError(f"{option} must be > 0, got {bare}")
    return value


def numbers(option: str, text: str) -> list[float]:
    """Return numbers that are separated by commas."""
    parts = comma_separated(text)
    return [number(option, part, text, parts) for part in parts]


def share(option: str, text: str) -> float:
    """Return a share between 0 and 1; 95 and 95% get a hint."""
    value = number(option, text)
    if not 0 < value < 1:
        hint = f": write {value / 100:g}" if 50 <= value < 100 else ""
        raise SettingError(f"{option} must lie in (0, 1), got {text}{hint}")
    return value


def _hint(part: str, parts: Sequence[str]) -> str:
    """Say what was meant by a number with a currency, a percent sign or separators."""
    bare = part.strip()
    if bare.endswith("%"):
        with suppress(ValueError):
            return f": write {float(bare[:-1]) / 100:g} for {bare}"
    with suppress(ValueError):
        plain = ",".join(f"{_plain(each):.15g}" for each in parts)
        return f": write {plain}, without signs and separators"
    return ""


def _plain(part: str) -> float:
    """Return the number that was meant, or raise `ValueError`."""
    bare = part.strip().strip("$€£¥").strip()
    if re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d{1,3}(\.\d{3}){2,}|\d+,\d{1,2}", bare):
        bare = bare.replace(".", "").replace(",", ".")
    return float(bare.replace(",", "").replace("'", "").replace(" ", ""))
