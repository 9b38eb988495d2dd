"""``python -m paper``: the paper's tables and figures, computed again, and a report."""

from __future__ import annotations

import json
import os
import sys
import time
from collections import Counter
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from paper import EXPERIMENTS, FULL, QUICK, Scale, Verdict
from paper.keeping import RESULTS, Finished
from paper.report import tally, write_report
from paper.runner import all_finished, run_into, select, writable_directory
from stopwise.errors import SettingError, StopwiseError
from stopwise.progress import Progress

INTERRUPTED = 130

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

_LIST = "\n\n".join(f"{name}: {experiment.TITLE}" for name, experiment in EXPERIMENTS.items())
_Names = Annotated[
    list[str] | None,
    typer.Argument(help=f"What to run; all by default.\n\n{_LIST}", show_default=False),
]
# Text and not a path: Path("") would be the directory one happens to be in.
_Out = Annotated[
    str, typer.Option(metavar="DIR", help="Where the report, the figures and the numbers go.")
]
_Quick = Annotated[bool, typer.Option("--quick", help="Short runs: a look, not a verdict.")]
_Turney = Annotated[
    bool,
    typer.Option("--turney-costs", help="Turney's prices of the medical tests, not the paper's."),
]
_Fresh = Annotated[
    bool, typer.Option("--fresh", help="Compute again what the directory holds already.")
]
_Json = Annotated[bool, typer.Option("--json", help="Print the claims as JSON.")]
_Jobs = Annotated[int, typer.Option(help="Processes; -1 for one a core.")]


@app.command()
def reproduce(
    names: _Names = None,
    out: _Out = "reproduction",
    quick: _Quick = False,
    turney_costs: _Turney = False,
    fresh: _Fresh = False,
    as_json: _Json = False,
    n_jobs: _Jobs = -1,
) -> None:
    """Compute the paper's tables and figures again and say which of its claims hold.

    Finished experiments are kept: after an interruption the same command goes on.
    """
    if n_jobs < -1 or n_jobs == 0:
        raise SettingError(f"n-jobs must be >= 1, or -1 for one a core, got {n_jobs}")
    selection = select(names or ["all"])
    directory = writable_directory(out)
    scale = replace(QUICK if quick else FULL, turney_costs=turney_costs, n_jobs=n_jobs)
    start = time.perf_counter()
    done: list[Finished] = []
    with Progress(len(selection), "experiments") as bar, suppress(KeyboardInterrupt):
        for finished in run_into(directory, selection, scale, fresh=fresh):
            done.append(finished)
            bar.advance()
            if not sys.stderr.isatty():
                how = "kept" if finished.was_kept else f"{finished.seconds:.1f} s"
                typer.echo(f"[{len(done)}/{len(selection)}] {finished.name}: {how}", err=True)
    if done:
        page = write_report(directory, all_finished(directory, scale, done), scale)
        seconds = time.perf_counter() - start
        typer.echo(_as_json(done, page) if as_json else _summary(done, page, scale, seconds))
    missing = set(selection) - {finished.name for finished in done}
    if missing:
        rest = ", ".join(name for name in selection if name in missing)
        typer.echo(f"interrupted before {rest}; the same command goes on from there", err=True)
        raise typer.Exit(INTERRUPTED)


def _summary(done: list[Finished], page: Path, scale: Scale, seconds: float) -> str:
    figures = sum(len(finished.figures) for finished in done)
    size = f"{scale.name} scale, {scale.horizon:,} rounds, {scale.replications} runs"
    lines = [
        f"experiments: {len(done)}, figures: {figures}, {seconds:.0f} s ({size})",
        f"claims of the paper: {tally(done, is_ours=False)}",
        f"claims of ours: {tally(done, is_ours=True)}",
        f"fails as the paper states it: {_failures(done)}",
        f"Every verdict has its evidence in the report, every number is in {RESULTS}.",
        f"Report: {page}",
    ]
    return "\n".join(lines)


def _failures(done: list[Finished]) -> str:
    counts = Counter(
        finished.name
        for finished in done
        for claim in finished.claims
        if claim.verdict is Verdict.FAILS and not claim.is_ours
    )
    return ", ".join(f"{name} {n}" for name, n in counts.items()) or "none"


def _as_json(done: list[Finished], page: Path) -> str:
    content = {
        "report": os.fspath(page),
        "results": os.fspath(page.with_name(RESULTS)),
        "experiments": {
            finished.name: {
                "figures": list(finished.figures),
                "seconds": round(finished.seconds, 2),
                "claims": [{**asdict(c), "verdict": c.verdict.value} for c in finished.claims],
            }
            for finished in done
        },
    }
    return json.dumps(content, indent=1, ensure_ascii=False)


def main() -> None:
    """Run the command line; what the user got wrong is one line on stderr and exit code 2."""
    try:
        app(prog_name="python -m paper")
    except (StopwiseError, OSError) as error:
        typer.echo(f"paper: {error}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
