"""CSV and its kin: one dialect, every cell as text, columns by their names."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from collections.abc import Collection, Hashable, Iterator, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from stopwise.errors import LogError
from stopwise.reading.engine import check_names, quoted, quoted_name

# What stands for "not run or failed" in a text file; `none` is left alone, some tests answer it.
# Spreadsheets write those with # for cells that they could not compute.
GAPS = (
    *("", "NULL", "null", "NaN", "nan", "NA", "N/A", "<NA>"),
    *("#N/A", "#NA", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
)
BLANKS = r"[ \t\n\r\v\f]*"
# As columns of whole numbers with gaps are often written; 007 is a name, and so is 007.0.
WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0+$"
SEPARATORS = ",;\t|"
COMPRESSED = {".gz", ".zst"}
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Cells:
    """What the cells of text files stand for; ``values`` are no gaps where they look like some."""

    def __init__(self, values: Collection[Hashable] = ()) -> None:
        self.gaps = [text for text in GAPS if text not in values]
        self.pattern = f"{BLANKS}(?:{'|'.join(map(re.escape, self.gaps))}){BLANKS}"
        self._is_gap = re.compile(self.pattern).fullmatch

    def __call__(self, value: Any) -> Any:
        """Return ``None`` for a gap, and the text of a whole number without a fraction of zeros.

        >>> cell = Cells()
        >>> cell(" NA"), cell("1.0"), cell("1.5"), cell("007.0")
        (None, '1', '1.5', '007.0')
        """
        if not isinstance(value, str):
            return value
        return None if self._is_gap(value) else re.sub(WHOLE, r"\1", value)

    def without_gaps(self, columns: Sequence[str]) -> str:
        """Return columns in SQL, NULL where there is a gap."""
        gap = quoted(self.pattern)
        names = [(quoted_name(name)) for name in columns]
        return ", ".join(
            f"case when regexp_full_match({x}, {gap}) then null else {x} end as {x}" for x in names
        )


def without_fractions(column: Any) -> Any:
    """Return an Ibis column of text with whole numbers as `Cells` gives them."""
    # Looking for a sign is fast, and few texts are left to be matched.
    return column.contains(".0").ifelse(column.re_replace(WHOLE, r"\1"), column)


class Header(NamedTuple):
    """The first line of a text file: what separates its names, and how many blank lines precede."""

    mark: str
    names: tuple[str, ...]
    n_blank: int


def text_query(files: Sequence[Path], cells: Cells) -> tuple[str, list[str]]:
    """Return a query for the cells of text files as they are, and the names of their columns.

    Nothing is guessed from the first rows but the separator, from the header. A column without a
    name is left out.
    """
    headers = [read_header(path) for path in files]
    columns = [name for name in headers[0].names if name]
    for path, header in zip(files, headers, strict=True):
        for name in sorted(set(columns) ^ {name for name in header.names if name}):
            has, lacks = (path, files[0]) if name in header.names else (files[0], path)
            raise LogError(
                f"files of a log must have the same columns, got {name!r} in {has} and not in "
                f"{lacks}"
            )
    selected = ", ".join(map(quoted_name, columns))
    parts = [
        f"select {selected} from {_read_csv(header, [path for path, _ in group], cells)}"
        for header, group in groupby(zip(files, headers, strict=True), key=lambda item: item[1])
    ]
    return " union all ".join(parts), columns


def _read_csv(header: Header, files: Sequence[Path], cells: Cells) -> str:
    names = [name or f"column {k}" for k, name in enumerate(header.names)]
    # As text: sniffed types would make 1 a number in one column and a word in the next.
    types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
    paths = ", ".join(quoted(escaped(path)) for path in files)
    return (
        f"read_csv([{paths}], columns = {{{types}}}, auto_detect = false, header = true, "
        f"delim = {quoted(header.mark)}, quote = '\"', escape = '\"', comment = '', "
        # Where "" is a value, a cell in quotes is that value and a bare one is empty.
        f"skip = {header.n_blank}, allow_quoted_nulls = {str('' in cells.gaps).lower()})"
    )


def escaped(path: Path) -> str:
    """Return a path for DuckDB, in which no sign is taken for a wildcard."""
    return re.sub(r"([*?\[])", r"[\1]", unicode_path(path))


def unicode_path(path: Path) -> str:
    """Return a path in Unicode, also in a locale whose paths are in ASCII."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_header(path: Path) -> Header:
    """Return the header of a text file, or raise `LogError`."""
    with opened(path) as lines:
        n_blank, line = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
        mark = max(SEPARATORS, key=_outside_quotes(line).count)
        try:  # a name in quotes may have line breaks
            names = next(csv.reader(_chained(line, lines), delimiter=mark, strict=True), [])
        except csv.Error as error:
            raise LogError(f"{path} must have a header of names, got {line[:80]!r}") from error
    stripped = tuple(name.strip() for name in names)
    check_names(filter(None, stripped))
    if not any(stripped):
        raise LogError(f"{path} must have a header and at least one row, got no names")
    return Header(mark, stripped, n_blank)


def _chained(line: str, lines: TextIO) -> Iterator[str]:
    yield line
    yield from lines


def _outside_quotes(line: str) -> str:
    return re.sub(r'"[^"]*("|$)', "", line)


@contextmanager
def opened(path: Path) -> Iterator[TextIO]:
    """Open a text file, compressed or not; letters that are no UTF-8 are replaced."""
    with path.open("rb") as raw:
        if raw.read(2) in UTF_16:
            raise LogError(f"{path} must be UTF-8, got UTF-16")
        raw.seek(0)
        stream: Any = raw
        if path.suffix.lower() == ".gz":
            stream = gzip.GzipFile(fileobj=raw)
        elif path.suffix.lower() == ".zst":
            import pyarrow as pa

            stream = pa.CompressedInputStream(raw, "zstd")
        with io.TextIOWrapper(stream, "utf-8-sig", errors="replace", newline="") as lines:
            yield lines
