"""``stopwise audit``: from a log without labels to a decision one can defend."""

from __future__ import annotations

import json
import re
import sys
from contextlib import ExitStack, suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Annotated

import typer

from stopwise.auditing import assumptions as assume
from stopwise.auditing.labels.label_files import CASE
from stopwise.auditing.labels.sheet import (
    LABEL,
    check_old_sheet,
    sheet_csv,
    sheet_json,
    sheet_jsonl,
)
from stopwise.auditing.report import AuditReport
from stopwise.auditing.run import audit as run_audit
from stopwise.cascade import Cascade
from stopwise.checks import whole_number
from stopwise.cli.printing import say, visible
from stopwise.errors import InputError, SettingError
from stopwise.files import check_target, draft
from stopwise.lists import comma_separated
from stopwise.progress import Progress
from stopwise.reading import open_log
from stopwise.reading.sources import log_files

FORMS = {
    "--confidence": "0.95",
    "--costs": "6,16,24",
    "--errs-at-most": "all=0.02",
    "--mistake-cost": "1000",
}
SHEETS = {".json": sheet_json, ".jsonl": sheet_jsonl}

_log = partial(typer.Option, rich_help_panel="The log", show_default=False)
_bounds = partial(typer.Option, rich_help_panel="What to take for granted", show_default=False)
_labels = partial(typer.Option, rich_help_panel="Labels", show_default=False)
_result = partial(typer.Option, rich_help_panel="What comes out", show_default=False)

_Log = Annotated[
    str,
    typer.Argument(
        help="CSV or Parquet (a file, a folder, a glob), or a DuckDB or SQLite file.",
        show_default=False,
    ),
]
_Tests = Annotated[
    str,
    _log(
        help="The columns of the tests in order, as in history,insulin,all (default: all columns); "
        "quote a name with a comma as in CSV."
    ),
]
_Costs = Annotated[str, _log(help="What each test costs on top of those before, as in 6,16,24.")]
_Cumulative = Annotated[
    bool, _log("--cumulative-costs", help="--costs are those of all tests up to each one.")
]
_MistakeCost = Annotated[str, _log(help="What a wrong answer costs, in the same unit.")]
_Table = Annotated[str, _log(help="The table of a database file.")]
_Query = Annotated[str, _log(help="SQL that selects the rows; a CSV or Parquet is FROM log.")]
_Id = Annotated[str, _log("--id", help="The column that names a case (default: the row number).")]
_Ordered = Annotated[
    bool, _bounds("--ordered", help="Each test errs at most as often as the one before.")
]
_ErrsAtMost = Annotated[
    list[str] | None, _bounds(help="A test errs at most so often, as in all=0.02; repeat.")
]
_Prevalence = Annotated[
    list[str] | None,
    _bounds(help="How often a value is right, as in yes=0.1:0.3; repeat."),
]
_NeverRight = Annotated[
    list[str] | None, _bounds(help="An output that is no answer, such as abstain; repeat.")
]
_UnseenLabel = Annotated[
    bool, _bounds("--unseen-label", help="The right answer may be a value that no test gives.")
]
_AtRandom = Annotated[
    bool,
    _bounds("--missing-at-random", help="Gaps depend on nothing but the outputs before them."),
]
_Labels = Annotated[
    Path | None,
    _labels(help="Labels for some cases: the columns of the tests or --id, and --label-column."),
]
_LabelColumn = Annotated[str, _labels(help="The column with the right answer (default: label).")]
_PlanLabels = Annotated[
    int, _labels(help="Choose this many cases to label; those with --labels count.")
]
_PlanOut = Annotated[
    Path,
    _labels(help="Where the cases to label go, .csv, .json or .jsonl (default: to-label.csv)."),
]
_Show = Annotated[str, _labels(help="Columns to show to whoever labels, as in text,age.")]
_ShowOutputs = Annotated[
    bool, _labels("--show-outputs", help="Show what the tests said, too; it may sway who labels.")
]
_Seed = Annotated[int, _labels(help="For drawing the cases to label.")]
_Confidence = Annotated[str, _result(help="With which all intervals hold (default: 0.95).")]
_Out = Annotated[Path | None, _result(help="Write the report, an HTML page.")]
_Details = Annotated[bool, _result("--details", help="Print all that the advice rests on.")]
_Json = Annotated[bool, _result("--json", help="Print JSON, in which stages count from 0.")]


