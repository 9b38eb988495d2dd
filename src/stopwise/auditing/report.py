"""What an audit found and advises, as one value."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from stopwise.auditing.advice import Advice
from stopwise.auditing.facts import Facts, plain
from stopwise.auditing.labels.label_plan import PlannedCase
from stopwise.cascade import Cascade
from stopwise.errors import InputError
from stopwise.files import write_text

VERSION = 2
PAGES = {".html", ".htm", ""}  # how the name of a page may end


@dataclass(frozen=True)
class AuditInputs:
    """What an audit was given, as far as a command can repeat it."""

    path: str | None = None  # of the log
    selected: tuple[str, str] | None = None  # its table or query
    tests: tuple[str, ...] = ()  # the columns
    case_id: str | None = None
    labels: str | None = None  # the path
    label_column: str = "label"


@dataclass(frozen=True, eq=False)
class AuditReport:
    """The report of an audit.

    Parameters
    ----------
    source
        Where the log came from, in words.
    facts
        What the log says: numbers.
    advice
        What to do, how sure that is, and what next: kinds and numbers.
    planned_cases
        The cases to label, shuffled, where that was asked for.
    inputs
        The files and columns that were given.
    """

    source: str
    facts: Facts
    advice: Advice
    planned_cases: tuple[PlannedCase, ...] = ()
    inputs: AuditInputs = AuditInputs()

    @property
    def cascade(self) -> Cascade:
        """The tests and their prices."""
        return self.facts.cascade

    def summary(self, *, details: bool = False) -> str:
        """Return the report for a terminal: what to do and how sure that is; all with details."""
        from stopwise.auditing.words.summary import summary

        return summary(self, details=details)

    def to_html(self) -> str:
        """Return the report as one self-contained page."""
        from stopwise.auditing.words.page import page

        return page(self)

    def to_dict(self) -> dict[str, Any]:
        """Return every number and kind of the report as plain data for JSON.

        Stages count from 0.
        """
        return {
            "version": VERSION,
            "source": self.source,
            "cascade": self.cascade.to_state(),
            "advice": plain(self.advice),
            **self.facts.to_dict(),
            "planned_cases": plain(self.planned_cases),
        }

    def to_json(self) -> str:
        """Return `to_dict` as JSON text."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False, ensure_ascii=False)

    def save(self, path: str | Path) -> None:
        """Write the page to ``path``, all of it or nothing."""
        if Path(path).suffix.lower() not in PAGES:
            raise InputError(f"path must end in .html or .htm, got {path}")
        write_text(Path(path), self.to_html())

    def __str__(self) -> str:
        return self.summary()
