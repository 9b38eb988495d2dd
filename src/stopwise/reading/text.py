"""CSV and its kin: every cell as text, columns by their names, and where a file is broken."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Hashable, Sequence
from pathlib import Path
from typing import Any

from stopwise.errors import LogError
from stopwise.reading.engine import check_names

# What stands for "not run or failed" in a text file; `none` is left alone, some tests answer it.
NULLS = ["", "NULL", "null", "NaN", "nan", "NA", "N/A"]
SEPARATORS = ",;\t|"
COMPRESSED = {".gz", ".zst"}
# As columns of whole numbers with gaps are often written; 007 is a name, and so is 007.0.
WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0+$"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def read_text(con: Any, files: Sequence[Path], values: Collection[Hashable]) -> Any:
    """Return text files as one Ibis table; ``values`` are no gaps where they look like some."""
    options = {
        # As text: sniffed types would make 1 a number in one column and a word in the next.
        "all_varchar": True,
        "nullstr": [text for text in NULLS if text not in values or not text],
        "allow_quoted_nulls": "" not in values,  # then "" is that value, and a bare cell is empty
        "header": True,
    }
    columns: list[str] = []
    for path in files:
        found = _columns(con, path, options)
        columns = columns or found
        for name in sorted(set(found) ^ set(columns)):
            has, lacks = (path, files[0]) if name in found else (files[0], path)
            raise LogError(
                f"files of a log must have the same columns, got {name!r} in {has} and not in "
                f"{lacks}"
            )
    table = con.read_csv([str(p) for p in files], **options)
    return table.mutate(**{name: _unless_blank(table[name]) for name in columns})


def _columns(con: Any, path: Path, options: dict[str, Any]) -> list[str]:
    """Return the columns of one file, or raise `LogError` where its rows do not fit them."""
    try:
        columns = list(con.read_csv(str(path), **options).columns)
    except Exception as error:
        trouble = _trouble(path)
        if trouble is None:
            raise
        raise LogError(f"{path} {trouble}") from error
    check_names(_header(path, len(columns)))
    if len(columns) == 1 and any(mark in columns[0] for mark in SEPARATORS):
        raise LogError(f"{path} {_trouble(path) or f'must have columns, got {columns[0]!r}'}")
    return columns


def _unless_blank(column: Any) -> Any:
    """Return a column with NULL where there is nothing but blanks."""
    import ibis

    # Blanks come before all signs: comparing is fast, and few texts are left to be stripped.
    blank = (column < "!") & (column != "") & (column.strip() == "")
    return ibis.ifelse(blank, ibis.null("string"), column)


def without_fraction(value: Any) -> Any:
    """Return the text of a whole number without its fraction of zeros, and all else as it is.

    >>> without_fraction("1.0"), without_fraction("1.5"), without_fraction("007.0")
    ('1', '1.5', '007.0')
    """
    return re.sub(WHOLE, r"\1", value) if isinstance(value, str) else value


def without_fractions(column: Any) -> Any:
    """Return a column of text with `without_fraction` in each cell, inside the engine."""
    # Looking for a sign is fast, and few texts are left to be matched.
    return column.contains(".0").ifelse(column.re_replace(WHOLE, r"\1"), column)


def _header(path: Path, n_columns: int) -> list[str]:
    """Return the names in the first line of a text file; none where it cannot be read plainly."""
    if path.suffix.lower() in COMPRESSED:
        return []
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
    for mark in SEPARATORS:
        names = next(csv.reader([first], delimiter=mark), [])
        if len(names) == n_columns:
            return [name.strip() for name in names if name.strip()]
    return []


def _trouble(path: Path) -> str | None:
    """Return why a file makes no table, as far as one can see that without the engine."""
    if path.suffix.lower() in COMPRESSED:
        return None
    with path.open("rb") as stream:
        if stream.read(2) in UTF_16:
            return "must be UTF-8, got UTF-16"
    with path.open(newline="", encoding="utf-8-sig", errors="replace") as lines:
        first = lines.readline()
        mark = max(SEPARATORS, key=first.count)
        names = next(csv.reader([first], delimiter=mark), [])
        rows = csv.reader(lines, delimiter=mark)
        for row in rows:
            if row and len(row) != len(names):
                return (
                    f"must have as many fields in every row as in its header, got {len(row)} for "
                    f"{len(names)} in line {rows.line_num + 1}"
                )
    return None
