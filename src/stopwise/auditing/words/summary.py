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
    said = box(report)
    rule = "─" * max(WIDTH - len(said.certainty) - 5, 1)
    lines = [f"┌─ {said.certainty} {rule}"]
    for text in (said.title, *said.reasons):
        lines += [f"│ {line}" for line in wrap(text, WIDTH - 2)]
    lines.append("└" + "─" * (WIDTH - 1))
    for text in said.warnings:
        lines += wrap(f"Warning: {text}", WIDTH, subsequent_indent="  ")
    lines += wrap(said.next_step, WIDTH, subsequent_indent="  ")
    if details:
        main = (per_case(report), your_numbers(report), labels_value(report))
        for section in (*main, *sections(report)):
            lines += [] if section is None else ["", *_section(section)]
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
