"""Traces on disk: versioned npz or Parquet files, each written completely or not at all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from stopwise.cascade import Cascade
from stopwise.errors import InputError, MissingExtraError, StateError
from stopwise.extras import load_extra
from stopwise.files import draft
from stopwise.simulation.trace import Trace

TRACE_VERSION = 1
# The key of our entry in the metadata of a Parquet file.
ABOUT = b"stopwise.trace"
# Errors of the file system, which are raised as they are.
_MISSING = (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError)
# The arrays that a trace need not have: the key that says that it has one, and the error if the
# array is missing all the same.
_OPTIONAL = {
    "errors": ("with_errors", "trace must hold the errors that were counted, got none"),
    "given_regret": ("with_contexts", "trace with contexts must hold its regret, got none"),
    "given_runs": ("with_runs", "trace must hold how often each test was run, got none"),
}


def save_trace(trace: Trace, path: Path) -> None:
    """Write a trace in the format that the suffix of ``path`` names."""
    write = {".npz": _write_npz, ".parquet": _write_parquet}[_suffix(path)]
    with draft(path) as beside:
        write(trace, beside)


def load_trace(path: Path) -> Trace:
    """Read a trace, or raise `StateError` if the file is damaged or of another kind."""
    reader = {".npz": _read_npz, ".parquet": _read_parquet}[_suffix(path)]
    try:
        return reader(path)
    except (StateError, MissingExtraError, *_MISSING):
        raise
    except Exception as error:  # zip, zlib, NumPy, Arrow and JSON each have errors of their own
        raise StateError(f"trace cannot be read from {path}: {error}") from error


def _suffix(path: Path) -> str:
    suffix = path.suffix.lower()
    if suffix not in (".npz", ".parquet"):
        raise InputError(f"path must end in .npz or .parquet, got {str(path)!r}")
    return suffix


def _about(trace: Trace) -> str:
    about = {
        "kind": "trace",
        "version": TRACE_VERSION,
        "policy": trace.policy,
        "cascade": trace.cascade.to_state(),
        "gaps": trace.gaps.tolist(),
        "seed": trace.seed,
        "n_asked": trace.n_asked,
    }
    about |= {_OPTIONAL[name][0]: True for name in _optional_arrays(trace)}
    return json.dumps(about, allow_nan=False)


def _optional_arrays(trace: Trace) -> dict[str, Any]:
    arrays = {name: getattr(trace, name) for name in _OPTIONAL}
    return {name: array for name, array in arrays.items() if array is not None}


def _rebuilt(text: str, rounds: Any, stops: Any, optional: dict[str, Any]) -> Trace:
    """Return a trace from what is known about it and its arrays, ``None`` for those missing."""
    about = json.loads(text)
    if about["kind"] != "trace" or about["version"] != TRACE_VERSION:
        raise StateError(
            f"trace must have version {TRACE_VERSION}, got {about['kind']} {about['version']!r}"
        )
    for name, (key, message) in _OPTIONAL.items():
        if about.get(key, False) and optional[name] is None:
            raise StateError(message)
    errors, runs = optional["errors"], optional["given_runs"]
    return Trace(
        _counts("rounds", rounds),
        _counts("stops", stops),
        np.array(about["gaps"], dtype=np.float64),
        Cascade.from_state(about["cascade"]),
        str(about["policy"]),
        None if errors is None else _counts("errors", errors),
        seed=int(about["seed"]),
        n_asked=int(about["n_asked"]),
        given_regret=optional["given_regret"] if about.get("with_contexts", False) else None,
        given_runs=None if runs is None else _counts("given_runs", runs),
    )


def _counts(name: str, values: Any) -> Any:
    if values.dtype != np.int64:
        raise StateError(f"{name} of a trace must be whole numbers, got {values.dtype}")
    return values


def _write_npz(trace: Trace, path: Path) -> None:
    about, optional = np.array(_about(trace)), _optional_arrays(trace)
    np.savez_compressed(path, about=about, rounds=trace.rounds, stops=trace.stops, **optional)


def _read_npz(path: Path) -> Trace:
    # Opened here, since NumPy leaves a file open that it cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        optional = {name: arrays.get(name) for name in _OPTIONAL}
        return _rebuilt(str(arrays["about"]), arrays["rounds"], arrays["stops"], optional)


def _write_parquet(trace: Trace, path: Path) -> None:
    parquet = load_extra("pyarrow.parquet", extra="frames", purpose="Parquet")
    table = load_extra("pyarrow", extra="frames", purpose="Parquet").table(trace.columns())
    parquet.write_table(table.replace_schema_metadata({ABOUT: _about(trace)}), path)


def _read_parquet(path: Path) -> Trace:
    parquet = load_extra("pyarrow.parquet", extra="frames", purpose="Parquet")
    # As a file and not a dataset, which would take a directory too.
    with path.open("rb") as file:
        table = parquet.read_table(file)
    about = (table.schema.metadata or {})[ABOUT].decode()
    columns = {name: table[name].to_numpy() for name in table.column_names}
    R = len(np.unique(columns["replication"]))
    n, K = len(table) // R, len(json.loads(about)["gaps"])
    stops, runs = (
        np.stack([columns[f"{name}_{k + 1}"] for k in range(K)], axis=1).reshape(R, n, K)
        if f"{name}_1" in columns
        else None
        for name in ("stopped", "ran")
    )
    optional = {
        "errors": columns["errors"].reshape(R, n) if "errors" in columns else None,
        "given_regret": columns["regret"].reshape(R, n),
        "given_runs": runs,
    }
    return _rebuilt(about, columns["round"][:n], stops, optional)
