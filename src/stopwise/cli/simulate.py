"""``stopwise simulate``: policies in worlds whose truth is known."""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from stopwise.cascade import Cascade
from stopwise.checks import known_name
from stopwise.cli import INTERRUPTED
from stopwise.cli.number_options import number, numbers
from stopwise.cli.printing import say
from stopwise.errors import InputError, SettingError
from stopwise.extras import load_extra
from stopwise.files import check_target, draft
from stopwise.lists import comma_separated
from stopwise.problem import Recording
from stopwise.simulation import Sweep, sweep
from stopwise.simulation.names import (
    FAMILIES,
    NAMED_POLICIES,
    ON_CASCADE,
    named_environments,
    named_policy,
)

FIGURES = (".pdf", ".png", ".svg")

# The options of `simulate`, in the panels of its help.
_world = partial(typer.Option, rich_help_panel="The world: a family", show_default=False)
_table = partial(typer.Option, rich_help_panel="The world: a CSV file")
_run = partial(typer.Option, rich_help_panel="The run")
_result = partial(typer.Option, rich_help_panel="Output", show_default=False)

_FAMILIES = "\n\n".join(f"{name}: {family.about}." for name, family in FAMILIES.items())


def simulate(
    family: Annotated[
        str, _world(help=f"Where cases come from (synthetic by default).\n\n{_FAMILIES}")
    ] = "",
    costs: Annotated[
        str, _world(help="The price of each test, as in 0,0.1,0.1; also for --csv.")
    ] = "",
    mistake_cost: Annotated[
        str,
        _world(help="The price of a wrong answer in the same unit (1 by default); also for --csv."),
    ] = "",
    parents: Annotated[
        str,
        _world(
            help="For a tree: the number of the test just before each, 0 for the first, as in "
            "0,1,1,3; also for --csv."
        ),
    ] = "",
    error_rates: Annotated[str, _world(help="How often each test errs, as in 0.4,0.1,0.05.")] = "",
    prevalence: Annotated[float | None, _world(help="How often the label is 1.")] = None,
    slip: Annotated[
        float | None, _world(help="How often a later test spoils a right answer.")
    ] = None,
    ratio: Annotated[str, _world(help="Dominance ratios, one world each, as in 0.8,1,1.2.")] = "",
    total_cost: Annotated[float | None, _world(help="What all tests cost together.")] = None,
    epsilon: Annotated[float | None, _world(help="How far apart the two laws are.")] = None,
    csv: Annotated[
        Path | None,
        _table(
            help="A file with a header, one column per test and one with the label; cases are rows "
            "drawn with replacement."
        ),
    ] = None,
    label: Annotated[str, _table(help="The column with the right answer.")] = "y",
    tests: Annotated[
        str,
        _table(
            help="The columns of the tests in order, as in a,b,c; by default all but --label's.",
            show_default=False,
        ),
    ] = "",
    policies: Annotated[
        str,
        _run(
            help=f"Separated by commas, out of {', '.join(NAMED_POLICIES)}. Some may have a "
            "number: explore-then-commit:500 looks at 500 cases, fixed-stage:2 stops at stage 2."
        ),
    ] = "weak-dominance,resolve",
    horizon: Annotated[int, _run(help="The number of rounds.")] = 100_000,
    replications: Annotated[int, _run(help="How often to repeat the run.")] = 20,
    seed: Annotated[int, _run(help="The same seed gives the same numbers.")] = 0,
    checkpoints: Annotated[int, _run(help="The number of points on a curve.")] = 100,
    jobs: Annotated[int, _run(help="The number of processes; -1 for one per core.")] = 1,
    figure: Annotated[
        Path | None, _result(help="Draw the regret: a .png, .pdf or .svg file.")
    ] = None,
    save: Annotated[
        Path | None, _result(help="Write every trace to this directory, as .npz.")
    ] = None,
    as_json: Annotated[
        bool, _result("--json", help="Print JSON; there, stages count from 0.")
    ] = False,
) -> None:
    """Play policies where the truth is known; print their regret and where they stopped.

    Regret is in mistakes: 1 is the price of one wrong answer. Stages count from 1. Ctrl-C stops
    early and shows the results so far.

    stopwise simulate --family synthetic --costs 0,0.1,0.1 --horizon 1000000

    stopwise simulate --family sweep --ratio 0.8,1.2 --figure regret.png

    stopwise simulate --costs 0,.3,.1,.2 --parents 0,1,1,3 --error-rates .4,.3,.2,.1

    stopwise simulate --csv cases.csv --label y --costs 6,16,24 --mistake-cost 1000
    """
    options = {
        "costs": numbers("--costs", costs) or None,
        "mistake_cost": number("--mistake-cost", mistake_cost) if mistake_cost else None,
        "parents": _parents(parents),
        "error_rates": numbers("--error-rates", error_rates) or None,
        "prevalence": prevalence,
        "slip": slip,
        "ratio": numbers("--ratio", ratio) or None,
        "total_cost": total_cost,
        "epsilon": epsilon,
    }
    settings = {name: value for name, value in options.items() if value is not None}
    worlds = (
        named_environments(family or "synthetic", **settings)
        if csv is None
        else _recording(csv, label, comma_separated(tests), family, settings)
    )
    learners = {name: named_policy(name, horizon) for name in comma_separated(policies)}
    _check_targets(figure, save)
    result = sweep(
        worlds,
        learners,
        horizon=horizon,
        replications=replications,
        seed=seed,
        checkpoints=checkpoints,
        n_jobs=jobs,
    )
    _write(result, figure, save)
    if as_json:
        about = {"version": 1, "horizon": horizon, "seed": seed, "environments": result.summary()}
        say(json.dumps(about, indent=2, allow_nan=False))
    else:
        say(result.table())
    _note_interruption(result, replications * len(worlds) * len(learners))


