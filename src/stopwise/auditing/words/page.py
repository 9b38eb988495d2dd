"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

from html import escape

from stopwise.auditing.advice import NextStep
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.charts import MANY, costs_chart, price_strip, steps_chart
from stopwise.auditing.words.command import plan_command
from stopwise.auditing.words.main_sections import labels_value, per_case, your_numbers
from stopwise.auditing.words.markup import STYLE, paragraph, section_html, whole_options
from stopwise.auditing.words.phrases import one_line
from stopwise.auditing.words.statistics import sections
from stopwise.auditing.words.wording import box


def page(report: AuditReport) -> str:
    """Return the page of a report."""
    source = escape(one_line(report.source))
    has_labels = report.facts.labels is not None  # then they are what the reader asked about
    labels = "".join(map(section_html, labels_value(report))) + _command(report)
    dense = ' class="dense"' if report.cascade.n_stages > MANY else ""
    details = "".join(section_html(section, 3) for section in sections(report))
    body = [
        f"<main{dense}><h1>Where to stop: {source}</h1>",
        _box(report),
        labels if has_labels else "",
        *map(section_html, [*per_case(report), your_numbers(report)]),
        steps_chart(report),
        costs_chart(report),
        price_strip(report),
        "" if has_labels else labels,
        f"<details><summary>For statisticians</summary>{details}</details></main>",
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f"<title>stopwise audit: {source}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _command(report: AuditReport) -> str:
    """Return the command that draws cases to label, where that is the next step."""
    if report.advice.next_step is not NextStep.LABEL:
        return ""
    words, command = plan_command(report)
    return paragraph(words) + f"<p><code>{whole_options(command)}</code></p>"


def _box(report: AuditReport) -> str:
    words, level = box(report), report.advice.certainty.value
    return (
        f'<section class="box {level}" aria-label="Do this now"><h2>Do this now</h2>'
        f'<span class="badge">{escape(words.certainty)}</span>'
        f'<p class="title">{escape(words.title)}</p>'
        + "".join(map(paragraph, words.reasons))
        + "".join(paragraph(f"⚠ {text}", "warn") for text in words.warnings)
        + paragraph(words.next_step)
        + "</section>"
    )
