"""Text files mean the same wherever they are read: one dialect, the same gaps, that very file."""

import csv
import gzip
from collections import Counter
from dataclasses import replace
from functools import partial

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import stopwise as sw
from stopwise.errors import LogError
from stopwise.reading import open_log
from stopwise.reading.text import GAPS, Cells
from tests.reading.tables import assert_same, patterns

PAIR = sw.Cascade([1, 2], names=["a", "b"])


@pytest.fixture
def log(tmp_path):
    """Write a text file and count its patterns."""

    def count(text, name="log.csv"):
        path = tmp_path / name
        content = text if isinstance(text, bytes) else text.encode()
        path.write_bytes(gzip.compress(content) if path.suffix == ".gz" else content)
        return open_log(path, PAIR).table()

    return count


def test_quotes_that_come_late_are_quotes(log):
    """Beyond the rows from which an engine would guess the dialect."""
    table = log("a,b\n" + "0,0\n1,1\n" * 15_000 + '0,"0"\n1,"1"\n' * 5_000)
    assert patterns(table) == {("0", "0"): 20_000, ("1", "1"): 20_000}
    late = log("a,b\n" + "0,0\n" * 30_000 + '0,"x, y"\n')
    assert patterns(late) == {("0", "0"): 30_000, ("0", "x, y"): 1}


def test_single_quotes_are_part_of_a_value(log):
    assert patterns(log("a,b\n'x','x'\n'y',x\n")) == {("'x'", "'x'"): 1, ("'y'", "x"): 1}


def test_rows_that_begin_with_a_hash_are_rows(log):
    assert patterns(log("a,b\n#N/A,1\n#1,#1\n1,1\n")) == {
        (None, "1"): 1,
        ("#1", "#1"): 1,
        ("1", "1"): 1,
    }


@pytest.mark.parametrize(
    "gaps", [[text for text in GAPS if text], [""], ['""'], ["  "], ['" NA "']]
)
def test_every_gap_is_one_in_counts_rows_queries_and_cases(gaps, tmp_path):
    path, n = tmp_path / "log.csv", len(gaps)
    path.write_text("a,b\n" + "".join(f"1,{gap}\n{gap},1\n1,1\n" for gap in gaps))
    log = open_log(path, PAIR)
    assert log.table().n_observed.tolist() == [2 * n, 2 * n]
    rows = [("1", None), (None, "1"), ("1", "1")] * n
    assert log.rows() == rows
    cases = log.cases().order_by("case").to_pyarrow().to_pylist()
    assert [(case["s0"], case["s1"]) for case in cases] == rows
    selection = open_log(path, PAIR, query="select * from log where b is null").table()
    assert patterns(selection) == {("1", None): n}


