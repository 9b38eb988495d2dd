"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape

import numpy as np

from stopwise.audit.drawing import bars_svg, matrix_svg, patterns_svg, price_map_svg
from stopwise.audit.report import AuditReport
from stopwise.audit.sequences import Interval
from stopwise.audit.verdict import PairEvidence
from stopwise.audit.words import (
    adjusted_words,
    finding_words,
    headline,
    per_thousand,
    percent,
    span,
    stage_name,
    strong_words,
    sureness,
)

MAX_PATTERNS = 32
MAX_PLANNED = 500
MAX_UNFOLDED = 15

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#22262c;max-width:960px;margin:2rem auto;
 padding:0 1rem}
h1{font-size:1.6rem}h2{font-size:1.2rem;margin-top:2.2rem;border-bottom:1px solid #dfe2e6}
.lead p:first-child{font-size:1.25rem;font-weight:600}.lead p{margin:.3rem 0}
table{border-collapse:collapse;font-size:.85rem}td,th{padding:.25rem .5rem;text-align:right}
th{border-bottom:2px solid #c9ccd1}tr:nth-child(even) td{background:#f6f7f8}
td:first-child,th:first-child{text-align:left}svg{max-width:100%;height:auto;font-size:13px}
.warn{background:#fff4de;border-left:4px solid #E69F00;padding:.5rem 1rem}
td{white-space:nowrap}.wide{overflow-x:auto}.small{color:#5b626c;font-size:.9rem}
"""
PRICE_MAP = """Over all prices of a mistake, the costs of the tests as they are. Above: what
disagreement alone says if weak dominance holds; hatched where the log does not say it yet, grey
where it has no answer. Middle: the stage that can go wrong least. Below: where one stage is best
whatever the right answers are, and where {blind}.
The curve is the regret of the middle row at worst, in mistakes per case."""
BEYOND, LEFT_OPEN = "no method without labels can know", "these labels do not settle it"
MATRIX = """In percent of the cases where both ran: how often two tests disagree. This says how
often an answer changes, not how often one is wrong."""
SHARP = """Sharp bounds for the cases in the log: every value inside is reached by some right
answers that fit the log and what is assumed."""
NOT_SHARP = """Bounds for the cases in the log. Of the labels they use the intervals for
differences below and nothing else, so they hold with the confidence of these, and right answers
that fit the single labels may not reach their ends."""
FIXED_LABELS = """These intervals hold for a number of labels that was fixed beforehand. Whoever
looks at the labels first and then decides whether to ask for more may not rely on them."""
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
        *_bounds(report),
        *_choices(report),
        *_labels(report),
        *_plan(report),
        *_reading(),
    ]
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>stopwise audit: {escape(report.source)}</title><style>{STYLE}</style></head>"
        f"<body>{''.join(body)}</body></html>\n"
    )


_BLIND = "The intervals below let a missing output be anything where that counts."
_BY_OUTPUTS = "The intervals below take it, as you assume, that nothing else decided."


def _missing(report: AuditReport) -> list[str]:
    gaps, cascade, pairs = report.missing, report.cascade, report.verdict.pairs
    if gaps is None:
        return []
    who = "Somebody stopped early" if gaps.is_prefix_censored else "Some tests gave nothing"
    names = ", ".join(stage_name(cascade, k) for k in gaps.dependent_tests)
    bias = (
        f"Whether {names} ran depends on earlier outputs, so the plain shares are biased: look at "
        f"the adjusted ones. {_BLIND if any(p.is_biased for p in pairs) else _BY_OUTPUTS}"
        if names
        else "There is no sign that this depends on earlier outputs; it may depend on what no "
        "output shows."
    )
    compared = "Each pair is compared in the cases where both ran."
    rows = [
        [
            f"{stage_name(cascade, p.shallow)} to {stage_name(cascade, p.deep)}",
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
        _paragraph(f"{who} in {n:,} of {total:,} cases. {compared} {bias} {shift}"),
        _table(heads, rows),
        "</div>",
    ]


def _prices(report: AuditReport) -> list[str]:
    return [
        "<h2>The price map</h2>",
        price_map_svg(report.prices, report.cascade, labelled=report.labels is not None),
        _note(PRICE_MAP.format(blind=LEFT_OPEN if report.labels else BEYOND)),
    ]


def _verdict(report: AuditReport) -> list[str]:
    cascade, h = report.cascade, report.histogram
    rows = []
    for p in report.verdict.pairs:
        state = {1: "cannot pay", -1: "may pay", 0: "open"}[p.settled]
        more = "" if p.settled else "never" if np.isinf(p.n_more) else f"{p.n_more:,.0f}"
        rows.append(
            [
                f"{stage_name(cascade, p.shallow)} to {stage_name(cascade, p.deep)}",
                f"{p.n_seen:,}",
                percent(p.disagreement),
                span(p.interval),
                percent(p.price),
                _ratio(p),
                "" if math.isnan(p.margin) else f"{100 * p.margin:+.2f}",
                state,
                more,
            ]
        )
    heads = ["going on from", "cases", "answers changed", "interval", "price", "ratio", "margin"]
    found = finding_words(report)
    held = f"All intervals hold together, at any time, with {sureness(report)} confidence."
    table, most = h.disagreement.tolist(), _most(h.disagreement)
    return [
        "<h2>What disagreement says</h2>",
        _paragraph(f"{found[:1].upper()}{found[1:]}. {held} {strong_words(report)}"),
        matrix_svg(table, [_cell(name) for name in cascade.names], "Disagreement", most=most),
        _note(MATRIX),
        _folded(len(rows), "pairs", _table([*heads, "going on", "cases to settle"], rows)),
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
    note = f'<p class="small">{rest:,} rarer patterns are not shown.</p>' if rest else ""
    return [
        "<h2>What the tests said</h2>",
        patterns_svg(rows, [_cell(name) for name in report.cascade.names]),
        note,
    ]


def _bounds(report: AuditReport) -> list[str]:
    names = report.cascade.names
    errors = [(names[k], b, span(b)) for k, b in enumerate(report.error_bounds)]
    most = report.largest_differences
    pairs = [
        (f"{names[i]} − {names[j]}", Interval(-float(most[j, i]), float(most[i, j])))
        for i in range(len(names))
        for j in range(i + 1, len(names))
    ]
    reach = max((max(-b.low, b.high) for _, b in pairs), default=1.0) or 1.0
    regrets = [
        (
            names[k],
            Interval(0.0, max(float(r), 0.0)),
            f"{percent(float(r))}, {per_thousand(report, float(r))}",
        )
        for k, r in enumerate(report.worst_regrets)
    ]
    widest = max(float(report.worst_regrets.max()), 1e-9)
    assumed = _items(report.assumptions) if report.assumptions else "<p>Nothing is assumed.</p>"
    return [
        "<h2>What the right answers can still be</h2>",
        _paragraph(SHARP if report.labels is None else NOT_SHARP),
        assumed,
        "<h3>Share of wrong answers</h3>",
        bars_svg(errors, "Bounds on error rates", low=0.0, high=1.0),
        "<h3>Difference in wrong answers</h3>",
        _folded(
            len(pairs),
            "pairs",
            bars_svg(
                [(n, b, span(b)) for n, b in pairs], "Bounds on differences", low=-reach, high=reach
            ),
        ),
        "<h3>What stopping there costs too much, at worst</h3>",
        bars_svg(regrets, "Worst-case regret", low=0.0, high=widest),
    ]


def _choices(report: AuditReport) -> list[str]:
    rows = [
        [
            c.rule,
            stage_name(report.cascade, c.stage),
            "" if c.worst_regret is None else percent(c.worst_regret),
            "" if c.worst_regret is None else per_thousand(report, c.worst_regret),
            c.note,
        ]
        for c in report.choices
    ]
    return [
        "<h2>Side by side</h2>",
        _table(["rule", "stops after", "worst-case regret", "in cost", ""], rows),
    ]


def _labels(report: AuditReport) -> list[str]:
    told, cascade = report.labels, report.cascade
    if told is None:
        return []
    C = cascade.cumulative_costs
    rows = [
        [
            f"{stage_name(cascade, i)} − {stage_name(cascade, j)}",
            percent(float(told.estimates[i, j])),
            span(told.interval(i, j)),
            percent(float(C[j] - C[i])),
        ]
        for i in range(cascade.n_stages)
        for j in range(i + 1, cascade.n_stages)
    ]
    possible = ", ".join(stage_name(cascade, k) for k in told.possible_stages)
    return [
        "<h2>What the labels say</h2>",
        _paragraph(
            f"{told.n_labels:,} labels favour {stage_name(cascade, told.stage)}. Stages that may "
            f"be cheapest by them: {possible}. Weak dominance: {told.weak_dominance.value}."
        ),
        _table(["difference in wrong answers", "estimate", "interval", "price of going on"], rows),
        _note(FIXED_LABELS),
    ]


def _plan(report: AuditReport) -> list[str]:
    plan, cascade = report.plan, report.cascade
    if plan is None:
        return []
    rows = [[g.describe(cascade), f"{g.n_cases:,}", str(g.n_labels)] for g in plan.groups]
    settles = [
        f"{stage_name(cascade, i)} or {stage_name(cascade, j)}: settled if the difference in wrong "
        f"answers is more than {percent(w)} away from the price"
        for i, j, w in plan.resolution
    ]
    ids = ", ".join(str(c.case) for c in report.planned_cases[:MAX_PLANNED])
    return [
        "<h2>Which cases to label</h2>",
        _folded(len(rows), "groups", _table(["who agrees with whom", "cases", "to label"], rows)),
        _folded(len(settles), "pairs", _items(settles)),
        f'<p class="small">Cases: {escape(ids)}</p>' if ids else "",
    ]


def _ratio(pair: PairEvidence) -> str:
    ends = f"{pair.ratio_interval.low:.2f} to {pair.ratio_interval.high:.2f}"
    return ends if math.isnan(pair.ratio) else f"{pair.ratio:.2f} ({ends})"


def _reading() -> list[str]:
    return ["<h2>How to read this</h2>", _items(READING)]


def _paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>"


def _note(text: str) -> str:
    return f'<p class="small">{escape(text)}</p>'


def _folded(n: int, what: str, body: str) -> str:
    """Return ``body``, out of sight until it is asked for where it is long."""
    if n <= MAX_UNFOLDED:
        return body
    return f"<details><summary>All {n:,} {what}</summary>{body}</details>"


def _items(texts: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{escape(text)}</li>" for text in texts) + "</ul>"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>'


def _cell(value: object) -> str:
    text = "·" if value is None else str(value)
    return text if len(text) <= 12 else text[:11] + "…"


def _most(table: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    known = table[~np.isnan(table)]
    return float(known.max()) if known.size else 1.0
