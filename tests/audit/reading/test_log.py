"""Any source gives the same histogram, and what cannot be audited is refused in one line."""

import sqlite3
from collections import Counter
from dataclasses import replace

import ibis
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stopwise.audit.histogram import Histogram
from stopwise.audit.reading.checks import check_log
from stopwise.audit.reading.log import open_log
from stopwise.audit.values import looks_like, matching
from stopwise.cascade import Cascade
from stopwise.errors import LogError

NAMES = ["a", "b", "c"]
CASCADE = Cascade([1, 2, 3], names=NAMES)
ROWS = [(0, 0, 1), (0, 1, None), (1, 1, 1), (1, None, None), (0, 0, 1), (None, None, None)] * 7


@pytest.fixture
def frame():
    return pd.DataFrame(ROWS, columns=NAMES, dtype="Int64").assign(id=range(100, 100 + len(ROWS)))


def as_counter(histogram):
    return Counter(
        {
            tuple(None if c < 0 else int(histogram.classes[c]) for c in row): n
            for row, n in zip(histogram.patterns.tolist(), histogram.counts.tolist(), strict=True)
        }
    )


EXPECTED = Counter(row for row in ROWS if row != (None, None, None))


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


@pytest.fixture(scope="module")
def all_sources(tmp_path_factory):
    table = pd.DataFrame(ROWS, columns=NAMES, dtype="Int64").assign(id=range(100, 100 + len(ROWS)))
    return sources(table, tmp_path_factory.mktemp("logs"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_source_gives_the_same_histogram(kind, all_sources):
    assert set(KINDS) == set(all_sources)
    source, options = all_sources[kind]
    found = open_log(source, CASCADE, **options).histogram()
    assert as_counter(found) == EXPECTED
    assert found.n_blank == 7
    assert found.n_cases == len(ROWS) - 7


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, bool, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays_of_zero_and_one(dtype, order):
    rng = np.random.default_rng(0)
    array = np.asarray(rng.integers(0, 2, (1_003, 3)), dtype=dtype, order=order)
    found = open_log(array, CASCADE).histogram()
    expected = Counter(map(tuple, array.astype(int).tolist()))
    assert as_counter(found) == expected


def test_counts_of_pairs_are_those_of_the_cases():
    found = open_log(np.array(ROWS, dtype=object), CASCADE).histogram()
    for i in range(3):
        assert found.n_observed[i] == sum(row[i] is not None for row in ROWS)
        for j in range(3):
            both = [(r[i], r[j]) for r in ROWS if r[i] is not None and r[j] is not None]
            assert found.n_seen[i, j] == len(both)
            assert found.n_disagreed[i, j] == sum(x != y for x, y in both)
            assert found.disagreement[i, j] == sum(x != y for x, y in both) / len(both)


def test_histograms_add_up():
    first, second = (Histogram.from_rows(ROWS[s], [1] * len(ROWS[s]), CASCADE)
                     for s in (slice(0, 9), slice(9, None)))  # fmt: skip
    total = first + second
    assert as_counter(total) == EXPECTED
    assert total.n_blank == 7


def test_text_and_truth_values():
    rows = [("yes", "no"), ("no", "no"), ("yes", "yes")]
    found = open_log(pd.DataFrame(rows, columns=["a", "b"]), Cascade([1, 2], names=["a", "b"]))
    assert found.histogram().classes == ("no", "yes")
    mixed = pa.table({"a": [True, False, True], "b": [1, 0, 0]})
    histogram = open_log(mixed, Cascade([1, 2], names=["a", "b"])).histogram()
    assert histogram.n_disagreed[0, 1] == 1


def test_a_column_of_numbers_beside_one_of_text_is_no_trap_in_csv(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,none\n2,2\n1,1\n")
    found = open_log(tmp_path / "log.csv", Cascade([1, 2], names=["a", "b"])).histogram()
    check_log(found)
    assert found.n_disagreed[0, 1] == 1


def test_what_stands_for_nothing_in_text(tmp_path):
    (tmp_path / "log.csv").write_text("a,b\n1,NA\n2,\n1,NULL\nnan,1\n2,N/A\n2,NaN\n2,null\n2,2\n")
    found = open_log(tmp_path / "log.csv", Cascade([1, 2], names=["a", "b"])).histogram()
    assert found.classes == ("1", "2")
    assert found.n_observed.tolist() == [7, 2]


def test_what_looks_alike():
    assert looks_like(" Yes") == looks_like("yes") == looks_like("YES ")
    assert looks_like("1") == looks_like(1) == looks_like(1.0) == looks_like(True)
    assert looks_like("nan") == "nan"
    assert looks_like("a") != looks_like("b")
    assert matching("1", (0, 1)) == 1
    assert matching("x", (0, 1)) == "x"


def refused(rows, names=("a", "b")):
    cascade = Cascade([1.0] * len(names), names=list(names))
    with pytest.raises(LogError) as caught:
        check_log(open_log(pd.DataFrame(rows, columns=list(names)), cascade).histogram())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_logs_that_cannot_be_audited():
    assert "at least one case" in refused([])
    text = refused([("Yes", "yes"), ("no", "no")])
    assert "'Yes' in 'a'" in text
    assert "'yes' in 'b'" in text
    text = refused([("x", "x"), ("x", "y")])
    assert "'a' must tell cases apart, got 'x' in all 2 cases" in text
    assert "'b' must have outputs" in refused([("x", None), ("y", None)])
    assert "got 0.0 in 'b'" in refused([("1", 1.0), ("0", 0.0)])


@pytest.mark.parametrize("kind", ["frame", "array", "parquet", "text in parquet"])
def test_scores_are_no_labels(kind, monkeypatch, tmp_path):
    for module in ("checks", "counting", "log", "parquet"):
        monkeypatch.setattr(f"stopwise.audit.reading.{module}.MAX_PATTERNS", 50)
    frame = pd.DataFrame({"a": np.arange(100), "b": [0, 1] * 50})
    source = {"frame": frame / 7, "array": frame.to_numpy()}.get(kind)
    if source is None:
        source = tmp_path / "log.parquet"
        (frame.astype(str) if "text" in kind else frame).to_parquet(source)
    with pytest.raises(LogError, match=r"'a' alone has \d+ values: cut scores into classes"):
        open_log(source, Cascade([1, 2], names=["a", "b"])).histogram()


def ints(low, high, gaps=False):
    values = np.random.default_rng(high).integers(low, high, 500, endpoint=True)
    return pd.Series(values, dtype="Int64").mask(values % 5 == 0 if gaps else values < low)


PARQUETS = {
    "bits": [ints(0, 1), ints(0, 1), ints(0, 1)],
    "booleans and gaps": [ints(0, 1).astype("boolean"), ints(0, 1, True).astype("boolean")],
    "numbers": [ints(-3, 3), ints(0, 300, True), ints(10**15, 10**15 + 9)],
    "bytes": [ints(-128, 127).astype("Int8"), ints(0, 255).astype("UInt8")],
    "a wide range": [ints(-(2**40), 2**40), ints(0, 1)],
    "text": [ints(0, 3).map("v{}".format), ints(0, 1).map({0: "v0", 1: None})],
    "text and numbers": [ints(0, 3).astype(str), ints(0, 40, True)],
    "categories": [ints(0, 3).map("v{}".format).astype("category"), ints(0, 1).map("v{}".format)],
    "many tests": [ints(0, 1).map({0: "no", 1: "yes"}) for _ in range(20)],
    "floats": [ints(0, 2) / 4, ints(0, 2) / 2],
    "dates": [pd.Series(pd.Timestamp("2024-01-01"), range(500)), ints(0, 1)],
}


@pytest.mark.parametrize("name", PARQUETS)
@pytest.mark.parametrize("n_files", [1, 2])
def test_parquet_is_counted_as_the_engine_counts_it(name, n_files, tmp_path, monkeypatch):
    monkeypatch.setattr("stopwise.audit.reading.parquet.BATCH", 64)
    names = [f"t{k}" for k in range(len(PARQUETS[name]))]
    frame = pd.DataFrame(dict(zip(names, PARQUETS[name], strict=True)))
    for k in range(n_files):
        part = frame[k::n_files]
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=100)
    log = open_log(tmp_path, Cascade([1.0] * len(names), names=names))
    assert log.parquet
    found, expected = log.histogram(), replace(log, parquet=()).histogram()
    assert found.classes == expected.classes
    assert list(map(type, found.classes)) == list(map(type, expected.classes))
    assert found.patterns.tolist() == expected.patterns.tolist()
    assert found.counts.tolist() == expected.counts.tolist()
    assert found.n_blank == expected.n_blank


def test_many_texts_are_left_to_the_engine(tmp_path):
    texts = [f"answer {n % 300}" for n in range(3_000)]
    frame = pd.DataFrame({"a": texts, "b": texts[::-1]})
    frame.to_parquet(tmp_path / "log.parquet")
    found = open_log(tmp_path / "log.parquet", Cascade([1, 2], names=["a", "b"])).histogram()
    assert found.n_classes == 300
    assert found.n_cases == 3_000


def test_columns_that_are_not_there(frame):
    with pytest.raises(LogError, match="did you mean 'a'"):
        open_log(frame, Cascade([1, 2], names=["aa", "b"]))
    with pytest.raises(LogError, match="one column a cost, got 2 for 3"):
        open_log(frame, CASCADE, tests=["a", "b"])
    with pytest.raises(LogError, match="different columns"):
        open_log(frame, CASCADE, tests=["a", "b", "a"])
    with pytest.raises(LogError, match="case id must be one of"):
        open_log(frame, CASCADE, case_id="nr")
    with pytest.raises(LogError, match=r"shape \(n, 3\)"):
        open_log(np.zeros((4, 2)), CASCADE)


def test_files_that_cannot_be_read(tmp_path, frame):
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_log(tmp_path / "nowhere.csv", CASCADE)
    with pytest.raises(FileNotFoundError, match="no such file"):
        open_log(tmp_path / "*.csv", CASCADE)
    (tmp_path / "log.parquet").write_bytes(b"PAR1 this is no parquet file PAR1")
    with pytest.raises(LogError, match=r"log\.parquet cannot be read") as caught:
        open_log(tmp_path / "log.parquet", CASCADE)
    assert "\n" not in str(caught.value)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "cut.parquet")
    whole = (tmp_path / "cut.parquet").read_bytes()
    (tmp_path / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LogError, match="cannot be read"):
        open_log(tmp_path / "cut.parquet", CASCADE)
    (tmp_path / "log.xlsx").write_bytes(b"PK")
    with pytest.raises(LogError, match="CSV or Parquet"):
        open_log(tmp_path / "log.xlsx", CASCADE)
    with pytest.raises(LogError, match="got object"):
        open_log(object(), CASCADE)


def test_databases_that_do_not_fit(all_sources):
    path, _ = all_sources["duckdb table"]
    with pytest.raises(LogError, match=r"\['others', 'visits'\]"):
        open_log(path, CASCADE)
    with pytest.raises(LogError, match="did you mean 'visits'"):
        open_log(path, CASCADE, table="visit")
    with pytest.raises(LogError, match="cannot be read"):
        open_log(path, CASCADE, query="selekt * from visits")
    with pytest.raises(LogError, match="cannot be read"):
        open_log(path, CASCADE, query="select * from nowhere")
    with pytest.raises(LogError, match="not be given together"):
        open_log(path, CASCADE, query="select 1", table="visits")
    csv, _ = all_sources["csv"]
    with pytest.raises(LogError, match="is none"):
        open_log(csv, CASCADE, table="visits")
    with pytest.raises(LogError, match="come with a file"):
        open_log(pd.DataFrame(ROWS, columns=NAMES), CASCADE, table="visits")


def test_large_numbers_differ_and_are_not_rounded():
    one, two = 10**17, 10**17 + 1
    rows = pd.DataFrame({"a": [one, two], "b": [two, one]})
    check_log(open_log(rows, Cascade([1, 2], names=["a", "b"])).histogram())
    assert looks_like(one) != looks_like(str(two))
    assert looks_like(one) == looks_like(str(one))


@pytest.mark.parametrize("kind", ["other columns", "other types"])
def test_parquet_that_only_the_engine_can_read(kind, tmp_path):
    pq.write_table(pa.table({"a": ["0", "1"], "b": ["0", "0"]}), tmp_path / "one.parquet")
    second = {
        "other columns": {"b": ["0", "1"]},
        "other types": {"a": [0, 1], "b": [0, 1]},
    }[kind]
    pq.write_table(pa.table(second), tmp_path / "two.parquet")
    log = open_log(tmp_path, Cascade([1, 2], names=["a", "b"]))
    if kind == "other types":
        assert log.histogram().counts.tolist() == [2, 1, 1]
        return
    with pytest.raises(LogError, match=r"the log cannot be read: .*two\.parquet"):
        log.histogram()


def test_lists_are_no_labels():
    rows = pa.table({"a": [[1], [2]], "b": [[1], [1]]})
    with pytest.raises(LogError, match="outputs must be labels, got list<"):
        open_log(rows, Cascade([1, 2], names=["a", "b"])).histogram()


@pytest.mark.parametrize("source", [None, 5])
def test_what_is_no_table_is_named(source):
    with pytest.raises(LogError, match=r"log must be a path, an array, .* got (NoneType|int)"):
        open_log(source, CASCADE)
