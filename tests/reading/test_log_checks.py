"""What cannot be audited is refused in one line."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from stopwise.cascade import Cascade
from stopwise.errors import LogError
from stopwise.outputs import looks_like
from stopwise.reading import open_log
from stopwise.reading.log_checks import check_log
from tests.reading.tables import limit_patterns


def refused(rows, names=("a", "b")):
    cascade = Cascade([1.0] * len(names), names=list(names))
    with pytest.raises(LogError) as caught:
        check_log(open_log(pd.DataFrame(rows, columns=list(names)), cascade).table())
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_logs_that_cannot_be_audited():
    assert "at least one case with an output, got a header and no rows" in refused([])
    assert "at least one case with an output, got 2 rows" in refused([(None, None)] * 2)
    text = refused([("Yes", "yes"), ("no", "no")])
    assert "'Yes' in 'a'" in text
    assert "'yes' in 'b'" in text
    text = refused([("x", "x"), ("y", "x")])
    assert "'b' must give more than one output, got 'x' in all 2 cases" in text
    assert "'b' must have outputs" in refused([("x", None), ("y", None)])
    assert "got 0.0 in 'b'" in refused([("1", 1.0), ("0", 0.0)])
    assert "numbers with a decimal comma" in refused([("0,5", "1"), ("1,2", "0")])
    assert "map them to answers with a query" in refused([("low", "1"), ("high", "0")])
    text = refused([("1", "low", "1"), ("0", "high", "0")], "abc")
    assert "got 'high', 'low' from test 'b' and none of them from any other test" in text


@pytest.mark.parametrize("kind", ["frame", "array", "parquet", "text in parquet"])
def test_scores_are_no_labels(kind, monkeypatch, tmp_path):
    limit_patterns(monkeypatch, 50)
    frame = pd.DataFrame({"a": np.arange(100), "b": [0, 1] * 50})
    source = {"frame": frame / 7, "array": frame.to_numpy()}.get(kind)
    if source is None:
        source = tmp_path / "log.parquet"
        (frame.astype(str) if "text" in kind else frame).to_parquet(source)
    with pytest.raises(LogError, match=r"'a' alone has \d+ values: cut scores into classes"):
        open_log(source, Cascade([1, 2], names=["a", "b"])).table()


def test_lists_are_no_labels():
    rows = pa.table({"a": [[1], [2]], "b": [[1], [1]]})
    with pytest.raises(LogError, match=r"outputs must be labels .*, got \[1\]"):
        open_log(rows, Cascade([1, 2], names=["a", "b"])).table()


def test_large_numbers_differ_and_are_not_rounded():
    one, two = 10**17, 10**17 + 1
    rows = pd.DataFrame({"a": [one, two], "b": [two, one]})
    check_log(open_log(rows, Cascade([1, 2], names=["a", "b"])).table())
    assert looks_like(one) != looks_like(str(two))
    assert looks_like(one) == looks_like(str(one))
