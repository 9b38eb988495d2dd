"""The engine that holds tables: how it is found, handed what is in memory, and heard."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from stopwise.errors import LogError, MissingExtraError, StopwiseError


@contextmanager
def engine_errors(place: str) -> Iterator[None]:
    """Turn what an engine raises, of whatever type, into one line of `LogError`.

    Engines also warn Ibis of calls that will go; that is no news for those who read a log.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            warnings.simplefilter("ignore", FutureWarning)
            yield
    except (StopwiseError, FileNotFoundError):
        raise
    except Exception as error:
        raise LogError(f"{place} cannot be read: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return what an engine says, without its advice and the text of the query."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    if "Expected bytes, got a" in lines[0]:  # from Arrow, of a column of objects
        return "a column must hold values of one kind, got text and others in one"
    # DuckDB names the line of a CSV file first, shows it, and only then says what is wrong.
    more = [line for line in lines[1:3] if "CSV Error" in lines[0] and "Original Line" not in line]
    return "; ".join([lines[0], *more])


def load_ibis() -> Any:
    """Return the module, or raise `MissingExtraError`."""
    try:
        import duckdb  # noqa: F401
        import ibis
    except ImportError:
        raise MissingExtraError(
            "reading logs needs duckdb and ibis: pip install 'stopwise[audit]'"
        ) from None
    return ibis


def memtable(source: Any) -> Any:
    """Return what is in memory as an Ibis table, or raise `LogError` where it is no table."""
    ibis = load_ibis()
    try:
        if source is None or isinstance(source, (list, tuple)):
            raise TypeError  # Ibis takes them for a table without columns, or without their names
        if type(source).__name__ == "LazyFrame":
            source = source.collect()
        return ibis.memtable(_named(source))
    except LogError:
        raise
    except Exception as error:
        raise LogError(
            "log must be a path, an array, a pandas, Polars or Arrow table or an Ibis table, "
            f"got {type(source).__name__}"
        ) from error


def _named(frame: Any) -> Any:
    """Return a frame whose columns have text for names, each its own, or raise `LogError`."""
    columns: Any = getattr(frame, "column_names", getattr(frame, "columns", ()))
    names = list(columns)
    if hasattr(frame, "set_axis"):  # of pandas, which allows numbers, and tuples in levels
        for name in names:
            if isinstance(name, tuple):
                raise LogError(f"columns must have one name each, got {name!r}")
        names = [str(name) for name in names]
        frame = frame.set_axis(names, axis=1)
    check_names(names)
    return frame


def check_names(columns: Iterable[Any]) -> None:
    """Raise `LogError` where two columns have one name, which engines refuse or change.

    Small and capital letters are the same to some of them.
    """
    first: dict[str, str] = {}
    for name in columns:
        if not isinstance(name, str):
            continue
        other = first.get(name.casefold())
        if other is not None:
            shown = f"{name} twice" if other == name else f"{other!r} and {name!r}"
            raise LogError(f"columns must have different names, got {shown}")
        first[name.casefold()] = name


def arrow_table(array: Any, names: Sequence[str]) -> Any:
    """Return an array with one column a test as an Arrow table; what is masked or NaN is NULL."""
    import pyarrow as pa

    columns = []
    for column, masked in zip(np.ma.getdata(array).T, np.ma.getmaskarray(array).T, strict=True):
        values = np.ascontiguousarray(column)
        if array.dtype.kind not in "buif":  # text and objects: Arrow finds a type for the values
            held = [None if gap else y for y, gap in zip(values.tolist(), masked, strict=True)]
            columns.append(pa.array(held, from_pandas=True))
        else:
            gaps = masked | np.isnan(values) if array.dtype.kind == "f" else masked
            columns.append(pa.array(values, mask=gaps))
    return pa.table(dict(zip(names, columns, strict=True)))
