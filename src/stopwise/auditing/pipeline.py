"""One audit from end to end: read, facts, advice; words follow when they are asked for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from numbers import Real
from pathlib import Path
from typing import Any

from stopwise.auditing.assumptions import Assumption, LabelSpace
from stopwise.auditing.decide import advise
from stopwise.auditing.facts import facts_of
from stopwise.auditing.labels.label_files import read_labels
from stopwise.auditing.labels.label_plan import PlannedCase, draw_cases
from stopwise.auditing.report import AuditInputs, AuditReport
from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.errors import LogError, SettingError
from stopwise.pattern_counts import PatternCounts
from stopwise.patterns import PatternTable
from stopwise.reading import open_log
from stopwise.reading.log_checks import check_log


def audit(  # noqa: PLR0913  # all but two have defaults and names
    log: Any,
    cascade: Cascade,
    *,
    tests: Sequence[str] | None = None,
    table: str | None = None,
    query: str | None = None,
    case_id: str | None = None,
    assumptions: Iterable[Assumption] = (),
    labels: Any = None,
    label_column: str = "label",
    n_planned: int = 0,
    show: Sequence[str] = (),
    confidence: float = 0.95,
    seed: int = 0,
) -> AuditReport:
    """Say where to stop from a log without labels, how sure that is, and what it rests on.

    Parameters
    ----------
    log
        A CSV or Parquet file, a folder or glob of them, a DuckDB or SQLite file; a pandas, Polars
        or Arrow table; a NumPy array with one column per test; any Ibis table; a log from
        `reading.open_log`; a `PatternTable`, or `PatternCounts` from production (their own prices
        are ignored).
        One row per case; NULL, None or NaN where a test was not run or failed.
    cascade
        The tests and their prices; their names are the columns unless ``tests`` is given.
    tests
        The columns of the tests in order.
    table, query
        Which table of a database file, or what to select (from a CSV or Parquet: ``FROM log``).
    case_id
        The column that names a case; by default the row number, from 1.
    assumptions
        What to assume: `Ordered`, `ErrsWithin`, `Prevalence`, `NeverRight`,
        `UnseenLabel`, `MissingAtRandom`. Nothing by default; then a missing output may be anything.
    labels
        Labels for some cases, drawn at random among cases on which the tests agree in the same way:
        a table with the columns of the tests or with ``case_id`` (or ``case``), and
        ``label_column``.
    label_column
        The column with the right answer; rows without one are left out.
    n_planned
        How many cases to choose for labelling; those that have a label already count.
    show
        Columns of the log to show to the people who label the cases.
    confidence
        The chance with which all intervals hold together and at all times (those from labels: for a
        number of labels that is fixed beforehand).
    seed
        The seed with which the cases to label are drawn.

    >>> import numpy as np
    >>> rows = np.array([[0, 0], [0, 1], [1, 1], [1, 1]] * 500, dtype=np.uint8)
    >>> report = audit(rows, Cascade(costs=[1, 4], mistake_cost=10))
    >>> report.advice.stage, report.advice.certainty
    (0, <Certainty.PROVEN: 'proven'>)
    """
    if isinstance(log, Cascade):
        raise SettingError("the log must come first and the cascade second, got a Cascade first")
    assumptions = _check_settings(cascade, confidence, assumptions)
    n_planned = whole_number("n_planned", n_planned, SettingError, least=0)
    seed = whole_number("seed", seed, SettingError, least=0)
    reader, name, inputs = None, "a pattern table", AuditInputs()
    if isinstance(log, PatternCounts):
        log = log.to_table()
    if isinstance(log, PatternTable):
        patterns = log.priced(cascade)
    else:
        reader = open_log(log, cascade, tests=tests, table=table, query=query, case_id=case_id)
        patterns, name = reader.table(), reader.name
        inputs = AuditInputs(
            reader.path,
            reader.selected,
            reader.columns,
            reader.case_id,
            str(labels) if isinstance(labels, (str, Path)) else None,
            label_column,
        )
    check_log(patterns)
    needs_values = labels is not None or any(a.values or a.never_right for a in assumptions)
    if patterns.agreement_only and needs_values:
        raise LogError(
            "labels, Prevalence and NeverRight need the values of outputs; this log has too many "
            "patterns of them, so that only agreement is counted: join rare values in a query"
        )
    known_labels = None
    if labels is not None:
        space = LabelSpace.of(assumptions, patterns)
        known_labels = read_labels(labels, label_column, reader, patterns, space)
    facts = facts_of(
        patterns,
        assumptions=assumptions,
        labels=None if known_labels is None else known_labels.cases,
        n_planned=n_planned,
        confidence=confidence,
    )
    cases: tuple[PlannedCase, ...] = ()
    if facts.plan is not None and reader is not None:
        labels_by_id = {} if known_labels is None else known_labels.by_id
        cases = draw_cases(reader, facts.plan, show=show, labels=labels_by_id, seed=seed)
    advice = advise(facts, n_drawn=sum(case.label is None for case in cases))
    return AuditReport(name, facts, advice, cases, inputs)


def _check_settings(cascade: Any, confidence: Any, assumptions: Any) -> tuple[Assumption, ...]:
    """Return the assumptions as a tuple; raise where a setting makes no sense."""
    if not isinstance(cascade, Cascade):
        text = " ".join(repr(cascade).split())
        raise SettingError(f"cascade must be a Cascade with the tests' prices, got {text:.80}")
    if cascade.n_stages < 2:
        raise LogError("an audit needs at least two tests on the same cases, got 1")
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise SettingError(f"confidence must lie in (0, 1), got {confidence!r}")
    if isinstance(assumptions, (str, bytes)) or not isinstance(assumptions, Iterable):
        raise SettingError(f"assumptions must be a list, got {assumptions!r}")
    result = tuple(assumptions)
    for assumption in result:
        if not isinstance(assumption, Assumption):
            raise SettingError(f"assumptions must be such as Ordered(), got {assumption!r}")
    return result
