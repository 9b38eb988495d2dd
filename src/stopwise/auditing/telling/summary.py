"""The report for a terminal: at most 25 lines, the first five without statistics."""

from __future__ import annotations

import math
from typing import Any

from stopwise.auditing.evidence.verdict import Finding
from stopwise.auditing.prices import Band, PriceMap
from stopwise.auditing.report import AuditReport
from stopwise.auditing.telling.headline import headline
from stopwise.auditing.telling.numbers import amount, bound, cleaned, percent, span
from stopwise.auditing.telling.words import (
    adjusted_words,
    dominance_words,
    finding_words,
    gap_words,
    given_words,
    odd_words,
    one_line,
    pair_name,
    pair_words,
    quoted,
    regret_words,
    ruled_out_words,
    stage_name,
    stage_names,
    strong_words,
    sureness,
    unsettled_words,
)

MAX_LINES = 25
MAX_PAIRS = 4
MAX_SHOWN = 3  # groups of a plan, pairs that it would settle
SETTLES = "That would settle it where what going on avoids is off its price by more than"


def summary(report: AuditReport) -> str:
    """Return the summary of a report."""
    lines = [
        *headline(report),
        "",
        _log_line(report),
        *([odd_words(report)] if report.odd_values else []),
        *_missing_lines(report),
        _verdict_line(report),
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
    values = ", ".join(map(quoted, h.classes[:4])) + (", …" if h.n_classes > 4 else "")
    blank = f", {h.n_blank:,} without any output left out" if h.n_blank else ""
    return (
        f"Log: {report.source}, {h.n_cases:,} cases, {h.n_stages} tests, "
        f"{len(h.weights):,} patterns of {h.n_classes} values ({values}){blank}."
    )


def _missing_lines(report: AuditReport) -> list[str]:
    gaps = report.missing
    if gaps is None:
        return []
    first = f"Missing: {gap_words(report, gaps)}. Each pair is compared where both ran."
    widest = max(gaps.pairs, key=lambda p: p.worst.width)
    where = pair_name(report.cascade, widest)
    if gaps.refuted_tests:
        names = stage_names(report.cascade, gaps.refuted_tests)
        why = f"Biased: whether {names} ran depends on what is right, as the labels show"
    elif gaps.dependent_tests:
        names = stage_names(report.cascade, gaps.dependent_tests)
        why = f"Biased: whether {names} ran depends on other outputs"
    elif gaps.unseen_tests:
        names = stage_names(report.cascade, gaps.unseen_tests)
        why = f"Whether the gaps of {names} depend on other outputs cannot be seen"
    else:
        why = "No sign that gaps depend on other outputs, but they may depend on something else"
    right_if = " (right if gaps depend on nothing but the outputs shown)"
    right_if = "" if gaps.refuted_tests else right_if
    moved = ""
    if any(math.isnan(p.adjusted) for p in gaps.pairs):
        moved = "; some gaps nothing like them fills"
    elif gaps.plain_stage != gaps.adjusted_stage:
        moved = f"; adjusted, {stage_name(report.cascade, gaps.adjusted_stage)} looks sound"
    return [
        first,
        (
            f"  {why}; {where}: {percent(widest.plain)} as it is, "
            f"{adjusted_words(widest)}{right_if}, "
            f"anything in {span(widest.worst)} at worst{moved}."
        ),
    ]


def _verdict_line(report: AuditReport) -> str:
    sure = f"({sureness(report)} confidence, at any time)"
    return f"Verdict: {finding_words(report)} {sure}{ruled_out_words(report)}."


def _pair_lines(report: AuditReport) -> list[str]:
    stage = report.verdict.stage
    centre = report.recommended_stage if stage is None else stage
    near = [p for p in report.verdict.pairs if centre in (p.shallow, p.deep)]
    near.sort(key=lambda p: (p.settled != 0, abs(p.margin) if not math.isnan(p.margin) else 0.0))
    most = MAX_PAIRS - bool(report.odd_values)
    lines = [f"  {pair_words(report, p)}" for p in near[:most]]
    if len(near) > most:
        lines[-1] += f"; {len(near) - most} more in the report"
    return lines


def _assumed_line(report: AuditReport) -> str:
    words = "; ".join(map(one_line, report.assumptions)) if report.assumptions else "nothing"
    sure = ""
    if report.labels is not None:
        sure = f", with {sureness(report)} confidence (of the labels they use the intervals alone),"
    return f"Bounds below hold for the cases in the log{sure} and assume: {words}."


def _bounds_line(report: AuditReport) -> str:
    K, bounds = report.cascade.n_stages, report.error_bounds[:5]
    shown = [f"{stage_name(report.cascade, k)} {bound(b)}" for k, b in enumerate(bounds)]
    more = f"; {K - 5} more in the report" if K > 5 else ""
    return f"  Wrong answers: {', '.join(shown)}{more}."


def _regret_line(report: AuditReport) -> str:
    K, regrets = report.cascade.n_stages, map(cleaned, report.worst_regrets[:5])
    shown = [f"{stage_name(report.cascade, k)} {percent(r)}" for k, r in enumerate(regrets)]
    more = f"; {K - 5} more in the report" if K > 5 else ""
    safest = stage_name(report.cascade, report.minimax_stage)
    most = "" if report.is_known else f", at most {regret_words(report, report.guarantee)}"
    return f"  Worst-case regret: {', '.join(shown)}{more}; minimax: {safest}{most}."


def _choices_line(report: AuditReport) -> str:
    shown = [
        f"{c.rule} {stage_name(report.cascade, c.stage)}"
        + (f" ({percent(cleaned(c.worst_regret))})" if c.worst_regret is not None else "")
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
    given = given_words(report)
    if blind:
        text = ", ".join(blind[:4]) + (", …" if len(blind) > 4 else "")
        who = "No method without labels can know"
        if report.labels is not None:
            who = "These labels do not settle"
        elif given:
            who = f"Given {given}, no method without labels can know"
        lines.append(f"  {who} the best stage: {text}.")
    elif known:
        given = f", given {given}" if given else ", whatever the right answers are"
        lines.append(f"  At every price on the map some stage is sure to be best{given}.")
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
    cascade, told, plan = report.cascade, report.labels, report.plan
    if told is not None and not told.n_telling:
        lines.append(f"Labels: {told.n_labels:,}, none of a case on which tests disagree.")
    elif told is not None:
        lines.append(
            f"Labels: {told.n_labels:,} ({told.n_telling:,} where tests disagree) favour "
            f"{stage_name(cascade, told.stage)}; with {sureness(report)} confidence still "
            f"possible: {stage_names(cascade, told.possible_stages)}; weak dominance: "
            f"{dominance_words(report, told)}."
        )
    if plan is not None:
        groups = [
            f"{g.n_labels} of {g.n_cases:,} with {one_line(g.describe(cascade))}"
            for g in plan.groups
        ]
        lines.append(f"Label: {_first(groups) or unsettled_words(report)}.")
        fine = [
            f"{percent(w)} for {stage_name(cascade, i)} or {stage_name(cascade, j)}"
            for i, j, w in plan.resolution
        ]
        if fine:
            lines.append(f"  {SETTLES}: {_first(fine)}.")
        elif groups:
            lines.append(f"  These are {unsettled_words(report)}.")
    return lines


def _first(texts: list[str]) -> str:
    """Return the first few of some texts, and how many there are beyond."""
    rest = len(texts) - MAX_SHOWN
    return "; ".join(texts[:MAX_SHOWN]) + (f"; {rest} more in the report" if rest > 0 else "")
