"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from stopwise.auditing.evidence.verdict import PairEvidence
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.answers import (
    bounds_section,
    choices_section,
    labels_section,
    plan_section,
)
from stopwise.auditing.telling.drawing import matrix_svg, patterns_svg
from stopwise.auditing.telling.headline import headline
from stopwise.auditing.telling.markup import STYLE, folded, items, note, paragraph, table
from stopwise.auditing.telling.numbers import figure, percent, span
from stopwise.auditing.telling.price_drawing import price_map_svg
from stopwise.auditing.telling.words import (
    SETTLED,
    adjusted_words,
    blind_words,
    cut,
    finding_words,
    gap_words,
    given_words,
    odd_words,
    pair_name,
    ruled_out_words,
    stage_name,
    stage_names,
    strong_words,
    sureness,
)
from stopwise.cascade import Cascade

MAX_PATTERNS = 32
MAX_CELL = 12  # letters in a cell of a picture
PRICE_MAP = """Over all prices of a mistake, the costs of the tests as they are. Above: what
disagreement alone says if weak dominance holds; hatched where the log does not say it yet, grey
where it has no answer. Middle: the stage that can go wrong least. Below: where one stage is best
{known}, and where {blind}.
The curve is the regret of the middle row at worst, in mistakes per case."""
MATRIX = """In percent of the cases where both ran: how often two tests disagree. This says how
often an answer changes, not how often one is wrong."""
ADJUSTED = """The adjusted ones are right if gaps depend on nothing but the outputs shown; else
anything in the last column is possible."""
REFUTED = "the shares below are biased, adjusted or not, but for the last column."
NO_SIGN = """There is no sign that this depends on other outputs; it may depend on what no output
shows."""
BLIND = "The intervals below let a missing output be anything where that counts."
BY_OUTPUTS = "The intervals below take it, as you assume, that nothing else decided."
READING = (
    """A later test can mend only an answer that it changes. Where going on costs more than the
    share of answers it changes, it cannot pay, whatever is right.""",
    """Weak dominance: beyond the best stage, prices cover all disagreement. If it holds, the sound
    stage is the best one. It cannot be checked without labels.""",
    """Ratio: price over disagreement; at least 1 where going on cannot pay. Margin: price less
    disagreement, in percent.""",
    """Regret: what a choice costs more than the best stage, in mistakes per case.""",
)


