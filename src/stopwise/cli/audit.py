"""``stopwise audit``: from a log without labels to a decision one can defend."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from stopwise.auditing import assumptions as assume
from stopwise.auditing.labels.label_files import CASE
from stopwise.auditing.labels.sheet import (
    LABEL,
    is_untouched,
    sheet_csv,
    sheet_json,
    sheet_jsonl,
)
from stopwise.auditing.pipeline import audit as run_audit
from stopwise.auditing.report import PAGES, AuditReport
from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.cli.number_options import number, numbers, share
from stopwise.cli.printing import say, visible
from stopwise.errors import InputError, SettingError
from stopwise.files import check_target, draft
from stopwise.lists import comma_separated
from stopwise.progress import Progress
from stopwise.reading import open_log
from stopwise.reading.sources import log_files

SHEET = Path("to-label.csv")
SHEETS = {".csv": sheet_csv, ".json": sheet_json, ".jsonl": sheet_jsonl}
COSTS = "It is the extra cost of each test, one number per test"
MISTAKE_COST = (
    "It is what one wrong answer costs you, in the unit of --costs: what it takes to put right, or "
    "the most you would pay to avoid it. A rough figure will do: the page shows where the advice "
    "changes with it"
)

_log = partial(typer.Option, rich_help_panel="The log", show_default=False)
_bounds = partial(typer.Option, rich_help_panel="Assumptions", show_default=False)
_labels = partial(typer.Option, rich_help_panel="Labels", show_default=False)
_result = partial(typer.Option, rich_help_panel="Output", show_default=False)


def audit(
    log: Annotated[
        str,
        typer.Argument(
            help="CSV or Parquet (a file, a folder, a glob), or a DuckDB or SQLite file.",
            show_default=False,
        ),
    ],
    costs: Annotated[str, _log(help="The extra cost of each test, as in 6,16,24; required.")] = "",
    mistake_cost: Annotated[
        str, _log(help="What a wrong answer costs, in the same unit; required.")
    ] = "",
    tests: Annotated[
        str,
        _log(
            help="The columns of the tests in order, as in history,insulin,all (default: all "
            "columns); quote a name with a comma as in CSV."
        ),
    ] = "",
    cumulative_costs: Annotated[
        bool, _log("--cumulative-costs", help="--costs are cumulative: each includes those before.")
    ] = False,
    table: Annotated[str, _log(help="The table of a database file.")] = "",
    query: Annotated[
        str, _log(help="SQL that selects the rows; a CSV or Parquet file is the table log.")
    ] = "",
    case_id: Annotated[
        str, _log("--id", help="The column that names a case (default: the row number).")
    ] = "",
    ordered: Annotated[
        bool, _bounds("--ordered", help="Each test errs at most as often as the one before.")
    ] = False,
    errs_at_most: Annotated[
        list[str] | None,
        _bounds(help="The highest error rate of a test, as in all=0.02; may be repeated."),
    ] = None,
    prevalence: Annotated[
        list[str] | None,
        _bounds(help="How often a value is right, as in yes=0.1:0.3; may be repeated."),
    ] = None,
    never_right: Annotated[
        list[str] | None,
        _bounds(help="An output that is no answer, such as abstain; may be repeated."),
    ] = None,
    unseen_label: Annotated[
        bool, _bounds("--unseen-label", help="The right answer may be a value that no test gives.")
    ] = False,
    missing_at_random: Annotated[
        bool,
        _bounds("--missing-at-random", help="Gaps depend only on the outputs before them."),
    ] = False,
    labels: Annotated[
        Path | None,
        _labels(
            help="Labels for some cases: the columns of the tests or --id, and --label-column."
        ),
    ] = None,
    label_column: Annotated[
        str, _labels(help="The column of --labels with the right answer (default: label).")
    ] = "",
    plan_labels: Annotated[
        int | None, _labels(help="Choose this many cases to label; those with --labels count.")
    ] = None,
    plan_out: Annotated[
        Path | None,
        _labels(
            help="The file for the cases to label, .csv, .json or .jsonl (default: to-label.csv)."
        ),
    ] = None,
    show: Annotated[str, _labels(help="Columns to show to the labeller, as in text,age.")] = "",
    show_outputs: Annotated[
        bool,
        _labels("--show-outputs", help="Also show the outputs; they may bias the labeller."),
    ] = False,
    seed: Annotated[
        int | None, _labels(help="The random seed for drawing the cases to label (default: 0).")
    ] = None,
    confidence: Annotated[
        str, _result(help="The confidence level of all intervals (default: 0.95).")
    ] = "0.95",
    out: Annotated[Path | None, _result(help="Write the report to this .html file.")] = None,
    details: Annotated[
        bool, _result("--details", help="Print all numbers behind the advice.")
    ] = False,
    as_json: Annotated[
        bool, _result("--json", help="Print JSON; there, stages count from 0.")
    ] = False,
) -> None:
    """Say where to stop from a log of outputs without labels, how sure that is, and why.

    stopwise audit visits.parquet --tests history,insulin,all --costs 6,16,24 --mistake-cost 1000
    --out report.html

    stopwise audit visits.csv --costs 6,16,24 --mistake-cost 1000 --ordered --plan-labels 50
    """
    _check_prices(costs, mistake_cost)
    for_plan = {"--plan-out": plan_out, "--seed": seed, "--show-outputs": show_outputs or None}
    _check_company("--plan-labels", plan_labels, for_plan)
    _check_company("--labels", labels, {"--label-column": label_column or None})
    plan_out = plan_out or SHEET
    if plan_labels is not None:
        whole_number("--plan-labels", plan_labels, SettingError, least=1)
        whole_number("--seed", seed or 0, SettingError, least=0)
    targets = {"--out": out, "--plan-out": plan_out if plan_labels else None}
    _check_targets({option: path for option, path in targets.items() if path}, log, labels)
    if plan_labels:
        _check_old_sheet(plan_out)
    with Progress(None, visible(f"auditing {Path(log).name}")):
        open_source = partial(
            open_log, log, table=table or None, query=query or None, case_id=case_id or None
        )
        columns = comma_separated(show)
        reader = open_source(tests=comma_separated(tests) or None)
        if columns and not tests:  # a column for the labeller is no test
            reader = open_source(tests=[name for name in reader.columns if name not in columns])
        names = list(reader.columns)
        columns += names if show_outputs else []
        if plan_labels:
            _check_sheet_columns([case_id or CASE, *columns])
        assumptions: list[assume.Assumption] = [assume.Ordered()] if ordered else []
        assumptions += _bounds_on_rates(errs_at_most or [], prevalence or [])
        assumptions += [assume.NeverRight(*never_right)] if never_right else []
        assumptions += [assume.UnseenLabel()] if unseen_label else []
        assumptions += [assume.MissingAtRandom()] if missing_at_random else []
        price = number("--mistake-cost", mistake_cost)
        report = run_audit(
            reader,
            Cascade(_costs(costs, names, cumulative_costs), price, names),
            assumptions=assumptions,
            labels=labels,
            label_column=label_column or LABEL,
            n_planned=plan_labels or 0,
            show=columns if plan_labels else (),
            confidence=share("--confidence", confidence),
            seed=seed or 0,
        )
        texts = {out: report.to_html()} if out is not None else {}
        if report.facts.plan is not None:
            write = SHEETS[plan_out.suffix]
            texts[plan_out] = write(report.planned_cases, [case_id or CASE, *columns])
    with ExitStack() as drafts:  # all of them or none
        for path, text in texts.items():
            drafts.enter_context(draft(path)).write_text(text, encoding="utf-8")
    say(_json_text(report) if as_json else report.summary(details=details))
    if texts and not as_json:
        say(f"Written: {', '.join(map(str, texts))}")
    if out is None and not as_json and not details:
        say("More: --out report.html writes a page with charts, --details prints all numbers.")


def _check_company(option: str, value: object, others: Mapping[str, object]) -> None:
    """Refuse options that would be ignored because another one is missing."""
    for other, given in others.items():
        if value is None and given is not None:
            raise SettingError(f"{other} must come with {option}, which is missing")


def _check_prices(costs: str, mistake_cost: str) -> None:
    """Refuse a missing price: say what it is, how to choose it, and how to repeat the command."""
    if costs and mistake_cost:
        return
    option, text, example = "--mistake-cost", MISTAKE_COST, "1000"
    if not costs:
        option, text, example = "--costs", COSTS, "6,16,24"
    command = shlex.join(["stopwise", *sys.argv[1:], option, example])
    raise SettingError(f"{option} is missing. {text}. For example:\n  {command}")


def _json_text(report: AuditReport) -> str:
    """Return the report as JSON, with escapes where the terminal cannot show its letters."""
    text = report.to_json()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2)
    return text


def _bounds_on_rates(errs_at_most: list[str], prevalence: list[str]) -> list[assume.Assumption]:
    assumptions: list[assume.Assumption] = []
    for text in errs_at_most:
        name, _, rate = text.rpartition("=")
        assumptions.append(assume.ErrsWithin(name, number("--errs-at-most", rate, text)))
    for text in prevalence:
        value, _, band = text.rpartition("=")
        low, _, high = band.partition(":")
        ends = [number("--prevalence", end, text) for end in (low, high)]
        assumptions.append(assume.Prevalence(value, *ends))
    return assumptions


def _check_sheet_columns(columns: list[str]) -> None:
    """Refuse columns that a sheet needs for itself, or would have twice."""
    for name in columns:
        if name == LABEL or columns.count(name) > 1:
            raise SettingError(
                f"the label sheet must not have two columns {name!r}: rename one with --query, or "
                "name the cases with --id"
            )


def _costs(text: str, names: list[str], are_cumulative: bool) -> list[float]:
    costs = numbers("--costs", text)
    if len(costs) != len(names):
        tests = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        hint = ", and --id the column of case ids" if len(names) > len(costs) else ""
        raise SettingError(
            f"--costs must have one price per test, got {len(costs)} for {len(names)} tests: "
            f"{tests}; --tests gives their columns{hint}"
        )
    if not are_cumulative:
        return costs
    steps = [after - before for before, after in pairwise([0.0, *costs])]
    if min(steps) < 0:
        raise SettingError(f"--cumulative-costs must not fall from test to test, got {text!r}")
    return steps


def _check_targets(targets: dict[str, Path], log: str, labels: Path | None) -> None:
    """Refuse files that cannot be written or are inputs, before the work rather than after it."""
    if not targets:
        return
    owners = {path.resolve(): "a file of the log" for path in log_files(log)}
    if labels is not None:
        owners[labels.resolve()] = "--labels"
    for option, path in targets.items():
        if option == "--plan-out" and path.suffix not in SHEETS:
            raise InputError(
                f"--plan-out must end in .csv (for spreadsheets), .json or .jsonl, got {path}"
            )
        if option == "--out" and path.suffix.lower() not in PAGES:
            raise InputError(f"--out must end in .html or .htm, got {path}")
        check_target(path, option)
        owner = owners.setdefault(path.resolve(), option)
        if owner != option:
            raise InputError(f"{option} must be a file of its own, {path} is {owner} already")


def _check_old_sheet(path: Path) -> None:
    """Refuse to write a sheet over anything but a sheet that nobody has filled in."""
    if path.is_file() and path.stat().st_size and not is_untouched(path):
        raise InputError(
            f"--plan-out must not overwrite {path}, which is not an untouched label sheet: read "
            "labels with --labels, and give the new sheet another name; labels are copied into it"
        )
