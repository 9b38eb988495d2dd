"""What goes to a terminal: no control characters from names and values of a log."""

from __future__ import annotations

import re
import sys

# All but line breaks and tabs, and the marks that change the direction of writing.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    r"""Return a text with control characters written out, which a terminal would obey.

    >>> print(visible("a\x1b[2Jb"))
    a\u001b[2Jb
    """
    return _CONTROL.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def say(text: str, *, error: bool = False) -> None:
    """Print a text, on stderr where it is an error."""
    print(visible(text), file=sys.stderr if error else sys.stdout)
