"""The command that draws the cases to label from the same log, with all that was given."""

from __future__ import annotations

from collections.abc import Iterator
from shlex import join

from stopwise.auditing import assumptions as assume
from stopwise.auditing.report import AuditReport
from stopwise.lists import comma_joined

USUAL_CONFIDENCE = 0.95
USUAL_COLUMN = "label"


def plan_command(report: AuditReport) -> tuple[str, str]:
    """Return a sentence and a command that draws the cases to label.

    Only Python knows trees and some assumptions.
    """
    n, options = f"{report.advice.n_next:.0f}", _assumption_options(report)
    if not report.cascade.is_chain or options is None:
        words = "This draws the cases to label; all else is as before:"
        return words, f"sw.audit(log, cascade, n_planned={n})"
    inputs, missing = report.inputs, []
    if inputs.path is None:
        missing.append("your log")
    labels = []
    if report.facts.labels is not None:
        labels = ["--labels", inputs.labels or "LABELS", "--plan-out", "MORE.csv"]
        missing += [] if inputs.labels else ["your labels"]
        if inputs.label_column != USUAL_COLUMN:
            labels += ["--label-column", inputs.label_column]
    log = [inputs.path or "LOG", *_log_options(report)]
    command = join(["stopwise", "audit", *log, *options, *labels, "--plan-labels", n])
    put_in = f"; put in {' and '.join(missing)}" if missing else ""
    return f"This draws the cases to label{put_in}:", command


def _log_options(report: AuditReport) -> Iterator[str]:
    cascade, inputs, confidence = report.cascade, report.inputs, report.facts.confidence
    if inputs.selected is not None:
        option, text = inputs.selected
        yield from (f"--{option}", text)
    yield from ("--tests", comma_joined(inputs.tests or cascade.names))
    yield from ("--costs", ",".join(f"{price:.15g}" for price in cascade.prices))
    yield from ("--mistake-cost", f"{cascade.mistake_cost:.15g}")
    if inputs.case_id is not None:
        yield from ("--id", inputs.case_id)
    if confidence != USUAL_CONFIDENCE:
        yield from ("--confidence", f"{confidence:.15g}")


def _assumption_options(report: AuditReport) -> list[str] | None:
    """Return what is assumed as options; ``None`` where something has no option."""
    options: list[str] = []
    tests = dict(zip(report.cascade.names, report.inputs.tests, strict=False))
    for assumption in report.facts.assumptions:
        match assumption:
            case assume.Ordered():
                options += ["--ordered"]
            case assume.ErrsWithin(test, high, 0.0):
                options += ["--errs-at-most", f"{tests.get(test, test)}={high:.15g}"]
            case assume.Prevalence(value, low, high):
                options += ["--prevalence", f"{value}={low:.15g}:{high:.15g}"]
            case assume.NeverRight():
                options += [
                    part for v in assumption.never_right for part in ("--never-right", f"{v}")
                ]
            case assume.UnseenLabel():
                options += ["--unseen-label"]
            case assume.MissingAtRandom():
                options += ["--missing-at-random"]
            case _:
                return None
    return options
