"""Run experiments into a directory, keep what is finished, and go on from there."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from paper import EXPERIMENTS
from paper.drawing import save
from paper.experiment import Claim, Result, Scale, Table
from paper.keeping import KeptResult, fingerprint, read_results, write_results
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


@dataclass(frozen=True)
class Finished:
    """A finished experiment: its result, claims with verdicts, tables and names of figures."""

    result: Result
    claims: tuple[Claim, ...]
    tables: tuple[Table, ...]
    figures: tuple[str, ...]
    seconds: float
    was_kept: bool = False

    @property
    def name(self) -> str:
        """The name of the experiment."""
        return self.result.name


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
    directory: Path,
    names: list[str],
    scale: Scale,
    *,
    fresh: bool = False,
    watch: Callable[[str, Finished | None], None] = lambda name, finished: None,
) -> list[Finished]:
    """Run the named experiments and return them, finished.

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
    watch
        Called with what starts, and with each name and its finished experiment.
    """
    made_by = fingerprint()
    entries = read_results(directory, made_by, scale, drops_others=fresh)
    if fresh:
        entries = {name: entry for name, entry in entries.items() if name not in names}
    done: dict[str, Finished] = {}
    for name in names:
        if name in entries:
            done[name] = _restore(directory, entries[name])
            watch(name, done[name])
    missing = [name for name in names if name not in entries]
    for entry in _compute_all(directory, missing, scale, watch):
        name = entry.result.name
        entries[name] = entry
        write_results(directory, made_by, entries)
        done[name] = _judge(entry, was_kept=False)
        watch(name, done[name])
    return [done[name] for name in names]


def _compute_all(
    directory: Path,
    names: list[str],
    scale: Scale,
    watch: Callable[[str, Finished | None], None],
) -> Iterator[KeptResult]:
    """Compute experiments in parallel, the longest first, and yield each when it is done."""
    if len(names) < 2 or scale.n_jobs == 1:
        for name in names:
            watch(name, None)
            yield _compute(directory, name, scale)
        return
    from joblib import Parallel, delayed

    places = {name: place for place, name in enumerate(LONGEST_FIRST)}
    names = sorted(names, key=lambda name: places.get(name, len(places)))
    alone = replace(scale, n_jobs=1)
    watch(f"{len(names)} experiments side by side", None)
    parallel = Parallel(scale.n_jobs, return_as="generator_unordered", pre_dispatch="n_jobs")
    yield from parallel(delayed(_compute)(directory, name, alone) for name in names)


def _compute(directory: Path, name: str, scale: Scale) -> KeptResult:
    """Run one experiment and draw its figures."""
    start = time.perf_counter()
    result = _plain(EXPERIMENTS[name].run(scale))
    figures = _draw(directory, result)
    return KeptResult(result, time.perf_counter() - start, figures)


def all_finished(directory: Path, scale: Scale, done: Iterable[Finished] = ()) -> list[Finished]:
    """Return all results in the directory, in the order of the report; ``done`` as they are."""
    current = {finished.name: finished for finished in done}
    saved = read_results(directory, fingerprint(), scale)
    return [
        current[name] if name in current else _restore(directory, saved[name])
        for name in EXPERIMENTS
        if name in current or name in saved
    ]


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


def _restore(directory: Path, entry: KeptResult) -> Finished:
    """Return a kept experiment; its figures are drawn again only if one is missing."""
    if not all(path.exists() for stem in entry.figures for path in _files(directory, stem)):
        _draw(directory, entry.result)
    return _judge(entry, was_kept=True)


def _judge(entry: KeptResult, *, was_kept: bool) -> Finished:
    experiment = EXPERIMENTS[entry.result.name]
    claims, tables = experiment.check(entry.result), experiment.tables(entry.result)
    return Finished(
        entry.result, tuple(claims), tuple(tables), entry.figures, entry.seconds, was_kept
    )


def _files(directory: Path, stem: str) -> list[Path]:
    return [directory / FIGURES / f"{stem}.{suffix}" for suffix in ("png", "svg")]
