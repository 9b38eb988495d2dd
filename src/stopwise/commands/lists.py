"""Lists in one option of a command line."""

from __future__ import annotations


def comma_separated(text: str) -> list[str]:
    """Return the parts between commas, without blanks around them and without empty ones.

    >>> comma_separated("history, insulin,,all")
    ['history', 'insulin', 'all']
    """
    return [part.strip() for part in text.split(",") if part.strip()]
