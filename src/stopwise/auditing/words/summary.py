"""The report for a terminal: the advice in about eight lines, and everything on request."""

from __future__ import annotations

from textwrap import wrap

from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.main_sections import Section, labels_value, per_case, your_numbers
from stopwise.auditing.words.statistics import sections
from stopwise.auditing.words.wording import box

WIDTH = 96


def summary(report: AuditReport, *, details: bool = False) -> str:
    """Return the summary of a report."""
    words = box(report)
    lines = wrap(f"┌─ {words.certainty} ─ {words.title}", WIDTH, subsequent_indent="│ ")
    for text in (*words.reasons, *(f"Warning: {text}" for text in words.warnings)):
        lines += wrap(text, WIDTH, initial_indent="│ ", subsequent_indent="│ ")
    lines += wrap(f"└─ {words.next_step}", WIDTH, subsequent_indent="   ")
    if details:
        labels, main = labels_value(report), [*per_case(report), your_numbers(report)]
        main = [*main, *labels] if report.facts.labels is None else [*labels, *main]
        for section in (*main, *sections(report)):
            lines += ["", *_section(section)]
    return "\n".join(lines)


def _section(section: Section) -> list[str]:
    lines = [section.title, *wrap(section.text, WIDTH)]
    if not section.rows:
        return lines
    table = [section.heads, *section.rows]
    widths = [max(len(row[c]) for row in table) for c in range(len(section.heads))]
    for row in table:
        cells = [
            cell.ljust(width) if c == 0 else cell.rjust(width)
            for c, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(("  " + "  ".join(cells)).rstrip())
    return lines
