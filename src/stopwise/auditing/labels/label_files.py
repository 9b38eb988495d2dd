"""Reading labels for some of the cases of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.labels.labelled_cases import LabelledCase
from stopwise.auditing.labels.sheet import FORMULA, JSON, read_jsonl
from stopwise.errors import LogError
from stopwise.outputs import matching, present
from stopwise.patterns import PatternTable
from stopwise.reading import Log, open_log
from stopwise.reading.query_engines import engine_errors, memtable

CASE = "case"  # the column of ids where the log has none


LabelRow = tuple[list[Hashable], dict[str, Any]]  # outputs, and the row of the labels


class Labels(NamedTuple):
    """Labelled cases, and the label of each case by its id where labels have ids."""

    cases: list[LabelledCase]
    by_id: dict[str, Hashable]


def read_labels(
    source: Any,
    column: str,
    log: Log | None,
    histogram: PatternTable,
    space: LabelSpace,
) -> Labels:
    """Return the labelled cases of a log: outputs, label, and the number of such cases.

    ``source`` has the label's column and either the outputs of the tests or the id of the case.
    """
    _check_named(source, column)
    id_name = CASE if log is None or log.case_id is None else log.case_id
    if isinstance(source, (str, Path)) and Path(source).suffix in JSON:
        source = read_jsonl(Path(source), column, id_name)
    table = open_log(source, values=histogram.classes).held.frame()
    if isinstance(source, (str, Path)):
        table = _without_apostrophes(table)
    names = list(table.columns)
    if column not in names:
        raise LogError(
            f"labels must have a column {column!r}, got {', '.join(names)} (--label-column names "
            "another, in Python label_column)"
        )
    tests = histogram.cascade.names if log is None else log.columns
    output_columns = tests if all(name in names for name in tests) else ()
    with engine_errors("the labels"):
        _check_empty(source, table[column], histogram)
        table = table.filter(table[column].notnull())
        has_ids = id_name in names and id_name not in tests
        if has_ids:
            _check_once(table, id_name)
        label_rows = table.select(
            **({"case_id": table[id_name].cast("string")} if has_ids else {}),
            **{f"t{k}": table[name] for k, name in enumerate(output_columns)},
            label=table[column],
        ).to_pyarrow()
        if log is not None and has_ids and _names_cases(log, output_columns):
            labels = _join(label_rows, id_name, output_columns, log, histogram)
        elif output_columns:
            labels = [(_values(row, "t", histogram), row) for row in label_rows.to_pylist()]
        elif log is None:
            raise LogError("labels must have the columns of the tests where the log is a histogram")
        else:
            raise LogError(
                f"labels must have the tests' columns or the case id {id_name!r}, got "
                f"{', '.join(names)}"
            )
    cases: Counter[tuple[tuple[Hashable, ...], Hashable]] = Counter()
    by_id = {}
    for outputs, row in labels:
        label = matching(row["label"], histogram.classes)
        cases[tuple(outputs), label] += 1
        if "case_id" in row:
            by_id[row["case_id"]] = label
    if not cases:
        raise LogError(f"labels must have values in column {column!r}, got none")
    for _, label in cases:
        _check_label(label, histogram, space)
    return Labels([(outputs, label, n) for (outputs, label), n in cases.items()], by_id)


def _check_named(source: Any, column: str) -> None:
    """Raise `LogError` where labels are values without the names of columns."""
    if isinstance(source, (list, tuple, dict, np.ndarray, int, float)):
        raise LogError(
            f"labels must be a file or a table with the column {column!r} and the tests' columns "
            f"or case ids, got {type(source).__name__}"
        )


def _without_apostrophes(table: Any) -> Any:
    """Remove the apostrophe that a sheet puts before text that a spreadsheet would compute."""
    escape = f"^'({FORMULA})"
    columns = {
        re.sub(escape, r"\1", name): table[name].re_replace(escape, r"\1")
        if kind.is_string()
        else table[name]
        for name, kind in table.schema().items()
    }
    return table.select(**columns)


def _check_label(label: Any, histogram: PatternTable, space: LabelSpace) -> None:
    """Raise `LogError` where a label cannot be right: a typing error or a forgotten setting."""
    if label in space.never_right:
        raise LogError(f"a label must not be a value that is never right, got {label!r}")
    if label not in histogram.classes and not space.unseen:
        raise LogError(
            f"a label must be a value that some test gives, got {label!r}; the log has "
            f"{', '.join(map(repr, histogram.classes[:20]))} "
            "(--unseen-label allows others, in Python UnseenLabel())"
        )


def _check_empty(source: Any, column: Any, histogram: PatternTable) -> None:
    """Raise `LogError` where an empty cell of a text file may be an answer or a gap."""
    if "" not in histogram.classes or not isinstance(source, (str, Path)):
        return
    n_empty = int(column.isnull().sum().to_pyarrow().as_py() or 0)
    if n_empty:
        raise LogError(
            f"labels must not be empty where '' is a value of the log, got {n_empty} empty cells: "
            'write "" in quotes where that is right, and leave out the other rows'
        )


def _names_cases(log: Log, output_columns: Sequence[str]) -> bool:
    """Whether ids of labels are looked up in the log; labels with outputs can do without.

    If the log has a column ``case`` that was not named as its id, a ``case`` of labels may be that
    or the row number.
    """
    if not output_columns or log.case_id is not None:
        return True
    return log.has_ids and CASE not in log.held.columns


def _check_once(table: Any, name: str) -> None:
    """Raise `LogError` where a case has more than one label."""
    times = table.group_by(case_id=table[name]).aggregate(times=table.count())
    twice = times.filter(times.times > 1).limit(1).to_pyarrow().to_pylist()
    if twice:
        raise LogError(
            f"a case must have one label, got {twice[0]['times']} for {twice[0]['case_id']!r}"
        )


def _join(
    label_rows: Any, name: str, output_columns: Sequence[str], log: Log, histogram: PatternTable
) -> list[LabelRow]:
    """Return the outputs that the log has for each labelled case, with its row of the labels."""
    cases = log.cases()
    cases = cases.mutate(case_id=cases["case"].cast("string")).drop("case")
    rows = cases.join(memtable(label_rows), "case_id").to_pyarrow().to_pylist()
    times = Counter(row["case_id"] for row in rows)
    for case in label_rows["case_id"].to_pylist():
        if case not in times:
            raise LogError(
                f"labels must be for cases of the log, some {name!r} are not in it, such as "
                f"{case!r}{'' if log.case_id is not None else ' (they count rows, from 1)'}"
            )
        if times[case] > 1:
            raise LogError(
                f"a case id must name one case, some {name!r} of labels name several: "
                f"{case!r} names {times[case]}"
            )
    labels = []
    for row in rows:
        outputs = _values(row, "s", histogram)
        for k, (test, output) in enumerate(zip(output_columns, outputs, strict=False)):
            copy = _value(row[f"t{k}"], histogram)
            if copy != output and not (copy is None and output == ""):  # a cell shows neither
                raise LogError(
                    f"labels must show the outputs of the log, got {copy!r} from {test!r} for "
                    f"{name} {row['case_id']!r}, which has {output!r} there"
                )
        labels.append((outputs, row))
    return labels


def _values(row: dict[str, Any], letter: str, histogram: PatternTable) -> list[Hashable]:
    return [_value(row[f"{letter}{k}"], histogram) for k in range(histogram.n_stages)]


def _value(value: Any, histogram: PatternTable) -> Hashable:
    output = present(value)
    return None if output is None else matching(output, histogram.classes)
