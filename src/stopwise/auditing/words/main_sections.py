"""The sections of a report for every reader: the user's numbers, the rule per case, labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

from stopwise.auditing.advice import NextStep
from stopwise.auditing.labels.label_evidence import LabelEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import amount, cleaned, count, counted, percent, whole_percent
from stopwise.auditing.words.phrases import money, n_reference, name, one_line, quoted

LEAST_SAVED = 0.01  # of the cost, to be worth a table
SAVES = (
    "If you can decide after each output whether to run the next test, that would save about "
    "{money} more than one stopping point for all, by our estimate. A test that cannot pay if run "
    "on all cases may pay on some of them."
)
SAVES_NOTHING = (
    "Deciding after each output would save next to nothing here: one stopping point for all cases "
    "is as good, by our estimate."
)
LONG_RULE = (
    " The rule has too many branches to list here. To use it, let stopwise run the tests: it then "
    "decides after each output (stopwise run --help)."
)
NO_RULE = (
    "Some outputs are missing, so we cannot estimate what deciding after each output would save. "
    "That needs cases on which all tests ran."
)
BUY = (
    "By our estimate, the expected loss from deciding now is {stake}; the worst-case loss is "
    "{risk}. Only cases on which the tests disagree need labels. A sheet that is filled in only "
    "partly counts, too."
)


@dataclass(frozen=True)
class Section:
    """A part of the report: a title, some sentences and maybe a table."""

    title: str
    text: str = ""
    heads: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def your_numbers(report: AuditReport) -> Section:
    """Return what the user gave: costs, the price of a mistake, and the log."""
    table, cascade = report.facts.table, report.cascade
    total = cascade.cumulative_costs * cascade.mistake_cost
    values = ", ".join(map(quoted, table.classes[:4])) + (", …" if table.n_classes > 4 else "")
    values = f"{table.n_classes} values ({values})"
    if table.agreement_only:
        values = "so many patterns of values that only agreement was counted"
    blank = f" {table.n_blank:,} rows without any output are left out." if table.n_blank else ""
    return Section(
        "Your numbers",
        f"A mistake costs {amount(cascade.mistake_cost)}. The log, {one_line(report.source)}, has "
        f"{table.n_cases:,} cases and {values}.{blank}",
        ("test", "costs", "costs so far", "cases", "missing"),
        tuple(
            (
                one_line(cascade.names[k]),
                amount(float(cascade.prices[k])),
                amount(float(total[k])),
                f"{table.n_observed[k]:,}",
                f"{table.n_cases - table.n_observed[k]:,}",
            )
            for k in range(cascade.n_stages)
        ),
    )


def per_case(report: AuditReport) -> list[Section]:
    """Return what deciding after each output would save, and the rule; nothing without a model."""
    title, rule, table = "Per case, if you can", report.facts.belief.per_case, report.facts.table
    if report.facts.missing is not None:
        return [Section(title, NO_RULE)]
    if rule is None:
        return []
    if rule.saved <= LEAST_SAVED * rule.cost:
        return [Section(title, SAVES_NOTHING)]
    rows = tuple(
        (
            ", ".join(
                f"{one_line(report.cascade.names[k])} = {quoted(table.classes[c])}"
                for k, c in enumerate(decision.outputs)
            ),
            "stop" if decision.stops else "go on",
            percent(decision.share),
        )
        for decision in rule.rule
        if len(decision.outputs) < table.n_stages
    )
    text = SAVES.format(money=money(report, rule.saved)) + ("" if rows else LONG_RULE)
    return [Section(title, text, ("after", "do", "cases"), rows)]


def labels_value(report: AuditReport) -> list[Section]:
    """Return what the user's labels say, and what more labels would buy if they are asked for."""
    advice, labels = report.advice, report.facts.labels
    parts = [] if labels is None else [_labels_section(report, labels)]
    if advice.outlooks and advice.next_step in {NextStep.LABEL, NextStep.LABEL_PLAN}:
        more = "" if labels is None else "more "
        text = BUY.format(stake=money(report, advice.stake), risk=money(report, advice.at_risk))
        rows = tuple((f"{o.n_labels:,}", whole_percent(o.chance)) for o in advice.outlooks)
        heads = (f"{more}labels", "chance that they settle it")
        parts.append(Section(f"What {more}labels would buy", text, heads, rows))
    return parts


def _labels_section(report: AuditReport, labels: LabelEvidence) -> Section:
    n, rows = n_reference(report), []
    for step in report.advice.steps:
        bounds = labels.interval(step.start, step.end)
        estimate = float(labels.estimates[step.start, step.end])
        rows.append(
            (
                f"{name(report, step.start)} → {name(report, step.end)}",
                "unknown" if math.isnan(estimate) else count(n * cleaned(estimate)),
                f"{count(n * cleaned(bounds.low))} to {count(n * cleaned(bounds.high))}",
                count(n * step.price),
            )
        )
    return Section(
        "What your labels say",
        f"{labels_words(labels)} The table shows how many more answers each step corrects than it "
        f"spoils, in {n:,} cases:",
        ("step", "estimate", "range", "pays from"),
        tuple(rows),
    )


def labels_words(labels: LabelEvidence) -> str:
    """Say how many labels there are, and how many of them compare tests."""
    part = "all" if labels.n_telling == labels.n_labels else f"{labels.n_telling:,} of them"
    return f"{counted(labels.n_labels, 'label')}, {part} for cases on which the tests disagree."
