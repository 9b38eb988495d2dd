"""Files and frames that are nearly what they should be: read as meant, or refused with a place."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest

import stopwise as sw
from stopwise.errors import LogError
from stopwise.reading import open_log
from tests.auditing.worlds import draw

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)


@pytest.fixture
def frame():
    _, outputs = draw(np.random.default_rng(2), 400, (0.3, 0.2, 0.1))
    return pd.DataFrame(outputs, columns=NAMES)


def disagreement(source):
    return open_log(source, CASCADE).table().disagreement


def refused(match, source):
    with pytest.raises(LogError, match=match) as caught:
        open_log(source, CASCADE).table()
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("pattern", ["day?.csv", "day[12].csv", "d*.csv"])
def test_globs_of_every_kind(frame, pattern, tmp_path):
    frame[:150].to_csv(tmp_path / "day1.csv", index=False)
    frame[150:].to_csv(tmp_path / "day2.csv", index=False)
    np.testing.assert_array_equal(disagreement(tmp_path / pattern), disagreement(frame))


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "parquet"])
def test_columns_of_several_files_go_by_their_names(frame, kind, tmp_path):
    for name, part in (("1", frame[:150]), ("2", frame[150:][["c", "a", "b"]])):
        path = tmp_path / f"{name}.{kind}"
        part.to_parquet(path) if kind == "parquet" else part.to_csv(path, index=False)
    np.testing.assert_array_equal(disagreement(tmp_path), disagreement(frame))


def test_files_with_other_columns(frame, tmp_path):
    frame[:150].to_csv(tmp_path / "1.csv", index=False)
    frame[150:][["a", "b"]].to_csv(tmp_path / "2.csv", index=False)
    refused(r"the same columns, got 'c' in .*1\.csv and not in .*2\.csv", tmp_path)
    frame[150:].assign(d=1).to_csv(tmp_path / "2.csv", index=False)
    refused(r"the same columns, got 'd' in .*2\.csv and not in .*1\.csv", tmp_path)
    (tmp_path / "2.csv").write_text("")
    np.testing.assert_array_equal(disagreement(tmp_path), disagreement(frame[:150]))


@pytest.mark.parametrize(("row", "n"), [("1,0", 2), ("1,0,1,1", 4)])
def test_a_row_that_does_not_fit_is_named(frame, row, n, tmp_path):
    lines = frame.to_csv(index=False).splitlines()
    lines[99] = row
    (tmp_path / "log.csv").write_text("\n".join(lines))
    refused(rf"CSV Error on Line: 100; Expected .* 3 Found: {n}", tmp_path / "log.csv")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le"])
def test_other_encodings(frame, encoding, tmp_path):
    text = "\ufeff" * (encoding != "utf-16") + frame.replace({0: "não", 1: "sí"}).to_csv(
        index=False
    )
    (tmp_path / "log.csv").write_bytes(text.encode(encoding))
    refused("log.csv must be UTF-8, got UTF-16", tmp_path / "log.csv")


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars"])
def test_names_that_differ_in_capitals_only(frame, kind, tmp_path):
    """Engines take them for one column, or give one of them another name."""
    capitals = frame.rename(columns={"b": "A"})
    source = tmp_path / f"log.{kind}"
    if kind == "csv":
        capitals.to_csv(source, index=False)
    elif kind == "parquet":
        capitals.to_parquet(source)
    else:
        source = capitals if kind == "pandas" else pl.from_pandas(capitals)
    refused("columns must have different names, got 'a' and 'A'", source)


def test_names_that_are_no_text(frame):
    numbered = frame.set_axis([0, 1, 2], axis=1)
    cascade = sw.Cascade([1, 2, 4], names=["0", "1", "2"])
    by_number = open_log(numbered, cascade).table().disagreement
    np.testing.assert_array_equal(by_number, disagreement(frame))
    assert list(numbered.columns) == [0, 1, 2]
    refused("a test must be one of 0, 1, 2, got 'a'", numbered)
    levels = pd.MultiIndex.from_product([["x"], NAMES])
    refused(r"columns must have one name each, got \('x', 'a'\)", frame.set_axis(levels, axis=1))
    same = frame.set_axis(["a", "a", "c"], axis=1)
    refused("columns must have different names, got a twice", same)


def test_a_lazy_frame_is_read_without_a_warning(frame):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lazy = disagreement(pl.from_pandas(frame).lazy())
    np.testing.assert_array_equal(lazy, disagreement(frame))


def test_values_of_several_kinds_in_a_column(frame):
    mixed = frame.astype(object).replace({1: "yes"})
    refused("a column must have values of one type", mixed)
    refused("a column must have values of one type", mixed.to_numpy())


@pytest.mark.parametrize("kind", ["numpy", "polars", "parquet"])
def test_a_plan_takes_nan_for_missing_too(frame, kind, tmp_path):
    values = frame.to_numpy(dtype=float, copy=True)
    values[::3, 1] = np.nan
    source = values
    if kind != "numpy":
        source = pl.DataFrame({name: values[:, k] for k, name in enumerate(NAMES)})
    if kind == "parquet":
        source.write_parquet(tmp_path / "log.parquet")
        source = tmp_path / "log.parquet"
    report = sw.audit(source, CASCADE, n_planned=60)
    assert len(report.planned_cases) == 60
    for case in report.planned_cases:
        row = values[case.case - 1]
        assert case.outputs == tuple(None if np.isnan(y) else y for y in row)


@pytest.mark.parametrize("ending", [".0", ".00"])
def test_whole_numbers_with_gaps_are_the_same_numbers_in_text(frame, ending, tmp_path):
    """A column of whole numbers with gaps is written with a fraction, the others without."""
    gaps = frame.astype({"c": "float"})
    gaps.loc[::3, "c"] = np.nan
    path = tmp_path / "log.csv"
    gaps.to_csv(path, index=False, float_format=f"%.{len(ending) - 1}f")
    assert ending in path.read_text()
    read, direct = (open_log(source, CASCADE).table() for source in (path, gaps))
    assert read.classes == ("0", "1")
    np.testing.assert_array_equal(read.codes, direct.codes)
    np.testing.assert_array_equal(read.weights, direct.weights)
    selection = open_log(path, CASCADE, query="select a, b, c from log where c is not null").table()
    assert selection.classes == ("0", "1")
    assert selection.n_seen.max() == gaps["c"].notna().sum()


def test_names_that_look_like_numbers_stay_names(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("a,b,c\n007.0,1.5,007.0\n1.5,007.0,x1.0\nx1.0,1.5,1.5\n")
    assert open_log(path, CASCADE).table().classes == ("007.0", "1.5", "x1.0")
