"""Parts of sentences: sums of money, names of tests, values."""

from __future__ import annotations

import math
from collections.abc import Iterable

from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import amount, counted, rounded

REFERENCES = (1_000, 10_000, 100_000, 1_000_000)  # numbers are given per 1,000 cases, and so on
ENOUGH = 10  # answers that change in these cases


def n_reference(report: AuditReport) -> int:
    """Return per how many cases numbers are given: 1,000, or more where few answers change."""
    most = max(step.changed.high for step in report.advice.steps)
    return next((n for n in REFERENCES if n * most >= ENOUGH or not most), REFERENCES[-1])


def money(report: AuditReport, share: float) -> str:
    """Return what a number of mistakes per case costs, and per how many cases."""
    return f"{cost(report, share)} per {n_reference(report):,} cases"


def cost(report: AuditReport, share: float) -> str:
    """Return what a number of mistakes per case costs, in the user's unit."""
    n, price = n_reference(report), report.cascade.mistake_cost
    return (
        f"as much as {counted(n * share, 'mistake')}" if price == 1 else amount(n * share * price)
    )


def confidence(report: AuditReport) -> str:
    """Return the confidence of all intervals."""
    return f"{100 * report.facts.confidence:.6g} %"


def name(report: AuditReport, stage: int) -> str:
    """Return the name of a test as it stands in a sentence."""
    return f"'{one_line(report.cascade.names[stage])}'"


def names(report: AuditReport, stages: Iterable[int], link: str = "or") -> str:
    """Return the names of some tests: a, b or c."""
    *first, last = [name(report, k) for k in stages] or [""]
    return f"{', '.join(first)} {link} {last}" if first else last


def one_line(value: object) -> str:
    r"""Return a value as text in one line, without characters that cannot be shown.

    >>> one_line("yes\nno"), one_line("a\x1b[31mb")
    ('yes no', 'a?[31mb')
    """
    text = " ".join(str(value).split())
    return "".join(letter if letter.isprintable() else "?" for letter in text)


def quoted(value: object) -> str:
    """Return an output; text is in quotes."""
    return f"'{one_line(value)}'" if isinstance(value, str) else one_line(value)


def capital(text: str) -> str:
    """Return a sentence that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def forecast(n: float) -> str:
    """Return how many more cases it takes; infinitely many are never enough."""
    if math.isinf(n):
        return "never"
    return "1" if n == 1 else f"about {rounded(n):,.0f}"


def more_cases(n: float) -> str:
    """Return how many more cases it takes, for a sentence."""
    if math.isinf(n):
        return "no number of more cases"
    return f"{forecast(n)} more case" + "s" * (n != 1)
