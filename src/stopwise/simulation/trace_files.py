"""Traces on disk: versioned npz or Parquet files, each written completely or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
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
# The arrays that a trace need not have, each with the key that says that it has it.
_OPTIONAL = {"errors": "with_errors", "given_regret": "with_contexts", "given_runs": "with_runs"}


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
    about |= {key: True for name, key in _OPTIONAL.items() if getattr(trace, name) is not None}
    return json.dumps(about, allow_nan=False)


def _rebuilt(text: str, arrays: Mapping[str, Any]) -> Trace:
    """Return a trace from what is known about it and its arrays."""
    about = json.loads(text)
    if about["kind"] != "trace" or about["version"] != TRACE_VERSION:
        raise StateError(
            f"trace must have version {TRACE_VERSION}, got {about['kind']} {about['version']!r}"
        )
    names = ["rounds", "stops", *(name for name, key in _OPTIONAL.items() if about.get(key))]
    for name in names:
        if name not in arrays:
            raise StateError(f"trace must hold {name}, got none")
        if name != "given_regret" and arrays[name].dtype != np.int64:
            raise StateError(f"{name} of a trace must be whole numbers, got {arrays[name].dtype}")
    return Trace(
        gaps=np.array(about["gaps"], dtype=np.float64),
        cascade=Cascade.from_state(about["cascade"]),
        policy=str(about["policy"]),
        seed=int(about["seed"]),
        n_asked=int(about["n_asked"]),
        **{name: arrays[name] for name in names},
    )


def _write_npz(trace: Trace, path: Path) -> None:
    arrays = {name: getattr(trace, name) for name in ("rounds", "stops", *_OPTIONAL)}
    held = {name: array for name, array in arrays.items() if array is not None}
    np.savez_compressed(path, about=np.array(_about(trace)), **held)


def _read_npz(path: Path) -> Trace:
    # Opened here, since NumPy leaves a file open that it cannot read.
    with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return _rebuilt(str(arrays["about"]), arrays)


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
    arrays = {"rounds": columns["round"][:n], "given_regret": columns["regret"].reshape(R, n)}
    if "errors" in columns:
        arrays["errors"] = columns["errors"].reshape(R, n)
    for name, prefix in (("stops", "stopped"), ("given_runs", "ran")):
        if f"{prefix}_1" in columns:
            stages = [columns[f"{prefix}_{k + 1}"] for k in range(K)]
            arrays[name] = np.stack(stages, axis=1).reshape(R, n, K)
    return _rebuilt(about, arrays)
