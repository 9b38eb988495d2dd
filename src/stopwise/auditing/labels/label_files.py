"""Reading labels for some of the cases of a log."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from stopwise.auditing.assumptions import LabelSpace
from stopwise.auditing.labels.cases import LabelledCase
from stopwise.auditing.labels.sheet import FORMULA, JSON, read_jsonl
from stopwise.errors import LogError
from stopwise.outputs import matching, present
from stopwise.patterns import PatternTable
from stopwise.reading import Log, open_log
from stopwise.reading.engine import engine_errors, memtable

CASE = "case"  # the column of ids where the log has none


class Labels(NamedTuple):
    """Labelled cases, and the label of each case by its id where labels have ids."""

    cases: list[LabelledCase]
    by_id: dict[str, Hashable]


Labelled = tuple[list[Hashable], dict[str, Any]]  # outputs, and the row of the labels


def read_labels(
    source: Any,
    column: str,
    log: Log | None,
    histogram: PatternTable,
    space: LabelSpace,
) -> Labels:
    """Return the labelled cases of a log: what the tests said, what is right, how often.

    ``source`` has the label's column and either the outputs of the tests or the id of the case.
    """
    id_name = CASE if log is None or log.case_id is None else log.case_id
    if isinstance(source, (str, Path)) and Path(source).suffix in JSON:
        source = read_jsonl(Path(source), column, id_name)
    table = open_log(source, values=histogram.classes).held.frame()
    if isinstance(source, (str, Path)):
        table = _without_apostrophes(table)
    names = list(table.columns)
    if column not in names:
        raise LogError(f"labels must have a column {column!r}, got {', '.join(names)}")
    tests = histogram.cascade.names if log is None else log.columns
    shown = tests if all(name in names for name in tests) else ()
    with engine_errors("the labels"):
        _check_empty(source, table[column], histogram)
        table = table.filter(table[column].notnull())
        has_ids = id_name in names and id_name not in tests
        if has_ids:
            _check_once(table, id_name)
        told = table.select(
            **({"case_id": table[id_name].cast("string")} if has_ids else {}),
            **{f"t{k}": table[name] for k, name in enumerate(shown)},
            label=table[column],
        )
        if log is not None and has_ids and _names_cases(log, shown):
            found = _joined(told, id_name, shown, log, histogram)
        elif shown:
            found = [(_values(row, "t", histogram), row) for row in told.to_pyarrow().to_pylist()]
        elif log is None:
            raise LogError("labels must have the columns of the tests where the log is a histogram")
        else:
            raise LogError(
                f"labels must have the tests' columns or the case id {id_name!r}, got "
                f"{', '.join(names)}"
            )
    labelled = Counter(
        (tuple(outputs), matching(row["label"], histogram.classes)) for outputs, row in found
    )
    if not labelled:
        raise LogError(f"labels must have values in column {column!r}, got none")
    for _, label in labelled:
        _check_label(label, histogram, space)
    return Labels(
        [(outputs, label, n) for (outputs, label), n in labelled.items()],
        {
            row["case_id"]: matching(row["label"], histogram.classes)
            for _, row in found
            if "case_id" in row
        },
    )


def _without_apostrophes(table: Any) -> Any:
    """Take off what a sheet puts before text that a spreadsheet would compute, names too."""
    quoted = f"^'({FORMULA})"
    columns = {
        re.sub(quoted, r"\1", name): table[name].re_replace(quoted, r"\1")
        if kind.is_string()
        else table[name]
        for name, kind in table.schema().items()
    }
    return table.select(**columns)


def _check_label(label: Any, histogram: PatternTable, space: LabelSpace) -> None:
    """Raise `LogError` where a label cannot be right: a slip of the pen, or a forgotten setting."""
    if label in space.never_right:
        raise LogError(f"a label must be able to be right, got {label!r}, which never is")
    if label not in histogram.classes and not space.unseen:
        raise LogError(
            f"a label must be a value that some test gives, got {label!r}; the log has "
            f"{', '.join(map(repr, histogram.classes[:20]))} "
            "(--unseen-label allows others, in Python UnseenLabel())"
        )


def _check_empty(source: Any, column: Any, histogram: PatternTable) -> None:
    """Raise `LogError` where an empty cell of a text file may be an answer, or none at all."""
    if "" not in histogram.classes or not isinstance(source, (str, Path)):
        return
    n_empty = int(column.isnull().sum().to_pyarrow().as_py() or 0)
    if n_empty:
        raise LogError(
            f"labels must not be empty where '' is a value of the log, got {n_empty} empty cells: "
            'write "" in quotes where that is right, and leave out the other rows'
        )


def _names_cases(log: Log, shown: Sequence[str]) -> bool:
    """Whether ids of labels can be looked up in the log; outputs need no ids where they cannot.

    Where the log has a column ``case`` that nobody called its id, those of labels may be either.
    """
    if not shown or log.case_id is not None:
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


def _joined(
    told: Any, name: str, shown: Sequence[str], log: Log, histogram: PatternTable
) -> list[Labelled]:
    """Return the outputs that the log has for each labelled case, with its row of the labels."""
    small = told.to_pyarrow()
    cases = log.cases()
    cases = cases.mutate(case_id=cases["case"].cast("string")).drop("case")
    found = cases.join(memtable(small), "case_id").to_pyarrow().to_pylist()
    times = Counter(row["case_id"] for row in found)
    for case in small["case_id"].to_pylist():
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
    labelled = []
    for row in found:
        outputs = _values(row, "s", histogram)
        for k, (test, has) in enumerate(zip(shown, outputs, strict=False)):
            told_here = _value(row[f"t{k}"], histogram)
            if told_here != has and not (told_here is None and has == ""):  # a cell shows neither
                raise LogError(
                    f"labels must show the outputs of the log, got {told_here!r} from {test!r} for "
                    f"{name} {row['case_id']!r}, which has {has!r} there"
                )
        labelled.append((outputs, row))
    return labelled


def _values(row: dict[str, Any], letter: str, histogram: PatternTable) -> list[Hashable]:
    return [_value(row[f"{letter}{k}"], histogram) for k in range(histogram.n_stages)]


def _value(value: Any, histogram: PatternTable) -> Hashable:
    shown = present(value)
    return None if shown is None else matching(shown, histogram.classes)