def audit(
    log: _Log,
    costs: _Costs,
    mistake_cost: _MistakeCost,
    tests: _Tests = "",
    cumulative_costs: _Cumulative = False,
    table: _Table = "",
    query: _Query = "",
    case_id: _Id = "",
    ordered: _Ordered = False,
    errs_at_most: _ErrsAtMost = None,
    prevalence: _Prevalence = None,
    never_right: _NeverRight = None,
    unseen_label: _UnseenLabel = False,
    missing_at_random: _AtRandom = False,
    labels: _Labels = None,
    label_column: _LabelColumn = "label",
    plan_labels: _PlanLabels = 0,
    plan_out: _PlanOut = Path("to-label.csv"),
    show: _Show = "",
    show_outputs: _ShowOutputs = False,
    seed: _Seed = 0,
    confidence: _Confidence = "0.95",
    out: _Out = None,
    details: _Details = False,
    as_json: _Json = False,
) -> None:
    """Say where to stop from a log of outputs without labels, how sure that is, and why.

    stopwise audit visits.parquet --tests history,insulin,all --costs 6,16,24 --mistake-cost 1000
    --out report.html

    stopwise audit visits.csv --costs 6,16,24 --mistake-cost 1000 --ordered --plan-labels 50
    """
    whole_number("--plan-labels", plan_labels, SettingError, least=0)
    whole_number("--seed", seed, SettingError, least=0)
    targets = {"--out": out, "--plan-out": plan_out if plan_labels else None}
    _check_targets({option: path for option, path in targets.items() if path}, log, labels)
    if plan_labels:
        check_old_sheet(plan_out, label_column)
    with Progress(None, visible(f"auditing {Path(log).name}")):
        open_source = partial(
            open_log, log, table=table or None, query=query or None, case_id=case_id or None
        )
        shown = comma_separated(show)
        opened = open_source(tests=comma_separated(tests) or None)
        if shown and not tests:  # what is shown to people is no test
            opened = open_source(tests=[name for name in opened.columns if name not in shown])
        names = list(opened.columns)
        shown += names if show_outputs else []
        if plan_labels:
            _check_sheet_columns([case_id or CASE, *shown])
        assumptions: list[assume.Assumption] = [assume.Ordered()] if ordered else []
        assumptions += _bounds_on_rates(errs_at_most or [], prevalence or [])
        assumptions += [assume.NeverRight(*never_right)] if never_right else []
        assumptions += [assume.UnseenLabel()] if unseen_label else []
        assumptions += [assume.MissingAtRandom()] if missing_at_random else []
        price = _number("--mistake-cost", mistake_cost, mistake_cost)
        report = run_audit(
            opened,
            Cascade(_costs(costs, names, cumulative_costs), price, names),
            assumptions=assumptions,
            labels=labels,
            label_column=label_column,
            n_planned=plan_labels,
            show=shown if plan_labels else (),
            confidence=_share("--confidence", confidence),
            seed=seed,
        )
        texts = {out: report.to_html()} if out is not None else {}
        if report.facts.plan is not None:
            write = SHEETS.get(plan_out.suffix, sheet_csv)
            texts[plan_out] = write(report.planned_cases, [case_id or CASE, *shown])
    with ExitStack() as drafts:  # all of them or none
        for path, text in texts.items():
            drafts.enter_context(draft(path)).write_text(text, encoding="utf-8")
    say(_json_text(report) if as_json else report.summary(details=details))
    if texts and not as_json:
        say("".join(f"\nWritten: {path}" for path in texts))


def _json_text(report: AuditReport) -> str:
    """Return the report as JSON, with escapes where the terminal cannot show its letters."""
    text = report.to_json()
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=2)
    return text


def _bounds_on_rates(errs_at_most: list[str], prevalence: list[str]) -> list[assume.Assumption]:
    taken: list[assume.Assumption] = []
    for text in errs_at_most:
        name, _, rate = text.rpartition("=")
        taken.append(assume.ErrsWithin(name, _number("--errs-at-most", rate, text)))
    for text in prevalence:
        value, _, band = text.rpartition("=")
        low, _, high = band.partition(":")
        ends = [_number("--prevalence", end, text) for end in (low, high)]
        taken.append(assume.Prevalence(value, *ends))
    return taken


def _check_sheet_columns(columns: list[str]) -> None:
    """Refuse columns that a sheet needs for itself, or would have twice."""
    for name in columns:
        if name == LABEL or columns.count(name) > 1:
            raise SettingError(
                f"--plan-labels needs a column {name!r} of its own: a query can rename the other, "
                "or --id name the cases"
            )


def _costs(text: str, names: list[str], are_cumulative: bool) -> list[float]:
    costs = [_number("--costs", part, text) for part in comma_separated(text)]
    if len(costs) != len(names):
        shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
        raise SettingError(
            f"--costs must have one price a test, got {len(costs)} for {len(names)} tests: "
            f"{shown}; --tests chooses the columns"
        )
    if not are_cumulative:
        return costs
    steps = [after - before for before, after in pairwise([0.0, *costs])]
    if min(steps) < 0:
        raise SettingError(f"--cumulative-costs must not fall from test to test, got {text!r}")
    return steps


def _number(option: str, part: str, text: str) -> float:
    """Return a number that a user typed, or say how to write it."""
    try:
        return float(part)
    except ValueError:
        form = FORMS.get(option, "yes=0.1:0.3")
        raise SettingError(f"{option} must look like {form}, got {text!r}{_hint(part)}") from None


def _hint(part: str) -> str:
    """Guess what was meant by a number with a currency, a percent sign or separators."""
    bare = part.strip().strip("$€£¥").strip()
    if bare.endswith("%"):
        with suppress(ValueError):
            return f": write {float(bare[:-1]) / 100:g} for {part.strip()}"
    if re.fullmatch(r"\d{1,3}(\.\d{3})+,\d+|\d+,\d{1,2}", bare):
        bare = bare.replace(".", "").replace(",", ".")
    bare = bare.replace(",", "").replace("'", "").replace(" ", "")
    with suppress(ValueError):
        return f": write {float(bare):.15g}, without signs and separators"
    return ""


def _share(option: str, text: str) -> float:
    """Return a share between 0 and 1; 95 and 95% get a hint."""
    value = _number(option, text, text)
    if 1 < value < 100:
        raise SettingError(f"{option} must lie in (0, 1), got {text}: write {value / 100:g}")
    return value


def _check_targets(targets: dict[str, Path], log: str, labels: Path | None) -> None:
    """Refuse before the work what could not be written after it, or would destroy an input."""
    if not targets:
        return
    taken = {path.resolve(): "a file of the log" for path in log_files(log)}
    if labels is not None:
        taken[labels.resolve()] = "--labels"
    for option, path in targets.items():
        check_target(path, option)
        used = taken.setdefault(path.resolve(), option)
        if used != option:
            raise InputError(f"{option} must be a file of its own, {path} is {used} already")
