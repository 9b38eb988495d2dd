"""The report for a terminal: at most 25 lines, the first five without statistics."""

from __future__ import annotations

import math
from typing import Any

from stopwise.audit.evidence.verdict import Finding
from stopwise.audit.prices import Band, PriceMap
from stopwise.audit.report import AuditReport
from stopwise.audit.telling.headline import headline
from stopwise.audit.telling.words import (
    adjusted_words,
    amount,
    finding_words,
    one_line,
    pair_name,
    pair_words,
    per_thousand,
    percent,
    span,
    stage_name,
    stage_names,
    strong_words,
    sureness,
)

MAX_LINES = 25
MAX_PAIRS = 4


def summary(report: AuditReport) -> str:
    """Return the summary of a report."""
    lines = [
        *headline(report),
        "",
        _log_line(report),
        *_missing_lines(report),
        f"Verdict: {finding_words(report)} ({sureness(report)} confidence, at any time).",
        *_pair_lines(report),
        strong_words(report),
        _assumed_line(report),
        _bounds_line(report),
        _regret_line(report),
        _choices_line(report),
        *_price_lines(report),
        *_label_lines(report),
    ]
    assert len(lines) <= MAX_LINES, len(lines)
    return "\n".join(lines)


def _log_line(report: AuditReport) -> str:
    h = report.histogram
    values = ", ".join(map(one_line, h.classes[:4])) + (", …" if h.n_classes > 4 else "")
    blank = f", {h.n_blank:,} without any output left out" if h.n_blank else ""
    return (
        f"Log: {report.source}, {h.n_cases:,} cases, {h.n_stages} tests, "
        f"{len(h.counts):,} patterns of {h.n_classes} values ({values}){blank}."
    )


def _missing_lines(report: AuditReport) -> list[str]:
    gaps = report.missing
    if gaps is None:
        return []
    kind = "somebody stopped early" if gaps.is_prefix_censored else "tests gave nothing"
    first = f"Missing: in {gaps.n_incomplete:,} cases {kind}; each pair is compared where both ran."
    widest = max(gaps.pairs, key=lambda p: p.worst.width)
    where = pair_name(report.cascade, widest)
    if gaps.dependent_tests:
        names = stage_names(report.cascade, gaps.dependent_tests)
        why = f"Biased: whether {names} ran depends on earlier outputs"
    else:
        why = "No sign that gaps depend on earlier outputs, but they may depend on something else"
    moved = ""
    if any(math.isnan(p.adjusted) for p in gaps.pairs):
        moved = "; some gaps nothing like them fills"
    elif gaps.plain_stage != gaps.adjusted_stage:
        moved = f"; adjusted, {stage_name(report.cascade, gaps.adjusted_stage)} looks sound"
    return [
        first,
        (
            f"  {why}; {where}: {percent(widest.plain)} as it is, "
            f"{adjusted_words(widest)}, "
            f"anything in {span(widest.worst)} at worst{moved}."
        ),
    ]


def _pair_lines(report: AuditReport) -> list[str]:
    stage = report.verdict.stage
    centre = report.recommended_stage if stage is None else stage
    near = [p for p in report.verdict.pairs if centre in (p.shallow, p.deep)]
    near.sort(key=lambda p: (p.settled != 0, abs(p.margin) if not math.isnan(p.margin) else 0.0))
    lines = [f"  {pair_words(report, p)}" for p in near[:MAX_PAIRS]]
    if len(near) > MAX_PAIRS:
        lines[-1] += f"; {len(near) - MAX_PAIRS} more in the report"
    return lines


def _assumed_line(report: AuditReport) -> str:
    words = "; ".join(report.assumptions) if report.assumptions else "nothing"
    return f"Bounds below hold for the cases in the log and assume: {words}."


def _bounds_line(report: AuditReport) -> str:
    names = report.cascade.names
    shown = [f"'{names[k]}' {span(b)}" for k, b in enumerate(report.error_bounds[:5])]
    more = f"; {len(names) - 5} more in the report" if len(names) > 5 else ""
    return f"  Wrong answers: {', '.join(shown)}{more}."


def _regret_line(report: AuditReport) -> str:
    names = report.cascade.names
    shown = [f"'{names[k]}' {percent(r)}" for k, r in enumerate(report.worst_regrets[:5])]
    more = f"; {len(names) - 5} more in the report" if len(names) > 5 else ""
    safest = stage_name(report.cascade, report.minimax_stage)
    return (
        f"  Worst-case regret: {', '.join(shown)}{more}; minimax: {safest}, at most "
        f"{per_thousand(report, report.guarantee)}."
    )


def _choices_line(report: AuditReport) -> str:
    shown = [
        f"{c.rule} {stage_name(report.cascade, c.stage)}"
        + (f" ({percent(c.worst_regret)})" if c.worst_regret is not None else "")
        for c in report.choices
        if not (c.stage is None and c.note)
    ]
    return f"Side by side (worst-case regret): {', '.join(shown)}."


def _price_lines(report: AuditReport) -> list[str]:
    prices, cascade = report.prices, report.cascade
    sound = [
        f"{stage_name(cascade, band.value[1])} {_range(band, prices)}"
        for band in prices.sound
        if band.value[0] is Finding.SOUND
    ]
    known = [band for band in prices.known if band.value is not None]
    blind = [_range(band, prices) for band in prices.known if band.value is None]
    lines = [f"By price of a mistake, sound: {', '.join(sound[:6]) or 'no stage anywhere'}."]
    if blind:
        text = ", ".join(blind[:4])
        who = "These labels do not settle" if report.labels else "No method without labels can know"
        lines.append(f"  {who} the best stage: {text}.")
    elif known:
        lines.append("  At every price on the map one stage is best whatever the right answers.")
    return lines


def _range(band: Band[Any], prices: PriceMap) -> str:
    """Return a range of prices; an end of the map is no finding, nothing need change there."""
    below, above = band.low <= prices.low, band.high >= prices.high
    if below and above:
        return f"at every price from {amount(band.low)} to {amount(band.high)} and maybe beyond"
    if above:
        return f"above {amount(band.low)}"
    if below:
        return f"up to {amount(band.high)}"
    return f"{amount(band.low)} to {amount(band.high)}"


def _label_lines(report: AuditReport) -> list[str]:
    lines = []
    cascade = report.cascade
    if report.labels is not None:
        possible = stage_names(cascade, report.labels.possible_stages)
        lines.append(
            f"Labels: {report.labels.n_labels} favour {stage_name(cascade, report.labels.stage)}; "
            f"still possible: {possible}; weak dominance: {report.labels.weak_dominance.value}."
        )
    if report.plan is not None:
        groups = "; ".join(
            f"{g.n_labels} of {g.n_cases:,} with {g.describe(cascade)}"
            for g in report.plan.groups[:3]
        )
        lines.append(f"Label: {groups or 'nothing, the stages that may be best always agree'}.")
        fine = [
            f"{stage_name(cascade, i)} and {stage_name(cascade, j)} if more than {percent(w)} apart"
            for i, j, w in report.plan.resolution[:3]
        ]
        if fine:
            lines.append(f"  That would settle {'; '.join(fine)}.")
    return lines