@pytest.mark.parametrize("more", ["", ', "c"'])
def test_blanks_around_names_and_cells_are_dropped(more, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(f"a , b{more}\n 1.0,\t1 {more}\n1, 1{more}\n0 , x y{more}\n")
    log = open_log(path, PAIR)
    rows = [("1", "1"), ("1", "1"), ("0", "x y")]
    assert log.rows() == rows
    by_cells = replace(log, held=replace(log.held, count=None))
    for table in (log.table(), by_cells.table(), open_log(path, PAIR, query="from log").table()):
        assert patterns(table) == {("1", "1"): 2, ("0", "x y"): 1}
    cases = log.cases().order_by("case").to_pyarrow().to_pylist()
    assert [(case["s0"], case["s1"]) for case in cases] == rows
    assert open_log(path, PAIR, values=[" x"]).rows()[-1] == ("0 ", " x y")


def test_a_known_value_is_no_gap(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text('a,b\nNA,1\n"",N/A\n,1\n')
    assert open_log(path, values=["NA", "1"]).rows() == [("NA", "1"), (None, None), (None, "1")]
    assert open_log(path, values=[""]).rows() == [(None, "1"), ("", None), (None, "1")]
    assert Cells(["NA"])(" N/A ") is None


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["log.csv", "log.csv.gz"])
def test_separators_and_marks_of_byte_order(log, mark, name):
    other = "," if mark != "," else ";"
    lines = [f'"a"{mark}b', f"1.0{mark}x{other}y", f'1{mark}"x{mark}y"']
    table = log("\ufeff" + "\r\n".join(["", *lines, ""]), name)
    assert patterns(table) == {("1", f"x{other}y"): 1, ("1", f"x{mark}y"): 1}


LINES = {
    "plain": "a,b\n1,2\n1.0,2\n NA,x y\n1,2\n",
    "the other way round": "b,a\r\n1,2\r\n3,\r\n",
    "blank lines": "\na,b\n1,2\n\n1,2\n",
    "quotes": 'a,b\n1,"x,y"\n1, "2"\n',
    "line breaks": 'a,b\n1,"x\ny"\n1,2\n',
    "a separator at the end": "a,b\n1,2,\n",
    "a control character": "a,b\n1,\x01\n",
    "more columns": "a,b,c\n1,2,3\n1,2,4\n",
    "no end": "a,b\n1,2",
}
CUT_OFF = {"log.csv.gz": gzip.compress, "log.csv.zst": partial(pa.compress, codec="zstd")}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("within", ["\n", "\r\n", "\r"])
def test_a_line_break_in_a_name_ends_no_line(end, within, tmp_path):
    """Nor does it say how lines end, by which the engine would find no rows at all."""
    (tmp_path / "log.csv").write_text(f'a,"b{within}c"{end}1,2{end}', newline="")
    assert open_log(tmp_path / "log.csv").rows() == [("1", "2")]
    (tmp_path / "log.csv").write_text(f'{end}a,"b{within}c"', newline="")
    assert open_log(tmp_path / "log.csv").rows() == []  # a header without an end is no row
    marked = f'\ufeff"a{within}",b{end}1,2{end}'
    (tmp_path / "log.csv").write_text(marked, newline="", encoding="utf-8")
    with pytest.raises(LogError, match="header in one line where a byte order mark"):
        open_log(tmp_path / "log.csv")


@pytest.mark.parametrize("name", CUT_OFF)
def test_a_compressed_file_that_is_cut_off_is_refused(name, tmp_path):
    """The engine would read the rows that are left."""
    whole = bytes(CUT_OFF[name](b"a,b\n" + b"0,0\n1,0\n" * 50_000))
    path = tmp_path / name
    path.write_bytes(whole)
    assert open_log(path, PAIR).table().n_cases == 100_000
    for size in (len(whole) // 2, len(whole) - 4):
        path.write_bytes(whole[:size])
        with pytest.raises(LogError, match="cannot be read"):
            open_log(path, PAIR).table()


@pytest.mark.parametrize("name", LINES)
def test_lines_are_counted_as_cells_are(name, tmp_path):
    path = tmp_path / "log.csv"
    path.write_text(LINES[name], newline="")
    log = open_log(path, PAIR)
    by_cells = replace(log, held=replace(log.held, count=None))
    assert_same(log.table(), by_cells.table())


def test_a_column_without_a_name_is_left_out(log, tmp_path):
    assert patterns(log(",a,b\n0,1,1\n1,1,0\n")) == {("1", "1"): 1, ("1", "0"): 1}
    assert open_log(tmp_path / "log.csv").columns == ("a", "b")


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
@pytest.mark.parametrize("name", ["log[1]", "lo?", "*", "l[!x]g"])
def test_a_path_that_exists_is_that_path(name, kind, tmp_path):
    """And no glob, which would read other files."""
    for stem, answer in ((name, "right"), ("log1", "wrong"), ("log", "wrong")):
        for folder in (tmp_path, tmp_path / name):
            folder.mkdir(exist_ok=True)
            frame = pd.DataFrame({"a": [answer], "b": [answer]})
            path = folder / f"{stem}.{kind}"
            frame.to_parquet(path) if kind == "parquet" else frame.to_csv(path, index=False)
    for source in (tmp_path / f"{name}.{kind}", tmp_path / name / f"{name}.{kind}"):
        assert patterns(open_log(source, PAIR).table()) == {("right", "right"): 1}
    assert open_log(tmp_path / name, PAIR).table().n_cases == 3


WRITES = [
    "select a, b from log; drop view log",
    "copy (select 1) to 'stolen.csv'",
    "create table t as select 1",
    "",
]


@pytest.mark.parametrize("query", WRITES)
def test_a_query_is_one_select(query, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "log.csv").write_text("a,b\n1,1\n")
    with pytest.raises(LogError, match="query must be one SELECT"):
        open_log("log.csv", PAIR, query=query)
    assert [path.name for path in tmp_path.iterdir()] == ["log.csv"]


@pytest.mark.parametrize("query", ["delete from visits", "select 1 as a; delete from visits"])
@pytest.mark.parametrize("kind", ["sqlite", "duckdb"])
def test_a_query_cannot_write_to_a_database(query, kind, tmp_path):
    import duckdb

    path = tmp_path / f"log.{kind}"
    if kind == "sqlite":
        import sqlite3

        con = sqlite3.connect(path)
    else:
        con = duckdb.connect(str(path))
    con.execute("create table visits (a text, b text)")
    con.execute("insert into visits values ('x', 'y')")
    con.commit()
    con.close()
    with pytest.raises(LogError):
        open_log(path, PAIR, query=query).table()
    assert open_log(path, PAIR).table().n_cases == 1


CELLS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=6)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=12),
    mark=st.sampled_from(",;\t|"),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    more=st.booleans(),
)
def test_what_a_writer_writes_is_what_is_read(rows, mark, quoting, more, tmp_path_factory):
    """Counts and rows, for any text that a CSV file can hold."""
    path = tmp_path_factory.mktemp("log") / "log.csv"
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, delimiter=mark, quoting=quoting)
        writer.writerow(["a", "b", *["id"] * more])
        writer.writerows((*row, *[str(n)] * more) for n, row in enumerate(rows))
    cell = Cells()
    expected = [tuple(map(cell, row)) for row in rows]
    try:
        log = open_log(path, PAIR)
        values, table = log.rows(), log.table()
    except LogError:  # refused, and never read as something else
        assert b"\0" in path.read_bytes()
        return
    assert values == expected
    counts = Counter(row for row in expected if row != (None, None))
    assert patterns(table) == counts
    assert table.n_blank == len(rows) - counts.total()
