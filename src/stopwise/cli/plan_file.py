"""The file of cases to label that ``stopwise audit --plan-labels`` writes."""

from __future__ import annotations

import csv
from pathlib import Path

from stopwise.auditing.labels.label_files import CASE
from stopwise.auditing.report import AuditReport
from stopwise.errors import InputError, SettingError

LABEL = "label"


def plan_csv(report: AuditReport, case_id: str) -> str:
    """Return the cases to label as CSV, with an empty column for the label."""
    rows: list[list[object]] = [[case_id, *report.cascade.names, LABEL]]
    rows += [[case.case, *case.outputs, None] for case in report.planned_cases]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def _cell(value: object) -> str:
    """Return a cell of a CSV file; text that is empty or begins or ends blank is in quotes."""
    text = "" if value is None else str(value)
    plain = value is None or (text == text.strip() != "" and not set(text) & set(',;|\t"\r\n'))
    return text if plain else '"' + text.replace('"', '""') + '"'


def check_plan_columns(names: list[str], case_id: str) -> None:
    """Refuse tests whose names a plan needs for columns of its own."""
    for name in (case_id, LABEL):
        if name in names:
            raise SettingError(
                f"--plan-labels needs a column {name!r} of its own, got a test of that name: "
                "a query can rename it" + ("" if name != CASE else ", or --id name the cases")
            )


def check_old_plan(path: Path, label_column: str) -> None:
    """Refuse to write a plan over one that somebody has filled in."""
    if not path.exists():
        return
    with path.open(newline="", encoding="utf-8", errors="replace") as lines:
        n_labels = sum(
            any((row.get(name) or "").strip() for name in {LABEL, label_column})
            for row in csv.DictReader(lines)
        )
    if n_labels:
        raise InputError(
            f"--plan-out must not be a file that holds labels, {path} holds {n_labels}: "
            "give it another name"
        )
