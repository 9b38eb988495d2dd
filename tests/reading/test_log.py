"""Any source gives the same histogram, and what cannot be read is refused in one line."""

import sqlite3
import sys
from collections import Counter

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import stopwise as sw
import stopwise.reading.text
from stopwise.cascade import Cascade
from stopwise.errors import LogError, MissingExtraError
from stopwise.patterns import PatternTable
from stopwise.reading import open_log
from stopwise.reading.log_checks import check_log
from tests.reading.tables import assert_same, patterns

NAMES = ["a", "b", "c"]
CASCADE = Cascade([1, 2, 3], names=NAMES)
ROWS = [(0, 0, 1), (0, 1, None), (1, 1, 1), (1, None, None), (0, 0, 1), (None, None, None)] * 7


EXPECTED = Counter(row for row in ROWS if row != (None, None, None))


def assert_expected(table):
    """The table has the counts of `ROWS`; a text file gives text."""
    rows = patterns(table).items()
    assert {tuple(y if y is None else int(y) for y in row): n for row, n in rows} == EXPECTED
    assert table.n_blank == 7
    assert table.n_cases == len(ROWS) - 7


@pytest.fixture(scope="module")
def frame():
    return pd.DataFrame(ROWS, columns=NAMES, dtype="Int64").assign(id=range(100, 100 + len(ROWS)))


@pytest.fixture(scope="module")
def all_sources(frame, tmp_path_factory):
    return sources(frame, tmp_path_factory.mktemp("logs"))


def sources(frame, folder):
    frame.to_csv(folder / "log.csv", index=False)
    frame.to_csv(folder / "log.tsv", index=False, sep="\t")
    frame.to_csv(folder / "log.csv.gz", index=False)
    frame.to_parquet(folder / "log.parquet")
    parts = folder / "parts"
    (parts / "deep").mkdir(parents=True)
    frame[:10].to_parquet(parts / "one.parquet")
    frame[10:].to_parquet(parts / "deep" / "two.parquet")
    globbed = folder / "globbed"
    globbed.mkdir()
    frame[:10].to_csv(globbed / "one.csv", index=False)
    frame[10:].to_csv(globbed / "two.csv", index=False)
    with sqlite3.connect(folder / "log.sqlite") as con:
        con.execute("create table visits (a int, b int, c int, id int)")
        rows = [[None if v is pd.NA else int(v) for v in row] for row in frame.to_numpy().tolist()]
        con.executemany("insert into visits values (?, ?, ?, ?)", rows)
    con.close()
    con = ibis.duckdb.connect(folder / "log.duckdb")
    con.create_table("visits", frame)
    con.create_table("others", frame[:1])
    con.disconnect()
    polars = ibis.polars.connect()
    polars.create_table("visits", pl.from_pandas(frame))
    floats = frame[NAMES].astype(float).to_numpy()
    objects = np.array(ROWS, dtype=object)
    return {
        "csv": (folder / "log.csv", {}),
        "csv text path": (str(folder / "log.csv"), {}),
        "tsv": (folder / "log.tsv", {}),
        "csv.gz": (folder / "log.csv.gz", {}),
        "parquet": (folder / "log.parquet", {}),
        "folder": (parts, {}),
        "glob": (globbed / "*.csv", {}),
        "sqlite": (folder / "log.sqlite", {}),
        "sqlite query": (folder / "log.sqlite", {"query": "select * from visits"}),
        "duckdb table": (folder / "log.duckdb", {"table": "visits"}),
        "duckdb query": (folder / "log.duckdb", {"query": "select a, b, c from visits"}),
        "query of a file": (folder / "log.parquet", {"query": "select * from log where id >= 0"}),
        "pandas": (frame, {}),
        "pandas floats": (frame[NAMES].astype(float), {}),
        "polars": (pl.from_pandas(frame), {}),
        "arrow": (pa.Table.from_pandas(frame), {}),
        "numpy floats": (floats, {}),
        "numpy objects": (objects, {}),
        "ibis duckdb": (ibis.memtable(frame), {}),
        "ibis polars": (polars.table("visits"), {}),
    }


KINDS = [
    "csv", "csv text path", "tsv", "csv.gz", "parquet", "folder", "glob", "sqlite", "sqlite query",
    "duckdb table", "duckdb query", "query of a file", "pandas", "pandas floats", "polars",
    "arrow", "numpy floats", "numpy objects", "ibis duckdb", "ibis polars",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_histogram(kind, all_sources):
    assert set(KINDS) == set(all_sources)
    source, options = all_sources[kind]
    assert_expected(open_log(source, CASCADE, **options).table())


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, bool, float, object, "U1"])
def test_what_is_masked_is_missing(dtype):
    numbers = np.array([[0 if y is None else y for y in row] for row in ROWS]).astype(dtype)
    masked = np.ma.masked_array(numbers, mask=[[y is None for y in row] for row in ROWS])
    assert_expected(open_log(masked, CASCADE).table())
    unmasked = open_log(np.ma.masked_array(numbers), CASCADE).table()
    assert_same(unmasked, open_log(numbers, CASCADE).table())


