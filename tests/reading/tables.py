"""What several tests of reading need: patterns as a dictionary, and a low limit of patterns."""

import pytest


def patterns(table):
    """Return how many cases show each pattern of values."""
    rows = [tuple(table.value(c) for c in row) for row in table.codes.tolist()]
    assert len(set(rows)) == len(rows)
    return dict(zip(rows, table.weights.tolist(), strict=True))


def assert_same(table, other):
    """Both tables have the same values, of the same types, and the same counts."""
    assert table.classes == other.classes
    assert list(map(type, table.classes)) == list(map(type, other.classes))
    assert table.codes.tolist() == other.codes.tolist()
    assert table.weights.tolist() == other.weights.tolist()
    assert table.n_blank == other.n_blank


def limit_patterns(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    """Let a log have at most so many patterns of values."""
    for module in ("counting", "log", "log_checks", "parquet", "text"):
        monkeypatch.setattr(f"stopwise.reading.{module}.MAX_PATTERNS", most)
