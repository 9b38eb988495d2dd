"""The engine that holds tables: how it is found, handed what is in memory, and heard."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
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
        if source is None:  # which Ibis takes for a table without columns
            raise TypeError
        check_names(getattr(source, "columns", None))
        return ibis.memtable(source)
    except LogError:
        raise
    except Exception as error:
        raise LogError(
            "log must be a path, an array, a pandas, Polars or Arrow table or an Ibis table, "
            f"got {type(source).__name__}"
        ) from error


def check_names(columns: Any) -> None:
    """Raise `LogError` where two columns have one name, which engines refuse or change."""
    names = [name for name in columns if isinstance(name, str)] if columns is not None else []
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LogError(f"columns must have different names, got {', '.join(twice)} twice")


def arrow_table(array: Any, names: Sequence[str]) -> Any:
    """Return an array with one column a test as an Arrow table."""
    import pyarrow as pa

    columns = [np.ascontiguousarray(column) for column in array.T]
    if array.dtype.kind not in "buif":  # text and objects: Arrow finds a type for the values
        columns = [column.tolist() for column in columns]
    arrays = [pa.array(column, from_pandas=True) for column in columns]  # NaN is NULL
    return pa.table(dict(zip(names, arrays, strict=True)))
