"""A log with too many patterns of values is counted by the pattern of agreement."""

from collections import Counter

import numpy as np
import pandas as pd
import pytest

import stopwise as sw
from stopwise.auditing import Prevalence
from stopwise.auditing.advice import WarningKind
from stopwise.errors import LogError
from stopwise.patterns import agreement
from stopwise.reading import open_log
from stopwise.reading.log_checks import check_log, odd_values
from tests.reading.tables import limit_patterns, patterns

NAMES = ["a", "b", "c"]
CASCADE = sw.Cascade([1, 2, 4], mistake_cost=25, names=NAMES)


@pytest.fixture
def frame(monkeypatch):
    """Outputs of 40 classes with gaps, and a limit that their patterns exceed."""
    limit_patterns(monkeypatch, 60)
    rng = np.random.default_rng(0)
    label = rng.integers(0, 40, 900)
    wrong = [rng.random(900) < rate for rate in (0.3, 0.2, 0.1)]
    outputs = np.stack([np.where(w, rng.integers(0, 40, 900), label) for w in wrong], axis=1)
    return pd.DataFrame(outputs, columns=NAMES, dtype="Int64").mask(rng.random((900, 3)) < 0.05)


def source(frame, kind, folder):
    if kind == "frame":
        return frame
    if kind == "array":
        return frame.fillna(0).to_numpy(dtype=np.int64)
    if kind == "floats":
        return frame.astype(float).to_numpy()
    path = folder / f"log.{kind}"
    # Written as whole numbers in one column and with a fraction in the next.
    text = frame.astype({"b": float})
    frame.to_parquet(path) if kind == "parquet" else text.to_csv(path, index=False)
    return path


def rows_of(frame):
    rows = frame.astype(object).to_numpy().tolist()
    return [[None if y is pd.NA else y for y in row] for row in rows]


@pytest.mark.parametrize("kind", ["frame", "array", "floats", "csv", "parquet"])
def test_agreement_is_that_of_the_rows(kind, frame, tmp_path):
    table = open_log(source(frame, kind, tmp_path), CASCADE).table()
    assert table.agreement_only
    rows = rows_of(frame.fillna(0) if kind == "array" else frame)
    assert patterns(table) == Counter(agreement(row) for row in rows if row != [None] * 3)
    assert table.n_blank == rows.count([None] * 3)
    for i, j in ((0, 1), (0, 2), (1, 2)):
        both = [(r[i], r[j]) for r in rows if r[i] is not None and r[j] is not None]
        assert table.n_seen[i, j] == len(both)
        assert table.n_disagreed[i, j] == sum(x != y for x, y in both)


def test_what_needs_no_values_is_the_same(frame):
    """As from the patterns of values."""
    table = open_log(frame, CASCADE).table()
    check_log(table)
    assert odd_values(table) == ()
    by_value = sw.PatternTable.from_rows(rows_of(frame), [1] * len(frame), CASCADE)
    assert not by_value.agreement_only
    np.testing.assert_array_equal(table.disagreement, by_value.disagreement)
    np.testing.assert_array_equal(table.n_observed, by_value.n_observed)
    assert table.flip_flop_rate() == pytest.approx(by_value.flip_flop_rate())


def test_scores_are_still_refused(frame):
    scores = frame.assign(b=np.arange(900) / 7)
    with pytest.raises(LogError, match="'b' alone has 900 values: cut scores into classes"):
        open_log(scores, CASCADE).table()


def test_parts_of_a_log_add_up_whatever_they_count(frame):
    whole, part = (open_log(rows, CASCADE).table() for rows in (frame[40:], frame[:40]))
    assert (whole.agreement_only, part.agreement_only) == (True, False)
    both = open_log(frame, CASCADE).table()
    for total in (whole + part, part + whole, both + part.by_agreement()):
        assert total.agreement_only
        assert total.n_classes == 4
    np.testing.assert_array_equal((whole + part).codes, both.codes)
    np.testing.assert_array_equal((whole + part).weights, both.weights)


def test_an_audit_says_what_needs_no_values_and_refuses_the_rest(frame):
    report = sw.audit(frame, CASCADE, n_planned=10)
    assert len(report.planned_cases) == 10
    assert WarningKind.CONSTANT not in {warning.kind for warning in report.advice.warnings}
    assert "only agreement was counted" in report.to_html()
    labels = frame.assign(label=frame["c"])[:9]
    for more in ({"labels": labels}, {"assumptions": [Prevalence("7", 0.1, 0.2)]}):
        with pytest.raises(LogError, match="need the values of outputs"):
            sw.audit(frame, CASCADE, **more)
