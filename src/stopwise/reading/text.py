"""CSV and similar text files: one dialect, every cell as text, columns by their names."""

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
from stopwise.reading.log_checks import MAX_PATTERNS
from stopwise.reading.query_engines import check_names, load_duckdb, quoted, quoted_name

# These mean "not run or failed" in a text file; `none` does not, because some tests answer it.
# Spreadsheets write those with # into cells that they could not compute.
GAPS = (
    *("", "NULL", "null", "NaN", "nan", "NA", "N/A", "<NA>"),
    *("#N/A", "#NA", "#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!"),
)
BLANKS = " \t\n\r\v\f"
# As columns of whole numbers with gaps are often written; 007 is a name, and so is 007.0.
WHOLE = r"^(-?(?:0|[1-9][0-9]*))\.0+$"
SEPARATORS = ",;\t|"
COMPRESSED = {".gz": "gzip", ".zst": "zstd"}
UNSEEN = "\x01\x02\x03\x04"  # separates nothing: every line is one cell
SMALL = 1 << 20  # bytes: a smaller file is counted here before an engine would be loaded
ODD_LETTER = re.compile('["\0\ufffd]').search  # a quote, or not valid text
BYTE_ORDER = "\ufeff"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


class Cells:
    """The meaning of the cells of text files; known ``values`` stay as they are."""

    def __init__(self, values: Collection[Hashable] = ()) -> None:
        self.gaps = [text for text in GAPS if text not in values]
        with_blanks = [v for v in values if isinstance(v, str) and v != v.strip(BLANKS)]
        self._blanks = "" if with_blanks else BLANKS

    def __call__(self, value: Any) -> Any:
        """Return a cell without blanks around it, ``None`` for a gap, and a whole number as such.

        >>> cell = Cells()
        >>> cell(" NA"), cell(" yes "), cell("1.0"), cell("1.5"), cell("007.0")
        (None, 'yes', '1', '1.5', '007.0')
        """
        if not isinstance(value, str):
            return value
        text = value.strip(self._blanks)
        return None if text in self.gaps else re.sub(WHOLE, r"\1", text)

    def trimmed(self, column: str) -> str:
        """Return a column in SQL without blanks around its cells, NULL where there is a gap."""
        name, gaps = quoted_name(column), ", ".join(map(quoted, self.gaps))
        text = f"trim({name}, {quoted(self._blanks)})"
        return f"case when {text} in ({gaps}) then null else {text} end as {name}"


def without_fractions(column: Any) -> Any:
    """Return an Ibis column of text with whole numbers as `Cells` gives them."""
    # Searching for ".0" is fast, and leaves few texts to be matched.
    return column.contains(".0").ifelse(column.re_replace(WHOLE, r"\1"), column)


class Header(NamedTuple):
    """The first line of a text file: its names, separator and line break, and what precedes it."""

    mark: str
    names: tuple[str, ...]
    n_blank: int = 0
    is_quoted: bool = False
    end: str = "\n"
    compression: str = "none"