def _parents(text: str) -> list[int | None] | None:
    """Return the parents by index, ``None`` for the root."""
    try:
        tests = [int(part) for part in comma_separated(text)]
    except ValueError:
        raise SettingError(
            f"--parents must be numbers of tests, as in 0,1,1,3, got {text!r}"
        ) from None
    for test, parent in enumerate(tests, start=1):
        if not (parent == 0 if test == 1 else 1 <= parent < test):
            raise SettingError(
                "--parents must be 0 for the first test and an earlier one for each other, "
                f"got {parent} for test {test}"
            )
    return [parent - 1 if parent else None for parent in tests] or None


def _recording(
    path: Path, label: str, tests: list[str], family: str, settings: dict[str, Any]
) -> dict[str, Recording]:
    if family:
        raise SettingError("--family and --csv must not be given together")
    if "costs" not in settings:
        raise SettingError("--csv needs --costs, the price of each test")
    for name in settings:
        known_name("an option with --csv", name, ON_CASCADE, SettingError)
    cascade = Cascade(**settings, names=tests or None)
    return {path.stem: Recording.from_csv(path, cascade, label=label, tests=tests or None)}


def _check_targets(figure: Path | None, save: Path | None) -> None:
    """Refuse what cannot be written before the work rather than after it."""
    if figure is not None:
        if figure.suffix.lower() not in FIGURES:
            raise InputError(f"--figure must end in {', '.join(FIGURES)}, got {figure}")
        check_target(figure, "--figure")
        _new_figure(1)
    if save is not None and save.exists() and not save.is_dir():
        raise NotADirectoryError(f"--save must be a directory, {save} is none")


def _write(result: Sweep, figure: Path | None, save: Path | None) -> None:
    """Write all files or none of them."""
    if save is not None:
        save.mkdir(parents=True, exist_ok=True)
    with ExitStack() as drafts:
        if figure is not None:
            _plot(result).savefig(drafts.enter_context(draft(figure)), dpi=150)
        for names, trace in result.traces.items():
            if save is not None:
                slug = re.sub(r"[^\w.=-]+", "-", "--".join(names)).strip("-")
                trace.save(drafts.enter_context(draft(save / f"{slug}.npz")))


def _plot(result: Sweep) -> Any:
    worlds = [name for name in result.environments if result.of(name)]
    drawing = _new_figure(len(worlds))
    for name, ax in zip(worlds, drawing.subplots(1, len(worlds), squeeze=False)[0], strict=True):
        for trace in result.of(name).values():
            trace.plot(ax)
        ax.set_title(name)
    return drawing


def _new_figure(n_panels: int) -> Any:
    figure = load_extra("matplotlib.figure", extra="plot", purpose="--figure")
    return figure.Figure(figsize=(5.5 * n_panels, 4), layout="constrained")


def _note_interruption(result: Sweep, total: int) -> None:
    n_done = sum(trace.n_replications for trace in result.traces.values())
    if n_done < total:
        print(f"stopwise: interrupted after {n_done} of {total} replications", file=sys.stderr)
        raise typer.Exit(INTERRUPTED)
