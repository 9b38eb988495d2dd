"""Lists in one text, as options of a command line and queries have them."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable


def comma_separated(text: str) -> list[str]:
    """Return the parts between commas, without blanks around them and without empty ones.

    A part with a comma of its own is in quotes, as in CSV.

    >>> comma_separated('history, insulin,,"all, again"')
    ['history', 'insulin', 'all, again']
    """
    parts = next(csv.reader(io.StringIO(text, newline=""), skipinitialspace=True), [])
    return [part.strip() for part in parts if part.strip()]


def comma_joined(parts: Iterable[str]) -> str:
    """Return a text of which `comma_separated` makes the same parts.

    >>> comma_joined(["history", "all, again"])
    'history,"all, again"'
    """
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="").writerow(parts)
    return text.getvalue()