class TextFiles:
    """Text files with the same columns, read by DuckDB.

    Only the separator is guessed, from the header, and nothing from the rows. A column without a
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
        names = ", ".join(map(quoted_name, self.columns))
        return " union all ".join(
            f"select {names} from {self._read_csv(header, list(files))}"
            for header, files in groupby(self.headers, key=self.headers.__getitem__)
        )

    def query_without_gaps(self) -> str:
        """Return a query for the trimmed cells, with NULL for gaps."""
        cells = ", ".join(map(self.cells.trimmed, self.columns))
        return f"select {cells} from ({self.query()})"

    def count_lines(
        self, connect: Callable[[], Any], columns: Sequence[str], cascade: Cascade
    ) -> PatternTable | None:
        """Count equal lines and split only distinct ones, which is faster than splitting all.

        Small files are read here, without an engine. ``None`` if lines have quotes, which need a
        parser, or if a large file has further columns.
        """
        headers = set(self.headers.values())
        header = next(iter(headers))
        if len(headers) > 1 or header.is_quoted or "" not in self.cells.gaps:
            return None
        size = sum(path.stat().st_size for path in self.headers)
        if size <= SMALL and header.compression == "none":
            counts = [*self._lines().items()]
        elif sorted(header.names) == sorted(columns):
            whole = self._read_csv(
                header._replace(mark=UNSEEN, names=("line",)), [*self.headers], ""
            )
            query = f"select line, count(*) from {whole} group by line limit {MAX_PATTERNS + 1}"
            try:
                counts = connect().execute(query).fetchall()
            except load_duckdb().Error:  # parsing all cells gives a better message
                return None
        else:
            return None
        rows = [(line.split(header.mark), times) for line, times in counts if line]
        if len(counts) > MAX_PATTERNS or any(
            len(row) != len(header.names) or ODD_LETTER("".join(row)) for row, _ in rows
        ):
            return None
        places = [header.names.index(name) for name in columns]
        values = [[row[k] for row, _ in rows] for k in places]
        times_of_rows = [times for _, times in rows]
        return PatternTable.from_columns(values, times_of_rows, cascade, read=self.cells)

    def _lines(self) -> Counter[str]:
        """Return how often each line occurs, without the headers."""
        counts: Counter[str] = Counter()
        for path, header in self.headers.items():
            with open_text(path) as lines:
                counts.update(
                    line.rstrip("\r\n") for line in islice(lines, header.n_blank + 1, None)
                )
        return counts

    def _read_csv(self, header: Header, files: Sequence[Path], quote: str = '"') -> str:
        names = [name or f"column {k}" for k, name in enumerate(header.names)]
        # As text: sniffed types would make 1 a number in one column and a word in the next.
        types = ", ".join(f"{quoted(name)}: 'VARCHAR'" for name in names)
        paths = ", ".join(quoted(escaped(path)) for path in files)
        return (
            f"read_csv([{paths}], columns = {{{types}}}, auto_detect = false, header = true, "
            f"delim = {quoted(header.mark)}, quote = '{quote}', escape = '{quote}', comment = '', "
            # If "" is a value, a cell in quotes is that value and a bare one is a gap.
            # DuckDB guesses compression wrongly if the path has a ?, and line ends if a name has
            # another line break.
            f"compression = '{header.compression}', new_line = {header.end!r}, "
            f"skip = {header.n_blank}, allow_quoted_nulls = {str('' in self.cells.gaps).lower()})"
        )


def escaped(path: Path) -> str:
    """Return a path for DuckDB in which no character is a wildcard."""
    return re.sub(r"([*?\[])", r"[\1]", unicode_path(path))


def unicode_path(path: Path) -> str:
    """Return a path in Unicode, even in a locale whose paths are ASCII."""
    return os.fsencode(path).decode("utf-8", "replace")


def read_header(path: Path) -> Header:
    """Return the header of a text file, or raise `LogError`."""
    with open_text(path) as stream:
        first = next(stream, "")
        lines = chain([first.removeprefix(BYTE_ORDER)], stream)
        n_blank, line = next(((n, line) for n, line in enumerate(lines) if line.strip()), (0, ""))
        mark = max(SEPARATORS, key=_outside_quotes(line).count)
        header: list[str] = []  # several lines if a name in quotes has line breaks
        try:
            rows = csv.reader(_record(chain([line], lines), header), delimiter=mark, strict=True)
            names = next(rows, [])
        except csv.Error as error:
            raise LogError(f"{path} must have a header of names, got {line[:80]!r}") from error
        compression = COMPRESSED.get(path.suffix.lower(), "none")
        if compression != "none":  # DuckDB would read a truncated file as a shorter one
            while stream.buffer.read(1 << 20):
                pass
    if first.startswith(BYTE_ORDER) and not n_blank and len(header) > 1:
        raise LogError(  # DuckDB would read its second line as a row
            f"{path} must have its header in one line where a byte order mark comes before it, "
            f"got {line[:80]!r} and more"
        )
    columns = tuple(name.strip() for name in names)
    check_names(filter(None, columns))
    if not any(columns):
        raise LogError(f"{path} must have a header and at least one row, got no names")
    end = _line_break(header[-1]) or _line_break(first) or "\n"
    return Header(mark, columns, n_blank, '"' in line, end, compression)


def _record(lines: Iterable[str], record: list[str]) -> Iterator[str]:
    """Yield ``lines`` and append each to ``record``."""
    for line in lines:
        record.append(line)
        yield line


def _line_break(line: str) -> str:
    return line[len(line.rstrip("\r\n")) :]


def _outside_quotes(line: str) -> str:
    return re.sub(r'"[^"]*("|$)', "", line)


@contextmanager
def open_text(path: Path) -> Iterator[TextIO]:
    """Open a text file, compressed or not; bytes that are not UTF-8 are replaced."""
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
