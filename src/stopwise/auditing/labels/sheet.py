"""Sheets of cases to label: CSV for spreadsheets, JSON lines for Label Studio and Argilla."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Hashable, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

from stopwise.auditing.labels.label_plan import PlannedCase
from stopwise.errors import LogError

LABEL = "label"
JSON = (".jsonl", ".json")
FORMULA = r"'*(?:[=@]|[+-]\D|[+-]$)"  # a formula to a spreadsheet, with or without apostrophes


def sheet_csv(cases: Sequence[PlannedCase], columns: Sequence[str]) -> str:
    """Return cases as CSV: ``columns`` name the id and what is shown; the label comes last.

    Text that a spreadsheet would take for a formula gets an apostrophe, which reading removes.
    """
    rows: list[list[object]] = [[*columns, LABEL]]
    rows += [[case.case, *case.shown, case.label] for case in cases]
    return "".join(",".join(map(_cell, row)) + "\n" for row in rows)


def sheet_jsonl(cases: Sequence[PlannedCase], columns: Sequence[str]) -> str:
    """Return cases as JSON lines: ``data`` for Label Studio, ``fields`` for Argilla."""
    lines = []
    for case in cases:
        shown = {name: _json(value) for name, value in zip(columns[1:], case.shown, strict=True)}
        record = {
            "id": str(case.case),
            "data": {columns[0]: _json(case.case), **shown},
            "fields": {name: str(value) for name, value in shown.items()},
            "metadata": {columns[0]: str(case.case)},
            LABEL: _json(case.label),
        }
        lines.append(json.dumps(record, ensure_ascii=False) + "\n")
    return "".join(lines)


def sheet_json(cases: Sequence[PlannedCase], columns: Sequence[str]) -> str:
    """Return cases as one JSON list of the same records."""
    lines = sheet_jsonl(cases, columns).split("\n")
    return f"[{','.join(filter(None, lines))}]\n"


def is_untouched(path: Path) -> bool:
    """Whether a file is a sheet as it was written, without any label."""
    try:
        text = path.read_text(encoding="utf-8")
        if path.suffix in JSON:
            lines = ",".join(text.strip().split("\n"))
            records = json.loads(text if path.suffix == ".json" else f"[{lines}]")
            keys = {"id", "data", "fields", "metadata", LABEL}
            return all(set(record) == keys and record[LABEL] is None for record in records)
        head, *rows = csv.reader(StringIO(text, newline=""), strict=True)
    except (ValueError, TypeError, csv.Error):
        return False
    return head[-1:] == [LABEL] and all(len(row) == len(head) and not row[-1] for row in rows)


def read_jsonl(path: Path, column: str, case_id: str) -> Any:
    """Return the labels of a file of JSON lines, or of one list, as an Arrow table with ids.

    A label is in ``label`` (or ``column``), in an annotation of Label Studio or in a response of
    Argilla; lines without one are left out.
    """
    import pyarrow as pa

    ids, labels, number = [], [], 0
    try:
        text = path.read_text(encoding="utf-8")
        is_list = text.lstrip().startswith("[")  # as Label Studio exports
        for line in [text] if is_list else text.split("\n"):
            number += 1
            records: Any = json.loads(line if is_list else f"[{line}]")
            for record in records:
                case, label = _id_and_label(record, column, case_id)
                if label is not None:
                    ids.append(case)
                    labels.append(label)
        return pa.table({case_id: ids, column: pa.array(labels, pa.string())})
    except (ValueError, AttributeError, LookupError, TypeError, RecursionError) as error:
        why = error if isinstance(error, ValueError) else repr(error)
        raise LogError(f"{path} cannot be read in line {number}: {why}") from None


def _id_and_label(record: dict[str, Any], column: str, case_id: str) -> tuple[str, str | None]:
    """Return id and label as text, as a CSV file has them."""
    data = record.get("data") or record.get("metadata") or {}
    if not data and case_id == "id" and "annotation_id" in record:
        raise ValueError("in JSON-MIN, Label Studio puts its own number for the id: export JSON")
    case = data.get(case_id, record.get(case_id, record.get("id")))
    label = _label_of(record, column)
    if isinstance(label, (dict, list)):
        raise TypeError(f"a label must be text or a number, got {label!r:.80}")
    return str(case), None if label is None else str(label)


def _label_of(record: dict[str, Any], column: str) -> Any:
    label = record.get(column, record.get(LABEL))
    if label is not None:
        return label
    labels = []
    for annotation in record.get("annotations") or ():
        if annotation["result"] and not annotation.get("was_cancelled"):
            value = annotation["result"][0]["value"]
            labels.append(value.get("choices", value.get("labels", value.get("text")))[0])
    responses = record.get("responses") or {}
    if isinstance(responses, dict):
        answers = responses.get(column) or responses.get(LABEL) or ()
        labels += [answer["value"] for answer in answers if answer.get("status") != "discarded"]
    if any(label != labels[0] for label in labels):
        raise ValueError(f"a case must have one label, got {labels!r:.80}")
    return labels[0] if labels else None


def _cell(value: object) -> str:
    """Return a cell of a CSV file; empty text and text with blanks at its ends is in quotes."""
    text = "" if value is None else str(value)
    if isinstance(value, str) and re.match(FORMULA, value):
        text = "'" + text
    plain = value is None or (text == text.strip() != "" and not set(text) & set(',;|\t"\r\n'))
    return text if plain else '"' + text.replace('"', '""') + '"'


def _json(value: Hashable) -> Any:
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
