"""Parquet files are counted as the engine counts them, or left to it."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from stopwise.cascade import Cascade
from stopwise.errors import LogError
from stopwise.reading import open_log
from tests.reading.tables import assert_same


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
    monkeypatch.setattr("stopwise.reading.parquet.BATCH", 64)
    names = [f"t{k}" for k in range(len(PARQUETS[name]))]
    frame = pd.DataFrame(dict(zip(names, PARQUETS[name], strict=True)))
    for k in range(n_files):
        part = frame[k::n_files]
        part.to_parquet(tmp_path / f"{k}.parquet", row_group_size=100)
    log = open_log(tmp_path, Cascade([1.0] * len(names), names=names))
    assert log.held.count
    engine = replace(log, held=replace(log.held, count=None))
    assert_same(log.table(), engine.table())


def test_many_texts_are_left_to_the_engine(tmp_path):
    texts = [f"answer {n % 300}" for n in range(3_000)]
    frame = pd.DataFrame({"a": texts, "b": texts[::-1]})
    frame.to_parquet(tmp_path / "log.parquet")
    table = open_log(tmp_path / "log.parquet", Cascade([1, 2], names=["a", "b"])).table()
    assert table.n_classes == 300
    assert table.n_cases == 3_000


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
        assert log.table().weights.tolist() == [2, 1, 1]
        return
    with pytest.raises(LogError, match=r"cannot be read: .*two\.parquet"):
        log.table()
