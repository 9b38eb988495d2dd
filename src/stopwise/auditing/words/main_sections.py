"""The parts of a report that everybody reads, besides the box: numbers, per case, labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from stopwise.auditing.advice import Certainty, NextStep
from stopwise.auditing.labels.label_evidence import LabelEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.numbers import amount, cleaned, count, counted, percent, whole_percent
from stopwise.auditing.words.wording import money, n_said, name, one_line, quoted

LEAST_SAVED = 0.01  # of the cost, to be worth a table


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
    paid = np.asarray(cascade.prices)
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
                amount(float(paid[k])),
                amount(float(total[k])),
                f"{table.n_observed[k]:,}",
                f"{table.n_cases - table.n_observed[k]:,}",
            )
            for k in range(cascade.n_stages)
        ),
    )


def per_case(report: AuditReport) -> Section | None:
    """Return what deciding after each output would save, and the rule; ``None`` without one."""
    facts = report.facts
    found = facts.belief.per_case
    if found is None:
        return None
    table = facts.table
    if found.saved <= LEAST_SAVED * found.cost:
        return Section(
            "Per case, if you can",
            "Deciding after each output would save next to nothing here: one stopping point for "
            "all cases is as good, by our estimate.",
        )
    rows = tuple(
        (
            ", ".join(
                f"{one_line(report.cascade.names[k])} = {quoted(table.classes[c])}"
                for k, c in enumerate(decision.outputs)
            ),
            "stop" if decision.stops else "go on",
            percent(decision.share),
        )
        for decision in found.rule
        if len(decision.outputs) < table.n_stages
    )
    hidden = "" if rows else " The rule is too long to print; sw.BeliefStopping decides by it."
    return Section(
        "Per case, if you can",
        "If you can decide after each output whether to run the next test, that would save about "
        f"{money(report, found.saved)} more than one stopping point for all, by our estimate."
        f"{hidden}",
        ("after", "do", "cases"),
        rows,
    )


def labels_value(report: AuditReport) -> Section | None:
    """Return what labels say or, without some, would buy; ``None`` where nothing is open."""
    advice = report.advice
    if report.facts.labels is not None:
        return _labels_given(report, report.facts.labels)
    asked = advice.next_step in {NextStep.LABEL, NextStep.LABEL_PLAN}
    if not advice.outlooks or not advice.stake or not asked:
        return None
    at_stake = (
        "As long as nobody knows how many of the changes are corrections, deciding without labels "
        f"costs about {money(report, advice.stake)} too much on average."
    )
    if advice.certainty is Certainty.LIKELY:
        at_stake = (
            "Labels show whether the estimate is right. If it is wrong, this choice can cost up to "
            f"{money(report, advice.at_risk)} too much."
        )
    return Section(
        "What labels would buy",
        f"{at_stake} Labels go to cases on which the tests disagree; any part of the sheet that is "
        "filled in counts.",
        ("labels", "chance that they settle it"),
        tuple((f"{o.n_labels:,}", whole_percent(o.chance)) for o in advice.outlooks),
    )


def _labels_given(report: AuditReport, labels: LabelEvidence) -> Section:
    n, rows = n_said(report), []
    for step in report.advice.steps:
        bounds = labels.interval(step.start, step.end)
        rows.append(
            (
                f"{name(report, step.start)} → {name(report, step.end)}",
                "unknown" if math.isnan(step.avoided) else count(n * step.avoided),
                f"{count(n * cleaned(bounds.low))} to {count(n * cleaned(bounds.high))}",
                count(n * step.price),
            )
        )
    return Section(
        "What your labels say",
        f"{labels_words(labels)} In {n:,} cases a step corrects so many answers more than it "
        "spoils:",
        ("step", "estimate", "range", "pays from"),
        tuple(rows),
    )


def labels_words(labels: LabelEvidence) -> str:
    """Say how many labels there are, and how many of them compare tests."""
    telling = "all" if labels.n_telling == labels.n_labels else f"{labels.n_telling:,} of them"
    return f"{counted(labels.n_labels, 'label')}, {telling} of cases on which the tests disagree."