def test_histograms_add_up():
    first, second = (
        PatternTable.from_rows(rows, [1] * len(rows), CASCADE) for rows in (ROWS[:9], ROWS[9:])
    )
    assert_expected(first + second)


def test_text_and_truth_values():
    rows = [("yes", "no"), ("no", "no"), ("yes", "yes")]
    log = open_log(pd.DataFrame(rows, columns=["a", "b"]), Cascade([1, 2], names=["a", "b"]))
    assert log.table().classes == ("no", "yes")
    mixed = pa.table({"a": [True, False, True], "b": [1, 0, 0]})
    histogram = open_log(mixed, Cascade([1, 2], names=["a", "b"])).table()
    assert histogram.n_disagreed[0, 1] == 1


def test_a_column_of_numbers_beside_one_of_text_is_no_trap_in_csv(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,none\n2,2\n1,1\n")
    table = open_log(tmp_path / "log.csv", Cascade([1, 2], names=["a", "b"])).table()
    check_log(table)
    assert table.n_disagreed[0, 1] == 1


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"tests": ["aa", "b", "c"]}, "did you mean 'a'"),
        ({"tests": ["a", "b"]}, "one column per cost, got 2 for 3"),
        ({"tests": ["a", "b", "a"]}, "different columns"),
        ({"case_id": "nr"}, r"the case id \(--id, case_id\) must be one of"),
    ],
)
def test_columns_that_are_not_there(frame, settings, match):
    with pytest.raises(LogError, match=match):
        open_log(frame, CASCADE, **settings)


@pytest.mark.parametrize("name", ["nowhere.csv", "*.csv"])
def test_files_that_are_not_there(name, tmp_path):
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_log(tmp_path / name, CASCADE)


@pytest.mark.parametrize(
    ("kind", "settings", "match"),
    [
        ("duckdb table", {}, r"\['others', 'visits'\]"),
        ("duckdb table", {"table": "visit"}, "did you mean 'visits'"),
        ("duckdb table", {"query": "selekt * from visits"}, "cannot be read"),
        ("duckdb table", {"query": "select * from nowhere"}, "cannot be read"),
        ("duckdb table", {"query": "select 1", "table": "visits"}, "not be given together"),
        ("csv", {"table": "visits"}, "is none"),
        ("pandas", {"table": "visits"}, "come with a file"),
    ],
)
def test_databases_that_do_not_fit(kind, settings, match, all_sources):
    with pytest.raises(LogError, match=match):
        open_log(all_sources[kind][0], CASCADE, **settings)


@pytest.mark.parametrize("source", [None, 5, object(), [[0, 1, 1]]])
def test_what_is_no_table_is_named(source):
    message = rf"log must be a path, an array, .* got {type(source).__name__}"
    with pytest.raises(LogError, match=message):
        open_log(source, CASCADE)


@pytest.mark.parametrize("missing", ["duckdb", "ibis"])
def test_an_extra_that_is_not_installed_is_named(missing, monkeypatch, all_sources):
    monkeypatch.setitem(sys.modules, missing, None)
    array = np.array([[0, 0, 1], [0, 1, 1], [1, 1, 0]] * 40)
    assert open_log(array, CASCADE).table().n_cases == 120  # which needs neither
    message = rf"needs {missing}: pip install '\.\[audit\]'"
    with pytest.raises(MissingExtraError, match=message):
        sw.audit(array, CASCADE, n_planned=5)
    with pytest.raises(MissingExtraError, match=message):
        open_log(*all_sources["parquet" if missing == "duckdb" else "sqlite"][:1], CASCADE)


@pytest.mark.parametrize(
    "text",
    [
        "a,b,c\n0,0,1\n\n1.0,NA,\n",  # gaps, a blank line
        "\r\n\r\nid;a;text;b;c\r\n1;0;one, two;0; NA\r\n2;1;;1;0\r\n",  # further columns
        "\ufeffa\tb\tc\r0\t0\t1\r1\t0\t1",
        'a,b,c\n0,"0",1\n1,0,""\n',  # quotes
        "a,b,c\n0,0\n",  # a row that is too short
        "a,b,c\n0,\udcff,1\n",  # no UTF-8
    ],
)
def test_small_files_are_counted_as_the_engine_counts_them(text, tmp_path, monkeypatch):
    path = tmp_path / "log.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    results = []
    for size in (stopwise.reading.text.SMALL, 0):
        monkeypatch.setattr(stopwise.reading.text, "SMALL", size)
        try:
            results.append(patterns(open_log(path, CASCADE).table()))
        except LogError as error:
            results.append(str(error))
    assert results[0] == results[1]


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({"case_id": "visit"}, "must come with named columns"),
        ({"table": "visits"}, "must come with named columns"),
        ({"query": "SELECT * FROM log"}, "must come with named columns"),
    ],
)
def test_an_array_has_no_names(settings, match):
    array = np.array(ROWS, dtype=object)
    with pytest.raises(LogError, match=match):
        open_log(array, CASCADE, **settings)
    with pytest.raises(LogError, match=r"shape \(n, 3\)"):
        open_log(array[:, :2], CASCADE)
