"""Run experiments into a directory, keep what is finished, and go on from there."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from paper import EXPERIMENTS
from paper.drawing import save
from paper.experiment import Result, Scale
from paper.keeping import Finished, read_results, write_results
from stopwise.checks import known_name
from stopwise.errors import InputError, SettingError

REPORT, FIGURES = "report.html", "figures"
# Long experiments start first, so that none is left running alone at the end.
LONGEST_FIRST = (
    "fig-wd",
    "contexts",
    "output-conditional",
    "triage-tree",
    "nonuniform",
    "table1",
    "pima",
    "heart",
)


def select(names: Iterable[str]) -> list[str]:
    """Return the named experiments in the order of the report; ``all`` stands for all of them."""
    selection = set(names)
    for name in sorted(selection):
        known_name("experiment", name, [*EXPERIMENTS, "all"], SettingError)
    return [name for name in EXPERIMENTS if "all" in selection or name in selection]


def writable_directory(name: str | Path) -> Path:
    """Return the directory, created if it is missing, or raise before any work is done."""
    if not str(name).strip():
        raise InputError(f"--out must name a directory, got {name!r}")
    directory = Path(name)
    try:
        (directory / FIGURES).mkdir(parents=True, exist_ok=True)
        for place in (directory, directory / FIGURES):
            with tempfile.TemporaryFile(dir=place):
                pass
    except (OSError, ValueError) as error:  # the second if there is a null character in it
        reason = error.strerror if isinstance(error, OSError) else None
        raise InputError(
            f"--out must be a directory that can be written, got {str(name)!r}: {reason or error}"
        ) from None
    return directory


def run_into(
    directory: Path, names: list[str], scale: Scale, *, fresh: bool = False
) -> Iterator[Finished]:
    """Run the named experiments and yield each when it is finished.

    Several are computed in parallel, each in one process; one alone may use all processes. Each is
    saved as soon as it is done. Results in the directory from the same code, packages and scale are
    kept, since they would be the same again.

    Parameters
    ----------
    directory
        Where ``results.json`` and the figures go.
    names
        The experiments.
    scale
        How much to compute.
    fresh
        Compute the named experiments again, and drop results of another scale.
    """
    entries = read_results(directory, scale, drops_others=fresh)
    if fresh:
        entries = {name: entry for name, entry in entries.items() if name not in names}
    missing = [name for name in names if name not in entries]
    for name in names:
        if name in entries:
            _draw_missing(directory, entries[name])
            yield entries[name]
    for finished in _compute_all(directory, missing, scale):
        entries[finished.name] = finished
        write_results(directory, entries)
        yield finished


def _compute_all(directory: Path, names: list[str], scale: Scale) -> Iterator[Finished]:
    """Compute experiments in parallel, the longest first, and yield each when it is done."""
    if len(names) < 2 or scale.n_jobs == 1:
        for name in names:
            yield _compute(directory, name, scale)
        return
    from joblib import Parallel, delayed

    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    names = sorted(names, key=lambda name: places.get(name, len(places)))
    alone = replace(scale, n_jobs=1)
    parallel = Parallel(scale.n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
    yield from parallel(delayed(_compute)(directory, name, alone) for name in names)


def _compute(directory: Path, name: str, scale: Scale) -> Finished:
    """Run one experiment and draw its figures."""
    start = time.perf_counter()
    result = _plain(EXPERIMENTS[name].run(scale))
    figures = _draw(directory, result)
    return Finished(result, time.perf_counter() - start, figures)


def all_finished(directory: Path, scale: Scale, done: Iterable[Finished] = ()) -> list[Finished]:
    """Return all results in the directory, in the order of the report; ``done`` as they are."""
    entries = read_results(directory, scale) | {finished.name: finished for finished in done}
    for finished in entries.values():
        _draw_missing(directory, finished)
    return [entries[name] for name in EXPERIMENTS if name in entries]


def _plain(result: Result) -> Result:
    """Return the result as it is read back from JSON, so that a kept one is no different."""
    parameters, numbers = json.loads(
        json.dumps([result.parameters, result.numbers], allow_nan=False)
    )
    return Result(result.name, parameters, numbers)


def _draw(directory: Path, result: Result) -> tuple[str, ...]:
    figures = EXPERIMENTS[result.name].figure(result)
    for stem, sheet in figures.items():
        for path in _files(directory, stem):
            save(sheet, path)
    return tuple(figures)


def _draw_missing(directory: Path, entry: Finished) -> None:
    """Draw the figures of a kept experiment again if one is missing."""
    if not all(path.exists() for stem in entry.figures for path in _files(directory, stem)):
        _draw(directory, entry.result)


def _files(directory: Path, stem: str) -> list[Path]:
    return [directory / FIGURES / f"{stem}.{suffix}" for suffix in ("png", "svg")]
