"""CSV and its kin: one dialect, every cell as text, columns by their names."""

from __future__ import annotations

import csv
import gzip
import io
import os
import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, NamedTuple, TextIO

from stopwise.cascade import Cascade
from stopwise.errors import LogError
from stopwise.extras import load_extra
from stopwise.patterns import PatternTable
from stopwise.reading.checks import MAX_PATTERNS
from stopwise.reading.engine import check_names, load_duckdb, quoted, quoted_name

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
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
UNSEEN = "\x01\x02\x03\x04"  # separates nothing: every line is one cell
SMALL = 1 << 20  # bytes that are counted here sooner than an engine is loaded
ODD_LETTER = re.compile('["\0\ufffd]').search  # a quote, or no letter
BYTE_ORDER = "\ufeff"
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

    def without_gap(self, column: str) -> str:
        """Return a column in SQL, NULL where there is a gap."""
        name, gap = quoted_name(column), quoted(self.pattern)
        return f"case when regexp_full_match({name}, {gap}) then null else {name} end as {name}"


def without_fractions(column: Any) -> Any:
    """Return an Ibis column of text with whole numbers as `Cells` gives them."""
    # Looking for a sign is fast, and few texts are left to be matched.
    return column.contains(".0").ifelse(column.re_replace(WHOLE, r"\1"), column)


class Header(NamedTuple):
    """The first line of a text file: what separates its names and ends it, what precedes it."""

    mark: str
    names: tuple[str, ...]
    n_blank: int = 0
    is_quoted: bool = False
    end: str = "\n"
    compression: str = "none"


class TextFiles:
    """Text files with the same columns, read by DuckDB.

    Nothing is guessed from the first rows but the separator, from the header. A column without a
    name is left out.
    """

    def __init__(self, files: Sequence[Path], cells: Cells) -> None:
        self.cells = cells
        self.headers = {path: read_header(path) for path in files}
        first, *_ = self.headers
        self.columns = [name for name in self.headers[first].names if name]
        for path, header in self.headers.items():
            for name in sorted(set(self.columns) ^ {name for name in header.names if name}):
                has, lacks = (path, first) if name in header.names else (first, path)
                raise LogError(
                    f"files of a log must have the same columns, got {name!r} in {has} and not in "
                    f"{lacks}"
                )

    def query(self) -> str:
        """Return a query for the cells as they are."""
        selected = ", ".join(map(quoted_name, self.columns))
        return " union all ".join(
            f"select {selected} from {self._read_csv(header, list(files))}"
            for header, files in groupby(self.headers, key=self.headers.__getitem__)
        )

    def query_without_gaps(self) -> str:
        """Return a query for the cells with NULL for gaps."""
        selected = ", ".join(map(self.cells.without_gap, self.columns))
        return f"select {selected} from ({self.query()})"

    def count_lines(
        self, connect: Callable[[], Any], columns: Sequence[str], cascade: Cascade
    ) -> PatternTable | None:
        """Count lines and split those that differ, which takes a fraction of splitting them all.

        Small files are read here, without an engine. ``None`` where lines have quotes, which need a
        parser, or where a large file holds more than the outputs.
        """
        headers = set(self.headers.values())
        header = next(iter(headers))
        if len(headers) > 1 or header.is_quoted or "" not in self.cells.gaps:
            return None
        size = sum(path.stat().st_size for path in self.headers)
        if size <= SMALL and header.compression == "none":
            found = [*self._lines().items()]
        elif sorted(header.names) == sorted(columns):
            whole = self._read_csv(
                header._replace(mark=UNSEEN, names=("line",)), [*self.headers], ""
            )
            query = f"select line, count(*) from {whole} group by line limit {MAX_PATTERNS + 1}"
            try:
                found = connect().execute(query).fetchall()
            except load_duckdb().Error:  # which parsing all cells explains better
                return None
        else:
            return None
        split = [(line.split(header.mark), times) for line, times in found if line]
        if len(found) > MAX_PATTERNS or any(
            len(row) != len(header.names) or ODD_LETTER("".join(row)) for row, _ in split
        ):
            return None
        places = [header.names.index(name) for name in columns]
        values = [[row[k] for row, _ in split] for k in places]
        counts = [times for _, times in split]
        return PatternTable.from_columns(values, counts, cascade, read=self.cells)

    def _lines(self) -> Counter[str]:
        """Return how often each line occurs, without the headers."""
        found: Counter[str] = Counter()
        for path, header in self.headers.items():
            with opened(path) as lines:
                found.update(
                    line.rstrip("\r\n") for line in islice(lines, header.n_blank + 1, None)
                )
        return found

    def _read_csv(self, header: Header, files: Sequence[Path], quote: str = '"') -> str:
        names = [name or f"column {k}" for k, name in enumerate(header.names)]
        # As text: sniffed types would make 1 a number in one column and a word in the next.
        types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
        paths = ", ".join(quoted(escaped(path)) for path in files)
        return (
            f"read_csv([{paths}], columns = {{{types}}}, auto_detect = false, header = true, "
            f"delim = {quoted(header.mark)}, quote = '{quote}', escape = '{quote}', comment = '', "
            # Where "" is a value, a cell in quotes is that value and a bare one is empty.
            # Guessed wrongly by DuckDB: with a ? in the path, with another line break in a name.
            f"compression = '{header.compression}', new_line = {header.end!r}, "
            f"skip = {header.n_blank}, allow_quoted_nulls = {str('' in self.cells.gaps).lower()})"
        )


def escaped(path: Path) -> str:
    """Return a path for DuckDB, in which no sign is taken for a wildcard."""
    return re.sub(r"([*?\[])", r"[\1]", unicode_path(path))


def unicode_path(path: Path) -> str:
    """Return a path in Unicode, also in a locale whose paths are in ASCII."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_header(path: Path) -> Header:
    """Return the header of a text file, or raise `LogError`."""
    with opened(path) as stream:
        first = next(stream, "")
        lines = chain([first.removeprefix(BYTE_ORDER)], stream)
        n_blank, line = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
        mark = max(SEPARATORS, key=_outside_quotes(line).count)
        taken: list[str] = []  # a name in quotes may have line breaks
        try:
            rows = csv.reader(_noted(chain([line], lines), taken), delimiter=mark, strict=True)
            names = next(rows, [])
        except csv.Error as error:
            raise LogError(f"{path} must have a header of names, got {line[:80]!r}") from error
        compression = COMPRESSED.get(path.suffix.lower(), "none")
        if compression != "none":  # DuckDB takes one that is cut off for a shorter one
            while stream.buffer.read(1 << 20):
                pass
    if first.startswith(BYTE_ORDER) and not n_blank and len(taken) > 1:
        raise LogError(  # DuckDB would read its second line as a row
            f"{path} must have its header in one line where a byte order mark comes before it, "
            f"got {line[:80]!r} and more"
        )
    stripped = tuple(name.strip() for name in names)
    check_names(filter(None, stripped))
    if not any(stripped):
        raise LogError(f"{path} must have a header and at least one row, got no names")
    end = _line_break(taken[-1]) or _line_break(first) or "\n"
    return Header(mark, stripped, n_blank, '"' in line, end, compression)


def _noted(lines: Iterable[str], taken: list[str]) -> Iterator[str]:
    for line in lines:
        taken.append(line)
        yield line


def _line_break(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


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
            pa = load_extra("pyarrow", extra="audit", purpose="reading .zst files")
            stream = pa.CompressedInputStream(raw, "zstd")
        with io.TextIOWrapper(stream, "utf-8", errors="replace", newline="") as lines:
            yield lines
