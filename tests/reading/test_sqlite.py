"""A column of SQLite may hold what it is not declared to hold."""

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import product

import pytest

from stopwise.errors import LogError
from stopwise.reading import open_log
from tests.reading.tables import patterns

HELD = {
    "integer": [0, 1, 2],
    "fraction": [0.5, 1],
    "text": ["a", "b", None],
    "number as text": ["0", "1"],
    "bytes": [b"a", b"\xff"],
    "both": [1, "1", b"1"],
    "large": [2**62, 2**62 + 1],
    "huge": [1e300, 1],
    "date": ["2020-01-01", "2020-01-02 00:00:00"],
}
DECLARED = ["", "integer", "real", "numeric", "text", "blob", "boolean", "date", "timestamp"]


@pytest.mark.parametrize("values", HELD.values(), ids=HELD)
@pytest.mark.parametrize("declared", DECLARED)
def test_sqlite_columns_are_read_as_they_are_held(declared, values, tmp_path):
    """Whatever they are declared to hold: Ibis reads 1.5 as 1, 1e300 as -2**63, 'a' as true."""
    path = tmp_path / "log.sqlite"
    with closing(sqlite3.connect(path)) as con, con:
        con.execute(f"create table log (a {declared}, b {declared})")
        con.executemany("insert into log values (?, ?)", list(product(values, values)))
        rows = con.execute("select a, b from log").fetchall()
    for settings in ({}, {"query": "select a, b from log -- all;\n;"}):
        log = open_log(path, **settings)
        assert log.rows() == rows
        counts = Counter(row for row in rows if any(y is not None for y in row))
        assert patterns(log.table()) == counts
        if declared in ("date", "timestamp"):
            continue
        try:
            cases = log.cases().order_by("case").to_pyarrow().to_pylist()
        except (LogError, ValueError):  # Ibis has one type for a column
            continue
        assert [(case["s0"], case["s1"]) for case in cases] == rows
