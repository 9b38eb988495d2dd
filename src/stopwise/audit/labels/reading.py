"""Reading labels for some of the cases of a log."""

from __future__ import annotations

from typing import Any

from stopwise.audit.bounds.corners import LabelSpace
from stopwise.audit.histogram import Histogram
from stopwise.audit.labels.cases import LabelledCases
from stopwise.audit.labels.plan import AGAINST
from stopwise.audit.reading.engine import engine_errors
from stopwise.audit.reading.log import Log
from stopwise.audit.reading.rows import open_rows
from stopwise.audit.values import matching
from stopwise.errors import LogError

PLANNED = "agreement"  # the column of a plan: its cases were drawn among all that agree alike
CASE = "case"


def read_labels(
    source: Any,
    column: str,
    log: Log | None,
    histogram: Histogram,
    space: LabelSpace,
    *,
    at_random: bool = False,
) -> LabelledCases:
    """Return labelled cases sorted into the strata of a log.

    ``source`` has the label's column and either the outputs of the tests or the id of the case.
    """
    table = open_rows(source).table
    names = list(table.columns)
    if column not in names:
        raise LogError(f"labels must have a column {column!r}, got {', '.join(names)}")
    tests = histogram.cascade.names if log is None else log.columns
    with engine_errors("the labels"):
        table = table.filter(table[column].notnull())
        _check_once(table, log)
        planned = PLANNED in names and PLANNED not in tests and _is_plan(table[PLANNED])
        if all(name in names for name in tests):
            rows = table.select(
                **{f"s{k}": table[name] for k, name in enumerate(tests)}, label=table[column]
            )
        else:
            rows = _joined(table, names, column, log)
        keys = rows.columns
        found = rows.group_by(keys).aggregate(n_cases=rows.count()).to_pyarrow().to_pylist()
    classes = histogram.classes

    def known(value: Any) -> Any:
        return None if value is None else matching(value, classes)

    labelled = [
        ([known(row[f"s{k}"]) for k in range(len(tests))], known(row["label"]), row["n_cases"])
        for row in found
    ]
    if not labelled:
        raise LogError(f"labels must have values in column {column!r}, got none")
    for _, label, _ in labelled:
        _check_label(label, histogram, space)
    return LabelledCases.of(
        histogram, labelled, by_agreement=planned, space=space, at_random=at_random
    )


def _is_plan(column: Any) -> bool:
    """Whether a column says of each case who is against whom, as a plan does."""
    said = column.name(PLANNED).as_table().distinct().to_pyarrow()[PLANNED].to_pylist()
    return all(isinstance(words, str) and AGAINST in words for words in said)


def _check_label(label: Any, histogram: Histogram, space: LabelSpace) -> None:
    """Raise `LogError` where a label cannot be right: a slip of the pen, or a forgotten setting."""
    if label in space.never_right:
        raise LogError(f"a label must be able to be right, got {label!r}, which never is")
    if label not in histogram.classes and not space.unseen:
        raise LogError(
            f"a label must be a value that some test gives, got {label!r}; the log has "
            f"{', '.join(map(repr, histogram.classes[:20]))} (unseen_label allows others)"
        )


def _check_once(table: Any, log: Log | None) -> None:
    """Raise `LogError` where a case has more than one label, as far as cases have names."""
    name = CASE if log is None or log.case_id is None else log.case_id
    tests = () if log is None else log.columns
    if name not in table.columns or name in tests:
        return
    times = table.group_by(case_id=table[name]).aggregate(times=table.count())
    twice = times.filter(times.times > 1).limit(1).to_pyarrow().to_pylist()
    if twice:
        raise LogError(
            f"a case must have one label, got {twice[0]['times']} for {twice[0]['case_id']!r}"
        )


def _joined(table: Any, names: list[str], column: str, log: Log | None) -> Any:
    if log is None:
        raise LogError("labels must have the columns of the tests where the log is a histogram")
    name = log.case_id if log.case_id is not None else CASE
    if name not in names:
        raise LogError(
            f"labels must have the tests' columns or the case id {name!r}, got {', '.join(names)}"
        )
    import ibis

    small = ibis.memtable(
        table.select(case_id=table[name].cast("string"), label=table[column]).to_pyarrow()
    )
    frame = log.frame()
    cases = log.outputs(case_id=log.ids(frame).cast("string"))
    both = cases.join(small, "case_id")
    n_found, n_given = (int(t.count().to_pyarrow().as_py()) for t in (both, small))
    if n_found < n_given:
        raise LogError(f"labels must be for cases of the log, some {name!r} are not in it")
    if n_found > n_given:
        raise LogError(f"a case id must name one case, some {name!r} of labels name several")
    return both.drop("case_id")
