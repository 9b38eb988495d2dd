"""The charts of the page, as rows of HTML: text wraps, bars stretch, a screen reader has words."""

from __future__ import annotations

import math
from html import escape

from stopwise.auditing.advice import Certainty, NextStep, PriceBand
from stopwise.auditing.report import AuditReport
from stopwise.auditing.words.markup import paragraph, unbroken
from stopwise.auditing.words.numbers import amount
from stopwise.auditing.words.phrases import n_reference, name
from stopwise.auditing.words.steps import short_step_words

COLOURS = (
    *("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#B8A800", "#8C6D46"),
    *("#6A5ACD", "#A0466E", "#5E8C31", "#777777"),
)  # after Okabe and Ito, told apart by colour-blind readers too
MANY = 8  # rows, which get columns

FILL = {
    Certainty.PROVEN: "{colour}",
    Certainty.LIKELY: "repeating-linear-gradient(45deg,{colour} 0 11px,var(--fill) 11px 13px)",
    Certainty.GUESS: "repeating-linear-gradient(45deg,{colour} 0 4px,var(--fill) 4px 10px)",
}
SURE = {
    Certainty.PROVEN: "for sure",
    Certainty.LIKELY: "likely",
    Certainty.GUESS: "maybe; {needs}",
}


def steps_chart(report: AuditReport) -> str:
    """Draw what each step changes, with its price as a tick: left of it nothing can pay."""
    steps, n = report.advice.steps, n_reference(report)
    ranges = [report.facts.verdict.pair(step.start, step.end).interval for step in steps]
    most = max(
        *(r.high for r in ranges),
        *(s.changed.high for s in steps),
        *(s.price for s in steps),
        1e-12,
    )
    rows = []
    for step, interval in zip(steps, ranges, strict=True):
        bars = [
            _bar("fees", 0.0, step.changed.low / most),
            _bar("unsure", step.changed.low / most, step.changed.high / most),
            _bar("range", interval.low / most, interval.high / most),
            _tick(step.price / most),
        ]
        names = f"{name(report, step.start)} → {name(report, step.end)}"
        rows.append(_row(names, short_step_words(report, step), bars))
    note = (
        f"Answers changed in {n:,} cases, with the interval as a line. The red tick is the price "
        "in mistakes: a step that changes fewer answers than that cannot pay."
    )
    return "<h2>What each step changes and costs</h2>" + paragraph(note, "small") + _rows(rows)


def costs_chart(report: AuditReport) -> str:
    """Draw what stopping after each test costs: fees and what mistakes are estimated to cost."""
    facts, C = report.facts, report.cascade.cumulative_costs
    rates, limits = facts.belief.error_rates.tolist(), facts.belief.intervals
    has_rates = facts.belief.has_rates
    has_range = [has_rates and limit.width < 1 for limit in limits]
    tops = (facts.expected_costs if has_rates else C).tolist()
    tops += [float(C[k]) + limits[k].high for k in range(len(C)) if has_range[k]]
    most = max(*tops, 1e-12)
    rows = []
    for k, fees in enumerate(C.tolist()):
        bars = [_bar("fees", 0.0, fees / most)]
        words = f"{_amount(report, fees)} for tests"
        if has_rates:
            bars.append(_bar("mistakes", fees / most, (fees + rates[k]) / most))
            words += f", about {_amount(report, rates[k])} for mistakes"
        if has_range[k]:
            low, high = limits[k].low, limits[k].high
            bars.append(_bar("range", (fees + low) / most, (fees + high) / most))
            words += f" ({_amount(report, low)} to {_amount(report, high)})"
        mark = " (advised)" if k == report.advice.stage else ""
        rows.append(_row(name(report, k) + mark, words + ".", bars))
    note = "Fees only: what mistakes cost cannot be estimated without labels."
    if has_rates:
        note = "Fees are solid; mistakes, as estimated, are pale"
        if any(has_range):
            note += ", with a line for their 95 % range if the tests err independently"
        note += "."
        if (facts.belief.hedged_rates != facts.belief.error_rates).any():
            note += " To decide, we also allow for errors that early tests share."
    title = f"<h2>Cost per {n_reference(report):,} cases by stopping point</h2>"
    return title + paragraph(note, "small") + _rows(rows)


def _amount(report: AuditReport, share: float) -> str:
    return amount(n_reference(report) * share * report.cascade.mistake_cost)


def price_strip(report: AuditReport) -> str:
    """Draw which stopping point is cheapest at other prices of a mistake."""
    bands, price = report.advice.prices, report.cascade.mistake_cost
    low, high = bands[0].low, bands[-1].high

    def place(price: float) -> float:
        return math.log(price / low) / math.log(high / low)

    spans, words = [], []
    for band in bands:
        colour = "var(--line)" if band.stage is None else COLOURS[band.stage % len(COLOURS)]
        fill = FILL[band.certainty].format(colour=colour)
        left, width = place(band.low), place(band.high) - place(band.low)
        spans.append(
            f'<span style="left:{100 * left:.2f}%;width:{100 * width:.2f}%;background:{fill}">'
            "</span>"
        )
        mine = " ← your price" if band.low <= price < band.high else ""
        text = f"{_range(band, low, high)}: {_cheapest(report, band)}{mine}"
        key = f'<span class="key" style="background:{fill}"></span>'
        words.append(f"<li>{key} {escape(text)}</li>")
    strip = "".join(spans) + _tick(place(price))
    note = (
        f"Solid: cheapest for sure. Broad stripes: likely. Narrow stripes: {_needs(report)}. Red: "
        "your price."
    )
    return (
        "<h2>If a mistake cost more or less</h2>"
        + paragraph(note, "small")
        + f'<div class="track strip" aria-hidden="true">{strip}</div><ul>{"".join(words)}</ul>'
    )


def _range(band: PriceBand, low: float, high: float) -> str:
    """Return a range of prices; the ends of the map are not shown: nothing changes beyond them."""
    if band.low <= low and band.high >= high:
        return "at any price"
    if band.low <= low:
        return f"up to {amount(band.high)}"
    if band.high >= high:
        return f"above {amount(band.low)}"
    return f"{amount(band.low)} to {amount(band.high)}"


def _cheapest(report: AuditReport, band: PriceBand) -> str:
    if band.stage is None:
        return f"unknown; {_needs(report)}"
    sure = SURE[band.certainty].format(needs=_needs(report))
    return f"stop after {name(report, band.stage)} ({sure})"


def _needs(report: AuditReport) -> str:
    is_hidden = report.advice.next_step is NextStep.RUN_ALL_TESTS
    return "needs all tests" if is_hidden else "needs labels"


def _rows(rows: list[str]) -> str:
    many = " many" if len(rows) > MANY else ""
    return f'<div class="rows{many}">{"".join(rows)}</div>'


def _row(title: str, words: str, bars: list[str]) -> str:
    return (
        f'<div class="row"><b>{escape(title)}</b><div class="track" aria-hidden="true">'
        f'{"".join(bars)}</div><div class="small">{unbroken(words)}</div></div>'
    )


def _bar(kind: str, low: float, high: float) -> str:
    if high <= low:
        return ""
    left, width = f"{100 * low:.2f}%", f"{100 * (high - low):.2f}%"
    return f'<span class="{kind}" style="left:{left};width:{width}"></span>'


def _tick(share: float) -> str:
    at = f"calc({100 * min(max(share, 0.0), 1.0):.2f}% - 2px)"
    return f'<span class="tick" style="left:max(0px,{at})"></span>'
