"""Normalisers: functions from what a stage returned to an output, or ``None`` for no answer.

Stages return anything; learning needs outputs that are equal where the answers are the same. Each
public function here makes a normaliser. A value that is no answer counts as missing, never as a
disagreement.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Callable, Hashable
from typing import Any

from stopwise.checks import finite_number
from stopwise.errors import SettingError

Normalise = Callable[[Any], Hashable]


def choices(*allowed: Any) -> Normalise:
    """Recognise one of a few answers, alone or as the only one of them in a longer text.

    >>> normalise = choices("urgent", "routine")
    >>> normalise(" Urgent."), normalise("It is routine, I think"), normalise("urgent or routine")
    ('urgent', 'routine', None)
    """
    if not allowed or not all(isinstance(word, str) and word.strip() for word in allowed):
        raise SettingError(f"choices must be one text or more, got {allowed!r}")
    answers: dict[str, Hashable] = {_tidy(word): word for word in allowed}
    if len(answers) < len(allowed):
        raise SettingError(f"choices must differ, got {', '.join(allowed)}")
    longest_first = sorted(answers, key=len, reverse=True)
    finder = re.compile(r"(?<![\w-])(?:" + "|".join(map(re.escape, longest_first)) + r")(?![\w-])")

    def normalise(raw: Any) -> Hashable:
        if raw is None:
            return None
        normal_form = _tidy(str(raw))
        if normal_form in answers:
            return answers[normal_form]
        matches = set(finder.findall(normal_form))
        return answers[matches.pop()] if len(matches) == 1 else None

    return normalise


def numbers(tolerance: float = 0.0) -> Normalise:
    """Read numbers; they are equal if they round to the same multiple of ``tolerance``.

    >>> normalise = numbers(0.5)
    >>> normalise("12.1"), normalise(11.9), normalise("none"), normalise(float("nan"))
    (12.0, 12.0, None, None)
    """
    finite_number("tolerance", tolerance, SettingError, zero=True)

    def normalise(raw: Any) -> Hashable:
        try:
            number = float(raw)
        except (TypeError, ValueError, OverflowError):
            return None
        if not math.isfinite(number):
            return None
        return round(number / tolerance) * tolerance if tolerance else number + 0.0  # -0 is 0

    return normalise


def json_fields(*fields: str) -> Normalise:
    """Compare some fields of a JSON object, given as text or as a dict.

    >>> json_fields("label", "code")('{"code": 7, "label": "spam", "why": "…"}')
    '{"code": 7, "label": "spam"}'
    """
    if not fields or not all(isinstance(name, str) for name in fields):
        raise SettingError(f"json_fields must name one field or more, got {fields!r}")

    def normalise(raw: Any) -> Hashable:
        try:
            fields_by_name = raw if isinstance(raw, dict) else json.loads(raw)
            values = {name: fields_by_name[name] for name in fields}
            return json.dumps(values, sort_keys=True, ensure_ascii=False)
        except (KeyError, TypeError, ValueError):
            return None

    return normalise


def text(*, casefold: bool = True, punctuation: bool = False) -> Normalise:
    """Compare short texts up to white space, by default also up to case and punctuation.

    >>> text()("  Card  NOT working!"), text(casefold=False, punctuation=True)(" OK. ")
    ('card not working', 'OK.')
    """

    def normalise(raw: Any) -> Hashable:
        if raw is None:
            return None
        return _tidy(str(raw), casefold=casefold, punctuation=punctuation) or None

    return normalise


def plain_value(raw: Any) -> Hashable:
    """Return the value itself; NumPy values become plain ones, lists tuples, and NaN ``None``."""
    if type(raw) in (str, int, bool):
        return raw  # type: ignore[no-any-return]
    if hasattr(raw, "item") and not isinstance(raw, (list, tuple, dict)):
        raw = raw.item() if getattr(raw, "ndim", 0) == 0 else raw.tolist()
    if isinstance(raw, list):
        raw = tuple(raw)
    if isinstance(raw, float) and math.isnan(raw):
        return None
    return raw  # type: ignore[no-any-return]


def _tidy(text: str, *, casefold: bool = True, punctuation: bool = False) -> str:
    """Return a text in normal form, with single blanks, and without case and punctuation."""
    text = unicodedata.normalize("NFKC", text)
    if casefold:
        text = text.casefold()
    if not punctuation:
        text = "".join(
            " " if unicodedata.category(c).startswith("P") and c not in "-_" else c for c in text
        )
    return " ".join(text.split())