def page(report: AuditReport) -> str:
    """Return the page of a report."""
    body = [
        f"<h1>Where to stop: {escape(report.source)}</h1>",
        '<div class="lead">',
        *(f"<p>{escape(line)}</p>" for line in headline(report)),
        "</div>",
        f'<div class="warn">{paragraph(odd_words(report))}</div>' if report.odd_values else "",
        *_missing(report),
        *_prices(report),
        *_verdict(report),
        *_patterns(report),
        *bounds_section(report),
        *choices_section(report),
        *labels_section(report),
        *plan_section(report),
        "<h2>How to read this</h2>",
        items(READING),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>stopwise audit: {escape(report.source)}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


def _missing(report: AuditReport) -> list[str]:
    gaps, cascade, pairs = report.missing, report.cascade, report.verdict.pairs
    if gaps is None:
        return []
    names, unseen = (stage_names(cascade, k) for k in (gaps.dependent_tests, gaps.unseen_tests))
    if gaps.refuted_tests:
        refuted = stage_names(cascade, gaps.refuted_tests)
        bias = f"Whether {refuted} ran depends on what is right, as the labels show: {REFUTED}"
    elif names:
        bias = f"Whether {names} ran depends on other outputs, so the plain shares are biased."
    elif unseen:
        bias = f"Whether the gaps of {unseen} depend on other outputs cannot be seen here."
    else:
        bias = NO_SIGN
    bias += "" if gaps.refuted_tests else f" {ADJUSTED}"
    if any(p.is_biased for p in pairs):
        bias += f" {BLIND}"
    elif any(p.is_adjusted for p in pairs):
        bias += f" {BY_OUTPUTS}"
    compared = "Each pair is compared in the cases where both ran."
    rows = [
        [
            pair_name(cascade, p),
            percent(p.plain),
            adjusted_words(p).replace(" adjusted", ""),
            span(p.worst),
        ]
        for p in gaps.pairs
    ]
    plain, adjusted = (_looks(cascade, k) for k in (gaps.plain_stage, gaps.adjusted_stage))
    if any(math.isnan(p.adjusted) for p in gaps.pairs):
        adjusted = "that is open: some gaps have no complete case that shows the same"
    shift = f"Where both ran {plain}; adjusted {adjusted}."
    if plain == adjusted:
        shift = f"Where both ran {plain}, and adjusted too."
    heads = ["answers changed", "where both ran", "adjusted for outputs shown", "at worst"]
    return [
        '<h2>What is missing</h2><div class="warn">',
        paragraph(f"{gap_words(report, gaps)}. {compared} {bias} {shift}"),
        table(heads, rows),
        "</div>",
    ]


def _looks(cascade: Cascade, stage: int | None) -> str:
    return f"{'no stage' if stage is None else stage_name(cascade, stage)} looks sound"


def _prices(report: AuditReport) -> list[str]:
    given, blind = given_words(report), blind_words(report)
    known = f"given {given}" if given else "whatever the right answers are"
    return [
        "<h2>The price map</h2>",
        price_map_svg(report.prices, report.cascade, blind=blind),
        note(PRICE_MAP.format(blind=blind, known=known)),
    ]


def _verdict(report: AuditReport) -> list[str]:
    cascade = report.cascade
    rows = []
    for p in report.verdict.pairs:
        more = "" if p.settled else "never" if np.isinf(p.n_more) else f"{p.n_more:,.0f}"
        rows.append(
            [
                pair_name(cascade, p),
                f"{p.n_seen:,}",
                percent(p.disagreement),
                span(p.interval),
                percent(p.price),
                _ratio(p),
                "" if math.isnan(p.margin) else figure(100 * p.margin, sign="+"),
                SETTLED[p.settled],
                more,
            ]
        )
    heads = ["going on from", "cases", "answers changed", "interval", "price", "ratio", "margin"]
    found, out = finding_words(report), ruled_out_words(report)
    sure = f"with {sureness(report)} confidence"
    held = f"The intervals of all pairs hold together, at any time, {sure}."
    return [
        "<h2>What disagreement says</h2>",
        paragraph(f"{found[:1].upper()}{found[1:]}{out}. {held} {strong_words(report)}"),
        matrix_svg(report.histogram.disagreement, [_cell(name) for name in cascade.names]),
        note(MATRIX),
        folded(len(rows), "pairs", table([*heads, "going on", "cases to settle"], rows)),
    ]


def _patterns(report: AuditReport) -> list[str]:
    h = report.histogram
    order = np.argsort(-h.weights, kind="stable")[:MAX_PATTERNS]
    rows = [
        (
            h.codes[r].tolist(),
            [_cell(h.value(c)) for c in h.codes[r].tolist()],
            f"{h.weights[r]:,} ({percent(float(h.probabilities[r]))})",
        )
        for r in order
    ]
    rest = len(h.weights) - len(rows)
    return [
        "<h2>What the tests said</h2>",
        patterns_svg(rows, [_cell(name) for name in report.cascade.names]),
        note(f"{rest:,} rarer patterns are not shown.") if rest else "",
    ]


def _ratio(pair: PairEvidence) -> str:
    ends = f"{figure(pair.ratio_interval.low)} to {figure(pair.ratio_interval.high)}"
    return ends if math.isnan(pair.ratio) else f"{figure(pair.ratio)} ({ends})"


def _cell(value: object) -> str:
    return "·" if value is None else cut(str(value), MAX_CELL)
