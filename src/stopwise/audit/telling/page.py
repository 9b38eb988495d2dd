"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from html import escape

import numpy as np

from stopwise.audit.evidence.verdict import PairEvidence
from stopwise.audit.report import AuditReport
from stopwise.audit.telling.answers import (
    bounds_section,
    choices_section,
    labels_section,
    plan_section,
)
from stopwise.audit.telling.drawing import matrix_svg, patterns_svg
from stopwise.audit.telling.headline import headline
from stopwise.audit.telling.markup import STYLE, folded, items, note, paragraph, table
from stopwise.audit.telling.price_drawing import price_map_svg
from stopwise.audit.telling.words import (
    SETTLED,
    adjusted_words,
    blind_words,
    cut,
    finding_words,
    pair_name,
    percent,
    span,
    stage_name,
    stage_names,
    strong_words,
    sureness,
)

MAX_PATTERNS = 32
MAX_CELL = 12  # letters in a cell of a picture
PRICE_MAP = """Over all prices of a mistake, the costs of the tests as they are. Above: what
disagreement alone says if weak dominance holds; hatched where the log does not say it yet, grey
where it has no answer. Middle: the stage that can go wrong least. Below: where one stage is best
whatever the right answers are, and where {blind}.
The curve is the regret of the middle row at worst, in mistakes per case."""
MATRIX = """In percent of the cases where both ran: how often two tests disagree. This says how
often an answer changes, not how often one is wrong."""
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
    who = "Somebody stopped early" if gaps.is_prefix_censored else "Some tests gave nothing"
    names = stage_names(cascade, gaps.dependent_tests)
    bias = (
        f"Whether {names} ran depends on earlier outputs, so the plain shares are biased: look at "
        f"the adjusted ones. {BLIND if any(p.is_biased for p in pairs) else BY_OUTPUTS}"
        if names
        else "There is no sign that this depends on earlier outputs; it may depend on what no "
        "output shows."
    )
    compared = "Each pair is compared in the cases where both ran."
    rows = [
        [
            pair_name(cascade, p),
            percent(p.plain),
            adjusted_words(p).removesuffix(" adjusted"),
            span(p.worst),
        ]
        for p in gaps.pairs
    ]
    adjusted = (
        "adjusted that is open: some gaps have no complete case that shows the same"
        if any(math.isnan(p.adjusted) for p in gaps.pairs)
        else f"{stage_name(cascade, gaps.adjusted_stage)} adjusted"
    )
    shift = (
        f"The stage that looks sound is {stage_name(cascade, gaps.plain_stage)} as it is; "
        f"{adjusted}."
    )
    n, total = gaps.n_incomplete, report.histogram.n_cases
    heads = ["answers changed", "where both ran", "adjusted for earlier outputs", "at worst"]
    return [
        '<h2>What is missing</h2><div class="warn">',
        paragraph(f"{who} in {n:,} of {total:,} cases. {compared} {bias} {shift}"),
        table(heads, rows),
        "</div>",
    ]


def _prices(report: AuditReport) -> list[str]:
    return [
        "<h2>The price map</h2>",
        price_map_svg(report.prices, report.cascade, blind=blind_words(report)),
        note(PRICE_MAP.format(blind=blind_words(report))),
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
                "" if math.isnan(p.margin) else f"{100 * p.margin:+.2f}",
                SETTLED[p.settled],
                more,
            ]
        )
    heads = ["going on from", "cases", "answers changed", "interval", "price", "ratio", "margin"]
    found = finding_words(report)
    held = f"All intervals hold together, at any time, with {sureness(report)} confidence."
    return [
        "<h2>What disagreement says</h2>",
        paragraph(f"{found[:1].upper()}{found[1:]}. {held} {strong_words(report)}"),
        matrix_svg(report.histogram.disagreement, [_cell(name) for name in cascade.names]),
        note(MATRIX),
        folded(len(rows), "pairs", table([*heads, "going on", "cases to settle"], rows)),
    ]


def _patterns(report: AuditReport) -> list[str]:
    h = report.histogram
    order = np.argsort(-h.counts, kind="stable")[:MAX_PATTERNS]
    rows = [
        (
            h.patterns[r].tolist(),
            [_cell(h.value(c)) for c in h.patterns[r].tolist()],
            f"{h.counts[r]:,} ({percent(float(h.probabilities[r]))})",
        )
        for r in order
    ]
    rest = len(h.counts) - len(rows)
    return [
        "<h2>What the tests said</h2>",
        patterns_svg(rows, [_cell(name) for name in report.cascade.names]),
        note(f"{rest:,} rarer patterns are not shown.") if rest else "",
    ]


def _ratio(pair: PairEvidence) -> str:
    ends = f"{pair.ratio_interval.low:.2f} to {pair.ratio_interval.high:.2f}"
    return ends if math.isnan(pair.ratio) else f"{pair.ratio:.2f} ({ends})"


def _cell(value: object) -> str:
    return "·" if value is None else cut(str(value), MAX_CELL)
